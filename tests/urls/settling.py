"""A published sandbox that is reorganized by applies, and behind Reconciler's back; and applies that are killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from reconciler.sandbox.faults import book
from reconciler.sandbox.faults.rules import parse
from reconciler.sandbox.store import Store
from tests import processes
from tests.cli.conftest import Cli
from tests.organizations import ORGANIZATION, SEED

HOST = "http://127.0.0.1"
BASE = f"{HOST}/published"
SPACES = {"start": ["welcome"], "use": ["install", "run", "tune"], "staff": ["salaries", "install"], "old": ["past"]}
PATHS = {"start": "start", "use": "use"}
Pages = list[dict[str, Any]]
NGINX = MappingProxyType({"redirects": ["nginx"]})


def published(folder: Path) -> Cli:
    """A sandbox with four spaces, and a project in `p`."""
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
    cli = Cli(folder)
    cli.write("seed.yaml", yaml.safe_dump({**SEED, "spaces": spaces}))
    (folder / "p").mkdir()
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


NEVER: Final = 3_600.0  # seconds that a request waits in the sandbox
WRITES: Final = "[PD]*"  # POST, PUT, PATCH, DELETE
READS: Final = "GET *"


def killed(cli: Cli, where: str, *words: str) -> None:
    """An apply whose process is killed: before its first request has an effect (`first`), after about half of them (`middle`), or after all
    of them, before anything is recorded (`last`). A plan without requests is applied in peace."""
    number = cli.json("plan", "p")["summary"]["requests"]
    if not number:
        cli("apply", "p", *ALLOWED, *words, code=0)
        return
    nth = {"first": 1, "middle": number // 2 + 1, "last": number}[where]
    seconds = 0.2 if where == "last" else NEVER
    # Requests that do not wait for each other are sent together: before the first one has an effect, all of them must wait.
    _wait(cli, {"operation": WRITES, "seconds": seconds, **({"nth": [nth]} if where != "first" else {})})
    process = processes.Popen([sys.executable, "-m", "reconciler", "apply", "p", *ALLOWED, *words], cwd=cli.root, stderr=subprocess.DEVNULL)
    try:
        _until_one_waits(cli, process)
        if where == "last":
            _wait(cli, {"operation": READS, "seconds": NEVER})
            _until_one_waits(cli, process)
    finally:
        process.kill()
        process.wait()
        _wait(cli)
    assert process.returncode == -signal.SIGKILL


def killed_before_the_files(cli: Cli) -> None:
    """An apply of one request whose process is killed when the ledger says what answers after it, and before it writes its files.

    An author deletes the page `tune` during the run, so that it warns in between; nobody reads its full stderr, so it waits there.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, b" "):
            pass
    os.set_blocking(writer, True)
    _wait(cli, {"operation": WRITES, "seconds": 0.5, "nth": [1]})
    process = processes.Popen([sys.executable, "-m", "reconciler", "apply", "p", "-q", *ALLOWED], cwd=cli.root, stderr=writer)
    try:
        _until_one_waits(cli, process)
        process.send_signal(signal.SIGSTOP)
        rename_page(cli, "pag_use_tune", None)
        _wait(cli)
        process.send_signal(signal.SIGCONT)
        while "/use/tune" in cli("urls", "list", "p", code=0).stdout:
            assert process.poll() is None, "it ended before it was killed"
    finally:
        process.kill()
        process.wait()
        os.close(reader)
        os.close(writer)
    assert process.returncode == -signal.SIGKILL


def _wait(cli: Cli, *rules: dict[str, Any]) -> None:
    """Let requests that match wait in the sandbox."""
    with closing(Store(cli.root / "p/sandbox.db")) as store:
        book.set_rules(store, [parse(json.dumps({"fault": "latency", **rule})) for rule in rules])


def _until_one_waits(cli: Cli, process: processes.Popen) -> None:
    with closing(Store(cli.root / "p/sandbox.db")) as store:
        while not book.read(store)[0].injected:
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.005)
