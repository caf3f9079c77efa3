"""A process that stands still, for however long, at whatever moment: what it had not sent by then is not sent afterwards."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from client_fakes import FakeService, Leap, answer

from reconciler.client import RetryClass
from reconciler.client.service import Writer
from reconciler.errors import ServiceError, Unavailable

PAUSE = 7200.0  # seconds it stands still
DEADLINE = 60.0
REQUESTS = 3  # that are ready at the same moment, as those of a group of intents are
SAMPLE = 23  # on a push, one in so many moments
WRITING = 4  # calls of Python at most between the last look at the clock and the first byte


@dataclass
class Paused:
    """The clocks of a process that stands still at its nth call of a Python function. `late`: requests written after that."""

    nth: int
    port: int
    calls: int = 0
    later: float = 0.0
    written: int = 0
    late: int = 0
    ends: list[object] = field(default_factory=list)

    def monotonic(self) -> float:
        return time.monotonic() + self.later

    def wall(self) -> float:
        return time.time() + self.later

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @contextmanager
    def watched(self) -> Iterator[None]:
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _see(self, frame: Any, event: str, function: Any) -> None:
        if event == "call":
            self.calls += 1
            self.later = PAUSE if self.calls >= self.nth else 0.0
        elif event == "c_call" and getattr(function, "__name__", "") == "send" and self._to_service(function.__self__):
            self.written += 1
            self.late += bool(self.later)

    def _to_service(self, socket: Any) -> bool:
        return bool(socket.getpeername()[1] == self.port)


async def paused_at(nth: int, body: Any, *, connected: bool) -> Paused:
    """What becomes of requests that are ready together, if the process stands still at its nth call."""
    async with FakeService([answer(201, {"id": "x"})]) as service:
        clock = Paused(nth, int(service.base_url.rpartition(":")[2]))
        async with Writer(service.settings(), clock=clock) as writer:
            if connected:
                await asyncio.gather(*(writer.get("/warm") for _ in range(REQUESTS)))
            asyncio.get_running_loop().time = clock.monotonic  # type: ignore[method-assign]
            until = clock.monotonic() + DEADLINE

            async def send(number: int) -> None:
                left = until - clock.monotonic()
                if left <= 0:
                    return
                try:
                    await writer.send(
                        "POST", f"/{number}", body, retry=RetryClass.CREATE, deadline=left, in_time=lambda: clock.monotonic() < until
                    )
                except ServiceError as error:
                    clock.ends.append(error)

            with clock.watched():
                await asyncio.gather(*(send(number) for number in range(REQUESTS)))
            sent = len([seen for seen in service.seen if seen.method == "POST"])
        for error in clock.ends:
            assert "-" not in str(error), error  # no negative seconds
        assert sent <= clock.written
        assert len([error for error in clock.ends if isinstance(error, Unavailable)]) <= REQUESTS - sent, "called unsent, and was not"
        return clock


def moments(body: Any, *, connected: bool, step: int) -> list[Paused]:
    """One run for every `step`th moment, until there is nothing left to interrupt."""
    runs: list[Paused] = []
    nth = 1
    while not runs or runs[-1].later:
        runs.append(asyncio.run(paused_at(nth, body, connected=connected)))
        nth += step
    return runs


@pytest.mark.parametrize("body", [{"title": "T"}, None], ids=["with a body", "without a body"])
@pytest.mark.parametrize("connected", [True, False], ids=["kept connections", "new connections"])
@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.proof)])
def test_a_process_paused_at_any_moment_sends_at_most_the_request_that_it_was_writing(body: Any, connected: bool, step: int) -> None:
    runs = moments(body, connected=connected, step=step)
    assert len(runs) * step > 500
    assert max(run.late for run in runs) <= 1
    assert sum(run.late for run in runs) <= REQUESTS * (WRITING / step + 2)


async def test_a_request_that_waited_while_the_machine_was_suspended_is_not_sent() -> None:
    clock = Leap()

    refused = answer(429, {}, {"Retry-After": "1"})
    async with FakeService([refused, answer(201, {})]) as service, Writer(service.settings(), clock=clock) as writer:
        with pytest.raises(Unavailable, match="its deadline passed before it could be sent"):
            await writer.send("POST", "/x", {}, retry=RetryClass.CREATE, deadline=DEADLINE, in_time=lambda: not clock.slept)
        assert len(service.seen) == 1
