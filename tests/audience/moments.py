"""One organization whose sandbox is asked who can read what after every request that writes; a run can be cut, a request refused.

A moment is what the sandbox itself says, worked out from its own objects. Nothing of the planner is in it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from reconciler.address import bare
from reconciler.client import ClientSettings
from reconciler.client.service import Reader, Writer
from reconciler.model import Outcome
from reconciler.sandbox.sites.audience import audience
from reconciler.sandbox.store import Store
from tests.harness import BASE, TOKEN, Org
from tests.transports import Through

LEVELS = ("guest", "read", "comment", "edit", "review", "create", "admin")
MEMBERS = {f"member {role}": role for role in LEVELS[:-1]}
"""The members with each role who were given nothing."""
PEOPLE = (*MEMBERS, "admin", "agent")
"""Readers who belong to an organization."""
REFUSED = '{"fault": "forbidden"}'

Thing = tuple[str, str]
"""An object of the service: its kind and its id."""

Readers = dict[str, int]
"""The level of each reader, as an index of LEVELS."""


class Cut(BaseException):
    """The process ends before a request is sent."""


@dataclass(frozen=True)
class Moment:
    """Who could read what after a request. `request`: what was sent, "" before the first."""

    request: str
    readers: dict[Thing, Readers]


@dataclass
class Watched(Org):
    """An organization that keeps a moment for every request that writes.

    `asked`: sets of conditions whose visitors are asked about everywhere. `cut`: the number, from 1, of the request before which the
    process ends. `refused`: the numbers of those that are refused. `concurrency`: requests at a time. `several`: whether the people of each
    organization are named after it.
    """

    asked: Collection[frozenset[str]] = ()
    cut: int | None = None
    refused: frozenset[int] = frozenset()
    concurrency: int = 1
    several: bool = False
    writes: int = 0
    moments: list[Moment] = field(default_factory=list)
    copies: dict[str, str] = field(default_factory=dict)

    def begin(self, *, cut: int | None = None, refused: Iterable[int] = (), concurrency: int = 1) -> None:
        """Forget the moments of the last run; the present one is the first."""
        self.cut, self.refused, self.concurrency = cut, frozenset(refused), concurrency
        self.writes, self.copies = 0, {}
        self.moments = [self.now("")]

    def now(self, request: str) -> Moment:
        readers = {}
        for entry in audience(self.app.state.service.store, asked=self.asked):
            of = f":{entry['organization']}" if self.several else ""
            levels = {reader["reader"].replace("role:", "member "): LEVELS.index(reader["level"]) for reader in entry["readers"]}
            readers[entry["kind"], entry["id"]] = {f"{name}{of if name in PEOPLE else ''}": level for name, level in levels.items()}
        return Moment(request, readers)

    def transport(self) -> httpx2.AsyncBaseTransport:
        return Watching(super().transport(), self)

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        assert not failing
        return cls(ClientSettings(BASE, token, max_concurrency=self.concurrency), transport=Through(self.transport()), clock=self.clock)

    def run(self) -> Outcome | None:
        """Apply; None where the run was cut."""
        try:
            return self.apply()
        except Cut:
            self.cut = None
            return None

    # -- images ------------------------------------------------------------------------------------------------------------------------

    @property
    def files(self) -> tuple[Path, ...]:
        return self.db, self.root / "state.db"

    def save(self, to: Path) -> None:
        """Keep the service and the state as they are."""
        to.mkdir(parents=True, exist_ok=True)
        self.app.state.service.store.close()
        for file in self.files:
            shutil.copy(file, to / file.name)
        self.app.state.service.store = Store(self.db)

    def restore(self, image: Path) -> None:
        """Put the service and the state back as they were kept."""
        self.app.state.service.store.close()
        for file in self.files:
            for beside in file.parent.glob(f"{file.name}-*"):
                beside.unlink()
            shutil.copy(image / file.name, file)
        self.app.state.service.store = Store(self.db)

    def addresses(self) -> dict[str, str]:
        """The address of every id that the state knows."""
        return {bare(binding.id): str(address) for address, binding in self.remembered().bindings.items()}


class Watching(httpx2.AsyncBaseTransport):
    """Passes requests on; after each that writes, a moment is kept."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, org: Watched) -> None:
        self.inner, self.org = inner, org

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        org = self.org
        if request.method == "GET":
            return await self.inner.handle_async_request(request)
        org.writes += 1
        number, path = org.writes, request.url.path.removeprefix("/v1")
        if org.cut is not None and number >= org.cut:
            raise Cut
        if number in org.refused:
            request.headers["X-Sandbox-Fault"] = REFUSED
        if org.concurrency > 1:
            await asyncio.sleep(0)
        answer = await self.inner.handle_async_request(request)
        body = await answer.aread()
        if path.endswith("/duplicate") and answer.status_code == 201:
            org.copies[json.loads(body)["id"]] = path.split("/")[2]
        org.moments.append(org.now(f"{request.method} {path} {request.content.decode()} -> {answer.status_code}"))
        return httpx2.Response(answer.status_code, headers=answer.headers, content=body, request=request)

    async def aclose(self) -> None:
        await self.inner.aclose()
