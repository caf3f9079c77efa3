"""A project and the state that belongs to it, made once and kept in a folder that is safe to delete.

The state is that of an apply to a service that has everything already: each object is adopted, and no request is sent.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks import projects
from benchmarks.measure import TOKEN, Cost, reconciler, run
from benchmarks.serving import Serving, serving

HERE: Final = Path(__file__).parent
CACHE: Final = HERE / ".cache"
CONTENTS: Final = ("projects.py", "service/memory.py", "service/objects.py", "service/contents.py")
SOURCES: Final = (*(HERE / name for name in CONTENTS), *sorted(HERE.parent.glob("reconciler/state/tables/*.py")))
OFFLINE: Final = ("validate", "fmt", "config render", "graph")  # they take neither a service nor a state


@dataclass(frozen=True)
class Prepared:
    """A copy of a project with its state, for one service. `project`: where a command works, None for one that needs no project."""

    folder: Path
    service: Serving
    project: str | None = "project"
    state: str = "state.db"

    def words(self, command: str, *arguments: str) -> list[str]:
        """The command line of a command of the program on it."""
        if self.project is None:
            return [*command.split(), *arguments]
        service = ["--base-url", self.service.url, "--state", f"sqlite:///{self.folder}/{self.state}"]
        options = [] if command in OFFLINE else service
        return [*command.split(), str(self.folder / self.project), *options, *arguments]

    def reconciler(self, command: str, *arguments: str) -> Cost:
        """BenchmarkRun a command of the program on it."""
        words = reconciler(*self.words(command, *arguments))
        state = {"RECONCILER_STATE": f"sqlite:///{self.folder}/{self.state}"} if command in OFFLINE else {}
        return run(words, environment={"RECONCILER_TOKEN": TOKEN, **state}, log=self.folder / "log.txt")

    def importing(self) -> Prepared:
        """The same service with an empty folder and without a state."""
        return replace(self, project="imported", state="imported.db")


def retitled(case: Prepared) -> None:
    """Change one title."""
    for file in (case.folder / "project").rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("title: Space 7\n", "title: Another title\n"), encoding="utf-8")


def asking(case: Prepared) -> None:
    """Ask what each member can read."""
    file = case.folder / "project" / "reconciler.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("service:\n", "service:\n  readPeople: true\n", 1), encoding="utf-8")


@contextmanager
def prepared(shape: str, size: int, service: Serving, *, cache: Path = CACHE) -> Iterator[Prepared]:
    """A fresh copy of the project and its state; what a run leaves beside them is dropped with it."""
    source = _source(shape, size, cache)
    with TemporaryDirectory(prefix="reconciler-benchmark-") as name:
        folder = Path(name)
        shutil.copytree(source, folder, dirs_exist_ok=True)
        with closing(sqlite3.connect(folder / "state.db")) as connection, connection:
            connection.execute("update states set service = ?", (service.url,))
        yield Prepared(folder, service)


@contextmanager
def unapplied(shape: str, size: int, service: Serving) -> Iterator[Prepared]:
    """A project that was never applied."""
    with TemporaryDirectory(prefix="reconciler-benchmark-") as name:
        projects.write(Path(name) / "project", projects.SHAPES[shape](size))
        yield Prepared(Path(name), service)


def _source(shape: str, size: int, cache: Path) -> Path:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:12]
    folder = cache / f"{shape}-{size}-{digest}"
    if not folder.exists():
        with serving(shape, size, 0) as service, unapplied(shape, size, service) as made:
            print(f"Preparing {shape} with {size:,} objects, once …", file=sys.stderr, flush=True)
            cost = made.reconciler("apply", "--yes", "--create-state", "--max-concurrency", "64")
            if cost.code != 0 or any(method != "GET" for method in service.count()):
                sys.exit(f"the project could not be prepared ({service.count()}):\n{(made.folder / 'log.txt').read_text()[-2000:]}")
            partial = cache / f"{folder.name}.{made.folder.name}"
            shutil.copytree(made.folder, partial, ignore=shutil.ignore_patterns("log.txt", ".reconciler", "*-wal", "*-shm"))
            partial.rename(folder)
    return folder
