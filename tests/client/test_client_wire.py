"""The default transport: sends once, as it was told, and says truthfully what was sent.

A process that stands still, for however long, at whatever moment: what it had not sent by then is not sent afterwards.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from client_fakes import TOKEN, FakeService, Leap, Seen, answer, hang_up, raw

from reconciler.client import Broken, ClientSettings, NeverSent, Request, RetryClass, encode
from reconciler.client.service import Reader, Writer
from reconciler.client.wire import Wire, default_transport
from reconciler.errors import Ambiguous, ServiceError, Unavailable
from tests.certificates import untrusted
from tests.proofs import costly


@asynccontextmanager
async def open_until_the_end(transport: Wire) -> AsyncIterator[Wire]:
    try:
        yield transport
    finally:
        await transport.close()


def request(method: str, url: str) -> Request:
    return Request(method, url, {"Authorization": f"Bearer {TOKEN}"}, None, 5.0, 1000)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST", "PATCH"])
async def test_a_request_on_a_kept_connection_that_was_closed_is_sent_once_and_not_called_unsent(method: str) -> None:
    async with FakeService([answer(200, {}), hang_up(), answer(200, {})]) as service:
        async with open_until_the_end(default_transport(service.base_url, 4)) as transport:
            await transport.send(request("GET", f"{service.base_url}/warm"))
            with pytest.raises(Broken):
                await transport.send(request(method, f"{service.base_url}/x"))
        assert [seen.target for seen in service.seen] == ["/warm", "/x"]
        assert service.connections == 1


async def test_a_service_that_closes_as_we_send_never_makes_us_believe_that_nothing_was_sent() -> None:
    done = json_then_close(b'{"id":"n"}')
    async with FakeService([done]) as service, Writer(service.settings(), clock=Leap()) as writer:
        answered = doubted = 0
        for _ in range(200):
            try:
                await writer.send("PUT", "/orgs/o/teams", {"title": "T"}, retry=RetryClass.CREATE)
                answered += 1
            except Ambiguous:
                doubted += 1
        assert answered + doubted == writer.requests == 200
        assert answered <= len(service.seen) <= answered + doubted


def json_then_close(body: bytes) -> Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]:
    return raw(b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body), close=True)


@pytest.mark.parametrize("value", ["..", ".", "a/b", "é", "a%2Fb", "?", "#", "a;b=c", "+", "~"])
async def test_a_path_arrives_as_it_was_encoded(value: str) -> None:
    path = encode("/orgs/{org}/spaces", {"org": value})
    async with FakeService([answer(200, {})]) as service, Reader(service.settings()) as reader:
        await reader.get(path, {"page": "a+/=%2E é"})
        assert service.seen[0].target == f"/v1{path}?page=a%2B%2F%3D%252E+%C3%A9"


async def test_connections_are_kept_and_no_more_than_the_requests_under_way() -> None:
    async with FakeService([answer(200, {})]) as service, Reader(service.settings(max_concurrency=3)) as reader:
        await asyncio.gather(*(reader.get("/x") for _ in range(60)))
        assert service.connections <= 3
        assert len(service.seen) == 60


async def test_cookies_are_not_kept() -> None:
    async with FakeService([answer(200, {}, {"Set-Cookie": "a=b; Path=/"})]) as service:
        named = service.base_url.replace("127.0.0.1", "localhost")  # jars keep no cookies of addresses
        async with Reader(ClientSettings(named, TOKEN)) as reader:
            await reader.get("/x")
            await reader.get("/x")
        assert "cookie" not in service.seen[1].headers


async def test_a_netrc_does_not_replace_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))

    async with FakeService([answer(200, {})]) as service, Reader(service.settings()) as reader:
        await reader.get("/x")
        assert service.seen[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_a_name_that_does_not_exist_was_provably_not_sent() -> None:
    async with Writer(ClientSettings("https://nobody.invalid", TOKEN), clock=Leap()) as writer:
        with pytest.raises(Unavailable, match="its host name cannot be resolved"):
            await writer.send("POST", "/x", {}, retry=RetryClass.CREATE)


async def test_a_connection_that_is_never_ready_was_provably_not_sent_once_half_the_deadline_is_over() -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)  # it accepts, and never shakes hands
    port = server.sockets[0].getsockname()[1]
    async with Writer(ClientSettings(f"https://127.0.0.1:{port}", TOKEN, timeout=0.2), clock=Leap()) as writer:
        with pytest.raises(Unavailable, match="connecting took too long"):
            await writer.send("POST", "/x", {}, retry=RetryClass.CREATE)
        assert writer.requests == 4
    server.close()
    await server.wait_closed()


async def test_a_proxy_that_refuses_has_sent_nothing_and_sees_no_token() -> None:
    async with FakeService([answer(403, {})]) as proxy:
        environ = {"HTTPS_PROXY": proxy.base_url.replace("://", "://user:p%40ss@")}
        async with open_until_the_end(default_transport("https://api.example.test", 2, environ)) as transport:
            with pytest.raises(NeverSent, match="the proxy refused"):
                await transport.send(request("POST", "https://api.example.test/v1/x"))
        assert (proxy.seen[0].method, proxy.seen[0].headers["proxy-authorization"]) == ("CONNECT", "Basic dXNlcjpwQHNz")
        assert TOKEN not in repr(proxy.seen)


@pytest.mark.parametrize(
    ("base_url", "environ"),
    [
        ("https://api.example.test", {}),
        ("https://api.example.test", {"HTTPS_PROXY": "http://proxy.test", "NO_PROXY": "example.test"}),
        ("http://127.0.0.1:1", {"HTTPS_PROXY": "http://proxy.test", "HTTP_PROXY": "http://proxy.test"}),
    ],
)
def test_no_proxy_is_used_where_none_is_meant(base_url: str, environ: dict[str, str]) -> None:
    assert default_transport(base_url, 1, environ).proxy is None


def test_one_tls_context_is_shared_and_verifies() -> None:
    first, second = (default_transport("https://api.example.test", 1, {}) for _ in range(2))
    assert first.ssl_context is second.ssl_context
    for context in (first.ssl_context, default_transport("http://127.0.0.1", 1, {}).ssl_context):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname


@costly
def test_no_module_of_the_package_needs_the_library_that_httpx2_continues() -> None:
    program = """
