"""Processes that run this package without the second that importing it takes: children of multiprocessing's fork server.

`Popen` and `run` take what those of `subprocess` take, for `[sys.executable, "-m" or "-c", ...]`. Such a process has its own streams,
folder, environment, signals and exit code, but its parent is the fork server. A test that needs more takes `subprocess`.
`program` is a folder with a `reconciler` for scripts of a shell, which passes on SIGINT and SIGTERM.

    test ──── multiprocessing ────> fork server (everything imported) ──fork──> program
    script ── `reconciler` ──socket──> a program that listens ──fork──> program
"""

from __future__ import annotations

import ast
import atexit
import io
import multiprocessing
import os
import runpy
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing import reduction
from pathlib import Path
from typing import Any, Final

CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.preloaded"])
LENGTH: Final = 8  # bytes that say how long a request is


class Popen:
    """A program under way. `stdin`, `stdout`, `stderr`: PIPE, DEVNULL, or what has a descriptor; None: this process's own."""

    def __init__(
        self, command: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None, text: bool = False,
        stdin: Any = None, stdout: Any = None, stderr: Any = None, start_new_session: bool = False,
    ) -> None:  # fmt: skip
        self.args = command
        self.stdin: Any = None
        self.stdout: Any = None
        self.stderr: Any = None
        theirs: list[int] = []
        closing: list[int] = []
        for number, (name, stream) in enumerate({"stdin": stdin, "stdout": stdout, "stderr": stderr}.items()):
            if stream == subprocess.PIPE:
                ends = os.pipe()
                ours, other = ends if number else ends[::-1]
                mode = ("r" if number else "w") + ("" if text else "b")
                setattr(self, name, open(ours, mode, encoding="utf-8" if text else None, buffering=1 if text else -1))  # noqa: SIM115
                closing.append(other)
            elif stream == subprocess.DEVNULL:
                other = os.open(os.devnull, os.O_RDWR)
                closing.append(other)
            else:
                other = number if stream is None else stream if isinstance(stream, int) else stream.fileno()
            theirs.append(other)
        environ = {os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()}
        words = [os.fspath(word) for word in command[1:]]
        self._process = CONTEXT.Process(
            target=_started, args=(words, os.fspath(cwd or Path.cwd()), environ, _Descriptors(theirs), start_new_session)
        )
        self._process.start()
        for descriptor in closing:
            os.close(descriptor)
        self.pid: int = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Send the input, and read everything until the end, both streams at once: a full pipe would stop the program."""
        with ThreadPoolExecutor() as pool:
            reading = [
                pool.submit(stream.read) if stream is not None and not stream.closed else None for stream in (self.stdout, self.stderr)
            ]
            if self.stdin is not None and not self.stdin.closed:
                with suppress(BrokenPipeError):
                    if input:
                        self.stdin.write(input)
                    self.stdin.close()
            try:
                self.wait(timeout)
            except BaseException:
                self.kill()
                raise
            out, err = (text.result() if text is not None else None for text in reading)
        return out, err

    def __enter__(self) -> Popen:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        self.wait()


def run(
    command: Sequence[str | Path], *, input: Any = None, capture_output: bool = False, timeout: float | None = None, check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """As `subprocess.run`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(command, **options) as process:
        out, err = process.communicate(input, timeout)
    done = subprocess.CompletedProcess(command, process.wait(), out, err)
    if check:
        done.check_returncode()
    return done


class _Descriptors:
    """Descriptors that arrive as duplicates in the process that is started."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    def __getstate__(self) -> list[Any]:
        return [reduction.DupFd(number) for number in self.numbers]

    def __setstate__(self, duplicates: list[Any]) -> None:
        self.numbers = [duplicate.detach() for duplicate in duplicates]


# -- scripts of a shell ---------------------------------------------------------------------------------------------------------------

LAUNCHER: Final = """#!{python} -SEs
import os, signal, socket, sys
body = repr((sys.argv[1:], os.getcwd(), dict(os.environ))).encode("utf-8", "surrogateescape")
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    socket.send_fds(server, [len(body).to_bytes({length}, "big")], [0, 1, 2])
    server.sendall(body)
    pid = int.from_bytes(server.recv({length}), "big")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    code = server.recv({length}) or sys.exit("the server of processes has ended")
sys.exit(int.from_bytes(code, "big"))
"""


@cache
def program() -> Path:
    """A folder for the PATH of a script, in which `reconciler` is a program of one line that is forked too."""
    folder = Path(tempfile.mkdtemp(prefix="processes-"))
    listening = CONTEXT.Process(target=_listen, args=(str(folder / "socket"),), daemon=True)  # it ends with this process
    listening.start()
    while not (folder / "socket").exists():
        time.sleep(0.01)
    file = folder / "bin" / "reconciler"
    file.parent.mkdir()
    file.write_text(LAUNCHER.format(python=sys.executable, socket=str(folder / "socket"), length=LENGTH), encoding="utf-8")
    file.chmod(0o755)
    return file.parent


class _Request(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        """Fork the program that a launcher asks for, and answer how it ended."""
        header, descriptors, _, _ = socket.recv_fds(self.request, LENGTH, 3)
        with self.request.makefile("rb") as file:
            argv, cwd, environ = ast.literal_eval(file.read(int.from_bytes(header, "big")).decode("utf-8", "surrogateescape"))
        pid = os.fork()
        if pid == 0:
            self.request.close()
            os._exit(_ended(_entered(["-m", "reconciler", *argv], cwd, environ, descriptors, session=False)))
        for descriptor in descriptors:
            os.close(descriptor)
        self.request.sendall(pid.to_bytes(LENGTH, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self.request.sendall((code if code >= 0 else 128 - code).to_bytes(LENGTH, "big"))


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    request_queue_size = 64


def _listen(address: str) -> None:
    with _Server(address, _Request) as server:
        server.serve_forever()


# -- in the new process ---------------------------------------------------------------------------------------------------------------


def _started(words: list[str], cwd: str, environ: dict[str, str], streams: _Descriptors, session: bool) -> None:
    os._exit(_ended(_entered(words, cwd, environ, streams.numbers, session=session)))


def _entered(words: list[str], cwd: str, environ: dict[str, str], streams: list[int], *, session: bool) -> Callable[[], Any]:
    """Become the process that was asked for, up to its first line."""
    if session:
        os.setsid()
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.path.insert(0, "")
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, number, errors in (("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        writer = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        lines = os.isatty(number) or number == 2
        text = io.TextIOWrapper(writer, encoding="utf-8", errors=errors, line_buffering=lines, write_through=unbuffered)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    option, what, *argv = words
    if option == "-m":
        sys.argv = [what, *argv]
        return lambda: runpy.run_module(what, run_name="__main__", alter_sys=True)
    sys.argv = ["-c", *argv]
    return lambda: exec(compile(what, "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})


def _ended(body: Callable[[], Any]) -> int:
    """Run to the end as an interpreter does, and return the exit code; an interrupt ends the process by its signal."""
    code: Any = 0
    try:
        body()
    except SystemExit as error:
        code = error.code
        if not isinstance(code, int) and code is not None:
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        traceback.print_exc()
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return code or 0
