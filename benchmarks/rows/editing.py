"""The language server: from an edit to the problems of its text, over stdio with a real process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.projects import SHAPES, write
from benchmarks.rows import Extent, Row

SMALL, SMALL_SECONDS, SECONDS = 200, 0.1, 1.5  # objects; seconds from an edit to its problems
EDITS = 12
_TITLE = re.compile(r"title: (\S+)")


class EditCost(NamedTuple):
    """Seconds from an edit to its problems, with the pause for whoever types, and seconds of CPU of the server; each the median."""

    wall: float
    cpu: float


def rows(extent: Extent) -> Iterator[Row]:
    for size, limit in ((SMALL, SMALL_SECONDS), (extent.size, SECONDS)):
        cost = edits(size)
        shown = f"{cost.wall * 1000:.0f} ms, {cost.cpu * 1000:.0f} ms CPU"
        yield Row(f"lsp, problems after an edit, {size:,} objects", shown, "", f"{limit * 1000:g} ms CPU", cost.cpu <= limit)


def edits(size: int, shape: str = "mix") -> EditCost:
    """What edits of a project with so many objects cost."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        write(root, SHAPES[shape](size))
        file = root / "reconciler.yaml"
        text = file.read_text(encoding="utf-8")
        server = _Server()
        server.send("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}, id=1)
        server.send("initialized", {})
        document = {"uri": file.as_uri(), "languageId": "yaml", "version": 1}
        server.send("textDocument/didOpen", {"textDocument": {**document, "text": text}})
        server.published(1)
        matches = list(_TITLE.finditer(text))
        walls, cpus = [], []
        for version in range(2, EDITS + 2):
            match = matches[len(matches) * version // (EDITS + 3)]
            line = text.count("\n", 0, match.start(1))
            at = {"line": line, "character": match.start(1) - text.rfind("\n", 0, match.start(1)) - 1}
            change = {"range": {"start": at, "end": at}, "text": f"{version}"}
            began, cpu = time.monotonic(), server.cpu()
            server.send(
                "textDocument/didChange", {"textDocument": {"uri": document["uri"], "version": version}, "contentChanges": [change]}
            )
            server.published(version)
            walls.append(time.monotonic() - began)
            cpus.append(server.cpu() - cpu)
        server.end()
        return EditCost(median(walls), median(cpus))


class _Server:
    """A process of `reconciler lsp`."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "reconciler", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def send(self, method: str, params: Any, **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def published(self, version: int) -> None:
        """Wait for the diagnostics of a version."""
        while True:
            message = self._read()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"].get("version") == version:
                return

    def _read(self) -> Any:
        output, length = self.process.stdout, 0
        assert output is not None
        while line := output.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if not length:
            raise RuntimeError("the server ended")
        return json.loads(output.read(length))

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def end(self) -> None:
        self.send("shutdown", None, id=2)
        self.send("exit", None)
        self.process.communicate(timeout=60)


if __name__ == "__main__":
    for objects in (SMALL, 10_000):
        print(objects, edits(objects))
