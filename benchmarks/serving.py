"""The service as a process of its own, and what it counted."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Serving:
    """A service that is ready."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _ask(self, method: str, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def count(self) -> dict[str, int]:
        """Requests by method since the last `restart`."""
        counts: dict[str, int] = self._ask("GET", "/count")
        return counts

    def seen(self) -> list[str]:
        """The GETs since the last `restart`."""
        targets: list[str] = self._ask("GET", "/seen")
        return targets

    def restart(self) -> None:
        """Count from nothing."""
        self._ask("POST", "/restart")

    def reset(self) -> None:
        """Forget what was written."""
        self._ask("POST", "/reset")


@contextmanager
def serving(shape: str, size: int, latency: float, *, empty: bool = False) -> Iterator[Serving]:
    """A service with the contents of a shape and size, or with none. `latency`: milliseconds."""
    options = ["--shape", shape, "--size", str(size), "--latency", str(latency), *(["--empty"] if empty else [])]
    command = [sys.executable, "-m", "benchmarks.service", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Serving(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.terminate()
        process.wait()
        process.stdout.close()
