"""The floor of reading: the same GETs with the client's transport library and nothing else.

`python -m benchmarks.bare URL FILE CONNECTIONS`: FILE lists the targets as JSON. Bodies are decoded and dropped.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import aiohttp
from yarl import URL

from benchmarks.measure import TOKEN


async def fetch(base: str, targets: list[str], connections: int) -> int:
    """How many bytes the answers have."""
    waiting = iter(targets)
    headers = {"authorization": f"Bearer {TOKEN}"}
    size = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal size
        for target in waiting:
            async with session.get(URL(base + target, encoded=True)) as response:
                body = await response.read()
                json.loads(body)
                size += len(body)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections), headers=headers) as session:
        await asyncio.gather(*(work(session) for _ in range(connections)))
    return size


def main() -> None:
    base, file, connections = sys.argv[1:]
    targets = json.loads(Path(file).read_text(encoding="utf-8"))
    began, before = time.perf_counter(), time.process_time()
    size = asyncio.run(fetch(base, targets, int(connections)))
    wall, cpu = time.perf_counter() - began, time.process_time() - before
    print(json.dumps({"requests": len(targets), "bytes": size, "wall": round(wall, 3), "cpu": round(cpu, 3)}))


if __name__ == "__main__":
    main()
