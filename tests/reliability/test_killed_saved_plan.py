"""`apply --plan FILE` is killed for real at its boundaries; the file's second use and a new plan then do what the documents say."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.service import Writer
from tests.command_line import Cli
from tests.proofs import sampled, stride
from tests.reliability.seen import difference, seen
from tests.reliability.world import commits

APPLY = ("apply", "p", "--plan", "plan.json")
CHANGES = {
    "writers: {title: Writers, members: [ada@acme.example]}": "editors: {title: Editors}",
    "{space: guides, title: Guides, duplicateOf: blank}": "{space: guides, title: Manuals, duplicateOf: blank}",
    "{space: api, title: API reference, duplicateOf: blank}": "{space: api, title: API reference, duplicateOf: blank}\n"
    "          - {space: more, title: More, duplicateOf: blank}",
    "{section: api, title: API, spaces: [api]}": "{section: api, title: API, spaces: [api, more]}",
}


class Boundaries:
    """Counts what a run passes, before and after each commit and each request that writes, and dies at one of them."""

    def __init__(self, fatal: int) -> None:
        self.fatal, self.passed, self.commits = fatal, 0, 0

    def at(self, _boundary: str) -> None:
        self.passed += 1
        if self.passed == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def watching(self) -> Iterator[None]:
        real = Writer.send

        async def send(writer: Writer, *given: Any, **named: Any) -> Any:
            self.at("before a request")
            answer = await real(writer, *given, **named)
            self.at("after a request")
            return answer

        Writer.send = send  # type: ignore[method-assign]
        try:
            with commits(self):  # type: ignore[arg-type]
                yield
        finally:
            Writer.send = real  # type: ignore[method-assign]


def killed(cli: Cli, fatal: int, *words: str, sort: Callable[[int], Boundaries] = Boundaries) -> int:
    """Run it in a process of its own that dies at a boundary; the boundaries it passed, negative where it was killed."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        boundaries, code = sort(fatal), 99
        try:
            with boundaries.watching():
                code = cli(*(words or APPLY)).exit_code
            os.write(theirs, str(boundaries.passed).encode())
        finally:
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours) as told:
        passed = told.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return int(passed) if code == 0 else -fatal


def service(cli: Cli) -> Counter[str]:
    with closing(sqlite3.connect(cli.root / "p/.reconciler/sandbox.db")) as connection:
        return seen(connection)


def copied(start: Path, root: Path) -> Cli:
    shutil.copytree(start, root)
    return Cli(root)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An organization that was applied and changed since; the plan of that is saved."""
    cli = Cli(tmp_path_factory.mktemp("killed") / "start")
    cli.root.mkdir()
    assert (cli("init", "p", "--sandbox").exit_code, cli("apply", "p", "--yes").exit_code) == (0, 0)
    for old, new in CHANGES.items():
        cli.edit("p/reconciler.yaml", old, new)
    assert cli("plan", "p", "--out", "plan.json").exit_code == 0
    return cli.root


@sampled
def test_after_a_kill_the_file_goes_on_where_nothing_was_done_and_is_refused_where_something_was(start: Path, tmp_path: Path) -> None:
    calm = copied(start, tmp_path / "calm")
    before = service(calm)
    boundaries = killed(calm, 0)
    expected = service(calm)
    assert boundaries > 30
    went_on = refused = 0
    for fatal in range(1, boundaries + 1, stride(15)):
        cli = copied(start, tmp_path / str(fatal))
        killed(cli, fatal)
        untouched = service(cli) == before
        again = cli(*APPLY)
        if untouched:
            went_on += 1
            assert again.exit_code == 0, f"{fatal}: {again.stderr}"
        else:
            run = cli.json("history", "p")["runs"][1]
            if run["exit"] == 0:  # killed after the last thing that it had to do
                assert "The plan was applied already" in again.stdout
                assert again.exit_code == 0
                continue
            refused += 1
            assert again.exit_code == 6, f"{fatal}: {again.stdout}{again.stderr}"
            assert f"plan.json was already used by run {run['id']}" in again.stderr
            assert "For what is left: reconciler plan --out FILE." in again.stderr
        assert cli("plan", "p", "--out", "rest.json").exit_code == 0
        assert cli("apply", "p", "--plan", "rest.json", "--allow-delete", "5").exit_code == 0, fatal
        assert difference(expected, service(cli)) == [], fatal
        assert cli("plan", "p", "--detailed-exitcode").exit_code == 0, fatal
        shutil.rmtree(cli.root)
    assert went_on
    assert refused
