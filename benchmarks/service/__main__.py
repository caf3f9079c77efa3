"""HTTP over the loopback interface, on connections that are kept open; each answer waits for the latency, and nothing else.

`GET /count` answers how many requests were sent since `POST /restart`, `GET /seen` which; `POST /reset` forgets what was written.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from email.utils import formatdate
from functools import partial
from http import HTTPStatus

from benchmarks.service.answers import Encoded, Service, encode
from benchmarks.service.contents import before, contents


class Connection(asyncio.Protocol):
    """One connection: a request at a time, in the order in which they arrive."""

    def __init__(self, service: Service, latency: float) -> None:
        self.service, self.latency = service, latency
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
        if not target.startswith("/v1/"):
            self._send(self._control(method, target))
        else:
            answer = self.service.answer(method, target, rest[:length])
            asyncio.get_running_loop().call_later(self.latency, self._send, answer)

    def _control(self, method: str, target: str) -> Encoded:
        match method, target:
            case "GET", "/count":
                return 200, encode(self.service.counts)
            case "GET", "/seen":
                return 200, encode(self.service.seen)
            case "POST", "/restart":
                self.service.restart()
            case "POST", "/reset":
                self.service.reset()
            case _:
                return 404, b"{}"
        return 200, b"{}"

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


async def serve(arguments: argparse.Namespace) -> None:
    """Serve until the process is ended; print the port when it is ready."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(service, arguments.latency / 1000), "127.0.0.1", arguments.port, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    fill = partial(before if arguments.empty else contents, arguments.shape, arguments.size)
    service = Service(fill, f"http://127.0.0.1:{port}")
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # it ends with whoever started it


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.service", description="Serve the contents of a benchmark's project from memory.")
    parser.add_argument("--shape", default="flat")
    parser.add_argument("--size", type=int, default=1000, help="objects")
    parser.add_argument("--latency", type=float, default=50.0, help="milliseconds an answer waits")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--empty", action="store_true", help="serve the organization before the first apply")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
