"""The admin API of Kong as far as `deck diff` reads it: services in pages, and empty lists of everything else.

`python -m benchmarks.peers.kong SIZE LATENCY`: objects, and milliseconds that each answer waits.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from urllib.parse import parse_qs

from benchmarks.service.http import Encoded, ServedConnection, serve

PAGE_MAX = 1000


def service(number: int) -> dict[str, Any]:
    """A Kong service with about ten fields, as decK's file has it."""
    return {
        "name": f"service-{number}",
        "host": f"host-{number}.example",
        "port": 8000 + number % 100,
        "path": f"/v{number % 9}",
        "protocol": "https",
        "retries": 3,
        "connect_timeout": 60000,
        "read_timeout": 60000 + number % 10,
        "write_timeout": 60000,
        "tags": [f"team-{number % 20}"],
    }


class Kong:
    """Answers requests; pages are encoded once."""

    def __init__(self, size: int) -> None:
        more = {"created_at": 1700000000, "updated_at": 1700000000}
        self.services = [{**service(n), "id": f"00000000-0000-4000-8000-{n:012}", **more} for n in range(size)]
        self._kept: dict[str, Encoded] = {}

    def answer(self, method: str, target: str, body: bytes) -> Encoded:
        if target not in self._kept:
            self._kept[target] = (200, json.dumps(self._shown(target)).encode())
        return self._kept[target]

    def _shown(self, target: str) -> Any:
        path, _, query = target.partition("?")
        if path == "/":
            return {"version": "2.2.0", "tagline": "Welcome to kong", "configuration": {"database": "postgres"}}
        if path != "/services":
            return {"data": [], "next": None}
        given = parse_qs(query)
        start, limit = int(given.get("offset", ["0"])[0]), min(int(given.get("size", ["100"])[0]), PAGE_MAX)
        shown: dict[str, Any] = {"data": self.services[start : start + limit], "next": None}
        if start + limit < len(self.services):
            shown |= {"offset": str(start + limit), "next": f"/services?offset={start + limit}"}
        return shown


if __name__ == "__main__":
    kong, latency = Kong(int(sys.argv[1])), float(sys.argv[2]) / 1000
    asyncio.run(serve(lambda port: ServedConnection(kong.answer, lambda method, target: None, latency)))
