"""The real command in a process of its own, against a real service in another: what can be killed, stopped and signalled.

A command is a fork of a process that has imported the program already, which spares a second for each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from reconciler.sandbox.faults import book
from reconciler.sandbox.faults.rules import parse
from reconciler.sandbox.store import Store
from tests import processes
from tests.harness import TOKEN, Org
from tests.reliability.clock import Continued, everywhere
from tests.reliability.databases import Database
from tests.reliability.scenarios import FOREIGN, Scenario
from tests.reliability.seen import seen
from tests.reliability.world import folder
from tests.sandbox.serving import serving

LATENCY = 0.03  # seconds every request takes, so that there is something under way to be killed
LATER = 7200.0  # seconds; a lease is over, and whatever was sent
PATIENCE = 60.0  # real seconds that a command may take

NEVER = -9999
APART = """
import json, sys
import reconciler.cli.commands.apply, reconciler.cli.commands.plan, reconciler.observe.candidates
from tests.reliability import process
process._child(*json.loads(sys.argv[1]))
"""

ALLOWED = ("--allow-replace", "**", "--allow-exposure", "**")
APPLY = ("apply", "--yes", "--create-state", *ALLOWED)


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code`: as of subprocess, negative for a signal; `seconds`: after the last thing done to it."""

    code: int
    out: str
    err: str
    seconds: float


class Running:
    """A command under way. `apart`: it is not a fork of this process, in which obstore may have threads."""

    def __init__(self, words: Sequence[str], env: dict[str, str], place: Path, name: str, *, apart: bool = False) -> None:
        self._files = [place / f"{name}.out", place / f"{name}.err"]
        self._apart = processes.Popen([sys.executable, "-c", APART, json.dumps([words, env, self._texts])]) if apart else None
        self.pid = os.fork() if self._apart is None else self._apart.pid
        if self.pid == 0:
            _child(words, env, self._files)
        self.since = time.monotonic()

    def send(self, number: int) -> None:
        os.kill(self.pid, number)
        self.since = time.monotonic()

    def wait(self, seconds: float = PATIENCE) -> Ended:
        """Its end; one that does not end in time is killed, and its code is `NEVER`."""
        until = self.since + seconds
        while True:
            code = self._code()
            if code is not None:
                return self._ended(code)
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
                while self._code() is None:
                    time.sleep(0.002)
                return self._ended(NEVER)
            time.sleep(0.002)

    @property
    def _texts(self) -> list[str]:
        return [str(file) for file in self._files]

    def _code(self) -> int | None:
        if self._apart is not None:
            return self._apart.poll()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def _ended(self, code: int) -> Ended:
        out, err = (file.read_text(encoding="utf-8", errors="replace") if file.exists() else "" for file in self._files)
        return Ended(code, out, err, time.monotonic() - self.since)


def _child(words: Sequence[str], env: dict[str, str], files: Sequence[Path | str]) -> None:
    code = 99
    try:
        for number, file in zip((1, 2), files, strict=True):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
        sys.stdin, sys.stdout, sys.stderr = open(os.devnull), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.update(env)
        from reconciler.assembled import main

        sys.argv = ["reconciler", *words]
        with everywhere(Continued(LATER)):
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException as error:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        os._exit(code)


class Live:
    """A scenario before a living service; `start` runs the command on it, `reset` makes all of it as it was."""

    def __init__(self, place: Path, url: str, org: Org, template: sqlite3.Connection, database: Database, state: object) -> None:
        self.place, self.base_url, self.org, self.template, self.database, self.state = place, url, org, template, database, state
        self.env = {
            "RECONCILER_TOKEN": TOKEN, "RECONCILER_BASE_URL": url, "RECONCILER_STATE": database.url, "NO_COLOR": "1",
            "HOME": str(place), "XDG_CONFIG_HOME": str(place / ".config"),
        }  # fmt: skip

    def reset(self) -> None:
        with closing(sqlite3.connect(self.org.db, timeout=30)) as living:
            self.template.backup(living)
        self.database.put(self.state)

    def later(self, seconds: float = LATER) -> None:
        """What was under way is over, and time passes for the service, and for leases."""
        time.sleep(2 * LATENCY)
        with closing(Store(self.org.db)) as store:
            store.set_meta("offset", str(float(store.meta("offset") or 0) + seconds))
        self.database.expire()

    def start(self, *words: str, name: str = "run") -> Running:
        return Running(
            [words[0], str(self.org.project), *words[1:]], self.env, self.place, name, apart=self.database.sort in ("s3", "azure")
        )

    def apply(self, name: str = "again") -> Ended:
        return self.start(*APPLY, name=name).wait()

    def plan(self) -> Ended:
        return self.start("plan", *ALLOWED, "--detailed-exitcode", name="plan").wait()

    def seen(self) -> Counter[str]:
        with closing(sqlite3.connect(self.org.db, timeout=30)) as living:
            return seen(living, FOREIGN)


@contextmanager
def live(scenario: Scenario, database: Database) -> Iterator[Live]:
    """The service is up, and what comes before is applied."""
    import reconciler.cli.commands.apply
    import reconciler.cli.commands.plan
    import reconciler.observe.candidates  # noqa: F401  so that no fork does it again

    place = folder("live")
    org = Org(place, seed=scenario.seed)
    org.app.state.service.store.close()
    database.put(None)
    with closing(Store(org.db)) as store:
        book.set_rules(store, [parse(f'{{"fault": "latency", "seconds": {LATENCY}}}')])
    try:
        with serving(org.db) as url:
            world = Live(place, url, org, sqlite3.connect(":memory:"), database, None)
            if scenario.before is not None:
                scenario.before(org)
                ended = world.apply("before")
                assert ended.code == 0, ended.err
            scenario.after(org)
            with closing(sqlite3.connect(org.db)) as living:
                living.backup(world.template)
            world.state = database.take()
            yield world
    finally:
        shutil.rmtree(place, ignore_errors=True)
