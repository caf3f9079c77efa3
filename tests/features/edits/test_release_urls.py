"""What a release removes is not lost for readers: each URL ever seen answers, or a redirect leads to the same page of the next version."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from reconciler import exits
from reconciler.address import Address
from reconciler.features.urls.model.pages import AnsweringUrls
from reconciler.features.urls.model.redirects import FormerUrl
from reconciler.features.urls.redirects.required import redirection
from tests.cli.test_consent import Requests
from tests.command_line import Cli
from tests.features.urls.settling import ALLOWED, AfterAll, published, rename_page, settled, short
from tests.features.urls.worlds import crawled
from tests.organizations import ORGANIZATION
from tests.proofs import costly, spread
from tests.reliability.test_killed_saved_plan import killed as died
from tests.sandbox.serving import serving

SECTION = "acme/site/docs/section/use"
MOST = 10  # requests of a release
KEPT = 3
URLS = MappingProxyType({"redirects": ["nginx"]})


def project(cli: Cli, **top: Any) -> None:
    """A public site with a section whose first version is a space with three pages, beside one that has no versions."""
    shown = [
        {"section": key, "title": key.title(), "path": key, "spaces": [{"space": key, "path": "v1", "default": True}]} for key in SPACES
    ]
    docs = {"title": "Docs", "type": "premium", "basename": "docs", "visibility": "public", "published": True}
    site = {**docs, "structure": [{**shown[0], "default": True}, *shown[1:]]}
    content = [{"space": key, "id": f"spc_{key}", "title": key.title()} for key in SPACES]
    organization = {"id": ORGANIZATION, "content": content, "sites": {"docs": site}}
    document = {"version": 1, "project": "p", "protect": [], "service": {"sandbox": "sandbox.db"}, **top}
    text = yaml.safe_dump({**document, "organizations": {"acme": organization}}, sort_keys=False)
    cli.write("p/reconciler.yaml", text)


SPACES = ("start", "use")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = published(tmp_path)
    project(cli, urls=dict(URLS))
    apply(cli)
    return cli


def apply(cli: Cli, code: int = 0) -> Any:
    return cli("apply", "p", *ALLOWED, code=code)


def release(cli: Cli, name: str, *words: str, keep: int = KEPT) -> Any:
    return cli("release", SECTION, "--name", name, "--keep", str(keep), "--default", "--project", "p", *words, code=0)


def known(cli: Cli) -> set[str]:
    """Every URL that ever answered, as the sandbox serves it now."""
    return {row["url"] for words in ((), ("--ended",)) for row in cli.json("urls", "list", "p", *words)["urls"]}


def table(cli: Cli) -> dict[str, str]:
    path = cli.root / "p/redirects/docs.csv"
    rows = [row.split(",") for row in path.read_text().splitlines()[1:]] if path.exists() else []
    return {short(row[0]): short(row[1]) for row in rows}


def titles(cli: Cli, paths: set[str]) -> dict[str, str]:
    """What a reader gets at these paths of the published site, asked over HTTP."""
    with serving(cli.root / "p/sandbox.db") as base:
        return {short(url): title for url, title in crawled(base, {f"{base}/published{path}" for path in paths}, {}).items()}


def no_silent_end(cli: Cli, seen: set[str]) -> dict[str, str]:
    """Crawl every path ever seen; returns the redirects. A path answers, or leads in one step to one that answers."""
    lines = table(cli)
    live = titles(cli, {*seen, *lines.values()})
    silent = {path for path in seen if path not in live and lines.get(path) not in live}
    assert not silent, "these answer 404, and nothing leads to a page"
    assert lines.keys().isdisjoint(live), "no redirect hides a page"
    return lines


def paths(cli: Cli) -> set[str]:
    return {short(url) for url in known(cli)}


@costly
def test_after_each_of_twelve_releases_old_urls_lead_to_the_same_page_of_the_next_version(cli: Cli) -> None:
    seen = paths(cli)
    assert "/docs/use/v1/install" in seen
    for number in range(2, 13):
        release(cli, f"v{number}")
        plan = cli.json("plan", "p")
        assert plan["summary"]["requests"] <= MOST
        assert plan["redirects"].get("dead", []) == []
        apply(cli)
        seen |= paths(cli)
        lines, oldest = no_silent_end(cli, seen), max(1, number - KEPT + 1)
        for left in range(1, oldest):
            assert lines[f"/docs/use/v{left}/install"] == f"/docs/use/v{oldest}/install"
            assert lines[f"/docs/use/v{left}"] == f"/docs/use/v{oldest}"
    assert "/docs/use/v12/install" in seen
    settled(cli)


def test_a_page_that_the_next_version_does_not_have_leads_to_its_first_page(cli: Cli) -> None:
    for name in ("v2", "v3"):
        release(cli, name)
        apply(cli)
    rename_page(cli, page_of(cli, "Use v2", "tune"), "adjust")
    release(cli, "v4")
    apply(cli)
    lines = no_silent_end(cli, {"/docs/use/v1/tune", "/docs/use/v1/run"})
    assert (lines["/docs/use/v1/tune"], lines["/docs/use/v1/run"]) == ("/docs/use/v2", "/docs/use/v2/run")


def page_of(cli: Cli, title: str, path: str) -> str:
    """The id of a page."""

    with sqlite3.connect(cli.root / "p/sandbox.db") as db:
        spaces = [json.loads(data) for (data,) in db.execute("SELECT data FROM objects WHERE kind = 'space'").fetchall()]
    space = next(space for space in spaces if space["title"] == title)
    return next(str(page["id"]) for page in space["_pages"] if page["path"] == path)


def test_the_plan_says_where_the_urls_lead(cli: Cli) -> None:
    for name in ("v2", "v3"):
        release(cli, name)
        apply(cli)
    release(cli, "v4")
    said = cli("plan", "p", code=0).stdout
    assert "acme/space/use is no longer shown: its URLs lead to those of its copy acme/space/use-v2." in said


def test_the_only_version_that_is_kept_may_be_the_new_one(cli: Cli) -> None:
    seen = paths(cli)
    release(cli, "v2", keep=1)
    apply(cli)
    assert no_silent_end(cli, seen)["/docs/use/v1/install"] == "/docs/use/v2/install"
    settled(cli)


def test_a_version_that_nobody_copied_leads_to_a_copy_of_the_same_version(cli: Cli) -> None:
    for name, words in (("v2", ()), ("v3", ()), ("v4", ("--from", "v2"))):
        release(cli, name, *words)
        apply(cli)
    seen = paths(cli)
    release(cli, "v5", keep=2)
    apply(cli)
    assert no_silent_end(cli, seen)["/docs/use/v3/install"] == "/docs/use/v4/install"


def test_what_is_declared_gone_leads_nowhere(cli: Cli) -> None:
    gone = [{"url": "/use/v1/**", "reason": "no longer supported"}]
    project(cli, urls={**URLS, "gone": gone})
    for name in ("v2", "v3", "v4"):
        release(cli, name)
        apply(cli)
    assert table(cli)["/docs/use/v1/install"] == "", "410"
    settled(cli)


def test_a_version_whose_copy_is_not_shown_is_refused_as_before(cli: Cli) -> None:
    path = cli.root / "p/reconciler.yaml"
    document = yaml.safe_load(path.read_text())
    document["organizations"]["acme"]["sites"]["docs"]["structure"][1]["spaces"][0] |= {"space": "start", "key": "other"}
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    assert "RC-dead-urls" in apply(cli, code=exits.REFUSED).stderr


def test_no_url_leads_everybody_to_a_version_that_only_some_can_read(cli: Cli) -> None:
    release(cli, "v2", keep=1)
    path = cli.root / "p/reconciler.yaml"
    document = yaml.safe_load(path.read_text())
    site = document["organizations"]["acme"]["sites"]["docs"]
    site["adaptiveContent"] = {"enabled": True}
    site["structure"][1]["spaces"][0]["condition"] = "visitor.claims.plan == 'pro'"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    assert "RC-dead-urls" in apply(cli, code=exits.REFUSED).stderr


def test_nothing_leads_to_a_copy_that_nobody_reads_below_the_url_of_what_it_replaces() -> None:
    site, url = Address.parse("acme/site/docs"), "https://docs.example/use"
    former = {f"{url}/a": FormerUrl(site, "page")}
    result = redirection((), former, AnsweringUrls(), replaced={url: f"{url}/v2", f"{url}/v2": f"{url}/v2/v3"})
    assert not result.redirects
    assert [dead.url for dead in result.dead] == [f"{url}/a"]


def test_undo_shows_the_versions_again_and_their_redirects_end(cli: Cli) -> None:
    for name in ("v2", "v3"):
        release(cli, name)
        apply(cli)
    before, seen = (cli.root / "p/reconciler.yaml").read_text(), paths(cli)
    release(cli, "v4")
    apply(cli)
    assert "/docs/use/v1/install" in table(cli)
    seen |= paths(cli)
    cli("propose", "--undo", "--project", "p", code=0)
    assert (cli.root / "p/reconciler.yaml").read_text() == before
    assert "/use/v4" in cli("undo", "last", "p", *ALLOWED, code=exits.REFUSED).stderr, "what the release published ends"
    cli("undo", "last", "p", *ALLOWED, "--allow-dead-urls", "/use/v4/**", code=exits.PARTLY)
    assert no_silent_end(cli, {"/docs/use/v1/install"})["/docs/use/v1/install"] == "/docs/use/v2/install"
    apply(cli)  # what the service cannot restore is created again
    live = titles(cli, {"/docs/use/v1/install", "/docs/use/v3/install", "/docs/use/v4/install", "/docs/use"})
    assert live.keys() == {"/docs/use/v1/install", "/docs/use/v3/install", "/docs/use"}
    lines = table(cli)
    assert "/docs/use/v1/install" not in lines, "the page answers there again"


CUTS = [*itertools.product(range(1, MOST), ("before", "after")), (0, "files")]


@costly
@pytest.mark.parametrize(("nth", "where"), spread(CUTS, 5))
def test_a_release_that_is_killed_at_any_request_is_finished_without_a_lost_url(cli: Cli, nth: int, where: str) -> None:
    for name in ("v2", "v3"):
        release(cli, name)
        apply(cli)
    seen = paths(cli)
    release(cli, "v4")
    number = cli.json("plan", "p")["summary"]["requests"]
    sort, fatal = (AfterAll, number) if where == "files" else (Requests, 2 * nth - (where == "before"))
    code = died(cli, fatal, "apply", "p", *ALLOWED, sort=sort)
    assert (code < 0) == (nth <= number)
    apply(cli)
    lines = no_silent_end(cli, seen | paths(cli))
    assert lines["/docs/use/v1/install"] == "/docs/use/v2/install"
    settled(cli)
