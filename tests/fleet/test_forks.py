"""Runs are forked: each is a process of its own as if its worker had started it, and nothing of one reaches another."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.fleet.runs import folders, forks, process
from reconciler.fleet.runs.forks import ForkServer
from tests.proofs import costly

SERVER = "import socket, sys; from reconciler.fleet.runs.forks import forked; exec(forked(socket.socket(fileno=int(sys.argv[1])))[0])"
ABOUT = """
import json, os, signal, sys, tempfile, threading
about = {"pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "environ": dict(os.environ), "folder": os.getcwd(),
         "temporary": tempfile.gettempdir(), "open": sorted(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
         "ignored": [number.name for number in signal.Signals if signal.getsignal(number) is signal.SIG_IGN]}
print(json.dumps(about), file=sys.stderr)
"""
SLEEP = "import time; open('begun', 'w').close(); time.sleep(60)"


@pytest.fixture
def private(tmp_path: Path) -> Iterator[folders.PrivateFolder]:
    folder = folders.create("run-", tmp_path)
    yield folder
    folder.remove()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text("")
    return file


def server_of(folder: Path, program: Path) -> ForkServer:
    environ = process.environ(folder, {}) | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return ForkServer([sys.executable, "-c", SERVER], environ, program)


def at_work(private: folders.PrivateFolder, program: Path, work: Callable[[ForkServer], Awaitable[Any]]) -> Any:
    """The result of what uses a server, which is ended then."""

    async def used() -> Any:
        server = server_of(private.path, program)
        try:
            return await work(server)
        finally:
            await server.close()

    return asyncio.run(used())


def run(server: ForkServer, private: folders.PrivateFolder, code: str, *, seconds: float = 30.0, **secrets: str) -> Any:
    return process.execute([code], server=server, folder=private, secrets=secrets, seconds=seconds)


def test_a_run_has_its_own_session_environment_and_folder_and_nothing_of_another_run(private: folders.PrivateFolder, program: Path) -> None:
    async def both(server: ForkServer) -> list[Any]:
        first = await run(server, private, ABOUT, TOKEN="one")
        second = await run(server, private, ABOUT, OTHER="two")
        return [json.loads(said) for _, said, _ in (first, second)]

    first, second = at_work(private, program, both)
    assert (first["environ"]["TOKEN"], second["environ"]["OTHER"]) == ("one", "two")
    assert not {"OTHER"} & first["environ"].keys()
    assert not {"TOKEN"} & second["environ"].keys()
    for about in (first, second):
        assert (about["session"], about["folder"], about["temporary"]) == (about["pid"], str(private.path), str(private.path))
        assert about["threads"] == 1
        assert not {"SIGTERM", "SIGINT", "SIGHUP", "SIGCHLD"} & {*about["ignored"]}
    assert first["parent"] == second["parent"]
    assert first["open"] == second["open"], "what a run leaves open is not in the next one"


def test_the_server_never_has_a_secret(private: folders.PrivateFolder, program: Path) -> None:
    async def environ_of_server(server: ForkServer) -> bytes:
        said = (await run(server, private, ABOUT, RECONCILER_TOKEN="tok_secret"))[1]
        return Path(f"/proc/{json.loads(said)['parent']}/environ").read_bytes()

    assert b"tok_secret" not in at_work(private, program, environ_of_server)
    assert b"os.fork" in Path(forks.__file__).read_bytes().partition(b"json.loads")[0], "a request is read after the fork only"


@pytest.mark.parametrize(("code", "ends"), [("pass", 0), ("raise SystemExit(4)", 4), ("import os, signal; os.kill(os.getpid(), 9)", -9)])
def test_the_worker_learns_how_a_run_ended(private: folders.PrivateFolder, program: Path, code: str, ends: int) -> None:
    assert at_work(private, program, lambda server: run(server, private, code))[0] == ends


@costly
def test_a_run_is_ended_at_its_time_limit(private: folders.PrivateFolder, program: Path) -> None:
    code, _, late = at_work(private, program, lambda server: run(server, private, SLEEP, seconds=2.0))
    assert (late, code) == (True, -signal.SIGTERM)


def test_a_cancelled_run_is_ended(private: folders.PrivateFolder, program: Path) -> None:
    async def cancelled(server: ForkServer) -> None:
        task = asyncio.create_task(run(server, private, SLEEP))
        await begun(private)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = time.monotonic()
    at_work(private, program, cancelled)
    assert time.monotonic() - before < 20


async def begun(private: folders.PrivateFolder) -> None:
    while not (private.path / "begun").exists():
        await asyncio.sleep(0.05)


@costly
def test_many_runs_at_once_end_each_with_its_own_code(private: folders.PrivateFolder, program: Path) -> None:
    async def many(server: ForkServer) -> list[int]:
        return [code for code, _, _ in await asyncio.gather(*(run(server, private, f"raise SystemExit({number})") for number in range(40)))]

    assert at_work(private, program, many) == [*range(40)]


@costly
@pytest.mark.parametrize("what", ["killed", "upgraded", "used up"])
def test_another_server_takes_over_and_the_runs_of_the_old_one_go_on(
    private: folders.PrivateFolder, program: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    async def parents(server: ForkServer) -> tuple[int, int, int]:
        waiting = asyncio.create_task(
            run(server, private, "import os, time; open('begun', 'w').close(); time.sleep(2); raise SystemExit(7)")
        )
        await begun(private)
        first = json.loads((await run(server, private, ABOUT))[1])["parent"]
        if what == "killed":
            os.kill(first, signal.SIGKILL)
        elif what == "upgraded":
            os.utime(program, (1, 1))
        else:
            monkeypatch.setattr(forks, "RUNS_MAX", 2)
        second = json.loads((await run(server, private, ABOUT))[1])["parent"]
        return first, second, (await waiting)[0]

    first, second, code = at_work(private, program, parents)
    assert first != second
    assert code == (-signal.SIGKILL if what == "killed" else 7)


def test_a_server_that_a_service_manager_signals_lets_the_worker_end_its_runs(private: folders.PrivateFolder, program: Path) -> None:
    async def signalled(server: ForkServer) -> int:
        parent = json.loads((await run(server, private, ABOUT))[1])["parent"]
        waiting = asyncio.create_task(run(server, private, "import time; open('begun', 'w').close(); time.sleep(1); raise SystemExit(7)"))
        await begun(private)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(parent, number)
        return int((await waiting)[0])

    assert at_work(private, program, signalled) == 7


WORKER = """
import asyncio, sys
from pathlib import Path
from tests.fleet.test_forks import SLEEP, run, server_of
from reconciler.fleet.runs import folders
folder = Path(sys.argv[1])
asyncio.run(run(server_of(folder, folder / "program.py"), folders.create("run-", folder), SLEEP))
"""


@costly
def test_the_runs_of_a_killed_worker_end(tmp_path: Path, program: Path) -> None:
    root = Path(__file__).parents[2]
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], cwd=root)
    below = wait(lambda: list(tmp_path.glob("run-*/begun")))[0].parent
    running = wait(lambda: inside(below))
    worker.kill()
    worker.wait()
    wait(lambda: not inside(below))
    assert running
    wait(lambda: not any(Path(f"/proc/{parent}").exists() for parent in running.values()))  # its server too


def inside(folder: Path) -> dict[int, int]:
    """The processes with that working folder, and their parents."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink() == folder:
                found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def wait(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    limit = time.monotonic() + seconds
    while not (result := holds()):
        assert time.monotonic() < limit
        time.sleep(0.05)
    return result
