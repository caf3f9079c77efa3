"""The service in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import processes

SERVE = """
import sys
from pathlib import Path
from reconciler.sandbox.server import serve
serve(Path(sys.argv[1]), port=0, token=None, say=lambda line: print(line, flush=True))
"""


@contextmanager
def serving(db: Path) -> Iterator[str]:
    """`serve` in a process of its own; its base address."""
    process = processes.Popen([sys.executable, "-c", SERVE, str(db)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[2]
    finally:
        process.kill()
        process.communicate()
