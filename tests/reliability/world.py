"""One project against one sandbox in virtual time, every seam of which can be watched: requests, commits, what is under way.

A crash is an image: what the service and the state's database hold at that moment, and the requests that were on their way. Nothing of
a process survives in it, so no `finally` can tidy up after a death.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from reconciler.address import Selection
from reconciler.client import ClientSettings
from reconciler.client.service import Reader, Writer
from reconciler.config import Project
from reconciler.model import Outcome, Plan
from reconciler.state.bucket.objects import Folder
from tests.harness import BASE, ORGANIZATION, TOKEN, WHOLE, Org
from tests.reliability.clock import Time, everywhere
from tests.reliability.databases import Database
from tests.reliability.seen import as_lists_show, difference, seen, shortened
from tests.state.watched import watched
from tests.transports import Through

TIMEOUT = 30.0  # seconds one request may take: what the harness gives to apply
SETTLE = 60.0  # seconds a lost request may take effect after that
WRITING = ("INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP")


@dataclass(frozen=True)
class Image:
    """A moment of a run. `pending`: requests under way, each with what becomes of it and, if it is late, after how many seconds."""

    case: str
    sandbox: bytes
    state: Any
    pending: tuple[tuple[httpx2.Request, str, float], ...] = ()
    seconds: float = 0.0  # by the virtual clock


@dataclass
class World(Org):
    """An organization whose service lives in memory; time is virtual, and what is made has ids by number."""

    database: Database | None = None
    time: Time = field(default_factory=Time)
    foreign: frozenset[str] = frozenset()
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    watch: Callable[[str], None] | None = None  # told of every boundary that is passed
    rewire: Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport] | None = None  # put between the program and the wire

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.database is not None
        self.url, self.settle = self.database.url, SETTLE
        self.database.put(None)  # a new service has no state yet
        self.service = self.app.state.service.store
        memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.service.connection.execute("pragma journal_mode=delete")  # a database in memory cannot have a write-ahead log
        self.service.connection.backup(memory)
        self.service.connection.close()
        self.service.connection = memory
        numbers = count(1)
        self.service.new_id = lambda prefix: f"{prefix}_{next(numbers):06x}"
        self.service.now = self.time.now
        self.commits = 0
        self.under_way: dict[int, httpx2.Request] = {}
        self.twice: list[str] = []  # transfers to where the object was already
        self.taken: set[int] = set()  # requests that reached the service by themselves while the process stood still
        self._numbers = count(1)
        self._project: Project | None = None

    # -- the project -------------------------------------------------------------------------------------------------------------

    def write(self, organization: Any, **top: Any) -> None:  # type: ignore[override]
        super().write(organization, **top)
        self.touch()

    def touch(self) -> None:
        """The files were changed."""
        self._project = None

    def load(self) -> Project:
        if self._project is None:
            self._project = super().load()
        return self._project

    # -- runs --------------------------------------------------------------------------------------------------------------------

    def transport(self) -> httpx2.AsyncBaseTransport:
        wire: httpx2.AsyncBaseTransport = Wire(self, httpx2.ASGITransport(self.app))
        return self.rewire(wire) if self.rewire else wire

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        return cls(ClientSettings(BASE, token), transport=Through(self.transport()), clock=self.time, jitter=self.chance.random)

    def apply(self, *, allow_replace: tuple[str, ...] = ("**",), selection: Selection = WHOLE) -> Outcome:
        with everywhere(self.time):
            return self.time.run(self._apply(allow_replace, selection))

    def plan(self, *, selection: Selection = WHOLE, **given: Any) -> Plan:
        with everywhere(self.time):
            return self.time.run(self._plan(("**",), selection, TOKEN, ()))

    def at(self, boundary: str) -> None:
        if self.watch is not None:
            self.watch(boundary)

    def latency(self) -> float:
        return self.chance.uniform(0.005, 0.2)

    # -- images ------------------------------------------------------------------------------------------------------------------

    def take(self, case: str = "") -> Image:
        assert self.database is not None
        return Image(case, self.service.connection.serialize(), self.database.take(), seconds=self.time.seconds)

    def put(self, image: Image) -> None:
        """Make the world what it was; then what was under way arrives, or is lost, or waits to arrive late."""
        assert self.database is not None
        self.service.connection.deserialize(image.sandbox)
        self.database.put(image.state)
        self.under_way.clear()
        self.twice.clear()
        self.time.seconds = image.seconds
        if image.pending:
            self.time.run(self.arrive(image.pending))

    async def arrive(self, pending: Iterable[tuple[httpx2.Request, str, float]]) -> None:
        """Requests that nobody waits for any more reach the service, or not."""
        transport = httpx2.ASGITransport(self.app)
        for request, fate, seconds in pending:
            if fate == "lost":
                continue
            headers = dict(request.headers)
            if fate == "late":
                headers["X-Sandbox-Fault"] = json.dumps({"fault": "late", "seconds": seconds})
            again = httpx2.Request(request.method, request.url, headers=headers, content=request.content)
            try:
                await transport.handle_async_request(again)
            except ConnectionError:
                continue

    def later(self, seconds: float = 3600.0) -> None:
        """Time passes; whatever was late happens."""
        self.time.pass_(seconds)
        self.time.run(self._knock())

    async def _knock(self) -> None:
        request = httpx2.Request("GET", f"{BASE}/v1/orgs/{ORGANIZATION}", headers={"Authorization": f"Bearer {TOKEN}"})
        assert (await httpx2.ASGITransport(self.app).handle_async_request(request)).status_code == 200

    def note_twice(self, request: httpx2.Request) -> None:
        """Remember a transfer of what is where it is to go already."""
        id = request.url.path.split("/")[-2]
        row = self.service.connection.execute("select data from objects where id = ?", (id,)).fetchone()
        if row is not None and json.loads(row[0]).get("organization") == json.loads(request.content)["organization"]:
            self.twice.append(request.url.path)

    def seen(self) -> Counter[str]:
        return seen(self.service.connection, self.foreign)

    def unlike(self, expected: Counter[str], outcome: Outcome | None, *, ranked: bool = True) -> str | None:
        """What is left to do, or not as in peace, with what failed in the last run; None where all is well.

        `ranked`: places count that no list shows; not where the service says that it heeds them, and does not.
        """
        plan = self.plan()
        left = [f"{change.address}: {' '.join(change.actions)}" for change in plan.changes]
        left += [f"in doubt: {address}" for address in plan.in_doubt] + [str(blocked) for blocked in plan.blocked]
        wrong = difference(expected, self.seen()) if ranked else difference(as_lists_show(expected), as_lists_show(self.seen()))
        wrong += [f"sent twice: {path}" for path in self.twice]
        if plan.empty and not left and not wrong:
            return None
        failed = (
            [f"{result.step.verb} {result.step.address}: {result.error}" for result in outcome.results if result.error] if outcome else []
        )
        parts = ("not empty: " + shortened(left) if left else "", shortened(wrong, 4), "errors: " + shortened(failed) if failed else "")
        return " | ".join(part for part in parts if part)

    def close(self) -> None:
        self.service.connection.close()
        shutil.rmtree(self.root, ignore_errors=True)


class Wire(httpx2.AsyncBaseTransport):
    """The way to the service and back takes its time; writes are told of before, during and after."""

    def __init__(self, world: World, inner: httpx2.AsyncBaseTransport) -> None:
        self.world, self.inner = world, inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        world, writes = self.world, request.method != "GET"
        world.requests.append((request.method, request.url.path.removeprefix("/v1")))
        number = next(world._numbers)
        what = f"{request.method} {request.url.path}"
        if writes:
            world.at(f"before {what}")
            world.under_way[number] = request
            world.at(f"during {what}")
        try:
            await asyncio.sleep(world.latency())
        finally:
            world.under_way.pop(number, None)
        if number in world.taken:
            raise httpx2.ReadError("the connection was lost")
        if request.url.path.endswith("/transfer"):
            world.note_twice(request)
        answer = await self.inner.handle_async_request(request)
        if writes:
            world.at(f"after {what}")
        await asyncio.sleep(world.latency())
        return answer


@contextmanager
def commits(world: World) -> Iterator[None]:
    """Tell the world before and after each commit that changes something."""
    wrote: set[int] = set()

    def noticed(connection: Any, statement: str, _: int) -> None:
        if statement.startswith(WRITING):
            wrote.add(id(connection))

    def before(connection: Any) -> None:
        if id(connection) in wrote:
            world.at("before a commit")

    def after(connection: Any) -> None:
        if id(connection) in wrote:
            wrote.discard(id(connection))
            world.commits += 1
            world.at("after a commit")

    def object_written(write: Any) -> Any:
        def put(self: Any, name: str, content: bytes) -> Any:
            world.at(f"before {name}")
            done = write(self, name, content)
            world.commits += 1
            world.at(f"after {name}")
            return done

        return put

    create, put = Folder.create, Folder.put
    Folder.create, Folder.put = object_written(create), object_written(put)  # type: ignore[method-assign]
    try:
        with watched(noticed, commit=before, committed=after):
            yield
    finally:
        Folder.create, Folder.put = create, put  # type: ignore[method-assign]


def folder(name: str) -> Path:
    """Where a world keeps its files: in memory, where the machine has such a place."""
    import tempfile

    shm = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix=f"reconciler-{name}-", dir=shm if shm.is_dir() else None))
