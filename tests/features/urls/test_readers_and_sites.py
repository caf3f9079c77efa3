"""Redirects where readers and sites change: a site that is closed and opened again, pages for some readers, a site that is removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from reconciler.features.urls.model.planned import URLS
from reconciler.features.urls.redirects.planned import with_redirects
from tests.command_line import Cli
from tests.features.urls.projects import ROOT, changed, files, loaded, planned
from tests.organizations import ORGANIZATION, SEED
from tests.proofs import costly

BASE = "http://127.0.0.1/published"
SPACES = {"start": ["welcome"], "use": ["install", "run", "tune", "watch", "end"], "staff": ["salaries"]}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    spaces = [
        {
            "organization": ORGANIZATION, "id": f"spc_{key}", "title": key.title(), "parent": None,
            "pages": [{"id": f"pag_{path}", "title": path.title(), "path": path, "slug": path} for path in pages],
        }
        for key, pages in SPACES.items()
    ]  # fmt: skip
    cli = Cli(tmp_path)
    cli.write("seed.yaml", yaml.safe_dump({**SEED, "spaces": spaces}))
    (tmp_path / "p").mkdir()
    cli("sandbox", "seed", "--db", "p/sandbox.db", "seed.yaml", code=0)
    return cli


def site(name: str, sections: dict[str, str], **more: Any) -> dict[str, Any]:
    """A site with a section for each space. `sections`: the path of each."""
    rows: list[dict[str, Any]] = [
        {
            "section": f"{name}-{key}",
            "title": f"{name} {key}",
            "path": path,
            "spaces": [{"key": f"{name}-{key}", "space": key, "path": "main"}],
        }
        for key, path in sections.items()
    ]
    rows[0]["default"] = True
    usual = {"title": name, "type": "premium", "basename": name, "visibility": "public", "published": True}
    return {**usual, **more, "structure": rows}


def apply(cli: Cli, **sites: dict[str, Any]) -> None:
    """Apply a project of these sites, after which nothing is left to do."""
    content = [{"space": key, "id": f"spc_{key}", "title": key.title()} for key in SPACES]
    top = {"version": 1, "project": "p", "protect": [], "service": {"sandbox": "sandbox.db"}, "urls": {"redirects": ["nginx"]}}
    document = {**top, "organizations": {"acme": {"id": ORGANIZATION, "content": content, "sites": sites}}}
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))
    cli("apply", "p", "--yes", "--allow-exposure", "**", "--allow-delete", "99", "--allow-dead-urls", "/**", code=0)
    again = cli.json("plan", "p")
    assert (again["summary"]["requests"], again.get("redirects", {}).get("files", [])) == (0, [])


def redirects(cli: Cli, name: str) -> dict[str, str]:
    """Where the table of a site leads, without the host and what all URLs begin with."""
    rows = (cli.root / f"p/redirects/{name}.csv").read_text().splitlines()[1:]
    cells = (row.split(",")[:2] for row in rows)
    return {short(old): short(new) for old, new in cells}


def short(url: str) -> str:
    return urlsplit(url).path.removeprefix("/published/").replace("/main", "")


def test_the_urls_of_a_site_that_is_removed_lead_to_where_its_pages_are(cli: Cli) -> None:
    both = {"start": "start", "use": "use"}
    apply(cli, docs=site("docs", both), blog=site("blog", both))
    apply(cli, docs=site("docs", both))
    assert redirects(cli, "blog")["blog/use/install"] == "docs/use/install"
    apply(cli, docs=site("docs", {**both, "use": "product"}))
    assert redirects(cli, "blog")["blog/use/install"] == "docs/product/install", "in one step"
    assert redirects(cli, "docs")["docs/use/install"] == "docs/product/install"


def test_a_site_with_another_key_keeps_its_redirects(cli: Cli) -> None:
    apply(cli, docs=site("docs", {"start": "start", "use": "use"}))
    apply(cli, docs=site("docs", {"start": "start", "use": "product"}))
    handbook = {**site("docs", {"start": "start", "use": "guide"}), "previously": ["docs"]}
    apply(cli, handbook=handbook)
    assert redirects(cli, "docs")["docs/use/install"] == "docs/guide/install"
    assert redirects(cli, "handbook")["docs/product/install"] == "docs/guide/install"


@costly
def test_no_line_hides_the_pages_of_a_site_that_is_closed_from_those_whom_it_admits(cli: Cli) -> None:
    help_site, paths = site("help", {"use": "use"}), {"start": "start", "use": "use"}
    apply(cli, docs=site("docs", paths), help=help_site)
    apply(cli, docs=site("docs", paths, visibility="visitor-auth"), help=help_site)
    assert not (cli.root / "p/redirects").exists(), "a page answers there, to visitors who sign in"
    apply(cli, docs=site("docs", {**paths, "use": "product"}, visibility="visitor-auth"), help=help_site)
    assert redirects(cli, "docs")["docs/use/install"] == "help/use/install", "nobody without a login can read the page in docs"
    apply(cli, docs=site("docs", paths, visibility="visitor-auth"), help=help_site)
    assert "docs/use/install" not in redirects(cli, "docs")
    apply(cli, docs=site("docs", paths), help=help_site)
    assert "docs/use/install" not in redirects(cli, "docs")


@pytest.mark.parametrize("staff", [False, True], ids=["for everybody", "some pages for staff"])
def test_a_wildcard_leaves_pages_alone_that_only_some_readers_know(cli: Cli, staff: bool) -> None:
    rows = {"start": "start", "use": "use", "staff": "intern"}
    apply(cli, docs=site("docs", rows, adaptiveContent={"enabled": True}))
    moved = site("docs", {**rows, "use": "product", "staff": "use" if staff else "intern"}, adaptiveContent={"enabled": True})
    moved["structure"][2] |= {"condition": "visitor.claims.staff"}
    apply(cli, docs=moved)
    text = (cli.root / "p/redirects/docs.nginx.conf").read_text()
    assert ('"/published/docs/use/main/install"' in text, "location ^~" in text) == (staff, not staff)
    assert 'location = "/published/docs/use/main/salaries"' not in text


def test_a_wildcard_is_about_a_host_of_the_ledger_alone(tmp_path: Path) -> None:
    """A table may have redirects of another environment, or of a site from before Reconciler."""
    old = "https://old.acme.example"
    folder = tmp_path / "p" / "redirects"
    folder.mkdir(parents=True)
    rows = "".join(f"{old}/docs/{name},{ROOT}/product/{name},301,ada\n" for name in "abcdef")
    (folder / "docs.csv").write_text(f"from,to,status,by\n{rows}")
    plan = planned(
        loaded(tmp_path / "p", {"redirects": ["netlify"]}), changed(*((f"/use/{name}", f"/product/{name}") for name in "abcdef"))
    )
    text = files(plan)["redirects/docs/_redirects"]
    assert (f"{old}/docs/a " in text, f"{old}/docs/*" in text, f"{ROOT}/use/*" in text) == (True, False, True)


def test_no_wildcard_is_written_above_or_below_what_nobody_listed(tmp_path: Path) -> None:
    project = loaded(tmp_path / "p", {"redirects": ["netlify"]})
    plan = planned(project, changed(*((f"/use/all/{name}", f"/product/{name}") for name in "abcdef")))
    after = plan.feature(URLS).answering_after
    assert after is not None
    for closed, grouped in ((), True), ((f"{ROOT}/use",), False), ((f"{ROOT}/use/all/x",), False), ((f"{ROOT}/used",), True):
        limited = with_redirects(project.desired, plan, after=replace(after, closed=frozenset(closed)))
        assert ("/use/all/*" in files(limited)["redirects/docs/_redirects"]) is grouped, closed
