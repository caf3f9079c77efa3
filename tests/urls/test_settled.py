"""Redirects follow from the ledger and from what answers after a run, not from what one plan changes.

Each test reorganizes a published sandbox, also behind Reconciler's back, and then asks it over HTTP.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from reconciler.cli import exits
from tests.cli.conftest import Cli
from tests.organizations import ORGANIZATION, SEED

HOST = "http://127.0.0.1"
BASE = f"{HOST}/published"
SPACES = {"start": ["welcome"], "use": ["install", "run", "tune"], "staff": ["salaries", "install"], "old": ["past"]}
PATHS = {"start": "start", "use": "use"}
Pages = list[dict[str, Any]]
NGINX = MappingProxyType({"redirects": ["nginx"]})


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    spaces = [
        {
            "organization": ORGANIZATION,
            "id": f"spc_{key}",
            "title": key.title(),
            "parent": None,
            "pages": [_page(key, path) for path in pages],
        }
        for key, pages in SPACES.items()
    ]
    cli = Cli(tmp_path)
    cli.write("seed.yaml", yaml.safe_dump({**SEED, "spaces": spaces}))
    (tmp_path / "p").mkdir()
    cli("sandbox", "seed", "--db", "p/sandbox.db", "seed.yaml", code=0)
    return cli


def _page(space: str, path: str) -> dict[str, Any]:
    return {"id": f"pag_{space}_{path}", "title": path.title(), "path": path, "slug": path}


def site(name: str, sections: dict[str, str], conditions: Mapping[str, str] = MappingProxyType({}), **more: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "section": f"{name}-{key}", "title": f"{name} {key}", "path": path,
            "spaces": [{"key": f"{name}-{key}", "space": key, "path": "main", "default": True}],
            **({"condition": conditions[key]} if key in conditions else {}),
        }
        for key, path in sections.items()
    ]  # fmt: skip
    rows[0]["default"] = True
    usual = {"title": name, "type": "premium", "basename": name, "visibility": "public", "published": True}
    return {**usual, **({"adaptiveContent": {"enabled": True}} if conditions else {}), **more, "structure": rows}


def declare(cli: Cli, urls: Any = NGINX, **sites: dict[str, Any]) -> None:
    content = [{"space": key, "id": f"spc_{key}", "title": key.title()} for key in SPACES]
    top = {"version": 1, "project": "p", "protect": [], "service": {"sandbox": "sandbox.db"}, **({"urls": dict(urls)} if urls else {})}
    document = {**top, "organizations": {"acme": {"id": ORGANIZATION, "content": content, "sites": sites}}}
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, sort_keys=False))


ALLOWED = ("--yes", "--allow-exposure", "**", "--allow-delete", "99")


def apply(cli: Cli, *words: str, urls: Any = NGINX, dead: str = "", code: int = 0, **sites: dict[str, Any]) -> Any:
    if sites:
        declare(cli, urls, **sites)
    return cli("apply", "p", *ALLOWED, *(["--allow-dead-urls", dead] if dead else []), *words, code=code)


def settled(cli: Cli) -> None:
    """A second plan is empty, and so is what `urls export` would write."""
    again = cli.json("plan", "p")
    redirects = again.get("redirects", {})
    assert [again["summary"]["requests"], *(redirects.get(name, []) for name in ("files", "dead", "ended"))] == [0, [], [], []]
    assert "have all that they must have" in cli("urls", "export", "p", "--write", code=0).stderr


def table(cli: Cli, name: str = "docs") -> dict[str, str]:
    path = cli.root / f"p/redirects/{name}.csv"
    rows = path.read_text().splitlines()[1:] if path.exists() else []
    return {short(row.split(",")[0]): short(row.split(",")[1]) for row in rows}


def short(url: str) -> str:
    return urlsplit(url).path.removeprefix("/published")


def edit(cli: Cli, kind: str, change: Callable[[dict[str, Any]], bool]) -> None:
    """Somebody changes an object in the service's own interface. `change`: returns whether it is the one."""
    with sqlite3.connect(cli.root / "p/sandbox.db") as db:
        for id, data in db.execute("SELECT id, data FROM objects WHERE kind = ?", (kind,)).fetchall():
            value = json.loads(data)
            if change(value):
                value |= {key: f"rev_{uuid.uuid4().hex[:12]}" for key in ("revision", "_revision") if key in value}
                db.execute("UPDATE objects SET data = ? WHERE kind = ? AND id = ?", (json.dumps(value), kind, id))


def move_section(cli: Cli, before: str, after: str) -> None:
    def change(section: dict[str, Any]) -> bool:
        if section.get("path") != before:
            return False
        section["path"] = after
        return True

    edit(cli, "section", change)


def rename_page(cli: Cli, page: str, to: str | None) -> None:
    """An author renames a page; None: deletes it."""

    def change(space: dict[str, Any]) -> bool:
        pages: Pages = space.get("_pages", [])
        if page not in [item["id"] for item in pages]:
            return False
        for item in pages:
            if item["id"] == page:
                item |= {"path": to, "slug": to}
        space["_pages"] = [item for item in pages if item["path"] is not None]
        return True

    edit(cli, "space", change)


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
    assert "only some of its readers" in refused.stderr
    apply(cli, docs=narrowed, dead="/**")
    settled(cli)


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


def test_an_anchor_in_a_source_is_refused_at_its_line(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    (cli.root / "p/redirects").mkdir()
    (cli.root / "p/redirects/docs.csv").write_text(f"from,to,status,by\n{BASE}/docs/x#y,{BASE}/docs/use/run,301,ada\n")
    assert "redirects/docs.csv:2" in cli("plan", "p", code=exits.WRONG).stderr


def test_a_run_that_is_killed_between_its_requests_and_its_files_loses_no_redirect(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    declare(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    code = (
        "import os, signal; from reconciler.cli.wiring import redirect_files\n"
        "from reconciler.cli.commands import apply as command\n"
        "command.settled_redirects = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from reconciler.cli import main; main()\n"
    )
    words = ["apply", "p", *ALLOWED]
    killed = subprocess.run([sys.executable, "-c", code, *words], cwd=cli.root, capture_output=True, env={**os.environ}, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (cli.root / "p/redirects").exists()
    apply(cli)
    assert table(cli)["/docs/use/install"] == "/docs/learn/install"
    settled(cli)


def test_a_plan_without_changes_reads_no_pages(cli: Cli) -> None:
    apply(cli, docs=site("docs", PATHS))
    apply(cli, docs=site("docs", {**PATHS, "use": "learn"}))
    settled(cli)
    asked = cli("plan", "p", "-vv", code=0).stderr
    assert "/spaces/" in asked or asked
    assert "/content/pages" not in asked
