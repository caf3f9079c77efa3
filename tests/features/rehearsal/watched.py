"""A rehearsal that is watched, and a living service, so that both can be compared at every request.

Requests that do not wait for each other have no order of their own: with one request at a time, and with ids that are given by counting, a
rehearsal and an apply send the same requests in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reconciler.features.rehearsal import differences, performing as wiring
from reconciler.features.rehearsal.differences import Rows
from reconciler.features.rehearsal.moments import Moments, SeenMoment
from reconciler.sandbox import server
from reconciler.sandbox.app import create_app
from tests.features.rehearsal.service import LivingService, serving

Write = tuple[str, str, Any]
"""Method, path and decoded body."""


def counting(run: int) -> Callable[[str], str]:
    """Ids by counting, which no other run gives."""
    numbers = count(run * 0x1000000)
    return lambda prefix: f"{prefix}_{next(numbers):012x}"


async def _read(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


def _again(body: bytes) -> Any:
    """Gives a body that was read once more."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _write(scope: Mapping[str, Any], body: bytes) -> Write:
    return scope["method"], scope["path"].removeprefix("/v1"), json.loads(body) if body else None


@dataclass
class Counting(LivingService):
    """Gives ids by counting."""

    runs: Iterator[int] = field(default_factory=lambda: count(1))

    def begin(self, *, limit: int | None = None, run: int | None = None) -> None:
        super().begin(limit=limit)
        self.app = create_app(self.db, base=self.base, new_id=counting(next(self.runs) if run is None else run))


@dataclass
class Watched:
    """A rehearsal as it was: its writes, what readers saw at the start and after each, and what an undo changed."""

    writes: list[Write] = field(default_factory=list)
    moments: list[SeenMoment] = field(default_factory=list)
    before: Rows = field(default_factory=dict)
    undone: Rows = field(default_factory=dict)


@contextmanager
def watching(run: int) -> Iterator[Watched]:
    """Watch the rehearsal in this block. `run`: for its ids."""
    watched = Watched()

    class WatchedMoments(Moments):
        def __post_init__(self) -> None:
            super().__post_init__()
            watched.moments.append(self.start)

        def after(self, *arguments: Any) -> None:
            super().after(*arguments)
            watched.moments.append(self.end)

    class Recording:
        def __init__(self, app: Any) -> None:
            self.app, self.state = app, app.state

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["method"] != "GET":
                body = await _read(receive)
                watched.writes.append(_write(scope, body))
                receive = _again(body)
            await self.app(scope, receive, send)

    def leftovers(before: Rows, after: Rows, *others: Any) -> tuple[str, ...]:
        watched.before, watched.undone = before, after
        return differences.leftovers(before, after, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "Moments", WatchedMoments)
        patch.setattr(wiring, "leftovers", leftovers)
        patch.setattr(server, "create_app", lambda db, **options: Recording(create_app(db, **{**options, "new_id": counting(run)})))
        yield watched


@contextmanager
def counted(db: Path) -> Iterator[Counting]:
    """A service that counts, over a new file."""
    with serving(db, Counting) as service:
        assert isinstance(service, Counting)
        yield service
