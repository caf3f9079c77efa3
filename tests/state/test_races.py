"""Two at a time: of runs that reach for one state at once only one has it, and one that was stopped past its lease writes nothing late."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reconciler.errors import Locked
from reconciler.state import StateScope
from reconciler.state.database import connect
from tests import processes
from tests.state.conftest import OpenStore
from tests.state.examples import GUIDES, START, WHO, binding, intent
from tests.state.test_lease import expire

THREADS, PROCESSES = (8, 25), (4, 25)  # how many at once, and how often each reaches for it

RACER = """
import sys
from reconciler.errors import Locked
from reconciler.state import StateScope, Store
from tests.state.examples import CLOCK
url, project, service, rounds, path = sys.argv[1:]
took = 0
with Store.open(url, StateScope(project, None, service), clock=CLOCK, create=True) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    while took < int(rounds):
        try:
            with store.lease(who="racer", command="apply") as journal:
                alone = open(path, "x")  # fails where another has the lease too
                journal.remember(forget=[])
                alone.close()
                __import__("os").unlink(path)
                took += 1
        except Locked:
            continue
print(took, flush=True)
"""

STOPPED = """
import sys
from reconciler.state import StateScope, Store
from tests.state.examples import *
url, project, service = sys.argv[1:]
with Store.open(url, StateScope(project, None, service), clock=CLOCK, create=True) as store:
    with store.lease(who="stopped", command="apply") as journal:
        print("held", flush=True)
        while True:
            try:
                journal.note(GUIDES, sent={"title": "late"}, seen={})
            except Exception as error:
                print(type(error).__name__, error, flush=True)
                break
"""


def start(script: str, url: str, scope: StateScope, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", script, url, scope.project, scope.service, *more]
    return processes.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_until_stopped(pid: int) -> None:
    """The signal is delivered a moment after it was sent, and until then the process may send another statement."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(500):
        if not stat.exists() or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T":
            return
        threading.Event().wait(0.01)


def end_what_idles(url: str) -> None:
    """What the server does by itself after a minute: it ends transactions whose program says nothing more."""
    busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as connection:
        # A statement that was sent before its program stopped is still carried out, and only then is its transaction idle.
        for _ in range(500):
            if connection.execute(busy).fetchone() == (0,):
                break
            threading.Event().wait(0.01)
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")


def epoch(url: str, scope: StateScope) -> int:
    database = connect(url, create=False)
    ask = "SELECT epoch FROM leases JOIN states ON states.id = leases.state WHERE project = :project"
    number = database.read(lambda connection: int(connection.value(ask, project=scope.project)))
    database.close()
    assert number is not None
    return number


def test_of_threads_that_reach_for_the_lease_at_once_one_has_it(url: str, scope: StateScope, open_store: OpenStore) -> None:
    number, rounds = THREADS
    stores, inside, most = [open_store() for _ in range(number)], [0], [0]
    begin, troubles, took = threading.Barrier(number), list[BaseException](), [0] * number

    def race(index: int) -> None:
        begin.wait()
        try:
            for _ in range(rounds):
                try:
                    with stores[index].lease(**WHO) as journal:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        journal.remember(bind=[binding()])
                        inside[0] -= 1
                        took[index] += 1
                except Locked:
                    continue
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=race, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (troubles, most) == ([], [1])
    assert sum(took) == epoch(url, scope) == len(stores[0].runs()) > 0


def test_of_processes_that_reach_for_the_lease_at_once_one_has_it(
    url: str, scope: StateScope, open_store: OpenStore, tmp_path: Any
) -> None:
    number, rounds = PROCESSES
    open_store().close()
    with ExitStack() as opened:
        racers = [opened.enter_context(start(RACER, url, scope, str(rounds), str(tmp_path / "alone"))) for _ in range(number)]
        try:
            for racer in racers:
                assert racer.stdout is not None
                assert racer.stdout.readline() == "ready\n"
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write("go\n")
                racer.stdin.flush()
            said = [racer.stdout.read() for racer in racers if racer.stdout is not None]
        finally:
            for racer in racers:
                racer.kill()
    assert said == [f"{rounds}\n"] * number
    assert epoch(url, scope) == number * rounds


@pytest.mark.parametrize("moment", range(5))
def test_a_run_that_is_stopped_past_its_lease_writes_nothing_late(
    postgres_url: str, scope: StateScope, open_at: OpenStore, moment: int
) -> None:
    store = open_at(postgres_url)
    with store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    with start(STOPPED, postgres_url, scope) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            threading.Event().wait(0.01 * moment)  # anywhere in its writing
            os.kill(process.pid, signal.SIGSTOP)
            wait_until_stopped(process.pid)
            end_what_idles(postgres_url)
            expire(postgres_url)
            with store.lease(**WHO) as journal:
                journal.remember(bind=[binding(), binding(START)])
                (open_one,) = journal.intend([intent()])
                os.kill(process.pid, signal.SIGCONT)
                assert process.stdout.readline().startswith("StateError ")
                assert process.wait(30) == 0
                found = journal.state()
        finally:
            process.kill()
    assert found.bindings == {GUIDES: binding(), START: binding(START)}
    assert [one.id for one in found.intents] == [open_one.id]