import importlib, pkgutil, sys
sys.modules["httpx"] = None
import reconciler
for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate and its key in one file, for localhost, that nobody trusts."""
    return untrusted(tmp_path_factory.mktemp("tls"))


def with_tls(certificate: Path, client: Callable[[str], Awaitable[None]]) -> None:
    async def main() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while await reader.readuntil(b"\r\n\r\n"):
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()
                with suppress(ConnectionError, ssl.SSLError):
                    await writer.wait_closed()

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        try:
            await client(f"https://localhost:{server.sockets[0].getsockname()[1]}")
        finally:
            server.close()
            await server.wait_closed()

    asyncio.run(main())


def test_a_certificate_nobody_trusts_is_refused_before_anything_is_sent(certificate: Path) -> None:
    async def client(base_url: str) -> None:
        async with Writer(ClientSettings(base_url, TOKEN), clock=Leap()) as writer:
            with pytest.raises(Unavailable, match="its certificate is not trusted; SSL_CERT_FILE names the file"):
                await writer.send("POST", "/x", {}, retry=RetryClass.CREATE)

    with_tls(certificate, client)


def test_a_certificate_for_another_host_is_called_that_because_no_authority_helps(certificate: Path) -> None:
    context = ssl.create_default_context(cafile=certificate)

    async def client(base_url: str) -> None:
        there = base_url.replace("localhost", "127.0.0.1")
        async with Reader(ClientSettings(there, TOKEN), clock=Leap(), transport=Wire(context, 4, None, {})) as reader:
            with pytest.raises(Unavailable, match="its certificate is for another host") as refused:
                await reader.get("/x")
            assert "SSL_CERT_FILE" not in refused.value.message

    with_tls(certificate, client)


def test_closing_leaves_nothing_open_over_tls(certificate: Path) -> None:
    context = ssl.create_default_context(cafile=certificate)

    async def client(base_url: str) -> None:
        async with Reader(ClientSettings(base_url, TOKEN), transport=Wire(context, 4, None, {})) as reader:
            await asyncio.gather(*(reader.get("/x") for _ in range(8)))

    assert warnings_of(lambda: with_tls(certificate, client)) == []


@pytest.mark.parametrize(
    "script", [answer(200, {}), hang_up(), raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), answer(500, b"x" * 200_000)]
)
def test_closing_leaves_nothing_open(script: Any) -> None:
    async def main() -> None:
        async with FakeService([script]) as service, Reader(service.settings(timeout=0.05), clock=Leap()) as reader:
            await asyncio.gather(*(reader.get("/x") for _ in range(4)), return_exceptions=True)

    assert warnings_of(lambda: asyncio.run(main())) == []


def test_a_client_that_is_made_and_never_used_leaves_nothing_open() -> None:
    def make() -> None:
        Reader(ClientSettings("https://api.example.test", TOKEN))

    assert warnings_of(make) == []


def warnings_of(act: Callable[[], None]) -> list[str]:
    gc.freeze()  # what other tests left is not looked at: with it, this takes a second
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
        gc.collect()
    return [str(warning.message) for warning in caught]


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


@costly
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
