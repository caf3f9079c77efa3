"""One exchange: its deadline, its size, its words, and the token that stays where it belongs."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
import traceback
import zlib
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from client_fakes import SETTINGS, TOKEN, FakeService, Leap, Notes, Script, answer, hang_up, mock, raw, trickle

from reconciler import __version__
from reconciler.client import Answer, Request, RetryClass
from reconciler.client.exchange import printable
from reconciler.client.service import Reader, Writer
from reconciler.client.transport import OnlyGet
from reconciler.errors import Ambiguous, NotFound, ReconcilerError, Rejected, ServiceError, Unavailable
from tests.effort import within
from tests.proofs import costly

SLOW = b'HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{"id": "' + b"x" * 390 + b'"}'


def get(script: Script, *, path: str = "/x", query: dict[str, str] | None = None, **options: Any) -> Answer:
    async def main() -> Answer:
        async with FakeService([script]) as service, Reader(service.settings(**options), clock=Leap()) as reader:
            return await reader.get(path, query)

    return asyncio.run(main())


def send(script: Script, method: str = "POST", body: Any = None, **options: Any) -> Answer:
    async def main() -> Answer:
        async with FakeService([script]) as service, Writer(service.settings(**options), clock=Leap()) as writer:
            return await writer.send(method, "/x", body, retry=RetryClass.CREATE)

    return asyncio.run(main())


async def test_what_is_sent_is_the_token_the_version_and_json_to_the_path_below_v1() -> None:
    async with FakeService([answer(201, {"id": "n"})]) as service, Writer(service.settings()) as writer:
        await writer.send("POST", "/orgs/o/teams", {"title": "Ä\ud800", "none": None}, retry=RetryClass.CREATE)
        await writer.send("DELETE", "/orgs/o/teams/t", None, retry=RetryClass.IDEMPOTENT)
        await writer.get("/orgs/o", {"shareKey": "a b&c"})
        post, delete, get = service.seen
    assert (post.method, post.target) == ("POST", "/v1/orgs/o/teams")
    assert post.headers["authorization"] == f"Bearer {TOKEN}"
    assert post.headers["user-agent"] == f"reconciler/{__version__}"
    assert post.headers["content-type"] == "application/json"
    assert json.loads(post.body) == {"title": "Ä\ud800", "none": None}
    assert (delete.method, delete.body) == ("DELETE", b"")
    assert "content-type" not in delete.headers
    assert get.target == "/v1/orgs/o?shareKey=a+b%26c"
    assert "transfer-encoding" not in {**post.headers, **delete.headers, **get.headers}


def test_the_answer_carries_the_service_s_date_in_utc() -> None:
    assert get(answer(200, {}, {"Date": "Sun, 06 Nov 1994 08:49:37 GMT"})).date == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    for nonsense in ("yesterday", "", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "x" * 5000):
        assert get(answer(200, {}, {"Date": nonsense})).date is None


@pytest.mark.parametrize("status", [200, 201, 202, 204, 205, 299])
def test_any_2xx_is_an_answer(status: int) -> None:
    body = None if status in (204, 205) else {"a": [1, "é"]}
    assert send(answer(status, body)) == Answer(status, body, None)


def test_an_empty_201_that_says_it_is_empty_is_an_answer_and_one_that_may_be_cut_is_not() -> None:
    assert send(answer(201)).body is None
    assert send(raw(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")).body is None
    with pytest.raises(Ambiguous):
        send(raw(b"HTTP/1.1 201 Created\r\n\r\n", close=True))
    with pytest.raises(ServiceError, match="not JSON"):
        get(answer(200))


def test_a_205_without_a_length_does_not_wait_for_its_end() -> None:
    script = raw(b"HTTP/1.1 205 Reset Content\r\n\r\n")
    assert within(1, lambda: send(script, "DELETE"), clock=time.monotonic).status == 205


@costly
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(trickle(SLOW, 0.02), id="one byte at a time"),
        pytest.param(trickle(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000, 0.02), id="in the headers"),
        pytest.param(trickle(b"", 1), id="nothing at all"),
        pytest.param(raw(SLOW[:200]), id="half, then silence"),
        pytest.param(trickle(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.001), id="continue, for ever"),
        pytest.param(trickle(b"HTTP/1.1 500 No\r\nContent-Length: 9999\r\n\r\n" + b"x" * 9999, 0.002), id="an error that never ends"),
    ],
)
def test_no_service_is_slow_enough_to_pass_the_deadline(script: Script) -> None:
    async def main() -> None:
        async with FakeService([script]) as service, Writer(service.settings(timeout=0.5)) as writer:
            with pytest.raises(Ambiguous, match=r"within 0.5 s; its outcome is unknown"):
                await writer.send("POST", "/x", {}, retry=RetryClass.CREATE)

    within(0.95, lambda: asyncio.run(main()), clock=time.monotonic)


def test_a_shorter_deadline_of_the_operation_counts() -> None:
    async def main() -> None:
        async with FakeService([raw(SLOW[:200])]) as service, Writer(service.settings()) as writer:
            with pytest.raises(Ambiguous):
                await writer.send("PATCH", "/x", {}, retry=RetryClass.IDEMPOTENT, deadline=0.5)

    within(0.95, lambda: asyncio.run(main()), clock=time.monotonic)


def test_a_body_of_the_greatest_size_is_read_and_one_byte_more_is_not() -> None:
    fits = b'"' + b"x" * 998 + b'"'
    assert get(answer(200, fits), max_body=1000).body == "x" * 998
    with pytest.raises(ServiceError, match="more than 1000 bytes"):
        get(answer(200, fits + b" "), max_body=1000)
    with pytest.raises(Ambiguous, match="more than 1000 bytes"):
        send(answer(200, fits + b" "), max_body=1000)


def test_a_body_without_end_is_left_at_the_cap() -> None:
    async def flood(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65536)
            await writer.drain()

    with pytest.raises(ServiceError, match="more than"):
        get(flood, max_body=1_000_000)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b'{"a":1}', mtime=0)),
        ("deflate", zlib.compress(b'{"a":1}')),
        ("identity", b'{"a":1}'),
        ("GZip", gzip.compress(b'{"a":1}', mtime=0)),
    ],
)
def test_compressed_answers_are_read(encoding: str, data: bytes) -> None:
    assert get(answer(200, data, {"Content-Encoding": encoding})).body == {"a": 1}


def test_a_bomb_is_counted_as_it_unfolds() -> None:
    bomb = gzip.compress(b" " * 20_000_000, mtime=0)
    with pytest.raises(ServiceError, match="more than"):
        get(answer(200, bomb, {"Content-Encoding": "gzip"}), max_body=1_000_000)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip, gzip", gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0)),
        ("br", b"{}"),
        ("gzip", b"{}"),
        ("gzip", gzip.compress(b'{"a": 1}', mtime=0)[:-12]),
    ],
)
def test_an_encoding_that_was_not_asked_for_or_does_not_hold_is_unreadable(encoding: str, data: bytes) -> None:
    with pytest.raises(ServiceError, match=r"encoding|decompressed|JSON"):
        get(answer(200, data, {"Content-Encoding": encoding}))
    with pytest.raises(Rejected):
        get(answer(400, data, {"Content-Encoding": encoding}))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_the_token_reaches_no_other_host(status: int) -> None:
    async with FakeService([answer(200, {})]) as other:
        target = answer(status, None, {"Location": f"{other.base_url}/steal?shareKey=s3cret"})
        async with FakeService([target]) as service, Reader(service.settings()) as reader:
            with pytest.raises(ServiceError, match="never followed") as caught:
                await reader.get("/x")
            assert "s3cret" not in str(caught.value)
        assert other.connections == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": {"code": 400, "message": "title is too long"}}, "GET /x: it answered 400: title is too long"),
        ({"error": {"message": "a\x1b[31m\nb\u202e"}}, r"GET /x: it answered 400: a\x1b[31m\nb\u202e"),
        ({"error": {"message": 5}}, "GET /x: it answered 400"),
        ({"error": None}, "GET /x: it answered 400"),
        ({"error": {"message": "no"}, "shareKey": "s3cret"}, "GET /x: it answered 400: no"),
        ({"shareKey": "s3cret"}, "GET /x: it answered 400"),
        ([1], "GET /x: it answered 400"),
        (b"<html>\r\n<b>s3cret</b>", "GET /x: it answered 400"),
        (b"\xff\x00", "GET /x: it answered 400"),
        (b"", "GET /x: it answered 400"),
        (None, "GET /x: it answered 400"),
    ],
)
def test_an_error_says_what_the_service_said_and_no_terminal_obeys_it(body: Any, says: str) -> None:
    with pytest.raises(Rejected) as caught:
        get(answer(400, body))
    assert (str(caught.value), caught.value.status) == (says, 400)


def test_no_message_of_the_service_is_longer_than_200_characters() -> None:
    for body in ({"error": {"message": "x" * 60_000}}, {"error": {"message": "\U0001f4a9\u202e" * 1000}}):
        with pytest.raises(Rejected) as caught:
            get(answer(400, body))
        assert len(str(caught.value)) <= 200 + len("GET /x: ")
    assert len(printable("\u202e" * 500)) <= 200


def test_an_error_that_is_cut_off_still_has_its_status() -> None:
    with pytest.raises(NotFound):
        get(raw(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n{", close=True))


def test_a_401_names_the_variable_and_a_403_the_operation() -> None:
    with pytest.raises(Rejected, match="the token was refused") as caught:
        get(answer(401, {"error": {"message": "unknown token"}}))
    assert "RECONCILER_TOKEN" in str(caught.value.hint)
    with pytest.raises(Rejected, match="POST /x: the token's owner is not allowed to do this") as caught:
        send(answer(403, {}))


def everything(error: BaseException) -> str:
    """All that a careless program could print of an error."""
    chain, seen = [], error
    while seen is not None:
        chain += [repr(seen), str(seen), repr(vars(seen)), "".join(traceback.format_exception(seen))]
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    return "\n".join(chain)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(answer(401, {"error": {"message": f"Bearer {TOKEN} is unknown"}}), id="echoed in a message"),
        pytest.param(answer(500, f"{'x' * 190}{TOKEN}".encode()), id="echoed at the cut"),
        pytest.param(raw(f"{TOKEN}\r\n\r\n".encode(), close=True), id="echoed as garbage"),
        pytest.param(raw(f"HTTP/1.1 200 OK\r\n{TOKEN}\r\n\r\n".encode(), close=True), id="echoed as a broken header"),
        pytest.param(hang_up(), id="aiohttp's errors hold the headers"),
        pytest.param(answer(302, None, {"Location": f"/{TOKEN}"}), id="in a redirect"),
        pytest.param(raw(SLOW[:100]), id="a timeout"),
    ],
)
async def test_the_token_and_queries_are_in_no_error_log_or_notice(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    notes = Notes()

    async with FakeService([script]) as service, Writer(service.settings(timeout=0.1), clock=Leap(), listener=notes) as writer:
        assert TOKEN not in repr(writer)
        for attempt in (
            writer.get("/x", {"shareKey": "canary-key"}),
            writer.send("POST", "/x", {"secret": "canary-body"}, retry=RetryClass.CREATE),
        ):
            with pytest.raises(ServiceError) as caught:
                await attempt
            shown = everything(caught.value)
            for canary in (TOKEN, "canary-key", "canary-body"):
                assert canary not in shown
            assert caught.value.__context__ is None

    for record in caplog.records:
        assert "canary" not in record.getMessage()
        assert "/v1/" not in record.getMessage()
    assert "canary" not in repr(notes.lines)


async def test_the_listener_hears_every_request_answer_and_wait() -> None:
    notes = Notes()

    scripts = [answer(503, {}, {"Retry-After": "3"}), hang_up(), answer(200, {})]
    async with FakeService(scripts) as service, Reader(service.settings(), clock=Leap(), listener=notes, jitter=lambda: 0.5) as reader:
        await reader.get("/orgs/o", {"shareKey": "s"})

    sent, got = ("request", "GET", "/orgs/o"), ("answer", "GET", "/orgs/o")
    assert [line for line in notes.lines if line[0] != "waiting"] == [sent, (*got, 503), sent, (*got, None), sent, (*got, 200)]
    assert ("waiting", 3.0, "the service's rate limit") in notes.lines  # in place of a backoff


async def test_a_reader_has_no_method_that_writes_and_a_transport_that_refuses_to() -> None:
    public = {name for name in dir(Reader) if not name.startswith("_")}
    assert public == {
        "allowance", "announce", "count_objects", "get", "giving", "keeping", "list", "monotonic", "note_root", "requests", "skew", "speed",
    }  # fmt: skip
    sent: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.method)
        return httpx2.Response(200, json={})

    transport = OnlyGet(mock(handler))
    for method in ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
        with pytest.raises(ReconcilerError, match="refused to send") as caught:
            await transport.send(Request(method, "https://x.test", {}, None, 1.0, 1000))
        assert isinstance(caught.value, ReconcilerError)
    async with Reader(SETTINGS, transport=mock(handler), clock=Leap()) as reader:
        with pytest.raises(ReconcilerError):  # even from within
            await reader._conversation.ask("DELETE", "/x", retry=RetryClass.IDEMPOTENT)
        await reader.get("/x")

    assert sent == ["GET"]


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    under_way = most = 0

    async def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.05)
        under_way -= 1
        return httpx2.Response(200, json={})

    settings = type(SETTINGS)(SETTINGS.base_url, TOKEN, max_concurrency=12)
    async with Reader(settings, transport=mock(handler)) as reader:
        await asyncio.gather(*(reader.get("/x") for _ in range(100)))
        assert reader.requests == 100

    assert most == 12


async def test_a_request_that_is_cancelled_gives_its_place_back() -> None:
    async with FakeService([raw(SLOW[:200]), answer(200, {})]) as service, Reader(service.settings(max_concurrency=1)) as reader:
        task = asyncio.create_task(reader.get("/x"))
        while not service.seen:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await reader.get("/x")).status == 200


async def test_a_service_nobody_can_reach_is_unavailable_and_says_which() -> None:
    async with FakeService([answer(200, {})]) as service:
        pass
    async with Reader(service.settings(), clock=Leap()) as reader:
        with pytest.raises(Unavailable, match="GET /x: the service cannot be reached: the connection was refused"):
            await reader.get("/x")
