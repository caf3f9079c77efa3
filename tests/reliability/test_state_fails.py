"""The state database fails at any statement or commit: nothing is sent without a durable intent, and the next run converges."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.errors import StateError
from reconciler.model import StepStatus
from reconciler.state.sqlite import WRITE
from tests.harness import ORGANIZATION, Org
from tests.proofs import sampled, stride
from tests.state.watched import watched
from tests.transports import Onward, between

TREE: dict[str, Any] = {
    "teams": {"writers": {"title": "Writers"}},
    "content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "one", "title": "One"}],
}
LATER: dict[str, Any] = {
    "teams": {"writers": {"title": "Authors"}, "readers": {"title": "Readers"}},
    "content": [{"space": "one", "title": "First"}, {"space": "blank", "id": "spc_blank", "title": "Blank"}],
}


class Watched(Org):
    """An organization whose every write is compared with what the database has durably: whether it has, for a connection of its own, an
    intent without an outcome when it is sent. `strangers`: those that have none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.strangers: list[str] = []

    def transport(self) -> httpx2.AsyncBaseTransport:
        return between(super().transport(), self._witnessed)

    async def _witnessed(self, request: httpx2.Request, onward: Onward) -> httpx2.Response:
        path = request.url.path.removeprefix("/v1")
        if request.method != "GET":
            with closing(sqlite3.connect(self.root / "state.db")) as database:
                count = database.execute(
                    "select count(*) from journal j join open_intents o on o.state = j.state and o.intent = j.id"
                    " where j.method = ? and j.path = ?",
                    (request.method, path),
                ).fetchone()
            if count == (0,):
                self.strangers.append(f"{request.method} {path}")
        return await onward(request)


class Trouble:
    """Fails what a run asks of the database: the nth alone, or the nth and everything after it."""

    def __init__(self, nth: int, lasting: bool) -> None:
        self.nth, self.lasting, self.count = nth, lasting, 0

    def __call__(self, *_: Any) -> None:
        self.count += 1
        if self.count == self.nth or (self.lasting and self.count > self.nth):
            raise sqlite3.OperationalError("disk I/O error")


@contextmanager
def failing(what: str, trouble: Trouble) -> Iterator[Trouble]:
    """Every state of this process has that trouble at its statements (`statement`) or commits (`commit`)."""
    with watched(**{what: trouble}):
        yield trouble


def titles(org: Org) -> list[str]:
    base = f"/orgs/{ORGANIZATION}"
    spaces = [item["space"]["title"] for item in org.items(f"{base}/members/usr_ada/spaces")]
    return sorted([*(one["title"] for one in org.items(f"{base}/teams")), *spaces])


def kept(org: Org) -> list[Path]:
    return sorted((org.project / ".reconciler").glob("*"))


