"""What a release removes is not lost for readers: each URL ever seen answers, or a redirect leads to the same page of the next version."""

from __future__ import annotations

import itertools
import json
import sqlite3
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from reconciler import exits
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
    shown = [{"section": key, "title": key.title(), "path": key, "spaces": [{"space": key, "path": "v1", "default": True}]} for key in SPACES]
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
