"""A dashboard that is served: the application on a real port, over a real database, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from sqlalchemy import func, insert, update

from reconciler.fleet import status
from reconciler.fleet.changes import changes
from reconciler.fleet.model import FleetProject, Repository, SecretReference
from reconciler.fleet.store import FleetDatabase, projects, schema as tables

PERSON = "ada@desk"
TOKEN = "tok_of_programs_0123456789"
SECONDS = 20.0


class Served:
    """`url`: of the dashboard, with the path below which a single person is logged in. `shown`: what the terminal shows; `said`: what the
    log has."""

    def __init__(self, database: FleetDatabase) -> None:
        self.database, self.url = database, ""
        self.shown: queue.Queue[str] = queue.Queue()
        self.said: list[str] = []

    @property
    def root(self) -> str:
        """The path of the single person; "" with a provider."""
        return urlsplit(self.url).path

    @property
    def origin(self) -> str:
        return self.url.removesuffix(self.root)

    def link(self) -> str:
        """The newest link of the terminal."""
        line = self.shown.get(timeout=SECONDS)
        found = re.search(r"http\S+", line)
        assert found is not None, line
        return found[0]

    def browser(self) -> httpx2.Client:
        """A browser of its own."""
        return httpx2.Client(base_url=self.url, follow_redirects=True, timeout=SECONDS)

    def program(self, token: str = TOKEN) -> httpx2.Client:
        """A program with the token of the single user."""
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS)

    def logged_in(self) -> httpx2.Client:
        """The browser of the single user, with the newest link."""
        browser = self.browser()
        assert browser.get(self.link()).status_code == 200
        return browser


def csrf(page: str) -> str:
    """What the forms of a page contain."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


@contextlib.contextmanager
def served(database: FleetDatabase, *, host: str = "127.0.0.1", port: int = 0, token: str | None = TOKEN) -> Iterator[Served]:
    """A dashboard that ends with the block."""
    from reconciler.fleet.serve.run import Listening, serve

    made, ended = Served(database), threading.Event()
    runner, failed = asyncio.Runner(), list[BaseException]()
    loop = runner.get_loop()

    async def work() -> None:
        made.task = asyncio.ensure_future(  # type: ignore[attr-defined]
            serve(database, Listening(host, port, PERSON, token), say=made.said.append, show=made.shown.put)
        )
        with contextlib.suppress(asyncio.CancelledError):
            await made.task  # type: ignore[attr-defined]

    def run() -> None:
        try:
            with runner:  # ends every task, also those of others
                runner.run(work())
        except BaseException as error:
            failed.append(error)
            made.shown.put("")
        finally:
            ended.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    line = made.shown.get(timeout=SECONDS)
    if failed:
        thread.join()
        raise failed[0]
    made.url = re.sub(r"/login.*", "", line.rpartition(" ")[2])
    made.shown.put(line)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(made.task.cancel)  # type: ignore[attr-defined]
        assert ended.wait(SECONDS)
        thread.join()


def project(name: str, **words: Any) -> FleetProject:
    source = words.pop("source", None) or Repository("https://git.example.com/x.git")
    return FleetProject(name, source, "https://api.example.com", SecretReference("env", "TOKEN"), **words)


def declare(database: FleetDatabase, *declared: FleetProject, settings: Mapping[str, Any] | None = None) -> None:
    """Make these projects and settings the fleet."""
    named = {one.name: one for one in declared}
    with database.transaction() as connection:
        projects.write(connection, named, changes(named, projects.stored(connection)))
        projects.revise(connection, "fleet.yaml", "", 0, "ada", settings or {})


def read(database: FleetDatabase, name: str, reading: status.Reading, *, at: datetime | None = None, **more: Any) -> None:
    """Write a reading of a project, and other columns."""
    values = {"reading": status.as_data(reading), "read_at": at or func.now(), **more}
    with database.transaction() as connection:
        connection.execute(update(tables.projects).where(tables.projects.c.name == name).values(values))


def add(database: FleetDatabase, table: Any, *rows: Mapping[str, Any]) -> None:
    with database.transaction() as connection:
        connection.execute(insert(table), list(rows))


def rows_of(database: FleetDatabase, table: Any) -> Sequence[Mapping[str, Any]]:
    with database.transaction() as connection:
        return [dict(row) for row in connection.execute(table.select()).mappings()]


def plain(data: Any) -> str:
    return json.dumps(data, default=str)
