"""The service over HTTP.

`GET /count` answers how many requests were sent since `POST /restart`, `GET /seen` which; `POST /reset` forgets what was written.
"""

from __future__ import annotations

import argparse
import asyncio
from functools import cache, partial

from benchmarks.service.answers import Service, encode
from benchmarks.service.contents import before, contents
from benchmarks.service.http import Encoded, ServedConnection, serve


def control(service: Service, method: str, target: str) -> Encoded | None:
    """The answer to a question about the requests so far; None for a request to the service."""
    match method, target:
        case "GET", "/count":
            return 200, encode(service.counts)
        case "GET", "/seen":
            return 200, encode(service.seen)
        case "POST", "/restart":
            service.restart()
            return 200, b"{}"
        case "POST", "/reset":
            service.reset()
            return 200, b"{}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.service", description="Serve the contents of a benchmark's project from memory.")
    parser.add_argument("--shape", default="flat")
    parser.add_argument("--size", type=int, default=1000, help="objects")
    parser.add_argument("--latency", type=float, default=50.0, help="milliseconds an answer waits")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--empty", action="store_true", help="serve the organization before the first apply")
    arguments = parser.parse_args()
    fill = partial(before if arguments.empty else contents, arguments.shape, arguments.size)

    @cache
    def service(port: int) -> Service:
        return Service(fill, f"http://127.0.0.1:{port}")

    def connect(port: int) -> ServedConnection:
        return ServedConnection(service(port).answer, partial(control, service(port)), arguments.latency / 1000)

    asyncio.run(serve(connect, arguments.port))


if __name__ == "__main__":
    main()
