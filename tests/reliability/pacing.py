"""A client against a service that counts its requests, with and without rate headers, in virtual time: no network, no waiting."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field
from email.utils import formatdate

import httpx2

from reconciler.client import ClientSettings, RetryClass
from reconciler.client.service import Writer
from reconciler.errors import Unavailable
from tests.transports import Through
from tests.virtual import LoopClock, run_virtually

EPOCH = 1_900_000_020.0  # when windows of all periods begin
ROUNDING = 1.0  # seconds: a reset is told in whole ones, rounded up
KINDS = ("fixed", "sliding", "bucket", "filling")


@dataclass(frozen=True)
class Case:
    """A service and how it is used: `limit` requests in a `period` of seconds, counted by windows of a `kind`.

    A bucket tells when the next request may come, a filling one when it is full again. `bursts`: seconds of pause between bursts of work,
    0 for work without end. `headers`: X-RateLimit-* are sent; `retry_after`: with 429s. `began`: seconds of the first window that are over
    when the run begins.
    """

    kind: str
    limit: int
    period: float
    headers: bool
    retry_after: bool
    concurrency: int
    bursts: float
    latency: float
    seconds: float
    began: float = 0.0


@dataclass
class Service:
    """Takes what the case allows, and answers 429 to the rest."""

    case: Case
    chance: random.Random
    taken: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._window, self._used, self._tokens, self._at, self._first = -1, 0, float(self.case.limit), 0.0, 0

    async def __call__(self, _: httpx2.Request) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.case.latency * self.chance.uniform(0.3, 0.7))
        now = loop.time()
        wall = EPOCH + self.case.began + now
        ok, remaining, reset = getattr(self, f"_{self.case.kind}")(now, wall)
        (self.taken if ok else self.refused).append(now)
        headers = {"Date": formatdate(wall, usegmt=True)}
        if self.case.headers:
            told = (("Limit", self.case.limit), ("Remaining", remaining), ("Reset", math.ceil(reset)))
            headers |= {f"X-RateLimit-{name}": str(value) for name, value in told}
        if self.case.retry_after and not ok:
            headers["Retry-After"] = str(max(1, math.ceil(reset - wall)))
        await asyncio.sleep(self.case.latency * self.chance.uniform(0.3, 0.7))
        return httpx2.Response(200 if ok else 429, headers=headers, json={})

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
        return ok, self.case.limit - used - ok, wall - now + (self.taken[self._first] if used else now) + self.case.period

    def _bucket(self, now: float, wall: float) -> tuple[bool, int, float]:
        rate = self.case.limit / self.case.period
        self._tokens, self._at = min(self.case.limit, self._tokens + (now - self._at) * rate), now
        ok = self._tokens >= 1
        self._tokens -= ok
        return ok, int(self._tokens), wall + max(0.0, 1 - self._tokens) / rate

    def _filling(self, now: float, wall: float) -> tuple[bool, int, float]:
        ok, left, _ = self._bucket(now, wall)
        return ok, left, wall + (self.case.limit - self._tokens) * self.case.period / self.case.limit

    @property
    def asked(self) -> int:
        return len(self.taken) + len(self.refused)

    def allowed(self, until: float) -> float:
        """How many could have been taken by then, by one who asks without end and, where a reset is told, never before it.

        A fixed window ends with a whole second. What else is told is up to a second later than it could be known.
        """
        late = ROUNDING if self.case.headers and self.case.kind in ("sliding", "filling") else 0.0
        return self.case.limit * ((until / (self.case.period + late)) + (self.case.kind in ("bucket", "filling")))


@dataclass(frozen=True)
class Driven:
    """What one case came to: the share of 429s in all answers, the pace by the allowed one, and operations that failed."""

    case: Case
    requests: int
    refused: int
    pace: float
    failed: int

    @property
    def share(self) -> float:
        """Of 429s in all answers."""
        return self.refused / self.requests

    @property
    def later(self) -> float:
        """The same without the first wave, which nobody can foresee who is told nothing: one for each request under way."""
        return max(0, self.refused - self.case.concurrency) / self.requests


def drive(case: Case, seed: str) -> Driven:
    """Use a service as hard as the gate allows."""
    service, failed = Service(case, random.Random(f"{seed}/service")), 0
    most = 5 * service.allowed(case.seconds)  # one who asks that often need not be watched to the end

    async def main() -> None:
        nonlocal failed
        loop = asyncio.get_running_loop()
        settings = ClientSettings("https://api.example.test", "token", max_concurrency=case.concurrency)
        jitter = random.Random(f"{seed}/jitter").random
        async with Writer(settings, transport=Through(httpx2.MockTransport(service)), clock=LoopClock(EPOCH), jitter=jitter) as writer:

            async def work() -> None:
                nonlocal failed
                while loop.time() < case.seconds and service.asked < most:
                    if case.bursts and loop.time() % (2 * case.bursts) >= case.bursts:
                        await asyncio.sleep(2 * case.bursts - loop.time() % (2 * case.bursts))
                    try:
                        await writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT)
                    except Unavailable:
                        failed += 1

            await asyncio.gather(*(work() for _ in range(case.concurrency)))

    run_virtually(main())
    in_time = sum(1 for at in service.taken if at <= case.seconds)
    pace = in_time / min(service.allowed(case.seconds), case.concurrency / case.latency * case.seconds)
    return Driven(case, service.asked, len(service.refused), pace, failed)
