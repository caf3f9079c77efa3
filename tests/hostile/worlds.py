"""Fuzz targets that need an organization: files of a project, answers of the service, rows of the state."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

import httpx2

from reconciler.client import ClientSettings
from reconciler.client.service import Reader
from reconciler.errors import ConfigError, ReconcilerError, StateError
from reconciler.kinds import load as kinds
from reconciler.model import Desired, State
from reconciler.observe import observe
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.report.documents import plan_document
from reconciler.state import StateScope, Store
from reconciler.state.tables import schema
from tests.client.client_fakes import Leap
from tests.config.corpus import GOOD, options
from tests.harness import BASE, TOKEN, Org
from tests.hostile.texts import SCRAPS, edited
from tests.report.made import plan_text
from tests.small import small
from tests.transports import Through

TOUR = next(project for project in GOOD if project.name == "tour")
TABLES = tuple(schema.TABLES)
BY_ADDRESS = ("bindings", "fields")  # whose rows have no number
ODD: tuple[Any, ...] = (None, True, 0, -1, 1e300, "", "x" * 5_000, "\u202e\x1b[31m", [], {}, [[]], {"id": "x"}, "../..", "org_acme", 10**30)


@cache
def room() -> Path:
    """A folder in memory, where there is one."""
    return Path(mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None, prefix="hostile"))


@cache
def world() -> tuple[Org, Desired, State]:
    """A small organization that was applied."""
    org = Org(room() / "world")
    org.write(small())
    org.apply()
    return org, org.load().desired, org.remembered()


def project(rng: random.Random) -> None:
    """An edited project loads, or is wrong at places in its files."""
    from reconciler.config import load

    folder = room() / "project"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TOUR, folder)
    file = rng.choice(sorted(folder.rglob("*.yaml")))
    file.write_bytes(edited(rng, file.read_text(encoding="utf-8")).encode("utf-8", "surrogatepass"))
    try:
        load(folder, kinds(), **options(TOUR))
    except ConfigError as error:
        assert error.problems
        assert all(problem.file and "\n" not in problem.message for problem in error.problems)


class Lying(httpx2.AsyncBaseTransport):
    """Passes on what the service answers, or once answered, one leaf in some of it replaced by something odd."""

    known: ClassVar[dict[str, tuple[httpx2.Response, bytes]]] = {}

    def __init__(self, inner: httpx2.AsyncBaseTransport, rng: random.Random) -> None:
        self.inner, self.rng = inner, rng

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.method == "GET", "a plan that writes"
        if str(request.url) not in self.known:
            fresh = await self.inner.handle_async_request(request)
            self.known[str(request.url)] = fresh, await fresh.aread()
        answer, raw = self.known[str(request.url)]
        if self.rng.random() < 0.25:
            raw = self._bent(raw)
        return httpx2.Response(answer.status_code, content=raw, headers={"Date": answer.headers.get("Date", "")}, request=request)

    def _bent(self, raw: bytes) -> bytes:
        if self.rng.random() < 0.15:
            return raw[: self.rng.randint(0, len(raw))] + self.rng.choice(SCRAPS).encode("utf-8", "surrogatepass")
        tree = json.loads(raw)
        bent(tree, self.rng)
        return json.dumps(tree).encode()


def bent(tree: Any, rng: random.Random) -> None:
    """Take out, or replace by something odd, up to three parts of a tree."""
    places = list(_leaves(tree, []))
    for _ in range(rng.randint(1, 3)):
        if places:
            holder, key = rng.choice(places)
            if isinstance(holder, dict) and rng.random() < 0.2:
                holder.pop(key, None)
            else:
                holder[key] = rng.choice(ODD)


def _leaves(tree: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        found.append((tree, key))
        _leaves(part, found)
    return found


def answers(rng: random.Random) -> None:
    """Whatever the service answers: a plan that can be printed, or an error of ours; never anything but GET."""
    org, desired, state = world()

    async def planned() -> Any:
        lying = Lying(httpx2.ASGITransport(org.app), rng)
        async with Reader(ClientSettings(BASE, TOKEN), transport=Through(lying), clock=Leap()) as reader:
            return await observe(reader, kinds(), desired, state)

    try:
        actual = asyncio.run(planned())
        made = prove(World(kinds(), desired, state, actual), plan(kinds(), desired, state, actual))
    except ReconcilerError as error:
        assert error.message
        return
    assert "".join(part for _, part in plan_text(made, width=80)) is not None
    json.dumps(plan_document(made, created_at=datetime(2026, 11, 21, tzinfo=UTC)), allow_nan=False)


def rows(rng: random.Random) -> None:
    """A damaged state is read as it is, or is a StateError."""
    org = world()[0]
    file = room() / "damaged.db"
    shutil.copy(org.root / "state.db", file)
    with sqlite3.connect(file) as connection:
        connection.execute("pragma ignore_check_constraints=on")
        table = rng.choice(TABLES)
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        column, value = rng.choice(columns), rng.choice((None, "", "{", "[]", "\0", -1, 2**62, b"\xff", "null", "a/b", "x" * 1_000))
        where = "address" if table in BY_ADDRESS else "rowid"
        try:
            if rng.random() < 0.2:
                connection.execute(f"alter table {table} drop column {column}")
            else:
                connection.execute(f"update {table} set {column} = ? where {where} in (select {where} from {table} limit 3)", (value,))
        except sqlite3.Error:
            return
        finally:
            connection.commit()
    for work in (Store.read, Store.runs, Store.ids, Store.condition):
        _look(file, work)


def _look(file: Path, work: Callable[[Store], Any]) -> None:
    scope = StateScope("test", None, "sandbox:sandbox")
    try:
        with Store.open(f"sqlite:///{file}", scope, clock=lambda: datetime.now(UTC), create=False, lag=3600.0) as store:
            work(store)
    except StateError as error:
        assert error.message
