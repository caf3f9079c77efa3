"""Retry classes: every class against everything that can come back, first as a table, then over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from client_fakes import EPOCH, SETTINGS, FakeService, Leap, Script, answer, hang_up, mock, raw, reset

from reconciler.client import ClientSettings, RetryClass
from reconciler.client.retry import (
    BACKOFF_MAX,
    BREAKER_COOL,
    BREAKER_FAILURES,
    BUDGET_MIN,
    AttemptFault,
    Breaker,
    Result,
    RetryBudget,
    backoff,
    cause_of,
    classify,
    error_for,
    is_failure,
    is_sign_of_life,
)
from reconciler.client.service import Writer
from reconciler.errors import Ambiguous, NotFound, Rejected, ServiceError, Unavailable
from tests.proofs import costly
from tests.virtual import LoopClock, run_virtually

READ, IDEMPOTENT, CREATE = RetryClass
OK = {"id": "x"}

HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"id": '
GARBAGE = b"this is not HTTP\r\n\r\n"
CUT_CHUNK = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"id": "'
BAD_CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}"

# what came back -> for each class: how many requests are sent, and the error in the end
TABLE: list[tuple[str, Callable[[], Script], tuple[int, type], tuple[int, type], tuple[int, type]]] = [
    ("hang up", hang_up, (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("reset", reset, (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("not HTTP", lambda: raw(GARBAGE, close=True), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("cut in its length", lambda: raw(HALF, close=True), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("cut in a chunk", lambda: raw(CUT_CHUNK, close=True), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("broken chunk", lambda: raw(BAD_CHUNK, close=True), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("not JSON", lambda: answer(200, b"<html>"), (4, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("NaN", lambda: answer(200, b'{"id": NaN}'), (4, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("deep JSON", lambda: answer(200, b"[" * 100_000), (4, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("not UTF-8", lambda: answer(200, b'{"id": "\xff"}'), (4, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("302", lambda: answer(302, None, {"Location": "/elsewhere"}), (1, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("307", lambda: answer(307, None, {"Location": "/elsewhere"}), (1, ServiceError), (1, Ambiguous), (1, Ambiguous)),
    ("400", lambda: answer(400, {}), (1, Rejected), (1, Rejected), (1, Rejected)),
    ("401", lambda: answer(401, {}), (1, Rejected), (1, Rejected), (1, Rejected)),
    ("403", lambda: answer(403, {}), (1, Rejected), (1, Rejected), (1, Rejected)),
    ("404", lambda: answer(404, {}), (1, NotFound), (1, NotFound), (1, NotFound)),
    ("408", lambda: answer(408, {}), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("409", lambda: answer(409, {}), (1, Rejected), (1, Rejected), (1, Rejected)),
    ("412", lambda: answer(412, {}), (1, Rejected), (1, Rejected), (1, Rejected)),
    ("429", lambda: answer(429, {}), (13, Unavailable), (13, Unavailable), (13, Unavailable)),
    ("500", lambda: answer(500, {}), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("502 in HTML", lambda: answer(502, b"<html>"), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("503", lambda: answer(503, {}, {"Retry-After": "1"}), (4, Unavailable), (4, Ambiguous), (1, Ambiguous)),
    ("799", lambda: answer(799, {}), (1, ServiceError), (1, Ambiguous), (1, Ambiguous)),
]
CASES = [
    pytest.param(script, retry, *expected, id=f"{name}-{retry.name}")
    for name, script, *rows in TABLE
    for retry, expected in zip(RetryClass, rows, strict=True)
]


async def ask(service: FakeService, retry: RetryClass, **options: Any) -> tuple[Writer, BaseException | None]:
    async with Writer(service.settings(**options), clock=Leap(), jitter=lambda: 0.5) as writer:
        try:
            if retry is READ:
                await writer.get("/orgs/o")
            else:
                await writer.send("POST" if retry is CREATE else "PATCH", "/orgs/o", {}, retry=retry)
        except ServiceError as error:
            return writer, error
    return writer, None


@costly
@pytest.mark.parametrize(("script", "retry", "requests", "error"), CASES)
async def test_each_class_answers_each_failure_as_the_table_says(
    script: Callable[[], Script], retry: RetryClass, requests: int, error: type
) -> None:
    async with FakeService([script()]) as service:
        writer, caught = await ask(service, retry)
        assert type(caught) is error
        assert len(service.seen) == writer.requests == requests
        assert " /orgs/o: " in str(caught)


@pytest.mark.parametrize(("script", "retry", "requests", "error"), [case for case in CASES if case.values[2] in (4, 13)])
async def test_what_is_retried_may_go_well_the_second_time(
    script: Callable[[], Script], retry: RetryClass, requests: int, error: type
) -> None:
    async with FakeService([script(), answer(200, OK)]) as service:
        writer, caught = await ask(service, retry)
        assert caught is None
        assert len(service.seen) == writer.requests == 2


@pytest.mark.parametrize("retry", RetryClass)
async def test_what_was_never_sent_is_tried_again_and_then_provably_not_done(retry: RetryClass) -> None:
    async with FakeService([answer(200, OK)]) as service:
        pass  # now nobody listens there
    writer, caught = await ask(service, retry)
    assert type(caught) is Unavailable
    assert "cannot be reached" in str(caught)
    assert writer.requests == 4


async def test_a_create_is_sent_again_after_a_connection_that_never_was() -> None:
    sent: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.method)
        if len(sent) == 1:
            raise httpx2.ConnectError("refused")
        return httpx2.Response(201, json=OK)

    async with Writer(SETTINGS, transport=mock(handler), clock=Leap()) as writer:
        assert (await writer.send("POST", "/orgs/o/teams", {}, retry=CREATE)).status == 201

    assert sent == ["POST", "POST"]


@pytest.mark.parametrize(
    ("method", "scripts", "error"),
    [
        pytest.param("POST", [hang_up(), answer(400, {})], Ambiguous, id="refused perhaps because the first was done"),
        pytest.param("PATCH", [hang_up(), answer(404, {})], Ambiguous, id="gone, but perhaps changed before"),
        pytest.param("PATCH", [answer(500), answer(429), answer(429), answer(429)], Ambiguous, id="429 does not undo a 500"),
        pytest.param("DELETE", [hang_up(), answer(404, {})], NotFound, id="what a delete wanted is so"),
        pytest.param("DELETE", [hang_up(), answer(403, {})], Ambiguous, id="a delete refused the second time"),
    ],
)
async def test_a_write_stays_in_doubt_whatever_later_attempts_are_answered(method: str, scripts: list[Script], error: type) -> None:
    async with FakeService(scripts) as service, Writer(service.settings(), clock=Leap()) as writer:
        with pytest.raises(ServiceError) as caught:
            await writer.send(method, "/x", None, retry=IDEMPOTENT)
        assert type(caught.value) is error


async def test_a_create_stays_undone_when_a_429_comes_before_its_doubt_and_not_after() -> None:
    async with FakeService([answer(429), hang_up()]) as service, Writer(service.settings(), clock=Leap()) as writer:
        with pytest.raises(Ambiguous, match="outcome is unknown"):
            await writer.send("POST", "/x", {}, retry=CREATE)
        assert len(service.seen) == 2


RESULTS: list[Result] = [*AttemptFault, *range(100, 1000)]


@pytest.mark.parametrize("retry", RetryClass)
def test_every_result_has_a_verdict_and_an_error_that_agree(retry: RetryClass) -> None:
    for result in RESULTS:
        effect, again = classify(retry, result)
        if effect == "done":
            assert isinstance(result, int)
            assert 200 <= result <= 299
            assert not again
            continue
        error = error_for(retry, "POST", result, in_doubt=effect == "unknown")
        assert (error is Ambiguous) == (effect == "unknown")
        assert retry is not READ or effect == "nothing"
        if retry is CREATE and again:
            assert result in (429, AttemptFault.NOT_SENT)
        if error in (Rejected, NotFound):
            assert isinstance(result, int)
            assert 400 <= result <= 499
            assert not again


def test_refusals_that_need_different_remedies_have_different_causes() -> None:
    causes = {status: cause_of(status) for status in (400, 401, 403, 404, 409, 412, 422, 429, 503)}
    assert causes[400] == causes[422] == "RC-request-refused"
    assert causes[409] == causes[412] == "RC-request-conflict"
    assert len(set(causes.values())) == 7


def test_backoff_is_full_jitter_doubled_and_capped() -> None:
    assert [backoff(n, 1.0) for n in (1, 2, 3, 9)] == [1.0, 2.0, 4.0, BACKOFF_MAX]
    assert backoff(3, 0.0) == 0.0
    assert backoff(3, 0.25) == 1.0


async def test_backoff_sleeps_and_says_why() -> None:
    clock = Leap()

    async with Writer(SETTINGS, transport=mock(lambda _: httpx2.Response(500)), clock=clock, jitter=lambda: 0.5) as writer:
        with pytest.raises(Unavailable):
            await writer.get("/x")

    assert clock.slept == [0.5, 1.0, 2.0]


def test_the_budget_grants_twenty_retries_and_then_a_fifth_of_the_requests() -> None:
    budget = RetryBudget()
    assert [budget.grant(25) for _ in range(BUDGET_MIN + 1)] == [True] * BUDGET_MIN + [False]
    assert not budget.grant(100)
    assert budget.grant(101)
    assert not budget.grant(101)
    assert budget.grant(1000)


def test_without_a_budget_a_request_ends_at_its_first_failure() -> None:
    async def main() -> int:
        calls = 0

        def handler(_: httpx2.Request) -> httpx2.Response:
            nonlocal calls
            calls += 1
            return httpx2.Response(500 if calls % 4 else 404)  # a 404 closes the breaker's row

        async with Writer(SETTINGS, transport=mock(handler), clock=Leap()) as writer:
            for _ in range(200):
                with pytest.raises(ServiceError):
                    await writer.get("/x")
            return calls

    assert asyncio.run(main()) <= 200 + max(BUDGET_MIN, 0.2 * 250)


def fail(breaker: Breaker, times: int, *, start: float = 0.0) -> float:
    for n in range(times):
        breaker.record(500, sent=start + n, now=start + n + 0.5)
    return start + times


def test_the_breaker_opens_after_ten_failures_in_a_row_and_lets_one_try_after_its_time() -> None:
    breaker = Breaker()
    now = fail(breaker, BREAKER_FAILURES - 1)
    assert breaker.allows(now)
    breaker.record(AttemptFault.BROKEN, sent=now, now=now)
    assert breaker.is_open
    assert not breaker.allows(now + BREAKER_COOL - 1)
    assert breaker.allows(now + BREAKER_COOL)
    assert not breaker.allows(now + BREAKER_COOL), "one may try, not two"
    breaker.record(404, sent=now + BREAKER_COOL, now=now + BREAKER_COOL + 1)
    assert not breaker.is_open
    assert breaker.allows(now + BREAKER_COOL + 1)


def test_a_success_begins_a_new_row_and_a_429_neither_lengthens_nor_ends_one() -> None:
    breaker = Breaker()
    now = fail(breaker, BREAKER_FAILURES - 1)
    breaker.record(429, sent=now, now=now)
    assert not breaker.is_open
    breaker.record(200, sent=now, now=now)
    fail(breaker, BREAKER_FAILURES - 1, start=now)
    assert not breaker.is_open
    assert not is_failure(429)
    assert not is_sign_of_life(429)


def test_a_reset_that_cuts_many_connections_at_once_is_one_failure() -> None:
    breaker = Breaker()
    for _ in range(64):
        breaker.record(AttemptFault.BROKEN, sent=1.0, now=2.0)
    assert not breaker.is_open


def test_a_service_that_is_down_is_not_asked_by_everybody() -> None:
    async def main() -> tuple[int, list[BaseException | Any]]:
        async def handler(_: httpx2.Request) -> httpx2.Response:
            await asyncio.sleep(0.01)
            return httpx2.Response(503)

        async with Writer(SETTINGS, transport=mock(handler), clock=LoopClock(EPOCH)) as writer:
            results = await asyncio.gather(*(writer.get("/x") for _ in range(500)), return_exceptions=True)
            return writer.requests, results

    requests, results = run_virtually(main())
    assert all(type(result) is Unavailable for result in results)
    assert requests < 60
    assert "keeps failing" in str(results[-1])


def test_an_idempotent_write_that_was_sent_before_the_breaker_opened_is_ambiguous() -> None:
    async def main() -> list[BaseException | Any]:
        async with Writer(SETTINGS, transport=mock(lambda _: httpx2.Response(500)), clock=LoopClock(EPOCH), jitter=lambda: 0.5) as writer:
            tasks = (writer.send("PATCH", "/x", {}, retry=IDEMPOTENT) for _ in range(100))
            return await asyncio.gather(*tasks, return_exceptions=True)

    assert {type(result) for result in run_virtually(main())} == {Ambiguous, Unavailable}


async def test_the_deadline_of_a_write_covers_its_retries() -> None:
    clock = Leap()

    async with Writer(SETTINGS, transport=mock(lambda _: httpx2.Response(500)), clock=clock, jitter=lambda: 1.0) as writer:
        with pytest.raises(Ambiguous):
            await writer.send("PATCH", "/x", {}, retry=IDEMPOTENT, deadline=2.5)
        assert writer.requests == 2

    assert sum(clock.slept) < 2.5


def test_a_write_whose_deadline_passes_while_it_waits_its_turn_was_provably_not_sent() -> None:
    async def main() -> None:
        async def handler(_: httpx2.Request) -> httpx2.Response:
            await asyncio.sleep(5)
            return httpx2.Response(200, json=OK)

        settings = ClientSettings("https://api.example.test", "t", max_concurrency=1)
        async with Writer(settings, transport=mock(handler), clock=LoopClock(EPOCH)) as writer:
            first = asyncio.create_task(writer.send("POST", "/x", {}, retry=CREATE))
            await asyncio.sleep(0)
            with pytest.raises(Unavailable, match=r"deadline passed before it could be sent$") as caught:
                await writer.send("POST", "/x", {}, retry=CREATE, deadline=2)
            assert caught.value.id == "RC-too-late-to-send"
            assert (await first).status == 200
            assert writer.requests == 1

    run_virtually(main())


async def test_nobody_backs_off_before_a_service_that_is_not_asked_any_more() -> None:
    clock = Leap()

    async with Writer(SETTINGS, transport=mock(lambda _: httpx2.Response(500)), clock=clock, jitter=lambda: 0.5) as writer:
        for _ in range(3):  # 4 + 4 + 2 failures
            with pytest.raises(Unavailable):
                await writer.get("/x")
        assert writer.requests == BREAKER_FAILURES

    assert clock.slept == [0.5, 1.0, 2.0, 0.5, 1.0, 2.0, 0.5]
