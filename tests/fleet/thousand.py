"""A thousand organizations with real processes: the service as a few sandboxes over HTTP, PostgreSQL, git, four workers and a dashboard.

    python -m tests.fleet.thousand [--organizations 1000] [--workers 4] [--rounds 2] [--limit 1200]

lets the fleet work until each organization was verified so many times, and prints what that took. Whether a project was run twice at once,
and whether a token sent more than it may, is read from the rows of the runs and from the services' own logs of their requests.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import httpx2
import psycopg

from tests import processes
from tests.fleet.simulated import percentile
from tests.fleet.storm.machines import ROOT, Postgres, Process
from tests.fleet.storm.service import CONTROL, requests

SERVICES: Final = 4  # of a tenant each, with a token of its own: a sandbox has one limit
WINDOW: Final = 60  # seconds of a rate limit
LIMIT: Final = 1_200  # requests in a window
MORE: Final = 5  # so many times as much may the other tenants send
PROJECT: Final = """\
version: 1
project: docs-${{ vars.organization }}
vars: {organization: {}}
service: {member: ada@acme.example}
organizations:
  docs:
    id: ${{ vars.organization }}
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: "spc_${{ vars.organization }}", title: Blank, template: true}
"""


class Thousand:
    """The fleet, in a folder that is removed with it."""

    def __init__(self, folder: Path, organizations: int, workers: int, limit: int) -> None:
        folder.chmod(0o755)
        self.folder, self.stack = folder, ExitStack()
        self.limits = (limit, *(limit * MORE for _ in range(SERVICES - 1)))
        self.postgres = Postgres()
        self.stack.callback(self.postgres.remove)
        self.names = [[f"o{service}n{number:04}" for number in range(organizations // SERVICES)] for service in range(SERVICES)]
        self.environ = {
            **os.environ, "RECONCILER_DATABASE": self.postgres.url, "HOME": str(folder), "PYTHONPATH": str(ROOT),
            **{f"TOKEN_{service}": f"tok_tenant{service}_0123456789" for service in range(SERVICES)},
            **{f"GIT_{who}_{what}": "ada@acme.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }  # fmt: skip
        self.urls: list[str] = []
        self.services = [
            self._process(f"service-{number}", "tests.fleet.storm.service", str(self._home(number))) for number in range(SERVICES)
        ]
        self.workers = [
            self._process(
                f"worker-{number}", "reconciler", "fleet", "worker", "--concurrency", "1", "--data", str(folder / f"data-{number}")
            )
            for number in range(workers)
        ]
        self.dashboard = self._process("serve", "reconciler", "fleet", "serve", "--port", "0")

    def _home(self, service: int) -> Path:
        home = self.folder / f"home-{service}"
        home.mkdir(exist_ok=True)
        return home

    def _process(self, name: str, module: str, *words: str) -> Process:
        made = Process([sys.executable, "-m", module, *words], self.folder, self.environ, name)
        self.stack.callback(made.end)
        return made

    def _call(self, *words: str, **environ: str) -> None:
        command = [sys.executable, "-m", "reconciler", *words]
        done = processes.run(command, cwd=self.folder, env=self.environ | environ, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)

    def prepare(self) -> None:
        """Services, a repository, a state for each organization, and the fleet."""
        self.postgres.start()
        for number, process in enumerate(self.services):
            home = self._home(number)
            ada = {"id": f"usr_{number}", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}
            seed = {
                "organizations": [{"id": name, "title": name} for name in self.names[number]],
                "members": [{"organization": name, **ada} for name in self.names[number]],
                "spaces": [{"organization": name, "id": f"spc_{name}", "title": "Blank"} for name in self.names[number]],
                "tokens": [{"token": self.environ[f"TOKEN_{number}"], "member": f"usr_{number}"}],
            }
            (home / "seed.yaml").write_text(json.dumps(seed))
            self._call("sandbox", "seed", "--db", str(home / "sandbox.db"), str(home / "seed.yaml"))
            process.start()
        self.urls = [self._url(process) for process in self.services]
        remote = self.folder / "remote"
        (remote / "shared").mkdir(parents=True)
        (remote / "shared" / "reconciler.yaml").write_text(PROJECT)
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "one")):
            subprocess.run(["git", *words], cwd=remote, env=self.environ, check=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._adopt, range(SERVICES)))
        generators = [
            {
                "organizations": {"baseUrl": self.urls[number], "token": {"env": f"TOKEN_{number}"}},
                "template": {
                    "name": "${{ each.id }}", "project": "docs-*", "vars": {"organization": "${{ each.id }}"}, "tenant": f"tenant-{number}",
                    "baseUrl": self.urls[number], "token": {"env": f"TOKEN_{number}"},
                },
            }
            for number in range(SERVICES)
        ]  # fmt: skip
        defaults = {"source": {"git": f"file://{remote}", "path": "shared"}, "every": "10m"}
        (self.folder / "fleet.yaml").write_text(json.dumps({"version": 1, "defaults": defaults, "generators": generators}))
        self._call("fleet", "apply", "fleet.yaml")
        for url, limit in zip(self.urls, self.limits, strict=True):
            rules = {"rules": [{"fault": "rate-limit", "limit": limit, "window": WINDOW}]}
            httpx2.put(f"{url}/_sandbox/faults", json=rules, headers={"Authorization": f"Bearer {CONTROL}"}).raise_for_status()
        for home in range(SERVICES):
            (self._home(home) / "requests.jsonl").write_text("")

    def _adopt(self, service: int) -> None:
        """Apply the organizations of a service once, so that their states know them; in one process, as nothing is measured yet."""
        words = ["apply", str(self.folder / "remote/shared"), "--base-url", self.urls[service], "--state", self.postgres.url]
        words += ["--create-state", "--yes", "--quiet", "--var"]
        code = f"""if True:
            from reconciler.assembled import main
            for name in {self.names[service]!r}:
                try:
                    main([*{words!r}, f'organization={{name}}'])
                except SystemExit as ended:
                    assert ended.code == 0, name"""
        environ = self.environ | {"RECONCILER_TOKEN": self.environ[f"TOKEN_{service}"]}
        done = processes.run([sys.executable, "-c", code], cwd=self.folder, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def _url(self, process: Process) -> str:
        limit = time.monotonic() + 60
        while not (line := process.output.partition("\n")[0]):
            assert time.monotonic() < limit
            time.sleep(0.1)
        return line

    def work(self, rounds: int, minutes: float) -> dict[str, Any]:
        """Let everything be verified so many times, as far as that is possible in so many minutes; what that took."""
        begun = time.monotonic()
        for process in (self.dashboard, *self.workers):
            process.start()
        ages: list[float] = []
        least = 0
        while least < rounds and time.monotonic() - begun < minutes * 60:
            time.sleep(5)
            least = self._one(LEAST) or 0
            if least:  # from when each was read once
                ages += [float(age) for (age,) in self._rows(AGES)]
            print(f"{time.monotonic() - begun:6.0f} s  {self._one(DONE)} runs", file=sys.stderr, flush=True)
        seconds = time.monotonic() - begun
        runs = self._one(DONE)
        cpu = sum(_cpu(process.process.pid) for process in self.workers if process.process is not None)
        counted = self._one("SELECT sum(requests) FROM reconciler_fleet.runs")
        unfinished = self._one("SELECT count(*) FROM reconciler_fleet.runs WHERE ended_at IS NULL")
        logged = [Counter(self._seen(number)) for number in range(SERVICES)]
        return {
            "everyOrganizationVerified": least, "verified": dict(self._rows(VERIFIED)),
            "organizations": sum(map(len, self.names)), "workers": len(self.workers), "seconds": round(seconds), "runs": runs,
            "runsPerMinute": round(runs / seconds * 60, 1), "ended": dict(self._rows(ENDS)),
            "freshness": {f"p{share}": round(percentile(ages, share / 100)) for share in (50, 99)} if ages else None,
            "cpuSecondsOfARun": round(cpu / runs, 2), "cores": os.cpu_count(), "load": os.getloadavg(),
            "megabytes": {process.name: _peak(process.process.pid) for process in (*self.workers, self.dashboard) if process.process},
            "databaseMegabytes": round(self._one("SELECT pg_database_size(current_database())") / 1e6, 1),
            "requests": sum(sum(counts.values()) for counts in logged), "counted": counted, "runsUnderWay": unfinished,
            "requestsAMinute": [self._busiest(number) for number in range(SERVICES)], "limits": self.limits,
            "twiceAtOnce": self._one(TWICE), "beyondTheBudget": sum(counts[429] for counts in logged),
            "statuses": {str(code): number for code, number in sum(logged, Counter()).items()},
        }  # fmt: skip

    def _seen(self, service: int) -> Iterator[int | None]:
        return (request.status for request in requests(self._home(service)))

    def _busiest(self, number: int) -> int:
        """The most requests that a service was sent in any minute."""
        sent = sorted(request.at for request in requests(self._home(number)))
        return max((bisect_right(sent, at + WINDOW) - index for index, at in enumerate(sent)), default=0)

    def _rows(self, query: str) -> list[Any]:
        with psycopg.connect(self.postgres.url) as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    def _one(self, query: str) -> Any:
        return self._rows(query)[0][0]


DONE: Final = "SELECT count(*) FROM reconciler_fleet.runs WHERE ended_at IS NOT NULL"
LEAST: Final = """
    SELECT min(n) FROM (SELECT count(r.id) FILTER (WHERE r.ended = 'done') AS n
    FROM reconciler_fleet.projects p LEFT JOIN reconciler_fleet.runs r ON r.project = p.id GROUP BY p.id) counts"""
ENDS: Final = "SELECT ended, count(*) FROM reconciler_fleet.runs GROUP BY 1"
VERIFIED: Final = """SELECT times, count(*) FROM (SELECT project, count(*) AS times FROM reconciler_fleet.runs WHERE ended = 'done'
    GROUP BY project) verified GROUP BY 1 ORDER BY 1"""
AGES: Final = "SELECT extract(epoch FROM now() - read_at) FROM reconciler_fleet.projects WHERE read_at IS NOT NULL"
TWICE: Final = """
    SELECT count(*) FROM reconciler_fleet.runs a JOIN reconciler_fleet.runs b ON a.project = b.project AND a.id < b.id
    WHERE a.started_at < coalesce(b.ended_at, now()) AND b.started_at < coalesce(a.ended_at, now())"""


def _cpu(process: int) -> float:
    """CPU seconds of a process, of those that it waited for, and of its children that still run."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK") + sum(_cpu(int(child)) for child in children)


def _peak(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1_000)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fleet.thousand", description=__doc__)
    parser.add_argument("--organizations", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--limit", type=int, default=LIMIT, help="requests a minute of the first tenant")
    given = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then too
    folder = Path(tempfile.mkdtemp(prefix="reconciler-thousand-"))
    thousand = Thousand(folder, given.organizations, given.workers, given.limit)
    with thousand.stack:
        begun = time.monotonic()
        thousand.prepare()
        print(f"prepared in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        measured = thousand.work(given.rounds, given.minutes)
    print(json.dumps(measured, indent=2))
    shutil.rmtree(folder)
    return 1 if measured["twiceAtOnce"] or measured["beyondTheBudget"] else 0


if __name__ == "__main__":
    sys.exit(main())