def begun(root: Path) -> Watched:
    org = Watched(root)
    org.write(TREE)
    org.apply()
    org.write(LATER)
    return org


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An organization after its first apply, to be copied."""
    root = tmp_path_factory.mktemp("start")
    begun(root)
    return root


def copied(start: Path, root: Path) -> Watched:
    shutil.copytree(start, root)
    return Watched(root, seed={})


@sampled
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from-then-on"])
@pytest.mark.parametrize("what", ["statement", "commit"])
def test_at_every_statement_and_commit_of_an_apply(tmp_path: Path, start: Path, what: str, lasting: bool) -> None:
    with failing(what, Trouble(0, False)) as calm:
        copied(start, tmp_path / "calm").apply()
    assert calm.count > 10
    for nth in range(1, calm.count + 1, stride(15)):
        org = copied(start, tmp_path / str(nth))
        with failing(what, Trouble(nth, lasting)):
            try:
                org.apply()
            except StateError:
                assert org.strangers == [], nth
        org.apply()
        assert org.strangers == [], nth
        assert titles(org) == ["Authors", "Blank", "First", "Readers"], nth
        assert org.plan().empty, nth
        assert kept(org) == [], nth
        shutil.rmtree(org.root)


async def mute(request: httpx2.Request, onward: Onward) -> httpx2.Response:
    """What makes something is carried out, and answered with a 502."""
    answer = await onward(request)
    makes = request.url.path.endswith(("/teams", "/duplicate")) and request.method != "GET"
    return httpx2.Response(502, request=request) if makes else answer


@sampled
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from-then-on"])
def test_at_every_statement_of_a_recovery(tmp_path: Path, start: Path, lasting: bool) -> None:
    """What the run before it made is in doubt."""
    shutil.copytree(start, tmp_path / "doubt")
    doubt = Watched(tmp_path / "doubt", seed={})
    doubt.write({**LATER, "content": [*LATER["content"], {"space": "two", "title": "Two"}]})
    doubt.way = mute
    assert [result.status for result in doubt.apply().results].count(StepStatus.IN_DOUBT) == 2
    with failing("statement", Trouble(0, False)) as calm:
        copied(doubt.root, tmp_path / "calm").apply()
    for nth in range(1, calm.count + 1, stride(37)):
        org = copied(doubt.root, tmp_path / str(nth))
        with failing("statement", Trouble(nth, lasting)), suppress(StateError):
            org.apply()
        org.apply()
        assert org.strangers == [], nth
        assert titles(org) == ["Authors", "Blank", "First", "Readers", "Two"], nth
        assert org.plan().empty, nth
        assert kept(org) == [], nth
        shutil.rmtree(org.root)


def fail_from_the_first_outcome(org: Org) -> StateError:
    """Let every outcome fail, and nothing before it."""

    def trouble(_: Any, statement: str, __: int) -> None:
        if statement.startswith("INSERT INTO outcomes"):
            raise sqlite3.OperationalError("disk I/O error")

    with watched(trouble), pytest.raises(StateError) as raised:
        org.apply()
    return raised.value


def test_what_could_not_be_stored_is_kept_and_taken_in_without_reading_it_again(tmp_path: Path, start: Path) -> None:
    org = copied(start, tmp_path / "org")
    error = fail_from_the_first_outcome(org)
    (file,) = kept(org)
    assert str(file) in error.message
    assert "imports the file" in (error.hint or "")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert len([request for request in org.requests if request[0] != "GET"]) == len(json.loads(file.read_text())["endings"])
    org.apply()
    assert (kept(org), titles(org)) == ([], ["Authors", "Blank", "First", "Readers"])
    assert {str(at): binding.origin.value for at, binding in org.remembered().bindings.items()}["acme/team/readers"] == "created"


def test_a_kept_file_holds_no_values_of_fields(tmp_path: Path, start: Path) -> None:
    org = copied(start, tmp_path / "org")
    fail_from_the_first_outcome(org)
    (file,) = kept(org)
    assert "Readers" not in file.read_text()
    assert "Authors" not in file.read_text()


@pytest.mark.parametrize("how", ["signature", "lineage", "half", "list"])
def test_a_kept_file_that_is_not_ours_is_not_believed(tmp_path: Path, start: Path, how: str) -> None:
    org = copied(start, tmp_path / "org")
    fail_from_the_first_outcome(org)
    (file,) = kept(org)
    body = json.loads(file.read_text())
    for ending in body["endings"]:
        for one in ending["bound"]:
            one["id"] = "team_of_somebody_else"
    changed = {"signature": body, "lineage": {**body, "lineage": "other"}, "half": None, "list": [body]}[how]
    file.write_text(json.dumps(changed) if changed is not None else file.read_text()[:40])
    org.apply()
    assert titles(org) == ["Authors", "Blank", "First", "Readers"]
    assert org.plan().empty
    assert kept(org) == [file]


def test_a_kept_file_of_a_request_that_was_recovered_meanwhile_changes_nothing(tmp_path: Path, start: Path) -> None:
    org = copied(start, tmp_path / "org")
    fail_from_the_first_outcome(org)
    (file,) = kept(org)
    text = file.read_text()
    org.apply()
    file.write_text(text)
    org.apply()
    assert (kept(org), titles(org)) == ([], ["Authors", "Blank", "First", "Readers"])


def test_where_nothing_can_be_kept_either_it_says_so_and_recovery_reads(tmp_path: Path, start: Path) -> None:
    org = copied(start, tmp_path / "org")
    (org.project / ".reconciler").write_text("a file where the folder belongs")
    error = fail_from_the_first_outcome(org)
    assert "could not be stored" in error.message or "could not be stored next to the project either" in error.message
    assert "stay in doubt" in error.message
    (org.project / ".reconciler").unlink()
    org.apply()
    assert titles(org) == ["Authors", "Blank", "First", "Readers"]
    assert org.plan().empty


@sampled
def test_a_database_that_cannot_grow(tmp_path: Path) -> None:
    """SQLITE_FULL at any size between full at once and large enough."""
    ended = set()
    many = {f"team-{number}": {"title": f"Team {number}"} for number in range(16)}
    for more in range(0, 9, stride(2)):
        org = Watched(tmp_path / str(more))
        org.write({**LATER, "teams": many})
        org.store().close()
        with closing(sqlite3.connect(org.root / "state.db")) as database:
            (pages,) = database.execute("pragma page_count").fetchone()

        def small(connection: Any, statement: str, _: int, most: int = pages + more) -> None:
            if statement == WRITE:
                connection.raw.execute(f"pragma max_page_count = {most}")

        try:
            with watched(small):
                org.apply()
            ended.add("done")
        except StateError as error:
            ended.add("full" if "the disk is full" in error.message else error.message)
        org.apply()
        assert org.strangers == []
        assert titles(org) == sorted([*(team["title"] for team in many.values()), "Blank", "First"])
        assert org.plan().empty
    assert "full" in ended
    assert ended <= {"full", "done"}
