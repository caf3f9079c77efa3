"""Every command, started in a hostile checkout: nothing in it is run, and nothing is read but what the documentation names.

The commands are those of the table of the command line: a new one is tried by itself, with any value for what it requires.
One interpreter starts in the folder, and forks for each command line; how interpreters start is `test_current_folder.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import click
import pytest

from reconciler.assembled import main
from reconciler.cli.program import LazyGroup
from reconciler.text.patterns import PathPattern
from tests.hostile.folders import COPY as COPY_CONFIG, HostileFolder
from tests.hostile.repositories import git
from tests.interpreter import Interpreter
from tests.proofs import proof

PROGRAM: Final = Path(sys.executable).with_name("reconciler")
COPY: Final = "copy.db"
DB: Final = ("--db", COPY)
FLEET: Final = """\
version: 1
defaults: {baseUrl: "http://127.0.0.1:9", token: {env: ACME_TOKEN}, source: {git: "URL"}}
projects: [{name: acme}]
"""
COPIES: Final = ".reconciler/fleet/repositories"
WORDS: Final[dict[str, tuple[str, ...]]] = {
    "init": ("new",),
    "apply": ("--yes",),
    "pipeline": ("validate", "."),
    "import": ("new", "--org", "org_acme", "--sandbox", COPY),
    "show": ("last",),
    "undo": ("last",),
    "urls where": ("http://127.0.0.1/published/documentation/x",),
    "state show": ("acme/team/writers",),
    "state mv": ("acme/team/writers", "acme/team/authors"),
    "state forget": ("acme/team/writers",),
    "state push": ("state.json",),
    "fleet preview": ("--from", "HEAD"),
    "propose": ("operations.json",),
    "explain": ("team",),
    "comment": ("report.json",),
    "api": ("GET", "/orgs", "--sandbox", COPY),
    "sandbox serve": DB,
    "sandbox seed": (*DB, "seed.yaml"),
    "sandbox copy": ("--db", "other.db"),
    "sandbox clock": DB,
    "sandbox faults set": DB,
    "sandbox faults show": DB,
    "sandbox faults log": DB,
    "sandbox faults clear": DB,
    "sandbox readers": (*DB, "--org", "org_acme"),
    "sandbox export": DB,
    "sandbox reset": DB,
}
"""The arguments with which a command gets further than with any value."""

SERVERS: Final = ("sandbox serve", "fleet up", "fleet worker", "fleet serve")
"""They do not end by themselves: `test_every_server.py` starts them, and those that end with their input."""

BELIEVED: Final = {
    "reconciler.yaml": "the project",
    "tests/*.yaml": "its tests",
    ".reconciler/state.db*": "its state",
    ".reconciler/sandbox.db*": "its sandbox",
    ".reconciler/proposal.json": "only if it was made in this folder",
    ".reconciler/unsaved-*.json": "only with a signature of the state's own key",
    ".git/**": "the repository around the project, by git, which runs nothing of it: test_git.py",
    ".gitattributes": "by git, which takes no program from it", ".gitignore": "by git",
    ".reconciler/config.schema.json": "by git, which compares the files of the commit",
    "fleet.yaml": "the fleet file, which is an argument",
    COPY + "*": "an argument", "state.json": "an argument", "operations.json": "an argument", "report.json": "an argument",
    "seed.yaml": "an argument",
}  # fmt: skip
"""What a command may read in the folder where it starts, and why; `*` stands for a part of one name. Nothing else of it is even opened."""


def commands(group: LazyGroup = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of all commands, and the arguments of each."""
    for name in group.by_name:
        command = group.get_command(click.Context(group), name)
        if isinstance(command, LazyGroup):
            yield from commands(command, (*path, name))
        else:
            whole = " ".join((*path, name))
            assert command is not None
            yield whole, WORDS.get(whole, (*required(command),))


