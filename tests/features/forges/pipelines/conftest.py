"""A service over HTTP, a bare git repository, a bucket for the state, and the fakes of the two forges."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests import processes
from tests.features.forges.pipelines.repository import Repository

WRITES, READS = "canary-token-that-writes", "canary-token-that-reads"
SEED = f"""\
organizations: [{{id: org_acme, title: Acme}}]
members: [{{organization: org_acme, id: usr_ada, email: ada@acme.example, displayName: Ada, role: admin}}]
tokens:
  - {{token: {WRITES}, member: usr_ada, access: write}}
  - {{token: {READS}, member: usr_ada, access: read}}
spaces: [{{organization: org_acme, id: spc_blank, title: Blank, parent: null}}]
"""
PROJECT = """\
version: 1
project: handbook
service: {member: ada@acme.example, timeout: 20}
recovery: {settle: 2}
organizations:
  acme:
    id: org_acme
    members: {ada@acme.example: admin}
    teams:
      writers: {title: Writers}
      # Whoever changes a line above and a line below
      # is not in the way of the other one
      # when both are merged.
      readers: {title: Readers}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - {space: guides, title: Guides, duplicateOf: blank}
"""
TRAPPED = ("pip", "venv", "zipfile", "click", "sitecustomize", "reconciler/__init__", "reconciler/__main__")
TRAPS = dict.fromkeys((f"{name}.py" for name in TRAPPED), 'raise SystemExit("a file of the repository was run: " + __file__)\n')
"""Files of a repository that a careless pipeline would run."""


@dataclass
class Service:
    """A sandbox. `url`: where it is."""

    root: Path
    url: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request by somebody else."""
        headers = {"Authorization": f"Bearer {WRITES}", "Content-Type": "application/json"}
        request = Request(f"{self.url}/v1{path}", method=method, headers=headers, data=json.dumps(body).encode() if body else None)
        with urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def titles(self, kind: str) -> list[str]:
        """The titles of the teams that exist."""
        return sorted(item["title"] for item in self.ask("GET", f"/orgs/org_acme/{kind}?limit=100")["items"])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    command = [sys.executable, "-m", "reconciler", "sandbox"]
    (tmp_path / "seed.yaml").write_text(SEED)
    processes.run([*command, "seed", "--db", "service.db", "seed.yaml"], cwd=tmp_path, check=True, capture_output=True)
    serve = [*command, "serve", "--db", "service.db", "--port", "0"]
    with processes.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            assert found is not None
            yield Service(tmp_path, found[0])
        finally:
            server.terminate()


@dataclass
class Home:
    """What somebody has who followed the first step of the page: an applied project, its state in a bucket, and a repository."""

    root: Path
    service: Service
    repository: Repository
    state: str = field(init=False)

    def __post_init__(self) -> None:
        self.state = f"file://{self.root}/bucket"
        folder = self.root / "first"
        folder.mkdir()
        (folder / "reconciler.yaml").write_text(PROJECT)
        for words in ("plan --out plan.json", "apply --plan plan.json --create-state"):
            self.run(folder, *words.split())
        self.repository.commit("main", {"reconciler.yaml": PROJECT, **TRAPS})

    def run(self, folder: Path, *words: str, code: int = 0) -> str:
        """A command on the machine of somebody."""
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "RECONCILER_BASE_URL": self.service.url, "RECONCILER_STATE": self.state}
        command = [sys.executable, "-m", "reconciler", *words]
        done = processes.run(command, cwd=folder, env={**environ, "RECONCILER_TOKEN": WRITES}, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return str(done.stdout + done.stderr)


@pytest.fixture
def home(tmp_path: Path, service: Service) -> Home:
    return Home(tmp_path, service, Repository(tmp_path / "repository"))
