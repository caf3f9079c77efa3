"""Processes that run this package without the second that importing it takes: forks of one that has imported everything.

`program` is a folder with a `reconciler` for scripts of a shell, forked in the same way.

`Popen` and `run` are those of `subprocess` for `[sys.executable, "-m" or "-c", …]`: a process of its own with its own streams, signals and
exit. It is forked by a server that this process starts once, and becomes this process's child (Linux; elsewhere it is started as usual).
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PR_SET_CHILD_SUBREAPER: Final = 36
LENGTH: Final = 8  # bytes that say how long a request is


class Popen(subprocess.Popen[Any]):
    """A process that is forked, not started; for what `asks` too little or too much of, it is started."""

    def _execute_child(self, *given: Any, **named: Any) -> None:  # type: ignore[override]
        real: Callable[..., None] = super()._execute_child  # type: ignore[misc]
        asked = inspect.signature(real).bind(*given, **named).arguments
        if not _can_fork(asked):
            real(*given, **named)
            return
        words = [os.fspath(word) for word in asked["args"]]
        environ = os.environ if asked["env"] is None else asked["env"]
        request = {
            "words": words[1:],
            "cwd": os.fspath(asked["cwd"] or os.getcwd()),
            "env": {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()},
            "session": bool(asked["start_new_session"]),
        }
        streams = [(asked["p2cread"], 0), (asked["c2pwrite"], 1), (asked["errwrite"], 2)]
        self.pid = _forked(request, [ours if ours != -1 else standard for ours, standard in streams])
        self._child_created = True
        mine = (asked["p2cwrite"], asked["c2pread"], asked["errread"])
        devnull = getattr(self, "_devnull", None)
        for fd in {asked["p2cread"], asked["c2pwrite"], asked["errwrite"]}:
            if fd > 2 and fd != devnull and fd not in mine and _is_pipe_of(asked, fd):
                os.close(fd)
        if devnull is not None:
            os.close(devnull)


def run(words: list[Any], *, input: Any = None, capture_output: bool = False, timeout: float | None = None, check: bool = False,
        **more: Any) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """As `subprocess.run`."""
    if capture_output:
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with Popen(words, **more) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


@cache
def program() -> Path:
    """A folder for the PATH of a script, in which `reconciler` is one."""
    _server()
    file = _folder() / "bin" / "reconciler"
    file.parent.mkdir()
    file.write_text(LAUNCHER.format(python=sys.executable, socket=str(_folder() / "socket"), length=LENGTH), encoding="utf-8")
    file.chmod(0o755)
    return file.parent


LAUNCHER: Final = """#!{python} -SEs
import array, os, socket, sys
body = repr((sys.argv[1:], os.getcwd(), dict(os.environ))).encode("utf-8", "surrogateescape")
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    socket.send_fds(server, [len(body).to_bytes({length}, "big")], [0, 1, 2])
    server.sendall(body)
    said = b""
    while len(said) < {length}:
        said += server.recv({length} - len(said)) or sys.exit("the server of processes has ended")
