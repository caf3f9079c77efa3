"""Redirects follow from the ledger and from what answers after a run, not from what one plan changes.

Each test reorganizes a published sandbox, also behind Reconciler's back.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reconciler import exits
from tests.command_line import Cli
from tests.features.urls.settling import (
    BASE,
    PATHS,
    SPACES,
    apply,
    declare,
    edit,
    killed,
    killed_before_the_files,
    move_section,
    published,
    rename_page,
    settled,
    short,
    site,
    table,
)
from tests.proofs import costly


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return published(tmp_path)


def test_a_colleague_moves_a_part_back_and_an_apply_without_changes_turns_its_redirects(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    move_section(cli, "learn", "use")
    declare(cli, docs=site("docs", PATHS))  # as `drift --accept` leaves the file
    planned = cli("plan", "p", code=0).stdout
    assert "lead elsewhere" in planned or "no longer needed" in planned
    apply(cli)
    assert "/docs/use/install" not in table(cli)
    assert table(cli)["/docs/learn/install"] == "/docs/use/install"
    settled(cli)


def test_an_author_renames_the_page_to_which_redirects_lead(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    rename_page(cli, "pag_use_install", "setup")
    apply(cli)
    assert table(cli)["/docs/use/install"] == table(cli)["/docs/learn/install"] == "/docs/learn/setup"
    settled(cli)


def test_a_page_that_its_author_deleted_is_named_once_and_refuses_nothing(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    rename_page(cli, "pag_use_install", None)
    planned = cli("plan", "p", code=0).stdout
    assert "! ended" in planned
    assert "/use/install" in planned
    apply(cli, docs=site("docs", {**PATHS, "use": "teach"}))
    assert "/docs/use/install" not in table(cli)
    assert table(cli)["/docs/use/run"] == "/docs/teach/run"
    settled(cli)


def test_an_apply_that_is_given_up_leaves_no_line_that_hides_a_page(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    lines = "".join(f"{BASE}/docs/use/{page},{BASE}/docs/learn/{page},301,reconciler\n" for page in SPACES["use"])
    (cli.root / "p/redirects").mkdir()
    (cli.root / "p/redirects/docs.csv").write_text(f"from,to,status,by\n{lines}")
    cli("urls", "export", "p", "--write", code=0)
    assert table(cli) == {}
    settled(cli)


def test_a_site_that_is_declared_again_at_its_basename_has_no_line_over_its_pages(cli: Cli) -> None:
    gone = {"redirects": ["nginx"], "gone": [{"url": f"{BASE}/blog/**", "reason": "closed"}]}
    both = {"docs": site("docs", {"start": "start"}), "blog": site("blog", {"use": "use"})}
    apply(cli, urls=gone, **both)
    apply(cli, urls=gone, docs=both["docs"])
    assert "/blog/use/install" in table(cli, "blog"), "410"
    apply(cli, urls=gone, **both)
    assert table(cli, "blog") == {}, "no 410 of urls.gone covers what came back"
    settled(cli)


def test_a_new_section_at_a_path_that_another_left_is_not_covered(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn", "staff": "use"}))
    lines = table(cli)
    assert "/docs/use/install" not in lines, "the new section has a page of that name"
    assert "/docs/use/salaries" not in lines
    assert lines["/docs/use/run"] == "/docs/learn/run"
    settled(cli)


@costly
@pytest.mark.parametrize("condition", ["visitor.claims.staff", "!visitor.claims.staff"], ids=["for staff", "for all others"])
def test_sections_that_swap_addresses_catch_no_page_of_the_other(cli: Cli, condition: str) -> None:
    rows, when = {"start": "start", "use": "use", "staff": "staff"}, {"staff": condition}
    apply(cli, docs=site("docs", rows, when))
    swapped = site("docs", {**rows, "use": "staff", "staff": "use"}, when)
    declare(cli, docs=swapped)
    if condition.startswith("visitor"):
        refused = apply(cli, code=exits.REFUSED)
        assert "/use/install" in refused.stderr, "who has no claim finds nothing there"
    apply(cli, docs=swapped, dead="/**")
    lines = table(cli)
    assert not {"/docs/use/install", "/docs/use/salaries", "/docs/staff/install", "/docs/staff/run"} & lines.keys()
    assert lines["/docs/use/run"] == "/docs/staff/run"
    settled(cli)


def test_a_section_with_a_negated_condition_is_public(cli: Cli) -> None:
    rows, when = {"start": "start", "use": "use"}, {"use": "!visitor.claims.staff"}
    apply(cli, docs=site("docs", rows, when))
    assert "answers" in cli("urls", "where", f"{BASE}/docs/use/install", "p", code=0).stdout
    refused = apply(cli, docs=site("docs", {"start": "start"}), code=exits.REFUSED)
    assert "/use/install" in refused.stderr
    apply(cli, docs=site("docs", {**rows, "use": "learn"}, when))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_who_a_new_negated_condition_keeps_out_is_named(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS, adaptiveContent={"enabled": True}))
    narrowed = site("docs", PATHS, {"use": "!visitor.claims.staff"})
    refused = apply(cli, docs=narrowed, code=exits.REFUSED)
    assert "at most some of its readers" in refused.stderr
    apply(cli, docs=narrowed, dead="/**")
    settled(cli)


def test_nobody_is_promised_to_read_a_site_with_links_that_has_none(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    refused = apply(cli, docs=site("docs", PATHS, visibility="share-link"), code=exits.REFUSED)
    assert "/docs/main: at most some of its readers can read a page there now" in refused.stderr


@costly
@pytest.mark.parametrize("closed", [{"visibility": "visitor-auth"}, {"published": False}], ids=["login", "unpublished"])
def test_a_public_site_that_was_closed_by_hand_is_opened_and_moved_by_one_apply(cli: Cli, closed: dict[str, Any]) -> None:
    apply(cli, docs=site("docs", {**PATHS, "old": "v1"}))

    def close(value: dict[str, Any]) -> bool:
        value |= closed
        return value.get("basename") == "docs"

    edit(cli, "site", close)
    moved = site("docs", {**PATHS, "use": "learn"})
    refused = apply(cli, docs=moved, code=exits.REFUSED)
    assert "/v1/past" in refused.stderr, "it was public, as the ledger knows"
    apply(cli, docs=moved, dead="/v1/**")
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_the_ledger_stays_right_while_urls_is_taken_out_for_one_apply(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, urls=None, docs=site("docs", {**PATHS, "use": "learn"}))
    assert "answers" in cli("urls", "where", f"{BASE}/docs/learn/install", "p", code=0).stdout
    assert "moved to" in cli("urls", "where", f"{BASE}/docs/use/install", "p", code=0).stdout
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_a_ledger_goes_on_without_urls_also_while_no_site_is_public(cli: Cli) -> None:
    public, closed = site("docs", PATHS), site("docs", PATHS, visibility="visitor-auth")
    apply(cli, docs=public)
    apply(cli, docs=closed, dead="/**")
    assert "/docs/use/install" in cli("urls", "list", "--site", "docs", "--ended", "p", code=0).stdout, "the site is known"
    assert "was never public, as far as the ledger knows" in cli("urls", "where", f"{BASE}/docs/x", "p", code=exits.WRONG).stderr
    apply(cli, urls=None, docs=site("docs", {**PATHS, "use": "learn"}))
    assert "answers" in cli("urls", "where", f"{BASE}/docs/learn/install", "p", code=0).stdout
    apply(cli, docs=site("docs", {**PATHS, "use": "teach"}))
    assert table(cli)["/docs/use/install"] == table(cli)["/docs/learn/install"] == "/docs/teach/install"
    settled(cli)


def test_urls_that_comes_with_the_commit_that_moves_a_part_to_a_new_site_keeps_its_redirects(cli: Cli) -> None:
    apply(cli, urls=None, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {"start": "start"}), guide=site("guide", {"use": "use"}), dead="/**")
    assert table(cli)["/docs/use/install"] == "/guide/use/install"
    settled(cli)


def test_a_url_is_known_as_the_plan_printed_it(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    declare(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    printed = re.findall(r"http://\S+/use\b\S*", cli("plan", "p", "--full", code=0).stdout)
    assert printed
    apply(cli)
    for url in printed:
        assert "moved to" in cli("urls", "where", f"{url}/install", "p", code=0).stdout


LINES = [
    ("an anchor in the target", f"{BASE}/docs/quota,{BASE}/docs/learn/install#limits,301,ada"),
    ("a query in the target", f"{BASE}/docs/shop,https://shop.acme.example/buy?from=docs,301,ada"),
    ("a query in the source", f"{BASE}/docs/page?id=7,{BASE}/docs/learn/install,301,ada"),
]


@costly
@pytest.mark.parametrize("line", [line for _, line in LINES], ids=[name for name, _ in LINES])
def test_lines_of_people_keep_their_anchors_and_queries(cli: Cli, line: str) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    path = cli.root / "p/redirects/docs.csv"
    path.write_text(f"{path.read_text()}{line}\n")
    apply(cli)
    assert line in path.read_text().splitlines()
    apply(cli, docs=site("docs", {**PATHS, "use": "teach"}))
    assert line.replace("/learn/", "/teach/") in path.read_text().splitlines(), "its page moved"
    settled(cli)


@costly
@pytest.mark.parametrize(
    "spelled",
    [
        "http://127.0.0.1:4711/published/docs/use/install", "http://127.0.0.1/published/docs/use/install?q=1#part",
        "HTTP://LocalHost:80/published/docs/use/install/", "http://[::1]:8080/published/docs/use/install",
        "http://127.0.0.1/published/docs/use/%69nstall#limits",
    ],
)  # fmt: skip
def test_a_url_of_the_sandbox_is_known_however_it_is_spelled(cli: Cli, spelled: str) -> None:
    apply(cli, docs=site("docs", PATHS))
    assert "answers" in cli("urls", "where", spelled, "p", code=0).stdout


def test_an_anchor_in_a_source_is_refused_at_its_line(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    (cli.root / "p/redirects").mkdir()
    (cli.root / "p/redirects/docs.csv").write_text(f"from,to,status,by\n{BASE}/docs/x#y,{BASE}/docs/use/run,301,ada\n")
    assert "redirects/docs.csv:2" in cli("plan", "p", code=exits.WRONG).stderr


@costly
@pytest.mark.parametrize("way", ["apply", "export"])
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_run_that_is_killed_loses_no_redirect(cli: Cli, where: str, way: str) -> None:
    apply(cli, docs=site("docs", {**PATHS, "old": "v1"}))
    declare(cli, docs=site("docs", {"start": "begin", "use": "learn", "old": "past"}))
    killed(cli, where)
    assert not (cli.root / "p/redirects").exists()
    if way == "export":
        cli("urls", "export", "p", "--write", code=0)
        assert ("/docs/use/install" in table(cli)) is (where == "last") or where == "middle"
    apply(cli)
    assert {"/docs/use/install": "/docs/learn/install", "/docs/v1/past": "/docs/past/past"}.items() <= table(cli).items()
    settled(cli)


@costly
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_a_run_that_is_killed_and_given_up_leaves_no_line_that_hides_a_page(cli: Cli, where: str) -> None:
    before = site("docs", {**PATHS, "old": "v1"})
    apply(cli, docs=before)
    declare(cli, docs=site("docs", {"start": "begin", "use": "v1", "old": "use"}))
    killed(cli, where)
    apply(cli, docs=before)
    assert not {"/docs/use/install", "/docs/use/run", "/docs/v1/past", "/docs/start/welcome"} & table(cli).keys()
    settled(cli)


@costly
@pytest.mark.parametrize("way", ["apply", "export", "given up"])
def test_a_run_that_is_killed_when_its_ledger_is_written_and_its_files_are_not_loses_no_redirect(cli: Cli, way: str) -> None:
    before = site("docs", {**PATHS, "old": "v1"})
    apply(cli, docs=before)
    declare(cli, docs=site("docs", {**PATHS, "use": "learn", "old": "v1"}))
    killed_before_the_files(cli)
    assert not (cli.root / "p/redirects").exists()
    assert "answers" in cli("urls", "where", f"{BASE}/docs/learn/run", "p", code=0).stdout
    if way == "export":
        cli("urls", "export", "p", "--write", code=0)
    else:
        apply(cli, **({"docs": before} if way == "given up" else {}))
    if way == "given up":
        assert table(cli)["/docs/learn/run"] == "/docs/use/run"
        assert not {"/docs/use/install", "/docs/use/run", "/docs/use/tune"} & table(cli).keys()
    else:
        assert table(cli)["/docs/use/run"] == "/docs/learn/run"
        assert not {"/docs/learn/install", "/docs/learn/run", "/docs/use/tune"} & table(cli).keys()
    settled(cli)


@costly
@pytest.mark.parametrize("where", ["middle", "last"])
@pytest.mark.parametrize("way", ["apply", "export"])
def test_a_run_that_moves_urls_behind_a_login_loses_no_redirect_when_it_is_killed(cli: Cli, where: str, way: str) -> None:
    closed: dict[str, Any] = {"visibility": "visitor-auth"}
    apply(cli, docs=site("docs", {**PATHS, "old": "v1"}, **closed))
    declare(cli, docs=site("docs", {"start": "begin", "use": "learn", "old": "past"}, **closed))
    killed(cli, where)
    assert "v1" not in cli("urls", "list", "p", code=0).stdout, "the ledger has public URLs alone"
    if way == "export" and where == "last":
        cli("urls", "export", "p", "--write", code=0)
    else:
        apply(cli)
    assert {"/docs/use/install": "/docs/learn/install", "/docs/v1/past": "/docs/past/past"}.items() <= table(cli).items()
    apply(cli)
    settled(cli)


def test_two_runs_that_are_killed_lead_from_the_first_url_behind_a_login_to_the_last(cli: Cli) -> None:
    closed: dict[str, Any] = {"visibility": "visitor-auth"}
    apply(cli, docs=site("docs", PATHS, **closed))
    for path in ("learn", "teach"):
        declare(cli, docs=site("docs", {**PATHS, "use": path}, **closed))
        killed(cli, "last")
    apply(cli)
    assert table(cli)["/docs/use/install"] == table(cli)["/docs/learn/install"] == "/docs/teach/install"
    settled(cli)


def test_what_a_run_behind_a_login_did_not_move_needs_no_redirect_when_it_is_given_up(cli: Cli) -> None:
    before = site("docs", PATHS, visibility="visitor-auth")
    apply(cli, docs=before)
    declare(cli, docs=site("docs", {**PATHS, "use": "learn"}, visibility="visitor-auth"))
    killed(cli, "first")
    apply(cli, docs=before)
    assert table(cli) == {}
    settled(cli)


@costly
def test_files_that_have_no_redirect_any_more_are_not_planned_again(cli: Cli) -> None:
    closed: dict[str, Any] = {"visibility": "visitor-auth"}
    for paths in (PATHS, {**PATHS, "use": "learn"}, PATHS, {**PATHS, "use": "teach"}):
        apply(cli, docs=site("docs", paths, **closed))
        settled(cli)
    (cli.root / "p/redirects/docs.csv").write_text("from,to,status,by\n")
    cli("urls", "export", "p", "--write", code=0)
    settled(cli)


def test_a_line_that_somebody_adds_to_the_table_of_a_site_that_was_removed_is_written_into_its_files(cli: Cli) -> None:
    both = {"docs": site("docs", PATHS), "blog": site("blog", {"use": "use"})}
    apply(cli, **both)
    apply(cli, docs=both["docs"])
    assert table(cli, "blog")["/blog/use/run"] == "/docs/use/main/run"
    lines = cli.root / "p/redirects/blog.csv"
    lines.write_text(f"{lines.read_text()}{BASE}/blog/hello,{BASE}/docs/use/run,301,ada\n")
    (cli.root / "p/redirects/other.csv").write_text(f"from,to,status,by\n{BASE}/other/b,{BASE}/docs/use/run,301,ada\n")
    apply(cli)
    assert '"/published/blog/hello"' in (cli.root / "p/redirects/blog.nginx.conf").read_text()
    assert not (cli.root / "p/redirects/other.nginx.conf").exists(), "the table of another project"
    settled(cli)


@costly
@pytest.mark.parametrize("way", ["in peace", "killed"])
def test_a_line_to_a_page_behind_a_login_stays_although_a_public_page_was_there_once(cli: Cli, way: str) -> None:
    apply(cli, docs=site("docs", PATHS))
    path = cli.root / "p/redirects/docs.csv"
    path.parent.mkdir()
    path.write_text(f"from,to,status,by\n{BASE}/docs/old,{BASE}/docs/use/install,301,ada\n")
    closed = site("docs", {"start": "start", "staff": "use"}, visibility="visitor-auth")
    declare(cli, docs=closed, guide=site("guide", {"use": "use"}))
    if way == "killed":
        killed(cli, "last", "--allow-dead-urls", "/**")
    apply(cli, dead="/**")
    assert table(cli)["/docs/old"] == "/guide/use/install", "its page moved there"
    move_section(cli, "use", "moved")
    apply(cli)
    assert table(cli)["/docs/moved/install"] == "/docs/use/install"
    settled(cli)


@costly
@pytest.mark.parametrize("closed", [{"visibility": "visitor-auth"}, {"visibility": "share-link"}], ids=["login", "share link"])
def test_sites_that_swap_addresses_catch_no_page_of_the_other(cli: Cli, closed: dict[str, Any]) -> None:
    pages = {"start": "start", "use": "use"}, {"staff": "staff", "old": "use"}
    apply(cli, docs=site("docs", pages[0]), intern=site("intern", pages[1], **closed))
    for names in (("intern", "docs"), ("docs", "intern")):
        docs, intern = (site(key, rows, basename=name) for key, rows, name in zip(("docs", "intern"), pages, names, strict=True))
        apply(cli, docs=docs, intern={**intern, **closed}, dead="/**")
        lines = {**table(cli), **table(cli, "intern")}
        hidden = {f"/{names[1]}/staff/salaries", f"/{names[1]}/use/past", f"/{names[0]}/use/install", f"/{names[0]}/use/run"}
        if closed["visibility"] == "visitor-auth":
            assert not hidden & lines.keys()
        assert lines[f"/{names[1]}/use/run"] == f"/{names[0]}/use/run"
        text = "".join(path.read_text() for path in (cli.root / "p/redirects").glob("*.nginx.conf"))
        shown = {names[0]: ("start", "use"), names[1]: ("staff", "use")}
        paths = [f"/published/{name}/{path}/" for name, some in shown.items() for path in some]
        wildcards = re.findall(r'location \^~ "([^"]+)"', text)
        assert not [place for place in wildcards if any(path.startswith(place) for path in paths)]
        settled(cli)


def test_a_guard_without_urls_names_what_the_plan_ends_and_nothing_else(cli: Cli) -> None:
    apply(cli, docs=site("docs", {**PATHS, "old": "v1"}))
    path = cli.root / "p/reconciler.yaml"

    def guarded(sections: dict[str, str]) -> None:
        declare(cli, None, docs=site("docs", sections))
        path.write_text(f"guards: {{deadUrls: block}}\n{path.read_text()}")

    guarded({**PATHS, "old": "v1"})
    named = cli.json("plan", "p").get("redirects", {})
    assert not [*named.get("dead", []), *named.get("ended", []), *named.get("files", [])], "nothing ends"
    guarded({**PATHS, "use": "learn"})
    named = cli.json("plan", "p")["redirects"]
    assert {short(url["url"]) for url in named["dead"]} >= {"/docs/v1/past"}
    assert not {short(url["url"]) for name in ("dead", "ended") for url in named.get(name, [])} & {
        "/docs/start/welcome",
        "/docs/use/install",
    }
    assert "/v1" in apply(cli, code=exits.REFUSED).stderr


def test_a_plan_without_changes_reads_no_pages(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    settled(cli)
    asked = cli("-vv", "plan", "p", code=0).stderr
    assert "/sites" in asked
    assert "/content/pages" not in asked
    rename_page(cli, "pag_use_run", "start")
    assert cli("-vv", "plan", "p", code=0).stderr.count("/content/pages") == 1, "the pages that changed"
