"""What a storm acts on: clocks that can be set, a PostgreSQL server that can be crashed, processes that can be killed and stopped."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import psycopg

from reconciler.fleet.runs.process import ENTRY
from tests.state import server

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PRELOAD = """\
import os, sys
if "LD_PRELOAD" not in os.environ and %r in sys.orig_argv:
    os.execve(sys.executable, sys.orig_argv, {**os.environ, **%r})
"""
"""A run gets nothing of its worker's environment; this gives it the clock of its worker's machine."""


@cache
def preloaded() -> Path | None:
    """The library that moves a process's clock; None where there is no C compiler to make it."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    made = Path(tempfile.mkdtemp(prefix="reconciler-clock-"))
    made.chmod(0o755)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", made / "clock.so", HERE / "clock.c", "-ldl"], check=True)
    return made / "clock.so"


class Clock:
    """The clock of a machine: the processes that are started with its environment see a time that is wrong by `offset` seconds."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file, self.offset = folder / f"clock-{name}", 0.0
        self.file.write_bytes(bytes(8))
        self.file.chmod(0o644)
        library = preloaded()
        self.environ = {"LD_PRELOAD": str(library), "RECONCILER_TEST_CLOCK": str(self.file)} if library else {}
        self.site = folder / f"site-{name}"
        self.site.mkdir(mode=0o755)
        if self.environ:
            (self.site / "sitecustomize.py").write_text(PRELOAD % (ENTRY, self.environ))

    def set(self, offset: float) -> None:
        self.offset = offset
        with self.file.open("r+b", buffering=0) as file:
            file.write(struct.pack("d", offset))


class Process:
    """A command that is started again whenever it is killed. Its output is kept in a file for each life."""

    def __init__(self, words: Sequence[str], folder: Path, environ: Mapping[str, str], name: str) -> None:
        self.words, self.folder, self.environ, self.name = list(words), folder, dict(environ), name
        self.lives = 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        self.lives += 1
        with (self.folder / f"{self.name}-{self.lives}.log").open("wb") as log:
            self.process = subprocess.Popen(self.words, cwd=self.folder, env=self.environ, stdout=log, stderr=log, start_new_session=True)

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def end(self) -> None:
        """End it at once, and whatever it started."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    @property
    def output(self) -> str:
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob(f"{self.name}-*.log")))


class Postgres:
    """A server whose data survives that it is stopped, crashed and started."""

    def __init__(self, clock: Clock | None = None) -> None:
        programs = server.binaries()
        assert programs is not None
        self.programs, self.environ = programs, {**os.environ, **(clock.environ if clock is not None else {})}
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        self.folder = Path(tempfile.mkdtemp(prefix="reconciler-postgres-"))
        self.data = self.folder / "data"
        if user:
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"postgresql://tests@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "-D", str(self.data), "-A", "trust", "-U", "tests", "-N", "-E", "UTF8", "--locale=C")
        self.process: subprocess.Popen[bytes] | None = None

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [self.programs / program, *words], check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.as_user
        )  # type: ignore[call-overload]

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        limit = time.monotonic() + 60
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", str(self.port), "-k", str(self.folder)]
        while not self.is_ready():
            assert time.monotonic() < limit, "PostgreSQL did not start"
            if self.process is None or self.process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self.process = subprocess.Popen(
                        [self.programs / "postgres", "-D", self.data, *options], cwd="/", stdout=log, stderr=log,
                        env=self.environ, **self.as_user,
                    )  # type: ignore[call-overload]  # fmt: skip
            time.sleep(0.1)

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop it as `pg_ctl stop -m immediate` does: without a checkpoint, so that the next start recovers."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
