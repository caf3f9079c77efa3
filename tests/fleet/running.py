"""A fleet as it is run: a PostgreSQL server, the sandbox over HTTP, git repositories, and workers as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from reconciler.fleet.runs.process import ENTRY
from tests import processes

TOKEN = "tok_ada_0123456789"
PROJECT = """\
version: 1
project: NAME
vars: {who: {default: nobody}}
service: {member: ada@acme.example}
organizations:
  NAME:
    id: org_NAME
    members: {ada@acme.example: admin}
    content:
      - {space: docs, title: TITLE, duplicateOf: blank}
      - {space: blank, id: spc_NAME, title: Blank, template: true}
"""
PATIENCE = 4


class Running:
    """`url`: of the fleet's database. `service`: of the sandbox."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.service = folder, url, ""
        self.stack = ExitStack()
        self.remote = folder / "remote"
        self.environ = {
            **os.environ, "RECONCILER_DATABASE": url, "ACME_TOKEN": TOKEN, "RECONCILER_TOKEN": TOKEN, "HOME": str(folder),
            "GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@acme.example",
            "GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@acme.example",
        }  # fmt: skip
        for name in ("RECONCILER_STATE", "COLUMNS"):  # which would wrap what the commands print
            self.environ.pop(name, None)

    def start(self, *words: str, module: str = "reconciler", **more: Any) -> subprocess.Popen[str]:
        """A command that goes on; it is ended with the test."""
        command = [sys.executable, "-m", module, *words]
        log = (self.folder / f"{'-'.join(words[:2]).replace('/', '-')}-{time.monotonic_ns()}.log").open("w")
        process = processes.Popen(command, cwd=self.folder, env=self.environ, stdout=subprocess.PIPE, stderr=log, text=True, **more)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def call(self, *words: str, code: int | None = 0) -> str:
        """What a command prints."""
        command = [sys.executable, "-m", "reconciler", *words]
        done = processes.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True)
        assert code is None or done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def error(self, *words: str, code: int) -> str:
        """What a command prints where it fails."""
        done = processes.run(
            [sys.executable, "-m", "reconciler", *words], cwd=self.folder, env=self.environ, capture_output=True, text=True
        )
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return str(done.stderr)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.remote, env=self.environ, check=True, capture_output=True)

    def serve(self, names: Sequence[str]) -> None:
        """Serve a sandbox with an organization for each name; Ada is an admin of all."""
        ada = {"id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"}
        seed = {
            "organizations": [{"id": f"org_{name}", "title": name} for name in names],
            "members": [{"organization": f"org_{name}", **ada} for name in names],
            "spaces": [{"organization": f"org_{name}", "id": f"spc_{name}", "title": "Blank"} for name in names],
            "tokens": [{"token": TOKEN, "member": "usr_ada"}],
        }
        (self.folder / "seed.yaml").write_text(json.dumps(seed))
        self.call("sandbox", "seed", "--db", "sandbox.db", "seed.yaml")
        process = self._service()
        assert process.stdout is not None
        line = process.stdout.readline()
        self.service = next(word for word in line.split() if word.startswith("http")).rstrip(".,/").removesuffix("/v1")

    def _service(self) -> subprocess.Popen[str]:
        """The process that serves the sandbox, and prints its URL."""
        return self.start("sandbox", "serve", "--db", "sandbox.db")

    def write(self, *names: str, title: str = "one") -> None:
        """Commit projects, each for an organization of its own."""
        if not self.remote.exists():
            self.remote.mkdir()
            self.git("init", "-q", "-b", "main")
        for name in names:
            (self.remote / name).mkdir(exist_ok=True)
            (self.remote / name / "reconciler.yaml").write_text(PROJECT.replace("NAME", name).replace("TITLE", f"{name} {title}"))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", title)

    def applied(self, *names: str) -> None:
        """Apply projects as a person would."""
        for name in names:
            where = ("--base-url", self.service, "--state", self.url, "--create-state")
            self.call("apply", str(self.remote / name), *where, "--yes", "--quiet")

    def declare(
        self, *projects: dict[str, Any], notifications: Sequence[Any] = (), more: dict[str, Any] | None = None, **defaults: Any
    ) -> None:
        """Make these the fleet. `more`: other parts of the fleet file."""
        self.describe(*projects, notifications=notifications, more=more, **defaults)
        self.call("fleet", "apply", "fleet.yaml", "--allow-vanish", "100")

    def describe(
        self, *projects: dict[str, Any], notifications: Sequence[Any] = (), more: dict[str, Any] | None = None, **defaults: Any
    ) -> None:
        """Write the fleet file of these."""
        shared = {
            "baseUrl": self.service,
            "token": {"env": "ACME_TOKEN"},
            "source": {"git": f"file://{self.remote}"},
            "every": "1h",
        } | defaults
        (self.folder / "fleet.yaml").write_text(
            json.dumps(
                {
                    "version": 1,
                    "defaults": shared,
                    "projects": list(projects),
                    "notifications": list(notifications),
                    "people": [{"addresses": ["ada@acme.example"]}],
                }
                | (more or {})
            )
        )

    def worker(self, *, concurrency: int = 2, data: str = "") -> subprocess.Popen[str]:
        """A worker as a process. `data`: the folder of another one, that it shares."""
        folder = self.folder / (data or f"data-{len(list(self.folder.glob('data-*')))}")
        folder.mkdir(exist_ok=True)
        return self.start("fleet", "worker", "--patience", str(PATIENCE), "--concurrency", str(concurrency), "--data", str(folder))

    def status(self) -> dict[str, dict[str, Any]]:
        """What `fleet status --format json` prints of each project, without a process: whoever waits asks again and again."""
        from reconciler.fleet.facts import judged_plans
        from reconciler.fleet.reports import status_document
        from reconciler.fleet.store import connected, projects

        with connected(self.url) as database, database.transaction() as connection:
            rows = projects.read(connection)
            judged = judged_plans(connection, rows)
        return {project["name"]: dict(project) for project in status_document(rows, 0, rows[0].now, judged)["projects"]}

    def rows(self, query: str) -> list[Any]:
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """What the service answers."""
        answer = httpx2.request(method, f"{self.service}/v1{path}", json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def titles(self, name: str) -> dict[str, str]:
        """The titles of the spaces of an organization, by id."""
        return {
            item["space"]["id"]: item["space"]["title"] for item in self.send("GET", f"/orgs/org_{name}/members/usr_ada/spaces")["items"]
        }

    def until(self, holds: Callable[[], Any], seconds: float = 150.0) -> Any:
        """The first result that is true."""
        limit = time.monotonic() + seconds
        while not (result := holds()):
            assert time.monotonic() < limit, self._said()
            time.sleep(0.1)  # what is asked costs as much as a step of what is waited for
        return result

    def _said(self) -> list[Any]:
        """What workers said, what became of messages, and what holds projects back."""
        said: list[Any] = [path.read_text() for path in self.folder.glob("*worker-*.log")]
        if self.rows("SELECT to_regclass('reconciler_fleet.notices')") != [(None,)]:
            said += self.rows("SELECT title, tries, sent_at, error FROM reconciler_fleet.notices")
            said += [(name, shown["status"], shown["causes"], shown["waits"]) for name, shown in self.status().items()]
        return said


@contextmanager
def running(folder: Path, url: str, names: Sequence[str]) -> Iterator[Running]:
    """A fleet whose processes end with the block."""
    made = Running(folder, url)
    with made.stack:
        made.serve(names)
        yield made


def children(folder: Path) -> dict[int, Path]:
    """The private folders of the runs of all workers below a folder, by process."""
    running = {}
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            private, program = path.readlink(), (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if ENTRY.encode() in program.split(b"\0") and private.is_relative_to(folder) and private.name.startswith("run-"):
            running[int(path.parent.name)] = private
    return running
