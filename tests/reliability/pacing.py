"""How well the client keeps the pace of a service that allows R requests a second, with and without rate headers, in virtual time.

`measure(seed, runs)` returns the figures; nothing here touches a network or waits.
"""

from __future__ import annotations

import asyncio
import math
import random
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

import httpx

from reconciler.client import RetryClass, Settings, Writer
from reconciler.errors import Unavailable

EPOCH = 1_900_000_020.0  # the wall clock at monotonic 0, when windows of all periods begin
KINDS = ("fixed", "sliding", "bucket", "filling")


class LoopTime:
    """The time of the running loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return EPOCH + self.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Loop(asyncio.SelectorEventLoop):
    """Where there is nothing to do now, it is at once the time at which there is."""

    def __init__(self) -> None:
        self.virtual = 0.0
        super().__init__(_Impatient(self))

    def time(self) -> float:
        return self.virtual


class _Impatient(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout > 0:
            self._loop.virtual += timeout
        return super().select(0)


def in_no_time(main: Coroutine[Any, Any, Any]) -> Any:
    """Like asyncio.run, with time that passes at once; only for what uses no sockets."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


@dataclass(frozen=True)
class Case:
    """A service and how it is used: `rate` requests a second, counted in a `period` of seconds by windows of a `kind`.

    A bucket tells when the next request may come, a filling one when it is full again. Sliding windows
    are not shorter than 20 seconds: their headers have whole seconds.
    `bursts`: seconds of pause between bursts of work, 0 for work without end. `headers`: X-RateLimit-* are sent; `retry_after`: with 429s.
    """

    kind: str
    rate: float
    period: float
    headers: bool
    retry_after: bool
    concurrency: int
    bursts: float
    latency: float
    seconds: float

    @property
    def limit(self) -> int:
        """Requests in a period."""
        return max(1, round(self.rate * self.period))


@dataclass
class Service:
    """Takes what the case allows, and answers 429 to the rest."""

    case: Case
    chance: random.Random
    taken: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._window, self._used, self._tokens, self._at, self._first = -1, 0, float(self.case.limit), 0.0, 0

    async def __call__(self, _: httpx.Request) -> httpx.Response:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.case.latency * self.chance.uniform(0.3, 0.7))
        now = loop.time()
        ok, remaining, reset = getattr(self, f"_{self.case.kind}")(now, EPOCH + now)
        (self.taken if ok else self.refused).append(now)
        headers = {"Date": formatdate(EPOCH + now, usegmt=True)}
        if self.case.headers:
            told = (("Limit", self.case.limit), ("Remaining", remaining), ("Reset", math.ceil(reset)))
            headers |= {f"X-RateLimit-{name}": str(value) for name, value in told}
        if self.case.retry_after and not ok:
            headers["Retry-After"] = str(max(1, math.ceil(reset - EPOCH - now)))
        await asyncio.sleep(self.case.latency * self.chance.uniform(0.3, 0.7))
        return httpx.Response(200 if ok else 429, headers=headers, json={})

    def _fixed(self, _: float, wall: float) -> tuple[bool, int, float]:
        window = math.floor(wall / self.case.period)
        if window != self._window:
            self._window, self._used = window, 0
        ok = self._used < self.case.limit
        self._used += ok
        return ok, self.case.limit - self._used, (window + 1) * self.case.period

    def _sliding(self, now: float, wall: float) -> tuple[bool, int, float]:
        while self._first < len(self.taken) and self.taken[self._first] <= now - self.case.period:
            self._first += 1
        used = len(self.taken) - self._first
        ok = used < self.case.limit
        oldest = self.taken[self._first] if used else now
        return ok, self.case.limit - used - ok, wall - now + oldest + self.case.period

    def _bucket(self, now: float, wall: float) -> tuple[bool, int, float]:
        rate = self.case.limit / self.case.period
        self._tokens, self._at = min(self.case.limit, self._tokens + (now - self._at) * rate), now
        ok = self._tokens >= 1
        self._tokens -= ok
        return ok, int(self._tokens), wall + max(0.0, 1 - self._tokens) / rate

    def _filling(self, now: float, wall: float) -> tuple[bool, int, float]:
        ok, left, _ = self._bucket(now, wall)
        return ok, left, wall + (self.case.limit - self._tokens) * self.case.period / self.case.limit

    def allowed(self, until: float) -> float:
        """How many could have been taken by then, asked without end."""
        windows = until / self.case.period
        if self.case.kind in ("bucket", "filling"):
            return self.case.limit * (1 + windows)
        return self.case.limit * windows