def required(command: click.Command) -> Iterator[str]:
    """Any values for what a command requires."""
    for param in command.params:
        if param.required:
            yield from param.opts[:1] if isinstance(param, click.Option) else ()
            if isinstance(param.type, click.Choice):
                yield str(param.type.choices[0])
            else:
                yield "reconciler.yaml" if isinstance(param.type, click.Path | click.File) and getattr(param.type, "exists", True) else "x"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was applied to its sandbox."""
    top = tmp_path_factory.mktemp("project")
    for words in (("init", ".", "--sandbox"), ("apply", "--yes"), ("state", "pull", "--out", "state.json")):
        subprocess.run([PROGRAM, *words], cwd=top, env=environ(top.parent / "home"), capture_output=True, check=True)
    (top / COPY).write_bytes((top / ".reconciler" / "sandbox.db").read_bytes())
    return top


def environ(home: Path) -> dict[str, str]:
    """The environment of somebody who has relative folders in their PATH."""
    given = {"RECONCILER_DATABASE": "postgresql://127.0.0.1:9/x", "ACME_TOKEN": "secret"}
    return {"PATH": f".{os.pathsep}{os.environ['PATH']}", "HOME": str(home), **given}


@pytest.mark.parametrize("mask", [0o077, pytest.param(0o022, marks=proof), pytest.param(0o027, marks=proof)], ids=oct)
def test_no_command_runs_or_reads_what_lies_in_the_folder(project: Path, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        folder = hostile_clone(project, tmp_path)
        failed = []
        with Interpreter(folder.top, environ(tmp_path / "home")) as run:
            for name, words in commands():
                if name not in SERVERS:
                    with folder.observed() as opened:
                        code, _, err = run(*name.split(), *words)
                    read = not_believed(opened)
                    assert b"Usage:" not in err, f"{name}: {err!r}"
                    if (ran := folder.ran) or read or b"RC-defect" in err:
                        failed.append(f"{name} ended with {code}, ran {ran}, read {read}: {err.decode()}")
    finally:
        os.umask(before)
    assert not failed, "\n".join(failed)


def hostile_clone(project: Path, place: Path) -> HostileFolder:
    """A clone `top` of a repository that contains everything, full of what is hostile, beside a directory `home`."""
    (place / "home").mkdir()
    git(place, "clone", "-q", str(committed(project, place)), "top")
    folder = HostileFolder.plant(place / "top", place / "ran")
    for url in (f"file://{place / 'repository'}", "file:///nowhere"):
        folder.write(f"{COPIES}/{sha256(url.encode()).hexdigest()[:32]}.0123456789abcdef.git/config", COPY_CONFIG)
    return folder


def not_believed(read: Iterable[str]) -> list[str]:
    """The files of those that were read that no documentation names."""
    return [path for path in read if not any(PathPattern.parse(some).matches(path) for some in BELIEVED)]


def committed(project: Path, place: Path) -> Path:
    """A repository whose commit contains everything: the project, its state and its sandbox too."""
    repository = place / "repository"
    repository.mkdir()
    for path in project.rglob("*"):
        if path.is_file():
            (repository / path.relative_to(project)).parent.mkdir(parents=True, exist_ok=True)
            (repository / path.relative_to(project)).write_bytes(path.read_bytes())
    (repository / "fleet.yaml").write_text(FLEET.replace("URL", f"file://{repository}"))
    (repository / "tests").mkdir()
    (repository / "tests" / "x.yaml").write_text("tests:\n  x: {expect: []}\n")
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    for name, text in {"operations.json": "[]", "report.json": "{}", "seed.yaml": "{}"}.items():
        (repository / name).write_text(text)
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A", "-f")
    git(repository, "commit", "-q", "-m", "one")
    return repository


def test_what_is_believed_is_no_more_than_what_its_line_says() -> None:
    hostile = ["tests/deep/x.yaml", ".reconciler/state.db.d/x", ".reconciler/unsaved-x/y.json", "copy.db.d/x", "docs/fleet.yaml"]
    assert not_believed([*hostile, "tests/x.yaml", ".reconciler/state.db-wal", ".git/objects/aa/b"]) == hostile


def test_the_lines_of_the_table_are_those_of_commands() -> None:
    names = {name for name, _ in commands()}
    assert WORDS.keys() | set(SERVERS) <= names
