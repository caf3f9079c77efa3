"""A project and a service behind the strict proxy, and the commands that people give one after the other, each a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reconciler.sandbox.seed import seed
from tests.harness import TOKEN
from tests.strict.proxy import Strict, strict
from tests.strict.turns import Files

ROOT = Path(__file__).parents[2]
ALLOWED = ("--allow-replace", "**", "--allow-exposure", "**")
RUNS = 4  # applies until nothing is left: what the service rearranges by itself is put off to the next one
DONE, PENDING, REFUSED, PARTLY = 0, 2, 4, 5


@dataclass
class Journey:
    """`proxy` has seen every request."""

    root: Path
    url: str
    proxy: Strict

    @property
    def project(self) -> Path:
        return self.root / "project"

    def run(self, *words: str, project: Path | None = None, codes: tuple[int, ...] = (DONE,)) -> str:
        """What a command prints to standard output. Fails where it ends with another code, or the service refused a request."""
        command, *more = words
        env = {name: value for name, value in os.environ.items() if not name.startswith(("RECONCILER_", "NO_COLOR", "FORCE_COLOR"))}
        env |= {
            "RECONCILER_TOKEN": TOKEN, "RECONCILER_BASE_URL": self.url, "RECONCILER_STATE": f"sqlite:///{self.root}/state.db",
            "NO_COLOR": "1", "HOME": str(self.root), "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        line = [sys.executable, "-m", "reconciler", command, *more]
        if command != "api":
            line.append(str(project or self.project))
        done = subprocess.run(line, env=env, cwd=self.root, capture_output=True, text=True, timeout=240, check=False)
        assert self.proxy.refused == [], f"{words}: {self.proxy.refused[0]}"
        assert done.returncode in codes, f"{words}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    # -- the files -----------------------------------------------------------------------------------------------------------------

    def files(self) -> Files:
        """The project's files, parsed."""
        paths = sorted(self.project.rglob("*.yaml"))
        return {str(path.relative_to(self.project)): yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}

    def write(self, files: Files) -> None:
        for name, content in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")

    # -- what people do ------------------------------------------------------------------------------------------------------------

    def plan(self, project: Path | None = None) -> dict[str, Any]:
        plan: dict[str, Any] = json.loads(self.run("plan", "--format", "json", *ALLOWED, project=project, codes=(DONE, REFUSED, PARTLY)))
        return plan

    def apply(self) -> None:
        """Apply until nothing is left but what waits for a person's consent."""
        for _ in range(RUNS):
            self.run("apply", "--yes", "--create-state", *ALLOWED, codes=(DONE, PARTLY))
            if not self.plan()["steps"]:
                break
        self.run("plan", "--detailed-exitcode", *ALLOWED, codes=(DONE, REFUSED))

    def tracked(self, kind: str) -> dict[str, str]:
        """The ids of the tracked objects of a kind, by address."""
        lines = (line.split() for line in self.run("state", "list").splitlines())
        return {words[0]: words[2] for words in lines if len(words) > 2 and f"/{kind}/" in words[0]}

    def meddle(self) -> list[str]:
        """Somebody renames a space and a collection, and carries another space to the end of the root; the addresses of what is renamed."""
        spaces = {at: id for at, id in self.tracked("space").items() if id != "spc_blank"}
        collections = self.tracked("collection")
        first, *_, second = spaces
        self.run("api", "PATCH", f"/spaces/{spaces[first]}", "-f", "title=Renamed by hand")
        self.run("api", "POST", f"/spaces/{spaces[second]}/move", "--input", self._body({"parent": None}))
        if not collections:
            return [first]
        third = next(iter(collections))
        self.run("api", "PATCH", f"/collections/{collections[third]}", "-f", "title=Named by hand")
        return [first, third]

    def _body(self, body: Any) -> str:
        path = self.root / "body.json"
        path.write_text(json.dumps(body), encoding="utf-8")
        return str(path)

    def drift(self, *words: str, codes: tuple[int, ...] = (PENDING,)) -> str:
        return self.run("drift", *words, codes=codes)

    def imported(self, organization: str) -> Path:
        """The folder that the organization was imported into, with a state of its own."""
        folder, kept = self.root / "imported", self.root / "state.db"
        shutil.rmtree(folder, ignore_errors=True)
        for file in self.root.glob("state.db*"):
            file.rename(self.root / f"kept-{file.name}")
        self.run("import", "--org", organization, "--create-state", project=folder)
        assert not self.plan(folder)["steps"]
        self.run("plan", "--detailed-exitcode", project=folder)
        kept.unlink()
        for file in self.root.glob("kept-*"):
            file.rename(self.root / file.name.removeprefix("kept-"))
        return folder


@contextmanager
def journey(root: Path, holds: Mapping[str, Any], *, dressed: bool = False) -> Iterator[Journey]:
    """Before a service that holds what a seed says."""
    db = root / "sandbox.db"
    seed(db, holds)
    with strict(db, dressed=dressed) as (url, proxy):
        yield Journey(root, url, proxy)
