"""What the client's tests talk to: a server on a real socket that can misbehave to the byte, and time that passes at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2

from reconciler.client import ClientSettings
from tests.transports import Through

TOKEN = "tok_canary_5f3a9c"
EPOCH = 1_900_000_000.0  # the wall clock at monotonic 0: 2030-03-17 17:46:40 UTC


class Leap:
    """A clock whose sleeps take no time and are written down."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return EPOCH + self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Seen:
    """One request as it arrived, to the byte."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


def raw(data: bytes, *, close: bool = False) -> Script:
    """Answer exactly these bytes."""

    async def act(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()

    return act


def answer(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Script:
    """Answer JSON, with a Content-Length."""
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return raw("\r\n".join([*lines, "", ""]).encode() + data)


def hang_up() -> Script:
    """Read the request, then close without a word."""
    return raw(b"", close=True)


def reset() -> Script:
    """Read the request, then reset the connection."""

    async def act(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    return act


def trickle(data: bytes, pause: float) -> Script:
    """Send one byte at a time, for ever slower than any deadline."""

    async def act(_: Seen, writer: asyncio.StreamWriter) -> None:
        for byte in data:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(pause)

    return act


@dataclass
class FakeService:
    """An HTTP server on the loopback interface that answers request n with script n, and the last one from then on."""

    scripts: Sequence[Script]
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    base_url: str = ""

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for _ in range(5):
            await asyncio.sleep(0)  # a connection that was just accepted has its task now
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def settings(self, **options: Any) -> ClientSettings:
        return ClientSettings(self.base_url, TOKEN, **options)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
                seen = Seen(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
                self.seen.append(seen)
                await self.scripts[min(len(self.seen), len(self.scripts)) - 1](seen, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def mock(handler: Callable[[httpx2.Request], httpx2.Response | Coroutine[Any, Any, httpx2.Response]]) -> Through:
    """A transport without sockets."""
    return Through(httpx2.MockTransport(handler))


SETTINGS = ClientSettings("https://api.example.test", TOKEN)


@dataclass
class Notes:
    """A listener that writes everything down."""

    lines: list[tuple[Any, ...]] = field(default_factory=list)

    def queued(self) -> None:
        """Not written down: a request follows."""

    def request(self, method: str, path: str, attempt: int) -> None:
        self.lines.append(("request", method, path))

    def answer(self, method: str, path: str, status: int | None, seconds: float) -> None:
        self.lines.append(("answer", method, path, status))

    def read(self, objects: int) -> None:
        """Not written down: the answer was."""

    def waiting(self, seconds: float, why: str) -> None:
        self.lines.append(("waiting", seconds, why))
