"""Processes of runs, forked from one that has imported the program: more than half of what a short run cost were its imports.

    worker ── control ──►  fork server        has imported everything; no threads, no connections, no secrets
       │                      │ fork
       └── the request ──►  run               its own session, environment, folder and standard error
            ◄── its pid ──    │
            ◄── its exit code ── fork server, which waits for it

The request has the secrets of the run, so the server does not read it: it forks first, and the run reads. A server ends with its worker,
and its runs with it, as if each was a child of the worker. After an upgrade of the program, and after many runs, the worker starts another
one.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

RUNS_MAX: Final = 200
"""Runs of one server, so that nothing grows that a run could leave behind in it."""

CLOSE_SECONDS: Final = 5.0
PR_SET_PDEATHSIG: Final = 1
_RUN: Final = b"r"  # a run is asked for; a descriptor comes with it
_LAST: Final = b"l"  # no other will be asked for: end with the last run
_LENGTH: Final = 8  # bytes of the length of a request
_REQUEST_MAX: Final = 2**24  # bytes; the kernel limits an environment to less


# -- in the worker -----------------------------------------------------------------------------------------------------------------


class Fork:
    """A run's process. `returncode`: None until it has ended, negative for a signal."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = asyncio.create_task(self._read(reader, writer))

    async def wait(self) -> None:
        """Return after its end."""
        await asyncio.shield(self._end)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await _line(reader)
        self.returncode = int(line) if line else -signal.SIGKILL  # without its server, the kernel has ended it
        writer.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; b"" if the other side has ended, also with something unread."""
    try:
        return await reader.readline()
    except ConnectionResetError:
        return b""


class ForkServer:
    """The servers of a worker, one at a time, started when a run needs one.

    `command`: starts one; the number of its control socket is added. `environ`: of the server. `program`: a file that every upgrade
    replaces.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], program: Path) -> None:
        self.command, self.environ, self.program = command, environ, program
        # The server that is asked; it and those before it that still have runs, which take an open socket for a living worker.
        self._control: socket.socket | None = None
        self._servers: list[tuple[asyncio.subprocess.Process, socket.socket]] = []
        self._runs, self._of = 0, 0.0
        self._starting = asyncio.Lock()

    async def fork(self, argv: Sequence[str], *, environ: Mapping[str, str], folder: Path, errors: int, lock: int) -> Fork:
        """Start a run. `errors`: the descriptor of its standard error; `lock`: one that it has open until its end.

        Raises `OSError` if it cannot be started.
        """
        request = json.dumps({"argv": [*argv], "environ": {**environ}, "folder": str(folder)}).encode()
        for _ in range(2):  # a server that has ended is noticed here at the latest; the next one is new
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    socket.send_fds(await self._current(), [_RUN], [theirs.fileno()])
                socket.send_fds(ours, [len(request).to_bytes(_LENGTH, "big")], [errors, lock])
                ours.setblocking(False)
                reader, writer = await asyncio.open_connection(sock=ours)
            except OSError:
                ours.close()
                self._leave()
                continue
            writer.write(request)
            pid = await _line(reader)
            if pid:
                return Fork(int(pid), reader, writer)
            writer.close()
            self._leave()
        raise OSError("no process could be started")

    async def close(self) -> None:
        """End the servers, and the runs that still go on after some seconds."""
        self._leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for server, _ in self._servers:
                    await server.wait()
        for server, control in self._servers:
            control.close()
            await server.wait()
        self._servers = []

    async def _current(self) -> socket.socket:
        async with self._starting:
            changed = self.program.stat().st_mtime
            if self._control is not None and (self._runs >= RUNS_MAX or changed != self._of):
                self._leave()
            if self._control is None:
                self._control, theirs = socket.socketpair()
                with theirs:
                    words = [*self.command, str(theirs.fileno())]
                    process = await asyncio.create_subprocess_exec(
                        *words,
                        stdin=asyncio.subprocess.DEVNULL,
                        stdout=asyncio.subprocess.DEVNULL,
                        env={**self.environ},
                        start_new_session=True,
                        pass_fds=(theirs.fileno(),),
                    )
                ended = [control for server, control in self._servers if server.returncode is not None]
                for control in ended:
                    control.close()
                self._servers = [(server, control) for server, control in self._servers if server.returncode is None]
                self._servers.append((process, self._control))
                self._runs, self._of = 0, changed
            self._runs += 1
            return self._control

    def _leave(self) -> None:
        """Ask this server for nothing more; it ends with its last run."""
        if self._control is not None:
            with suppress(OSError):
                self._control.send(_LAST)
            self._control = None


# -- in the server -----------------------------------------------------------------------------------------------------------------


def forked(control: socket.socket) -> list[str]:
    """Fork until the worker asks for no more, and end. Returns in each run, as its process, with its arguments."""
    gc.collect()
    gc.freeze()  # the collector of a run would write to all pages that it shares with the others
    parent = os.getpid()
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # What stops a machine's service signals all its processes: the worker ends its runs, and then there is nothing left to do here.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    runs: dict[int, socket.socket] = {}
    asked = selectors.DefaultSelector()
    asked.register(control, selectors.EVENT_READ)
    asked.register(woken, selectors.EVENT_READ)
    more = True
    while more or runs:
        ready = {key.fileobj for key, _ in asked.select()}
        if woken in ready:
            _report_ends(woken, runs)
        if control not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if message == _LAST:
            more = False
        elif message != _RUN:  # the worker was killed
            for pid in runs:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            break
        else:
            connection = socket.socket(fileno=descriptors[0])
            try:
                pid = os.fork()
            except OSError:  # no process is free: the worker sees the closed connection
                connection.close()
                continue
            if pid == 0:
                asked.close()
                signal.set_wakeup_fd(-1)
                for end in (woken, wake):
                    os.close(end)
                for other in (control, *runs.values()):
                    other.close()
                return _become(connection, parent)
            runs[pid] = connection
    sys.exit(0)


def _report_ends(woken: int, runs: dict[int, socket.socket]) -> None:
    """Tell the worker the exit codes of the runs that have ended."""
    with suppress(BlockingIOError):
        os.read(woken, 4096)
    while runs:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with suppress(OSError), runs.pop(pid) as connection:
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(connection: socket.socket, parent: int) -> list[str]:
    """Turn this process into the run that the connection asks for; its arguments."""
    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    with suppress(OSError, AttributeError):  # Linux; elsewhere the server signals its runs, or the gate notices it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    with connection:
        header, (errors, _), _, _ = socket.recv_fds(connection, _LENGTH, 2)
        length, request = int.from_bytes(header, "big"), b""
        while len(request) < min(length, _REQUEST_MAX):
            block = connection.recv(length - len(request))
            if not block:
                sys.exit(1)
            request += block
        asked = json.loads(request)
        os.dup2(errors, 2)
        os.close(errors)
        # Another stream: that of the server has the position of another file.
        sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(asked["environ"])
        os.chdir(asked["folder"])
        time.tzset()
        tempfile.tempdir = None
        connection.sendall(b"%d\n" % os.getpid())
    return [str(word) for word in asked["argv"]]