@dataclass(frozen=True)
class Result:
    """What one case came to: the share of 429s in all answers, the pace by the allowed one, and operations that failed."""

    case: Case
    requests: int
    refused: int
    pace: float
    failed: int

    @property
    def share(self) -> float:
        return self.refused / self.requests


def drive(case: Case, seed: int) -> Result:
    """Use a service as hard as the gate allows."""
    chance = random.Random(f"{seed}/service")
    service, failed = Service(case, chance), 0

    async def main() -> None:
        nonlocal failed
        loop = asyncio.get_running_loop()
        settings = Settings("https://api.example.test", "token", max_concurrency=case.concurrency)
        jitter = random.Random(f"{seed}/jitter").random
        async with Writer(settings, transport=httpx.MockTransport(service), clock=LoopTime(), jitter=jitter) as writer:

            async def work() -> None:
                nonlocal failed
                while loop.time() < case.seconds:
                    if case.bursts and loop.time() % (2 * case.bursts) >= case.bursts:
                        await asyncio.sleep(2 * case.bursts - loop.time() % (2 * case.bursts))
                    try:
                        await writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT)
                    except Unavailable:
                        failed += 1

            await asyncio.gather(*(work() for _ in range(case.concurrency)))

    in_no_time(main())
    in_time = sum(1 for at in service.taken if at <= case.seconds)
    pace = in_time / min(service.allowed(case.seconds), case.concurrency / case.latency * case.seconds)
    return Result(case, len(service.taken) + len(service.refused), len(service.refused), pace, failed)


def cases(seed: int, runs: int) -> list[Case]:
    """Random services, half of which tell their limit; time for at least 10 periods, 30 seconds and about 1,000 requests."""
    chance = random.Random(seed)
    made = []
    for number in range(runs):
        kind, period = KINDS[number // 2 % len(KINDS)], chance.choice((1.0, 5.0, 10.0, 60.0))
        period = max(period, 20.0) if kind == "sliding" else period
        rate = min(math.exp(chance.uniform(math.log(2), math.log(100))), 100 / period)
        made.append(
            Case(
                kind=kind,
                rate=rate,
                period=period,
                headers=number % 2 == 0,
                retry_after=chance.random() < 0.5,
                concurrency=chance.choice((8, 16, 32, 64)),
                bursts=chance.choice((0.0, 0.0, period / 2)),
                latency=chance.choice((0.02, 0.05, 0.2)),
                seconds=math.ceil(max(10 * period, min(1000 / rate, 600), 30) / period) * period,
            )
        )
    return made


def measure(seed: int, runs: int) -> dict[str, Any]:
    """Figures over random services: for those that tell their limit and for blind ones, the share of 429s and the pace.

    `refused`: 429s in all answers; `worst`: the largest share of one service; `pace`: the least, by the allowed one, of those used without
    a pause; `failed`: operations that came to no end; `kinds`: the same by kind of
    limit. A run is about 1,000 requests and 2 seconds of work.
    """
    results = [drive(case, seed * 1_000_003 + number) for number, case in enumerate(cases(seed, runs))]
    return {"runs": runs, "seed": seed, "headers": _all(results, told=True), "blind": _all(results, told=False)}


def _all(results: list[Result], *, told: bool) -> dict[str, Any]:
    mine = [one for one in results if one.case.headers is told]
    return {**_figures(mine), "kinds": {kind: _figures([one for one in mine if one.case.kind == kind]) for kind in KINDS}}


def _figures(mine: list[Result]) -> dict[str, Any]:
    steady = [one.pace for one in mine if not one.case.bursts]
    requests = sum(one.requests for one in mine)
    return {
        "runs": len(mine),
        "requests": requests,
        "refused": round(sum(one.refused for one in mine) / max(1, requests), 4),
        "worst": round(max((one.share for one in mine), default=0.0), 4),
        "pace": round(min(steady, default=1.0), 4),
        "meanPace": round(sum(steady) / max(1, len(steady)), 4),
        "failed": sum(one.failed for one in mine),
    }
