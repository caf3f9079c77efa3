"""The sandbox in a process of its own that counts the requests it answers: `python -m tests.growth.counted DB FILE`.

`counted` starts it. Before the first write everything is a reading that a plan is made from; all that comes later belongs to the apply.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from reconciler.sandbox.app import create_app


@dataclass
class Counts:
    """`first`: readings before the first write. `reads`, `writes`: from there on."""

    first: int = 0
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True)
class Service:
    """A service under way; `ended` stops it and returns what it has counted."""

    url: str
    file: Path
    process: subprocess.Popen[str]

    def ended(self) -> Counts:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=30)
        return Counts(**json.loads(self.file.read_text(encoding="utf-8")))


@contextmanager
def counted(db: Path) -> Iterator[Service]:
    """The service over a file that was seeded."""
    file = db.with_suffix(".counts.json")
    words = [sys.executable, "-m", __name__, str(db), str(file)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout is not None
        yield Service(process.stdout.readline().strip(), file, process)
    finally:
        process.kill()
        process.communicate()


class Counting:
    """Passes every request on."""

    def __init__(self, app: Any, counts: Counts) -> None:
        self.app, self.counts = app, counts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            if scope["method"] != "GET":
                self.counts.writes += 1
            elif self.counts.writes:
                self.counts.reads += 1
            else:
                self.counts.first += 1
        await self.app(scope, receive, send)


def main(db: Path, file: Path) -> None:
    """Serve until a signal comes; print the address first, write the counts at the end."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(2048)
    counts, base = Counts(), f"http://127.0.0.1:{listener.getsockname()[1]}"
    app = Counting(create_app(db, base=base), counts)
    print(base, flush=True)
    settings = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises the signal once more when it has stopped
    try:
        server.run(sockets=[listener])
    finally:
        file.write_text(json.dumps(vars(counts)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
