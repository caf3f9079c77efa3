"""Run another program: without a shell, in its own session, with limits on time and output.

In: its arguments, its environment and its input. Out: its output and exit code. Any interruption kills the program and the processes
that it started.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

GRACE: Final = 0.5  # seconds in which output may still arrive after the program has ended
BLOCK: Final = 65_536  # bytes
ERRORS_MAX: Final = 2**20  # bytes of the error stream that are kept


@dataclass(frozen=True)
class EndedCommand:
    """`code`: the exit code, negative for a signal. `late`: it was killed at the time limit; `large`: because of too much output. `err`:
    the beginning of it. A long one is no reason to kill, because a server decides how much of it there is."""

    code: int
    out: bytes
    err: bytes
    late: bool = False
    large: bool = False


class _Drain(threading.Thread):
    """Reads one stream, and keeps its beginning. `kills`: the process, at the limit."""

    def __init__(self, stream: IO[bytes], process: subprocess.Popen[bytes], most: int, *, kills: bool) -> None:
        super().__init__(daemon=True)
        self.stream, self.process, self.most, self.kills = stream, process, most, kills
        self.data = bytearray()
        self.full = False
        self.start()

    def run(self) -> None:
        with suppress(OSError, ValueError):  # another thread closed the stream
            while block := os.read(self.stream.fileno(), BLOCK):
                self.data += block
                if len(self.data) > self.most and not self.kills:
                    del self.data[self.most :]
                elif len(self.data) > self.most:
                    self.full = True
                    _kill(self.process)
                    return


def _feed(stream: IO[bytes], given: bytes) -> None:
    """Write the input of a program, which may read it as slowly as it likes."""
    with suppress(OSError, ValueError), stream:  # the program may end before it has read everything
        stream.write(given)


def program(name: str, environ: Mapping[str, str]) -> str | None:
    """The path of a program that is installed; None if it is not. Never one in a relative folder of PATH, which would be one of whoever
    wrote the files there."""
    return shutil.which(name, path=_path(environ))


def _path(environ: Mapping[str, str]) -> str:
    """PATH without relative folders."""
    return os.pathsep.join(folder for folder in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder))


def run(
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    folder: Path,
    seconds: float,
    most: int,
    given: bytes = b"",
    user: str | None = None,
) -> EndedCommand:
    """Run a program to its end. `given`: its input. `user`: who runs it instead of root. Raises `OSError` if it cannot be started."""
    process = subprocess.Popen(  # noqa: S603  no shell, and the words are ours
        argv,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environ, "PATH": _path(environ)},
        cwd=folder,
        start_new_session=True,
        user=user,
    )
    if process.stdin is not None:
        threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
    assert process.stdout is not None
    assert process.stderr is not None
    late = False
    out, err = _Drain(process.stdout, process, most, kills=True), _Drain(process.stderr, process, min(most, ERRORS_MAX), kills=False)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        if process.poll() is None:
            _kill(process)
            process.wait()
        until = time.monotonic() + GRACE  # a service that the program started may keep the streams open
        for drain in (out, err):
            drain.join(max(0.0, until - time.monotonic()))
    for stream in (process.stdout, process.stderr):
        stream.close()
    return EndedCommand(process.returncode, bytes(out.data), bytes(err.data), late and not out.full, out.full)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that still runs, with all processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