sys.exit(int.from_bytes(said, "big"))
"""


_ASKING: Final = threading.Lock()


@cache
def _folder() -> Path:
    """This process's folder for what it needs to reach the server."""
    made = tempfile.mkdtemp(prefix="processes-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _can_fork(asked: dict[str, Any]) -> bool:
    words = asked["args"]
    plain = not (asked["shell"] or asked["preexec_fn"] or asked["pass_fds"] or asked["executable"] not in (None, sys.executable))
    return sys.platform == "linux" and plain and isinstance(words, list) and words[:1] == [sys.executable] and words[1] in ("-m", "-c")


def _is_pipe_of(asked: dict[str, Any], fd: int) -> bool:
    """Whether `subprocess` made it for this process: it has the other end."""
    return (
        (fd == asked["p2cread"] and asked["p2cwrite"] != -1)
        or (fd == asked["c2pwrite"] and asked["c2pread"] != -1)
        or (fd == asked["errwrite"] and asked["errread"] != -1)
    )


def _forked(request: dict[str, Any], streams: list[int]) -> int:
    """The id of a new process. Threads ask one after the other."""
    body = json.dumps(request).encode()
    with _ASKING:
        server = _server()
        socket.send_fds(server, [len(body).to_bytes(LENGTH, "big")], streams)
        server.sendall(body)
        return int.from_bytes(_received(server, LENGTH), "big")


@cache
def _server() -> socket.socket:
    """This process's end of the server, which ends with it."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    ours, theirs = socket.socketpair()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(_folder() / "socket"))
    listener.listen()
    descriptors = [theirs.fileno(), listener.fileno()]
    with theirs, listener:
        process = subprocess.Popen(
            [sys.executable, "-c", f"from tests.processes import serve; serve(*{descriptors})()"],
            pass_fds=descriptors, cwd=ROOT, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])},
        )  # fmt: skip

    def end() -> None:
        ours.close()
        process.wait(10)

    atexit.register(end)
    return ours


def _received(connection: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            raise EOFError
        parts += part
    return parts


# -- the server ----------------------------------------------------------------------------------------------------------------------


def serve(asking_descriptor: int, listening_descriptor: int) -> Callable[[], Any]:
    """Fork for each request until nobody can ask any more; returns only in a fork, what that is to run.

    Whoever asks at the second socket is told how the fork ended.
    """
    import ast
    import contextlib
    import gc
    import importlib
    import pkgutil
    import select

    import reconciler

    for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _warm()
    gc.collect()
    gc.freeze()
    connection, listener = socket.socket(fileno=asking_descriptor), socket.socket(fileno=listening_descriptor)
    while True:
        ready, _, _ = select.select([connection, listener], [], [])
        asking = connection if connection in ready else listener.accept()[0]
        header, streams, _, _ = socket.recv_fds(asking, LENGTH, 3)
        if not header:
            os._exit(0)
        header += _received(asking, LENGTH - len(header))
        body = _received(asking, int.from_bytes(header, "big"))
        if asking is connection:
            request = json.loads(body)
        else:
            words, cwd, env = ast.literal_eval(body.decode("utf-8", "surrogateescape"))
            request = {"words": ["-m", "reconciler", *words], "cwd": cwd, "env": env, "session": False}
        said, saying = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid == 0:
                for end in (said, saying):
                    os.close(end)
                for end in (connection, listener, asking):
                    end.close()
                break
            if asking is connection:  # it ends at once, so that its child becomes a child of who asked
                os.write(saying, pid.to_bytes(LENGTH, "big"))
                os._exit(0)
            for stream in streams:
                os.close(stream)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with contextlib.suppress(OSError):
                asking.sendall((code if code >= 0 else 128 - code).to_bytes(LENGTH, "big"))
            os._exit(0)
        if asking is connection:
            os.waitpid(between, 0)
            connection.sendall(os.read(said, LENGTH))
        else:
            asking.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
        for end in (said, saying, *streams):
            os.close(end)
    return _begun(request, streams)


def _warm() -> None:
    """Compute what each process of the package computes once."""
    import tempfile

    from reconciler.config.resources.shapes import shapes
    from reconciler.kinds import load
    from reconciler.sandbox.app import create_app

    shapes(load())
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Path(folder) / "sandbox.db")
        app.openapi()  # FastAPI examines every endpoint for it
        app.state.service.store.close()


def _begun(request: dict[str, Any], streams: list[int]) -> Callable[[], Any]:
    """Become the process that was asked for, up to its first line."""
    import io
    import runpy
    import signal
    import time

    if request["session"]:
        os.setsid()
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
    for stream in streams:
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.path[0] = ""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, number, errors in (("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        raw = io.FileIO(number, "w", closefd=False)
        lines = os.isatty(number) or number == 2
        text = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=lines, write_through=unbuffered)
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    option, what, *words = request["words"]
    if option == "-m":
        sys.argv = [what, *words]
        return lambda: _ended(lambda: runpy.run_module(what, run_name="__main__", alter_sys=True))
    sys.argv = ["-c", *words]
    namespace = {"__name__": "__main__", "__builtins__": __builtins__}
    return lambda: _ended(lambda: exec(compile(what, "<string>", "exec"), namespace))


def _ended(body: Callable[[], Any]) -> None:
    """Run to the end and exit as an interpreter does, but for the memory: taking that apart would cost more than most programs."""
    import signal
    import threading
    import traceback

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
    os._exit(code or 0)
