"""HTTP over the loopback interface, on connections that are kept open; each answer waits for the latency, and nothing else."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus

Encoded = tuple[int, bytes]
"""A status and a body."""

Answer = Callable[[str, str, bytes], Encoded]
"""From a method, a target and a body."""


class ServedConnection(asyncio.Protocol):
    """One connection: a request at a time. `control`: answers at once, where it knows the target."""

    def __init__(self, answer: Answer, control: Callable[[str, str], Encoded | None], latency: float) -> None:
        self.answer, self.control, self.latency = answer, control, latency
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, rest = self._received.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
        if len(rest) < length:
            return
        self._received = rest[length:]
        known = self.control(method, target)
        if known is not None:
            self._send(known)
        else:
            asyncio.get_running_loop().call_later(self.latency, self._send, self.answer(method, target, rest[:length]))

    def _send(self, answer: Encoded) -> None:
        if self._transport is None:
            return
        status, body = answer
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ndate: {formatdate(time.time(), usegmt=True)}\r\n"
        if body:
            head += "content-type: application/json\r\n"
        if status != HTTPStatus.NO_CONTENT:
            head += f"content-length: {len(body)}\r\n"
        self._transport.write(f"{head}\r\n".encode() + body)


async def serve(connect: Callable[[int], ServedConnection], port: int = 0) -> None:
    """Print the port when it is ready, then serve until standard input ends. `connect`: from the port to a new connection."""
    loop = asyncio.get_running_loop()
    chosen: list[int] = []
    server = await loop.create_server(lambda: connect(chosen[0]), "127.0.0.1", port, backlog=1024)
    chosen.append(server.sockets[0].getsockname()[1])
    print(chosen[0], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # it ends with whoever started it
