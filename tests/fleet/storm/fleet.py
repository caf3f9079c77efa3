"""The fleet that a storm meets: three workers, a dashboard, a service with a log of its own, git, people who approve; and what must be
true of all of them afterwards."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2
import psycopg

from reconciler.errors import ReconcilerError
from reconciler.fleet import acts
from reconciler.fleet.people import Person, Role
from reconciler.fleet.reports import status_document
from reconciler.fleet.store import connected, projects
from tests import processes
from tests.fleet.running import Running, children
from tests.fleet.storm.events import PATIENCE, WORKERS, Event
from tests.fleet.storm.machines import ROOT, Clock, Postgres, Process
from tests.fleet.storm.service import CONTROL, requests

TENANTS: Final = ("blue", "green", "red")
PROJECTS: Final = 12
SETTLED: Final = 480.0  # seconds in which everything is Synced after a storm; the longest backoff of a project that failed five times
API_TOKEN: Final = "tok_storm_0123456789abcdef"
PROJECT: Final = """\
version: 1
project: NAME
vars: {who: {default: nobody}}
recovery: {settle: 3}
service: {member: ada@acme.example}
organizations:
  NAME:
    id: org_NAME
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_NAME, title: Blank, template: true}
"""


OLD: Final = "SELECT id, project FROM reconciler_fleet.runs WHERE ended_at IS NULL AND admitted_at < now() - interval '2 minutes'"
JOBS: Final = """SELECT id FROM reconciler_fleet.procrastinate_jobs
    WHERE (args->>'run')::bigint NOT IN (SELECT id FROM reconciler_fleet.runs WHERE ended_at IS NULL)"""


@dataclass
class Wanted:
    """What the last commit of a project declares: titles by the keys of spaces and collections, the collections that spaces are in, and the
    collections that were declared once."""

    spaces: dict[str, str] = field(default_factory=dict)
    collections: dict[str, str] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        spaces = {key: f'{{space: {key}, title: "{title}", duplicateOf: blank}}' for key, title in self.spaces.items()}
        lines = [f"      - {text}\n" for key, text in spaces.items() if key not in self.homes]
        for key, title in self.collections.items():
            inside = ", ".join(spaces[space] for space, home in self.homes.items() if home == key)
            lines.append(f'      - {{collection: {key}, title: "{title}", content: [{inside}]}}\n')
        gone = ", ".join(f"{{address: {name}/collection/{key}, action: delete}}" for key in self.removed)
        return PROJECT.replace("NAME", name) + "".join(lines) + (f"removed: [{gone}]\n" if gone else "")


class Storm(Running):
    """Everything of one storm. `seen`: by project, what its status said whenever it said something else; `wrong`: what must not happen and
    did meanwhile."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.chmod(0o755)
        self.clocks = [Clock(folder, f"worker-{number}") for number in range(WORKERS)]
        self.database_clock = Clock(folder, "database")
        self.postgres = Postgres(self.database_clock)
        super().__init__(folder, self.postgres.url)
        self.stack.callback(self.postgres.remove)
        self.chance = random.Random(seed)
        self.names = [f"p{number:02}" for number in range(PROJECTS)]
        self.wanted = {name: Wanted() for name in self.names}
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.begun = 0.0
        self.log: list[str] = []
        self.wrong: list[str] = []
        self.seen: dict[str, list[str]] = defaultdict(list)
        self.ended = threading.Event()
        self.environ |= {f"TOKEN_{tenant.upper()}": f"tok_{tenant}_0123456789" for tenant in TENANTS}
        self.environ["RECONCILER_API_TOKEN"] = API_TOKEN
        self.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.sandbox = Process([sys.executable, "-m", "tests.fleet.storm.service", str(folder)], folder, self.environ, "service")
        self.workers = [self._worker(number) for number in range(WORKERS)]
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [sys.executable, "-m", "reconciler", "fleet", "serve", "--port", str(self.port)]
        self.dashboard = Process(words, folder, self.environ, "serve")
        for process in (self.sandbox, self.dashboard, *self.workers):
            self.stack.callback(process.end)

    def _worker(self, number: int) -> Process:
        (self.folder / f"worker-{number}").mkdir()
        clock = self.clocks[number]
        path = os.pathsep.join([str(clock.site), self.environ["PYTHONPATH"]])
        words = [sys.executable, "-m", "reconciler", "fleet", "worker", "--patience", str(PATIENCE), "--concurrency", "2"]
        words += ["--data", str(self.folder / f"worker-{number}")]
        return Process(words, self.folder, self.environ | clock.environ | {"PYTHONPATH": path}, f"worker-{number}")

    def tenant(self, name: str) -> str:
        return TENANTS[self.names.index(name) % len(TENANTS)]

    def approved(self, name: str) -> bool:
        """Whether somebody must approve what a project creates."""
        return self.names.index(name) % 4 == 0

    # -- before ------------------------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """A fleet in which everything is Synced."""
        self.postgres.start()
        ada = {"id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}
        tokens = [value for name, value in self.environ.items() if name.startswith("TOKEN_")]
        seed = {
            "organizations": [{"id": f"org_{name}", "title": name} for name in self.names],
            "members": [{"organization": f"org_{name}", **ada} for name in self.names],
            "spaces": [{"organization": f"org_{name}", "id": f"spc_{name}", "title": "Blank"} for name in self.names],
            "tokens": [{"token": token, "member": "usr_ada"} for token in [self.environ["ACME_TOKEN"], *tokens]],
        }
        (self.folder / "seed.yaml").write_text(json.dumps(seed))
        self.call("sandbox", "seed", "--db", "sandbox.db", "seed.yaml")
        self.sandbox.start()
        self.service = self.until(lambda: self.sandbox.output.partition("\n")[0])
        self.remote.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit(self.names)
        self.applied(*self.names)
        both = {"approvals": {"create": "auto", "delete": "auto", "exposure": "auto"}}
        person = {"approvals": {"create": "one", "delete": "one", "exposure": "auto"}}
        self.declare(
            *(
                {
                    "name": name,
                    "source": {"path": name},
                    "tenant": self.tenant(name),
                    "vars": {"who": name},
                    "token": {"env": f"TOKEN_{self.tenant(name).upper()}"},
                    **(person if self.approved(name) else both),
                }
                for name in self.names
            ),
            mode="apply",
            every="30s",
        )
        for process in (self.dashboard, *self.workers):
            process.start()
        self.wait(lambda: not self._unsettled(), SETTLED, self._unsettled)

    def commit(self, names: Sequence[str]) -> None:
        """Commit a new space or collection, a new title, a move or a deletion for each of these projects."""
        for name in names:
            mine = self.wanted[name]
            kind = self.chance.choice([mine.spaces, mine.collections])
            empty = sorted(mine.collections.keys() - mine.homes.values())
            what = self.chance.random()
            if kind and what < 0.3:
                key = self.chance.choice(sorted(kind))
                kind[key] = f"{kind[key].split(',')[0]}, edition {next(self.order)}"
            elif mine.spaces and mine.collections and what < 0.5:
                key, home = self.chance.choice(sorted(mine.spaces)), self.chance.choice(sorted(mine.collections))
                if mine.homes.pop(key, None) != home:
                    mine.homes[key] = home
            elif empty and what < 0.6:
                key = self.chance.choice(empty)
                del mine.collections[key]
                mine.removed.append(key)
            else:
                key = f"k{next(self.order)}"
                kind[key] = f"{name} {key}"
            (self.remote / name).mkdir(exist_ok=True)
            (self.remote / name / "reconciler.yaml").write_text(mine.text(name))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    # -- the storm ---------------------------------------------------------------------------------------------------------------------

    def rage(self, schedule: Sequence[Event], seconds: float) -> None:
        """Let it happen, and bring everything back that was stopped."""
        self.begun = time.monotonic()
        people = [threading.Thread(target=person, daemon=True) for person in (self._watch, self._approve, self._visit)]
        for thread in people:
            thread.start()
        try:
            for event in schedule:
                self._at(event.at, lambda event=event: self._happen(event))  # type: ignore[misc]
            while self.events:
                at, _, action = heapq.heappop(self.events)
                time.sleep(max(0.0, self.begun + at - time.monotonic()))
                action()
            self._calm()
            self.wait(lambda: not self._unsettled(), SETTLED, self._unsettled)
        finally:
            self.ended.set()
            for thread in people:
                thread.join()

    def wait(self, holds: Callable[[], Any], seconds: float, why: Callable[[], Any]) -> None:
        limit = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < limit, why()
            time.sleep(1)

    def _at(self, at: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (at, next(self.order), action))

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._at(time.monotonic() - self.begun + seconds, action)

    def _happen(self, event: Event) -> None:
        self.log.append(f"{time.monotonic() - self.begun:6.1f}  {event}")
        getattr(self, f"_{event.what.replace('-', '_')}")(**event.how)

    def _calm(self) -> None:
        for clock in (*self.clocks, self.database_clock):
            clock.set(0)
        self.postgres.start()
        for process in (self.dashboard, *self.workers):
            process.signal(signal.SIGCONT)
            process.start()
        self.send_rules([])
        self.log.append(f"{time.monotonic() - self.begun:6.1f}  the storm is over")

    def _kill_worker(self, worker: int, seconds: float) -> None:
        self.workers[worker].signal(signal.SIGKILL)
        self._later(seconds, self.workers[worker].start)

    def _kill_up(self, seconds: float) -> None:
        """All processes of a machine at once; its PostgreSQL stays, as after a SIGKILL of `fleet up`."""
        for process in (self.dashboard, *self.workers):
            process.signal(signal.SIGKILL)
            self._later(seconds, process.start)

    def _end_worker(self, worker: int, seconds: float) -> None:
        self.workers[worker].signal(signal.SIGTERM)
        self._later(seconds, self.workers[worker].start)

    def _stop_worker(self, worker: int, seconds: float) -> None:
        self.workers[worker].signal(signal.SIGSTOP)
        self._later(seconds, lambda: self.workers[worker].signal(signal.SIGCONT))

    def _run(self, number: int) -> int | None:
        """The process of a run that is under way."""
        mine = sorted(children(self.folder))
        return mine[number % len(mine)] if mine else None

    def _kill_run(self, number: int) -> None:
        if (process := self._run(number)) is not None:
            _signal(process, signal.SIGKILL)

    def _stop_run(self, number: int, seconds: float) -> None:
        if (process := self._run(number)) is not None:
            _signal(process, signal.SIGSTOP)
            self._later(seconds, lambda: _signal(process, signal.SIGCONT))

    def _kill_serve(self, seconds: float) -> None:
        self.dashboard.signal(signal.SIGKILL)
        self._later(seconds, self.dashboard.start)

    def _stop_serve(self, seconds: float) -> None:
        self.dashboard.signal(signal.SIGSTOP)
        self._later(seconds, lambda: self.dashboard.signal(signal.SIGCONT))

    def _crash_database(self, seconds: float) -> None:
        self.postgres.stop()
        self._later(seconds, self.postgres.start)

    def _kill_backend(self, number: int) -> None:
        with suppress(psycopg.Error):
            mine = self.rows("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
            if mine:
                _signal(mine[number % len(mine)][0], signal.SIGKILL)

    def _cut_connections(self) -> None:
        with suppress(psycopg.Error):
            self.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'")

    def _move_clock(self, worker: int, offset: float) -> None:
        self.clocks[worker].set(offset)

    def _move_time(self, offset: float) -> None:
        self.database_clock.set(offset)

    def _lose_answers(self, when: str, times: int) -> None:
        self.send_rules([{"fault": "cut", "when": when, "times": times, "rate": 0.5, "seed": self.chance.randrange(1_000)}])

    def _fail(self, status: int, when: str, times: int, method: str) -> None:
        self.send_rules([{"fault": "error", "status": status, "when": when, "times": times, "operation": f"{method} *"}])

    def _delay(self, seconds: float, times: int) -> None:
        self.send_rules([{"fault": "latency", "seconds": seconds, "times": times}])

    def send_rules(self, rules: list[dict[str, Any]]) -> None:
        headers = {"Authorization": f"Bearer {CONTROL}"}
        httpx2.put(f"{self.service}/_sandbox/faults", json={"rules": rules}, headers=headers, timeout=30).raise_for_status()

    def _commit(self, number: int) -> None:
        names = self.chance.sample(self.names, number)
        self.commit(names)
        self._command("fleet", "sync", *names)

    def _sync(self, number: int) -> None:
        self._command("fleet", "sync", *self.chance.sample(self.names, number))

    def _pause(self, number: int, seconds: float) -> None:
        (name,) = self.chance.sample(self.names, number)
        self._command("fleet", "pause", name, "--reason", "a storm", "--until", "1m")
        self._later(seconds, lambda: self._command("fleet", "resume", name))

    def _command(self, *words: str) -> None:
        """A command of a person; it may fail while the database is gone."""
        command = [sys.executable, "-m", "reconciler", *words]
        done = processes.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True)
        if "Traceback" in done.stderr:
            self.wrong.append(f"{' '.join(words)}: {done.stderr}")

    # -- people --------------------------------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Note what the status of each project says, until and after the end."""
        with connected(self.url) as database:
            is_over = False
            while not is_over:
                is_over = self.ended.wait(0.5)
                with suppress(ReconcilerError):
                    with database.transaction() as connection:
                        rows = projects.read(connection)
                    for project in status_document(rows, 0, rows[0].now)["projects"]:
                        word = "recovering" if project["recovering"] else project["status"]
                        if self.seen[project["name"]][-1:] != [word]:
                            self.seen[project["name"]].append(word)

    def _approve(self) -> None:
        """Approve whatever waits for somebody, after a while."""
        grace = Person("grace@acme.example", {"*": Role.ADMIN})
        with connected(self.url) as database:
            while not self.ended.wait(1):
                for name in filter(self.approved, self.names):
                    with suppress(ReconcilerError), database.transaction() as connection:
                        current = acts.plan(connection, grace, name)
                        if current.verdict.lacking:
                            acts.approve(connection, grace, name, digest=current.plan.digest or "")

    def _visit(self) -> None:
        """Look at the dashboard; it may be gone, and it must not break."""
        while not self.ended.wait(0.7):
            for path in ("/api/v1/projects", "/readyz", "/metrics"):
                with suppress(httpx2.HTTPError):
                    headers = {"Authorization": f"Bearer {API_TOKEN}"}
                    answer = httpx2.get(f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=5)
                    if answer.status_code not in (200, 401, 403, 503):
                        self.wrong.append(f"GET {path}: {answer.status_code} {answer.text[:500]}")

    # -- afterwards --------------------------------------------------------------------------------------------------------------------

    def _unsettled(self) -> list[str]:
        """What is not as it must be in the end."""
        head = self.head()
        wrong = []
        for name, project in self.status().items():
            reading = project["reading"] or {}
            if (project["status"], project["recovering"], reading.get("drift"), project["failures"]) != ("Synced", False, 0, 0):
                wrong.append(f"{name}: {project['status']}, {project['causes']}, waits {project['waits']}, due {project['nextDue']}")
            elif reading["commit"] != head:
                wrong.append(f"{name} was last read at commit {reading['commit'][:8]}, and {head[:8]} is the last one")
        return wrong

    def head(self) -> str:
        return (self.remote / ".git/refs/heads/main").read_text().strip()

    def judge(self) -> Counter[str]:
        """Check what must be true of every storm; how much of what there was."""
        assert self.wrong == [], "\n".join(self.wrong)
        for process in (self.dashboard, *self.workers):
            assert "Traceback" not in process.output, process.output
        counts = self._service()
        self._rows()
        counts |= Counter(dict(self.rows("SELECT coalesce(ended, 'under way'), count(*) FROM reconciler_fleet.runs GROUP BY 1")))
        answer = httpx2.get(f"http://127.0.0.1:{self.port}/readyz", timeout=10)
        assert answer.status_code == 200, answer.text
        counts["recovering"] = sum("recovering" in words for words in self.seen.values())
        assert all(words[-1] == "Synced" for words in self.seen.values()), self.seen
        return counts

    def _service(self) -> Counter[str]:
        """Nothing twice and nothing lost, by what the service has and what it was asked."""
        made = Counter[str]()
        for request in requests(self.folder):
            if request.method == "POST":
                made["creates"] += 1
                parts = request.path.split("/")
                made[f"copies {parts[3]}" if parts[-1] == "duplicate" else "others"] += 1
        for name, wanted in self.wanted.items():
            titles = Counter(title for id, title in self.titles(name).items() if id != f"spc_{name}")
            assert titles == Counter(wanted.spaces.values()), (name, titles)
            listed = self.send("GET", f"/orgs/org_{name}/collections")["items"]
            assert Counter(item["title"] for item in listed) == Counter(wanted.collections.values()), (name, listed)
        with closing(sqlite3.connect(self.folder / "sandbox.db")) as store:  # nothing was created twice and deleted again either
            kept = dict(store.execute("SELECT kind, count(*) FROM objects GROUP BY kind"))
        spaces, collections = kept["space"], kept.get("collection", 0)
        assert spaces == PROJECTS + sum(len(wanted.spaces) for wanted in self.wanted.values())
        assert collections == sum(len(wanted.collections) for wanted in self.wanted.values())
        return Counter(creates=made["creates"], spaces=spaces - PROJECTS, collections=collections)

    def _rows(self) -> None:
        """Every run ended, whoever applied said how that ended, and nothing was applied that needed somebody and had nobody."""
        assert self.rows(OLD) == []
        self.until(lambda: self.rows(JOBS) == [], 60)
        lines = self.rows(
            "SELECT action, project, details->>'run', details->>'digest', details->'continues', details->'classes' "
            "FROM reconciler_fleet.audit ORDER BY id"
        )
        begun = {run for action, _, run, *_ in lines if action == "begin-apply"}
        ended = Counter(run for action, _, run, *_ in lines if action == "apply")
        assert ended == Counter(begun), "each run that began to apply has one end in the audit log"
        open_ = Counter[tuple[str, str]]()
        before: dict[str, set[int]] = defaultdict(set)
        for action, name, run, digest, continues, classes in lines:
            if name is None or not self.approved(name):
                continue
            if action == "approve":
                open_[name, digest] += 1
            elif action == "begin-apply":
                needs = {"create", "delete"} & {*classes}
                assert not needs or open_[name, digest] > 0 or (continues and {*continues} <= before[name]), (name, digest)
                open_[name, digest] = 0  # used up, however this run ends
                before[name].add(int(run))


def _signal(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
