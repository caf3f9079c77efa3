"""The gate, against services that count, in virtual time."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field
from email.utils import formatdate

import httpx2
import pytest
from client_fakes import EPOCH, SETTINGS, TOKEN, Leap, Notes, mock

from reconciler.client import ClientSettings, RetryClass
from reconciler.client.pacing import Pace
from reconciler.client.quota import HOLD_MAX, Hints, Quota, read_hints
from reconciler.client.service import Reader, Writer
from reconciler.errors import Unavailable
from tests.proofs import costly, spread
from tests.virtual import LoopClock, run_virtually

NOW = 1_900_000_000


@dataclass
class Limiter:
    """A service that takes `limit` requests a `period`, and tells as much as it is told to."""

    kind: str  # fixed: windows; sliding; bucket: refilled steadily, reset tells when it is full
    limit: int
    period: float
    headers: bool = True
    retry_after: bool = False
    skew: float = 0.0  # seconds its clock is ahead of ours
    taken: list[float] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        self._window, self._used, self._tokens, self._at = -1, 0, float(self.limit), 0.0
        self._chance = random.Random(7)

    async def __call__(self, _: httpx2.Request) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._chance.uniform(0.015, 0.035))
        now = loop.time()
        wall = EPOCH + now + self.skew
        ok, remaining, reset = getattr(self, f"_{self.kind}")(now, wall)
        headers = {"Date": formatdate(wall, usegmt=True)}
        if self.headers:
            headers |= {
                f"X-RateLimit-{k}": str(v) for k, v in (("Limit", self.limit), ("Remaining", remaining), ("Reset", math.ceil(reset)))
            }
        if self.retry_after and not ok:
            headers["Retry-After"] = str(max(1, math.ceil(reset - wall)))
        self.taken += [now] if ok else []
        self.refused += not ok
        await asyncio.sleep(self._chance.uniform(0.015, 0.035))
        return httpx2.Response(200 if ok else 429, headers=headers, json={})

    def _fixed(self, _: float, wall: float) -> tuple[bool, int, float]:
        window = math.floor(wall / self.period)
        if window != self._window:
            self._window, self._used = window, 0
        ok = self._used < self.limit
        self._used += ok
        return ok, self.limit - self._used, (window + 1) * self.period

    def _sliding(self, now: float, wall: float) -> tuple[bool, int, float]:
        recent = [at for at in self.taken if at > now - self.period]
        ok = len(recent) < self.limit
        recent += [now] if ok else []
        return ok, self.limit - len(recent), wall - now + recent[0] + self.period

    def _bucket(self, now: float, wall: float) -> tuple[bool, int, float]:
        rate = self.limit / self.period
        self._tokens, self._at = min(self.limit, self._tokens + (now - self._at) * rate), now
        ok = self._tokens >= 1
        self._tokens -= ok
        return ok, int(self._tokens), wall + (self.limit - self._tokens) / rate


def drive(limiter: Limiter, seconds: float, workers: int = 16) -> int:
    """Send as much as the gate lets through; how many operations failed."""

    async def main() -> int:
        failed = 0
        loop = asyncio.get_running_loop()
        chance = random.Random(3)
        settings = ClientSettings("https://api.example.test", TOKEN, max_concurrency=workers)
        async with Writer(settings, transport=mock(limiter), clock=LoopClock(EPOCH), jitter=chance.random) as writer:

            async def work() -> None:
                nonlocal failed
                while loop.time() < seconds:
                    try:
                        await writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT)
                    except Unavailable:
                        failed += 1

            await asyncio.gather(*(work() for _ in range(workers)))
        return failed

    failed = run_virtually(main())
    assert isinstance(failed, int)
    return failed


@costly
@pytest.mark.parametrize("workers", spread([16, 64], 1))
@pytest.mark.parametrize(
    ("limiter", "seconds"),
    [
        pytest.param(("fixed", 100, 10.0), 60, id="100 in 10 s"),
        pytest.param(("fixed", 50, 1.0), 10, id="50 in 1 s"),
        pytest.param(("fixed", 60, 60.0), 300, id="60 a minute"),
        pytest.param(("bucket", 100, 10.0), 60, id="a bucket of 100, 10 a second"),
        pytest.param(("sliding", 200, 20.0), 60, id="200 in any 20 s"),
    ],
)
def test_with_a_quota_at_most_2_percent_are_refused_and_95_percent_of_it_are_used(
    limiter: tuple[str, int, float], seconds: float, workers: int
) -> None:
    service = Limiter(*limiter, skew=0.4)
    assert drive(service, seconds, workers) == 0
    kind, limit, period = limiter
    in_time = sum(1 for at in service.taken if at <= seconds)
    allowed = limit * seconds / period + (limit if kind == "bucket" else 0)
    assert service.refused <= 0.02 * len(service.taken)
    assert in_time >= 0.95 * allowed


@costly
@pytest.mark.parametrize("retry_after", [False, True])
@pytest.mark.parametrize(("kind", "limit", "period", "seconds"), [("bucket", 50, 1.0, 12), ("fixed", 100, 10.0, 60)])
def test_without_a_quota_at_most_5_percent_are_refused_after_the_first_wave_and_nothing_fails(
    kind: str, limit: int, period: float, seconds: float, retry_after: bool
) -> None:
    service = Limiter(kind, limit, period, headers=False, retry_after=retry_after)
    workers = 16
    assert drive(service, seconds, workers) == 0
    assert service.refused - workers <= 0.05 * len(service.taken)  # one a worker cannot be foreseen


@costly
@pytest.mark.parametrize("seed", spread(range(4), 1))
@pytest.mark.parametrize(("kind", "limit", "period"), [("fixed", 10, 60.0), ("bucket", 30, 10.0)])
def test_a_limit_that_only_429s_show_loses_no_reading(kind: str, limit: int, period: float, seed: int) -> None:
    service, chance = Limiter(kind, limit, period, headers=False), random.Random(seed)
    service._chance = random.Random(seed)

    async def main() -> None:
        settings = ClientSettings("https://x.test", TOKEN, max_concurrency=64)
        async with Reader(settings, transport=mock(service), clock=LoopClock(EPOCH), jitter=chance.random) as reader:
            for wave in (100, 40, 1, 60, 5, 94):
                await asyncio.gather(*(reader.get(f"/x{number}") for number in range(wave)))

    run_virtually(main())
    assert len(service.taken) == 300


def test_a_service_whose_clock_is_far_off_is_understood_by_its_own_date() -> None:
    for skew in (-86400.0, 3600.0):
        service = Limiter("fixed", 20, 10.0, skew=skew)
        assert (drive(service, 40), service.refused) == (0, 0)
        assert len(service.taken) >= 78


def test_max_rps_is_never_exceeded() -> None:
    at: list[float] = []

    def handler(_: httpx2.Request) -> httpx2.Response:
        at.append(asyncio.get_running_loop().time())
        return httpx2.Response(200, json={})

    async def main() -> None:
        async with Reader(ClientSettings("https://x.test", TOKEN, max_rps=5), transport=mock(handler), clock=LoopClock(EPOCH)) as reader:
            await asyncio.gather(*(reader.get("/x") for _ in range(50)))

    run_virtually(main())
    for start in range(len(at) - 10):
        assert at[start + 10] - at[start] >= 10 / 5 - 0.051
    assert at[-1] == pytest.approx(49 / 5, abs=0.1)


@pytest.mark.parametrize(
    ("value", "waits"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("100000", HOLD_MAX),
        ("Sun, 17 Mar 2030 17:46:50 GMT", 10.0),
        ("Sun, 17 Mar 2030 17:46:10 GMT", 0.0),
        ("Sun, 17 Mar 2999 17:46:10 GMT", HOLD_MAX),
    ],
)
async def test_retry_after_is_read_as_seconds_and_as_a_date_and_clamped(value: str, waits: float) -> None:
    clock = Leap()
    answers = iter(
        [httpx2.Response(429, headers={"Retry-After": value, "Date": "Sun, 17 Mar 2030 17:46:40 GMT"}), httpx2.Response(200, json={})]
    )

    async with Writer(SETTINGS, transport=mock(lambda _: next(answers)), clock=clock) as writer:
        await writer.send("POST", "/x", {}, retry=RetryClass.CREATE)

    assert sum(clock.slept) == pytest.approx(waits)


@pytest.mark.parametrize("value", ["", "-1", "soon", "1.5", "٣", "9" * 40, "Sun, 17 Mar 2030", "x" * 9999])
def test_an_invalid_retry_after_is_ignored(value: str) -> None:
    assert read_hints({"retry-after": value}, NOW).retry_after is None


def test_a_retry_after_date_is_compared_with_the_service_s_clock_and_else_with_ours() -> None:
    date = {"retry-after": "Sun, 17 Mar 2030 17:46:50 GMT"}
    assert read_hints(date, NOW - 3).retry_after == 13
    assert read_hints({**date, "date": "Sun, 17 Mar 2030 17:46:49 GMT"}, NOW - 3).retry_after == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-limit": "10", "x-ratelimit-remaining": "5"},
        {"x-ratelimit-limit": "0", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1900000000"},
        {"x-ratelimit-limit": "10", "x-ratelimit-remaining": "-1", "x-ratelimit-reset": "1900000000"},
        {"x-ratelimit-limit": "10, 20", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "1900000000"},
        {"x-ratelimit-limit": "10", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "1900000000000"},
    ],
)
def test_a_quota_is_reported_in_full_or_not_at_all(headers: dict[str, str]) -> None:
    assert read_hints(headers, NOW) == Hints()


def test_retry_after_goes_before_the_reset_and_the_reset_before_backoff() -> None:
    def wait_after(**headers: str) -> float:
        clock = Leap()
        learn = {name.replace("_", "-"): value for name, value in headers.items()} | {"Date": formatdate(clock.wall(), usegmt=True)}
        answers = iter([httpx2.Response(429, headers=learn), httpx2.Response(200, json={})])

        async def main() -> None:
            async with Reader(SETTINGS, transport=mock(lambda _: next(answers)), clock=clock, jitter=lambda: 0.0) as reader:
                await reader.get("/x")

        asyncio.run(main())
        return sum(clock.slept)

    quota = {"X_RateLimit_Limit": "10", "X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(int(EPOCH + 1000 + 9))}
    assert wait_after(**quota, Retry_After="3") == pytest.approx(3)
    assert wait_after(**quota) == pytest.approx(9)
    assert 0 < wait_after() < 1


def test_families_with_limits_of_their_own_do_not_wait_for_each_other() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        def handler(request: httpx2.Request) -> httpx2.Response:
            writing = request.method == "PATCH"
            wall = EPOCH + loop.time()
            headers = {"Date": formatdate(wall, usegmt=True), "X-RateLimit-Reset": str(int(wall) + 50)}
            headers |= {"X-RateLimit-Limit": "10" if writing else "500", "X-RateLimit-Remaining": "0" if writing else "400"}
            return httpx2.Response(200, headers=headers, json={})

        async with Writer(SETTINGS, transport=mock(handler), clock=LoopClock(EPOCH)) as writer:
            await writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT)
            blocked = asyncio.create_task(writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT))
            await asyncio.gather(*(writer.get("/x") for _ in range(30)))
            assert loop.time() < 1
            await blocked
            assert loop.time() >= 50

    run_virtually(main())


async def test_a_write_whose_deadline_ends_before_the_reset_fails_at_once_and_was_not_sent() -> None:
    notes = Notes()
    clock = Leap()

    refuse = httpx2.Response(429, headers={"Retry-After": "60"})
    async with Writer(SETTINGS, transport=mock(lambda _: refuse), clock=clock, listener=notes) as writer:
        with pytest.raises(Unavailable, match="deadline passed before it could be sent: the service's rate limit is used up") as caught:
            await writer.send("POST", "/x", {}, retry=RetryClass.CREATE, deadline=30)
        assert (caught.value.id, writer.requests) == ("RC-rate-limited", 1)

    assert clock.slept == []


async def test_a_long_wait_is_reported() -> None:
    notes = Notes()
    answers = iter([httpx2.Response(429, headers={"Retry-After": "60"}), httpx2.Response(200, json={})])

    async with Reader(SETTINGS, transport=mock(lambda _: next(answers)), clock=Leap(), listener=notes) as reader:
        await reader.get("/x")

    assert ("waiting", 60.0, "the service's rate limit") in notes.lines


def test_a_wait_for_the_limit_is_reported_once_however_many_requests_wait() -> None:
    notes = Notes()
    answers = iter([httpx2.Response(429, headers={"Retry-After": "60"}), *(httpx2.Response(200, json={}) for _ in range(16))])

    async def main() -> None:
        async with Reader(SETTINGS, transport=mock(lambda _: next(answers)), clock=LoopClock(0.0), listener=notes) as reader:
            await asyncio.gather(*(reader.get(f"/x/{number}") for number in range(8)))

    run_virtually(main())
    waits = [line for line in notes.lines if line[0] == "waiting" and line[1] > 10]  # what comes after it is pacing
    assert waits == [("waiting", 60.0, "the service's rate limit")]


def test_before_the_first_answer_only_a_few_are_sent_and_then_all_that_may() -> None:
    pace = Pace(None, lambda: 0.0)
    tickets = []
    while pace.ready_at("GET", 0.0) <= 0.0:
        tickets.append(pace.take("GET", 0.0))
    assert len(tickets) == 8
    pace.answered(tickets[0], 200, Hints(), 0.1)
    assert pace.ready_at("GET", 0.1) <= 0.1


DATE = read_hints({"date": formatdate(NOW, usegmt=True)}, NOW).date


def may_go(pace: Pace, now: float) -> int:
    """How many may go now, which are taken."""
    taken = 0
    while pace.ready_at("GET", now) <= now:
        pace.take("GET", now)
        taken += 1
    return taken


def test_requests_sent_before_the_limit_was_known_count_against_it() -> None:
    pace = Pace(None, lambda: 0.0)
    tickets = [pace.take("GET", 0.0) for _ in range(8)]
    pace.answered(tickets[0], 200, Hints(DATE, None, 40, 20, NOW + 90), 0.1)
    assert may_go(pace, 0.1) == 20 - 7
    pace.lost(tickets[1])
    pace.answered(tickets[2], 200, Hints(DATE, None, 40, 6, NOW + 90), 0.2)
    assert may_go(pace, 0.2) == 0


def test_a_reset_further_away_than_any_wait_is_reported_in_full() -> None:
    pace = Pace(None, lambda: 0.0)
    pace.answered(pace.take("GET", 0.0), 200, Hints(DATE, None, 40, 20, NOW + 3600), 0.0)
    allowance = pace.allowance(0.0)
    assert allowance is not None
    assert allowance.resets_in == 3600


def test_the_last_of_a_quota_goes_before_the_reset() -> None:
    quota = Quota(12)
    quota.take(0.0)
    quota.under_way -= 1
    quota.learn(1, 60.0, 0.0)
    assert quota.ready_at(0.0) == 30.0


def test_an_answer_that_was_overtaken_does_not_bring_the_reset_nearer() -> None:
    quota = Quota(17)
    quota.learn(0, 12.0, 10.45)
    quota.learn(2, 11.0, 10.47)
    assert quota.ready_at(10.5) == 12.0


def test_answers_that_come_after_the_reset_leave_no_more_than_the_least_of_them() -> None:
    quota = Quota(17)
    quota.learn(4, 10.4, 10.2)
    for _ in range(4):
        quota.take(10.3)
    quota.under_way -= 1
    quota.learn(1, 10.4, 10.35)
    assert quota.ready_at(10.45) > 10.45  # the reset; what is under way will tell
    quota.under_way -= 1
    quota.learn(3, 10.4, 10.48)
    assert quota.ready_at(10.48) > 10.48


def test_after_a_reset_at_most_twice_as_many_as_after_the_last_go_before_an_answer() -> None:
    quota, now = Quota(100), 0.0
    quota.learn(0, 10.0, now)
    went = []
    for _ in range(9):
        now, went = now + 10.0, [*went, 0]
        while quota.ready_at(now) <= now and went[-1] < 100:
            quota.take(now)
            went[-1] += 1
        quota.under_way = 0
        quota.learn(99, now + 10.0, now)
        quota.learn(0, now + 10.0, now)
    assert went == [1, 2, 4, 8, 16, 32, 64, 100, 100]


def test_a_reset_that_comes_sooner_than_all_before_it_is_probed() -> None:
    quota, now = Quota(100), 0.0
    quota.learn(0, 60.0, now)
    went = []
    for lasts in (60.0, 60.0, 60.0, 60.0, 28.0, 60.0):
        now, went = quota.resets_at or 0.0, [*went, 0]
        while quota.ready_at(now) <= now and went[-1] < 100:
            quota.take(now)
            went[-1] += 1
        quota.under_way = 0
        quota.learn(99, now + lasts, now)
        quota.learn(0, now + lasts, now)
    assert went == [1, 2, 4, 8, 16, 1]


def test_requests_that_were_lost_count_as_taken() -> None:
    pace = Pace(None, lambda: 0.0)
    pace.answered(pace.take("GET", 0.0), 200, Hints(DATE, None, 10, 3, NOW + 50), 0.0)
    for _ in range(3):
        pace.lost(pace.take("GET", 1.0))
    assert pace.ready_at("GET", 1.0) == 50.0


def test_the_429s_of_one_wave_slow_down_once() -> None:
    pace = Pace(None, lambda: 0.0)
    pace.answered(pace.take("GET", 0.0), 200, Hints(), 0.1)
    wave = [pace.take("GET", 0.2) for _ in range(16)]
    pace.answered(wave[0], 429, Hints(), 0.3)
    held = pace.ready_at("GET", 0.3)
    for ticket in wave[1:]:
        pace.answered(ticket, 429, Hints(), 0.31)
    assert 0.3 < held == pace.ready_at("GET", 0.31) < 0.6
