"""From `urls:` in the files and what a plan does to pages to the files of redirects: what is read, what differs, what is refused."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError, Refused, UsageError
from reconciler.features.urls.model.pages import AnsweringUrls, PageUrl
from reconciler.features.urls.model.planned import REDIRECTS, URLS, PlannedUrls
from reconciler.features.urls.model.redirects import RedirectFile, RedirectFormat, RedirectPlan, url_settings
from reconciler.features.urls.redirects.formats import texts
from reconciler.features.urls.redirects.planned import between, with_redirects
from reconciler.features.urls.redirects.written import RedirectFiles
from reconciler.model import DeadUrls, Guards, Plan, State
from reconciler.plan.warnings.exposure import loosened_rules
from reconciler.report.documents import plan_document
from reconciler.report.layout import plain
from reconciler.report.plan import plan_sheet
from reconciler.report.reading import sheet_of
from reconciler.report.sheet import sheet_text
from reconciler.run.guards import check
from reconciler.run.operation import Limits
from tests.documents import configuration, valid
from tests.features.urls.projects import ROOT, SITE, SPACE, answering, apply_files, changed, files, loaded, planned, write
from tests.harness import kinds

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ALL = {"redirects": ["netlify", "cloudflare", "nginx", "csv"]}
GONE = [{"url": "/v1/**", "reason": "no longer supported"}]


# -- what the files say ------------------------------------------------------------------------------------------------------------


def test_a_project_that_says_nothing_of_its_urls_plans_as_before(tmp_path: Path) -> None:
    project = loaded(tmp_path / "p", None)
    plan = Plan("test", None).with_feature(URLS, PlannedUrls(changes=changed(("/a", None))))
    assert with_redirects(project.desired, plan) is plan
    assert check(plan, project.desired, Limits().with_exposures) is plan
    assert (project.desired.dead_urls, project.desired.rules.guards) == (DeadUrls.WARN, Guards())
    assert "redirects" not in plan_document(plan, created_at=NOW)


def test_the_keys(tmp_path: Path) -> None:
    urls = {**ALL, "to": "web/redirects/", "gone": GONE, "sites": {"blog": []}}
    settings = url_settings(loaded(tmp_path / "p", urls).desired)
    assert settings is not None
    assert [(str(site), files.folder, files.name, files.formats) for site, files in settings.sites.items()] == [
        ("acme/site/docs", "web/redirects", "docs", tuple(map(RedirectFormat, ALL["redirects"])))
    ]
    assert [(gone.pattern, gone.reason) for gone in settings.gone] == [("/v1/**", "no longer supported")]


def test_no_wildcard_of_an_emptied_folder_covers_a_page_that_the_plan_puts_there(tmp_path: Path) -> None:
    """Not even on a sandbox, whose port differs from run to run, and where only some readers get the page."""
    project = loaded(tmp_path / "p", ALL)
    root = "http://127.0.0.1:8123"
    moves = [
        replace(change, before=change.before and root + change.before.removeprefix(ROOT), after=root + str(change.after).removeprefix(ROOT))
        for change in changed(*((f"/old/{page}", f"/new/{page}") for page in "abcdefgh"), (None, "/old/new"))
    ]
    urls = replace(answering(moves[:8], root=root), changes=tuple(moves))
    for changes, wildcard in ((moves[:8], True), (moves, False)):
        plan = with_redirects(project.desired, Plan("test", None).with_feature(URLS, replace(urls, changes=tuple(changes))))
        assert ("/old/*" in files(plan)["redirects/docs/_redirects"]) is wildcard


def test_the_schema_knows_them() -> None:
    base = {"version": 1, "project": "p", "organizations": {}}
    assert configuration().is_valid({**base, "urls": {**ALL, "to": "redirects/", "gone": GONE, "sites": {"blog": ["csv"]}}})
    assert not configuration().is_valid({**base, "urls": {"redirects": ["apache"]}})
    assert not configuration().is_valid({**base, "urls": {"gone": [{"url": "v1", "reason": "r"}]}})
    assert not configuration().is_valid({**base, "guards": {"deadUrls": "refuse"}})


@pytest.mark.parametrize(
    ("urls", "says"),
    [
        ({"redirects": ["apache"]}, 'urls.redirects contains "apache"'),
        ({"redirects": "nginx"}, "urls.redirects must be a list of formats"),
        ({"redirects": ["nginx"], "to": "../elsewhere"}, 'urls.to is "../elsewhere"'),
        ({"redirects": ["nginx"], "to": "/etc/nginx"}, 'urls.to is "/etc/nginx"'),
        ({"redirects": ["nginx"], "to": ".git"}, 'urls.to is ".git"'),
        ({"redirects": ["nginx"], "to": "a//b"}, 'urls.to is "a//b"'),
        ({"gone": [{"url": "v1/**", "reason": "r"}]}, '"v1/**" matches no URL: it must begin with /'),
        ({"gone": [{"url": "/v1/**"}]}, "reason is missing in an entry of urls.gone"),
        ({"gone": ["/v1/**"]}, "urls.gone contains"),
        ({"sites": {"dcs": []}}, 'no site "dcs"; did you mean "docs"?'),
        ({"sites": ["docs"]}, "urls.sites must be a map of sites"),
        ({"redirect": ["nginx"]}, 'unknown key "redirect" in urls; did you mean "redirects"?'),
        (["nginx"], "urls must be a map"),
    ],
)
def test_a_mistake_is_reported_at_its_line(tmp_path: Path, urls: Any, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path / "p", urls)
    (problem,) = raised.value.problems
    assert says in problem.message
    assert problem.line > 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs.csv", "a,b\n"), ("docs.nginx.conf", "server {}\n"), ("docs/_redirects", "/a /b\n"),
        ("docs.cloudflare.csv", "a.example/x,https://b.example/y\n"), ("docs/old.example.nginx.conf", "location / {}\n"),
        ("docs.csv", b"\xff\xfe"),
    ],
)  # fmt: skip
def test_a_file_that_somebody_else_wrote_is_refused(tmp_path: Path, name: str, text: str | bytes) -> None:
    target = tmp_path / "p" / "redirects" / name
    target.parent.mkdir(parents=True)
    target.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=f"redirects/{name}") as raised:
        loaded(tmp_path / "p", ALL)
    assert {problem.id for problem in raised.value.problems} == {"RC-file-of-others"}


@pytest.mark.parametrize("linked", ["redirects", "redirects/docs.csv"])
def test_nothing_is_read_through_a_link(tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "docs.csv").write_text("from,to,status,by\nhttps://a.example/secret,,410,x\n")
    link = tmp_path / "p" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(outside if linked == "redirects" else outside / "docs.csv")
    with pytest.raises(ConfigError, match=f"{linked} is a link") as raised:
        loaded(tmp_path / "p", ALL)
    assert "secret" not in str(raised.value)


def test_a_line_of_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    table = tmp_path / "p" / "redirects" / "docs.csv"
    table.parent.mkdir(parents=True)
    table.write_text("from,to,status,by\nhttps://a.example/x,/y,301,ada\n")
    with pytest.raises(ConfigError, match=r"redirects/docs.csv:2.*write a whole URL"):
        loaded(tmp_path / "p", ALL)


# -- what a plan makes of it -------------------------------------------------------------------------------------------------------


def test_a_plan_has_the_files_that_differ_and_nothing_once_they_are_written(tmp_path: Path) -> None:
    folder, urls = tmp_path / "p", {**ALL, "gone": GONE}
    plan = planned(loaded(folder, urls), changed(("/use/a", "/product/a"), ("/v1/x", None)))
    assert list(files(plan)) == [f"redirects/{name}" for name in ("docs.csv", "docs/_redirects", "docs.cloudflare.csv", "docs.nginx.conf")]
    assert (plan.pending, plan.empty) == (True, False)
    apply_files(folder, plan)
    again = planned(loaded(folder, urls), ())
    assert again.feature(REDIRECTS) is not None
    assert (again.feature(REDIRECTS).written, again.feature(REDIRECTS).dead, again.pending) == ((), (), False)
    rows = list(csv.reader((folder / "redirects/docs.csv").open()))
    assert rows == [
        ["from", "to", "status", "by"],
        [f"{ROOT}/use/a", f"{ROOT}/product/a", "301", "reconciler"],
        [f"{ROOT}/v1/x", "", "410", "reconciler"],
    ]


def test_the_next_reorganization_rewrites_the_redirects_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    apply_files(folder, planned(loaded(folder, ALL), changed(("/a", "/b"))))
    plan = planned(loaded(folder, ALL), changed(("/b", "/c")))
    assert plan.feature(REDIRECTS) is not None
    numbers = {(file.added, file.changed, file.removed) for file in plan.feature(REDIRECTS).files}
    assert numbers == {(1, 1, 0)}
    apply_files(folder, plan)
    urls = url_settings(load(folder, kinds()).desired)
    assert urls is not None
    assert {item.source.removeprefix(ROOT): (item.target or "").removeprefix(ROOT) for item in urls.earlier} == {"/a": "/c", "/b": "/c"}


def test_the_port_of_a_sandbox_does_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    first, second = (
        tuple(
            replace(change, before=f"http://127.0.0.1:{port}{before}", after=f"http://127.0.0.1:{port}{after}")
            for change in changed(("/", "/"))
        )
        for port, before, after in ((4001, "/docs/a", "/docs/b"), (4002, "/docs/b", "/docs/c"))
    )
    apply_files(folder, planned(loaded(folder, ALL), first, root="http://127.0.0.1:4001/docs"))
    before = url_settings(loaded(folder, ALL).desired)
    plan = planned(loaded(folder, ALL), second, root="http://127.0.0.1:4002/docs")
    assert plan.feature(REDIRECTS) is not None
    assert {(file.added, file.changed, file.removed) for file in plan.feature(REDIRECTS).files} == {(1, 1, 0)}
    apply_files(folder, plan)
    text = (folder / "redirects/docs.csv").read_text()
    assert (text.count("http://127.0.0.1/docs/c"), "127.0.0.1:" in text) == (2, False)
    compared = between(before, url_settings(load(folder, kinds()).desired))
    assert compared is not None
    assert [(file.added, file.changed) for file in compared.files] == [(1, 1)]


def test_a_format_that_is_added_gets_its_file_without_a_change_of_pages(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    apply_files(folder, planned(loaded(folder, {"redirects": ["csv"]}), changed(("/a", "/b"))))
    plan = planned(loaded(folder, {"redirects": ["nginx"]}), ())
    assert (list(files(plan)), plan.pending) == (["redirects/docs.nginx.conf"], True)


def test_redirects_that_are_no_longer_needed_leave_an_empty_file(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    apply_files(folder, planned(loaded(folder, ALL), changed(("/a", "/b"))))
    plan = planned(loaded(folder, ALL), changed(("/b", "/a"), (None, "/b", "new")))
    assert files(plan)["redirects/docs.csv"] == "from,to,status,by\n"
    assert "location" not in files(plan)["redirects/docs.nginx.conf"]
    apply_files(folder, plan)
    assert planned(loaded(folder, ALL), ()).feature(REDIRECTS) == RedirectPlan()


def test_a_file_without_wildcards_is_as_good_as_one_with_them(tmp_path: Path) -> None:
    moves = changed(*((f"/use/{name}", f"/product/{name}") for name in "abcdef"))
    plan = planned(loaded(tmp_path / "p", {"redirects": ["netlify"]}), moves)
    assert files(plan)["redirects/docs/_redirects"].count("\n") == 2, "one line for all of them"
    assert files(plan)["redirects/docs.csv"].count("/use/") == 6, "the table has each URL"
    apply_files(tmp_path / "p", plan)
    assert plan.feature(REDIRECTS) is not None
    (single,) = texts("docs", RedirectFormat.NETLIFY, plan.feature(REDIRECTS).redirects, host="docs.acme.example")
    assert (single.text.count("/use/"), "*" in single.text) == (6, False)
    (tmp_path / "p/redirects/docs/_redirects").write_text(single.text)
    again = planned(loaded(tmp_path / "p", {"redirects": ["netlify"]}), ())
    assert again.feature(REDIRECTS) == RedirectPlan(), "a file with a line for each is as good, as long as its redirects are the same"
    more = planned(loaded(tmp_path / "p", {"redirects": ["netlify"]}), changed(("/v1/x", "/v2/x")))
    assert files(more)["redirects/docs/_redirects"].count("/use/") == 1, "once a redirect differs, it is written with wildcards"


@pytest.mark.parametrize("unknown", ["a page that only some readers know", "pages that could not be read", "a site of unknown pages"])
def test_a_wildcard_is_written_only_where_every_url_is_known(tmp_path: Path, unknown: str) -> None:
    project = loaded(tmp_path / "p", {"redirects": ["netlify"]})
    plan = planned(project, changed(*((f"/use/{name}", f"/product/{name}") for name in "abcdef")))
    now = plan.feature(URLS).answering_after
    assert now is not None
    after = {
        "a page that only some readers know": replace(now, restricted={f"{ROOT}/use/secret": frozenset({"p9"})}),
        "pages that could not be read": replace(now, unread=frozenset({f"{ROOT}/use/more"})),
        "a site of unknown pages": replace(now, closed=frozenset({f"{ROOT}/use/closed"})),
    }[unknown]
    known, limited = (with_redirects(project.desired, plan, after=urls) for urls in (now, after))
    assert "/use/* " in files(known)["redirects/docs/_redirects"]
    text = files(limited)["redirects/docs/_redirects"]
    assert ("/use/*" in text, text.count("/use/")) == (False, 6)
    assert files(known)["redirects/docs.csv"] == files(limited)["redirects/docs.csv"], "the table has each URL"


def test_redirects_of_a_plan_that_was_given_up_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    apply_files(folder, planned(loaded(folder, ALL), changed(("/a", "/b"), ("/c", "/d"))))
    desired = loaded(folder, ALL).desired
    live = {f"{ROOT}/{name}": PageUrl(f"{ROOT}/{name}", page, "P", SPACE, SITE) for name, page in (("a", "p0"), ("d", "p1"))}
    now = AnsweringUrls(live, roots={SITE: ROOT})
    present = Plan("test", None).with_feature(URLS, PlannedUrls(answering_before=now, answering_after=now))
    text = files(with_redirects(desired, present))["redirects/docs.csv"]
    assert (f"{ROOT}/c,{ROOT}/d" in text, f"{ROOT}/a," in text) == (True, False)


def test_a_fleet_writes_no_files_and_says_so(tmp_path: Path) -> None:
    project = loaded(tmp_path / "p", ALL)
    desired = replace(project.desired, writes_files=False)
    plan = planned(replace(project, desired=desired), changed(("/a", "/b")))
    assert plan.feature(REDIRECTS) == RedirectPlan()
    assert "not written" in plan.notes[0]


# -- the guard -----------------------------------------------------------------------------------------------------------------------

DEAD = [
    # guards, urls, what is allowed on the command line, whether it is refused
    ("redirects block by default", {}, ALL, (), True),
    ("without redirects it is shown", {}, {"gone": GONE}, (), False),
    ("block without redirects", {"deadUrls": "block"}, {"gone": GONE}, (), True),
    ("block without urls", {"deadUrls": "block"}, None, (), True),
    ("warn with redirects", {"deadUrls": "warn"}, ALL, (), False),
    ("ignore", {"deadUrls": "ignore"}, ALL, (), False),
    ("allowed by a pattern", {}, ALL, ("/old/**",), False),
    ("allowed by whole URLs", {}, ALL, (f"{ROOT}/old/a", f"{ROOT}/old/b"), False),
    ("one of two is allowed", {}, ALL, ("/old/a",), True),
    ("another pattern", {}, ALL, ("/new/**",), True),
]


@pytest.mark.parametrize(("guards", "urls", "allowed", "refused"), [row[1:] for row in DEAD], ids=[row[0] for row in DEAD])
def test_urls_that_nothing_answers(tmp_path: Path, guards: Any, urls: Any, allowed: tuple[str, ...], refused: bool) -> None:
    project = loaded(tmp_path / "p", urls, guards=guards)
    plan = planned(project, changed(("/old/a", None), ("/old/b", None), ("/v1/x", None) if urls and "gone" in urls else ("/a", "/b")))
    if not refused:
        assert check(plan, project.desired, Limits(dead_urls=allowed).with_exposures) is plan
        return
    with pytest.raises(Refused) as raised:
        check(plan, project.desired, Limits(dead_urls=allowed).with_exposures)
    assert raised.value.id == "RC-dead-urls"
    assert f"{ROOT}/old/b: its page is no longer published" in raised.value.message
    way = str(raised.value.hint).partition("or: ")[2].split()
    assert check(plan, project.desired, Limits(dead_urls=(*allowed, *way[1::2])).with_exposures) is plan, "the way past it is exact"


def test_ignored_dead_urls_are_not_shown(tmp_path: Path) -> None:
    project = loaded(tmp_path / "p", ALL, guards={"deadUrls": "ignore"})
    assert planned(project, changed(("/a", None))).feature(REDIRECTS) == RedirectPlan()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (({}, ALL), ({}, None), ["deadUrls block -> warn"]),
        (({}, ALL), ({"deadUrls": "ignore"}, ALL), ["deadUrls block -> ignore"]),
        (({"deadUrls": "block"}, None), ({}, None), ["deadUrls block -> warn"]),
        (({}, None), ({"deadUrls": "ignore"}, None), ["deadUrls warn -> ignore"]),
        (({}, None), ({}, ALL), []),
        (({}, None), ({"deadUrls": "warn"}, None), []),
        (({"deadUrls": "warn"}, ALL), ({}, ALL), []),
    ],
)
def test_a_looser_rule_is_an_exposure(tmp_path: Path, before: Any, after: Any, line: list[str]) -> None:
    old, new = (loaded(tmp_path / name, urls, guards=guards).desired for name, (guards, urls) in (("a", before), ("b", after)))
    exposures = loosened_rules(new, State("lineage", 1, rules=old.rules), ())
    assert [f"{item.field} {item.before} -> {item.after}" for item in exposures] == line


# -- reports -------------------------------------------------------------------------------------------------------------------------


def test_the_report_and_the_document_say_the_same(tmp_path: Path) -> None:
    project = loaded(tmp_path / "p", {**ALL, "gone": GONE}, guards={"deadUrls": "warn"})
    gone = [(f"/old/{number}", None) for number in range(8)]
    plan = planned(project, changed(("/use/a", "/product/a"), ("/v1/x", None), *gone))
    text = plain(sheet_text(plan_sheet(plan)))
    assert "redirects/docs.csv" in text
    assert "~ redirects   2 new" in text
    assert "! left out    1 URL of docs.cloudflare.csv: the format has no status for a page that ended" in text
    assert "! dead        /old/0, /old/1, /old/2, /old/3 and 4 more: its page is no longer published" in text
    assert "work only where their files are installed" in text
    assert "Plan: 4 files of redirects to write; 8 dead URLs. 0 requests." in text
    document = valid(plan_document(plan, created_at=NOW), "plan")
    assert "nginx" not in str(document["redirects"]["dead"])
    again = plain(sheet_text(sheet_of(document)))
    assert again == plain(sheet_text(plan_sheet(plan, full=True, remedies=True)))


def test_a_comparison_of_files_says_what_changed_in_the_tables(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    before = url_settings(loaded(folder, ALL).desired)
    apply_files(folder, planned(loaded(folder, ALL), changed(("/a", "/b"))))
    after = url_settings(load(folder, kinds()).desired)
    redirects = between(before, after)
    assert redirects is not None
    assert [(file.path, file.added, file.text) for file in redirects.files] == [("redirects/docs.csv", 1, None)]
    assert between(after, after) is None
    removed = between(after, before)
    assert removed is not None
    assert removed.files[0].removed == 1


# -- writing -------------------------------------------------------------------------------------------------------------------------


def file(path: str) -> RedirectFile:
    return RedirectFile(path, RedirectFormat.CSV, path, "from,to,status,by\n")


@pytest.mark.parametrize("path", ["../outside.csv", "redirects/../../outside.csv", ".git/x.csv", "redirects//x.csv"])
def test_nothing_is_written_outside_the_project(tmp_path: Path, path: str) -> None:
    folder = write(tmp_path / "p", None)
    with pytest.raises(UsageError, match="cannot be written"):
        RedirectFiles(folder, [file("redirects/a.csv"), file(path)]).check()
    with pytest.raises(UsageError, match="cannot be written"):
        RedirectFiles(folder, [file("redirects/a.csv"), file(path)]).write()
    assert not (tmp_path / "outside.csv").exists()
    assert not (folder / "redirects").exists(), "all of them, or none"


@pytest.mark.parametrize("linked", ["redirects", "redirects/docs.csv"])
def test_a_link_that_was_put_there_since_is_not_followed(tmp_path: Path, linked: str) -> None:
    folder, outside = write(tmp_path / "p", None), tmp_path / "outside"
    outside.mkdir()
    link = folder / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if linked == "redirects" else outside / "docs.csv")
    with pytest.raises(UsageError, match="is a link"):
        RedirectFiles(folder, [file("redirects/docs.csv")]).write()
    assert list(outside.iterdir()) == []


def test_a_file_that_somebody_put_there_since_is_not_replaced(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", None)
    (folder / "redirects").mkdir()
    (folder / "redirects/docs.csv").write_text("mine\n")
    with pytest.raises(UsageError, match="was not written by Reconciler"):
        RedirectFiles(folder, [file("redirects/docs.csv")]).write()
    assert (folder / "redirects/docs.csv").read_text() == "mine\n"
