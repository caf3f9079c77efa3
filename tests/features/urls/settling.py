"""A published sandbox that is reorganized by applies, and behind Reconciler's back; and applies that are killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import yaml

from reconciler.client.service import Reader, Writer
from reconciler.features.urls.redirects.written import RedirectFiles
from tests.cli.test_consent import Requests
from tests.command_line import Cli
from tests.organizations import ORGANIZATION, SEED
from tests.reliability.test_killed_saved_plan import Boundaries, killed as died

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


class AfterAll(Requests):
    """Dies when it is about to read something after so many requests that write: what they did is recorded, and what answers is not."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        send, read, done = Writer.send, Reader._ask, 0

        async def sent(writer: Writer, *given: Any, **named: Any) -> Any:
            nonlocal done
            answer = await send(writer, *given, **named)
            done += 1
            return answer

        async def asked(reader: Reader, *given: Any) -> Any:
            if done == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            return await read(reader, *given)

        with _replaced(Writer, "send", sent), _replaced(Reader, "_ask", asked):
            yield


class BeforeFiles(Boundaries):
    """Dies when the ledger has what answers, and no file is written. Meanwhile an author deletes a page. `cli`: of the folder."""

    def __init__(self, cli: Cli, fatal: int) -> None:
        super().__init__(fatal)
        self.cli = cli

    @contextmanager
    def watching(self) -> Iterator[None]:
        send = Writer.send

        async def sent(writer: Writer, *given: Any, **named: Any) -> Any:
            rename_page(self.cli, "pag_use_tune", None)
            return await send(writer, *given, **named)

        def written(files: RedirectFiles) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        with _replaced(Writer, "send", sent), _replaced(RedirectFiles, "write", written):
            yield


@contextmanager
def _replaced(owner: type, name: str, value: Any) -> Iterator[None]:
    real = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, real)


def killed(cli: Cli, where: str, *words: str) -> None:
    """An apply whose process is killed: before its first request (`first`), after about half of them (`middle`), or after all of them,
    before it recorded what answers (`last`). A plan without requests is applied in peace."""
    number = cli.json("plan", "p")["summary"]["requests"]
    if not number:
        cli("apply", "p", *ALLOWED, *words, code=0)
        return
    sort, fatal = {"first": (Requests, 1), "middle": (Requests, number + 1), "last": (AfterAll, number)}[where]
    assert died(cli, fatal, "apply", "p", *ALLOWED, *words, sort=sort) < 0


def killed_before_the_files(cli: Cli) -> None:
    """An apply of one request whose process is killed when the ledger has what answers after it, and before it writes its files. An author
    deletes the page `tune` during the run."""
    assert died(cli, 1, "apply", "p", *ALLOWED, sort=partial(BeforeFiles, cli)) < 0
