"""The short proof, job by job; and that each experiment can fail: a deliberate defect is caught by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.apply import recover as recovery
from reconciler.client import RetryClass, Writer
from reconciler.state import StateScope
from reconciler.state.bucket.objects import Folder
from reconciler.state.journal import Journal
from reconciler.state.lease import Lease
from tests.proofs import proof
from tests.reliability import environments, faults, kill, marker, races, statements
from tests.reliability.__main__ import database, main, one
from tests.reliability.plan import Job, jobs
from tests.reliability.result import Result
from tests.state import s3

pytestmark = pytest.mark.timeout(900)  # each takes seconds, unless the machine is busy

SHORT = list(jobs("short", ()))
FIRST = {  # of each experiment, and of those that are about the state also in a bucket; a part of these runs on a push
    (job.experiment, job.database == "bucket"): job
    for job in reversed(SHORT)
    if job.database != "bucket" or job.experiment in ("kill", "races")
}.values()
PART = 18


def part(job: Job) -> Job:
    """The same with fewer runs."""
    least = 1 if job.experiment in ("sigkill", "signals") else 2  # real processes
    fewer = {word: max(least, job.words[word] // PART) for word in ("most", "runs") if word in job.words}
    if job.database == "bucket":
        fewer |= {word: 1 for word in ("deep", "deepest") if word in job.words}
    return replace(job, words={**job.words, **fewer})


def name(job: Job) -> str:
    return f"{job.experiment}-{job.words['name']}-{job.words.get('seed', 0)}-{job.database}"


@pytest.fixture
def postgres(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture
def server(request: pytest.FixtureRequest, job: Job) -> str | s3.Proxy | None:
    """The server of a job's database, where it has one."""
    fixtures = {"postgres": "postgres", "s3": "s3_proxy", "azure": "azure_proxy"}
    found: str | s3.Proxy | None = request.getfixturevalue(fixtures[job.database]) if job.database in fixtures else None
    return found


@pytest.mark.parametrize(
    "job",
    [
        *(pytest.param(part(job), id=f"part of {name(job)}") for job in FIRST),
        *(pytest.param(job, id=name(job), marks=proof) for job in SHORT),
    ],
)
def test_never_twice_never_lost(job: Job, server: str | s3.Proxy | None) -> None:
    result = one(job, server, 0)
    assert [f"{found.seed} {found.case}: {found.what}" for found in result.violations] == []
    assert result.runs


def test_the_command_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    out = tmp_path / "reliability.json"
    code = main(["--seed", "kill:tiny:0@sqlite", "--case", "no such case", "--out", str(out), "--processes", "1"])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert code == 0
    assert found["format"] == "reconciler.reliability/2"
    assert [one["experiment"] for one in found["experiments"]] == ["kill"]
    assert "| kill | SQLite | 0 |" in capsys.readouterr().out
    assert main(["--only", "kill", "--seed", "kill:tiny:0@sqlite", "--out", str(out), "--resume", "--processes", "1"]) == 0
    assert "kill:tiny" not in capsys.readouterr().err  # it is there already


# -- each can fail --------------------------------------------------------------------------------------------------------------------


@contextmanager
def sqlite() -> Iterator[Any]:
    with database("sqlite", None, "unused") as found:
        yield found


def whats(result: Result) -> str:
    return "\n".join(found.what for found in result.violations)


def test_without_recovery_a_kill_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(*given: Any, **named: Any) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr("tests.harness.recover", none)
    with sqlite() as found:
        assert "in doubt" in whats(kill.run("tiny", found, most=12, like="during", first=True))


def test_a_recovery_that_sends_again_at_once_makes_things_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async def impatient(*given: Any, **named: Any) -> Any:
        return await recovery.recover(*given, **{**named, "settle": None})

    monkeypatch.setattr("tests.harness.recover", impatient)
    with sqlite() as found:
        assert "too much" in whats(kill.run("tiny", found, like="late", first=True))


@proof
def test_environments_that_share_a_state_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = property(lambda self: {"project": self.project, "environment": "", "service": self.service})
    monkeypatch.setattr(StateScope, "columns", shared)
    with sqlite() as found, pytest.raises(AssertionError, match="does not converge in staging"):
        environments.run("tiny-changed", found, most=4)


@proof
def test_a_recovery_that_knows_no_ids_takes_what_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Journal.commit
    monkeypatch.setattr(Journal, "commit", lambda self, given, ended: real(self, [replace(intent, lookup=()) for intent in given], ended))
    with sqlite() as found:
        assert "too much" in whats(kill.run("tiny", found, like="done", first=True))


@proof
def test_a_create_that_is_retried_makes_things_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Writer.send

    async def send(self: Writer, method: str, path: str, body: Any, *, retry: RetryClass, **more: Any) -> Any:
        return await real(self, method, path, body, retry=RetryClass.IDEMPOTENT, **more)

    monkeypatch.setattr(Writer, "send", send)
    with sqlite() as found:
        for case in ("cut before the answer POST 0.2", "error after POST 0.2"):
            assert any("too much" in whats(faults.run("small", found, seed=seed, only=case)) for seed in range(4)), case


def test_a_request_without_an_intent_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from reconciler.errors import StateError

    real = Journal.commit

    def careless(self: Journal, given: Any, ended: Any) -> Any:
        try:
            return real(self, given, ended)
        except StateError:
            return tuple(given)

    monkeypatch.setattr(Journal, "commit", careless)
    with sqlite() as found:
        assert "sent without an intent" in whats(statements.run("tiny", found, runs=60, first=True))


@proof
def test_a_create_that_comes_late_and_bears_no_mark_is_there_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.apply.step.marked", lambda kind, step, nonce: step)
    with sqlite() as found:
        assert any("too much: team" in whats(marker.run("tiny", found, seed=seed, runs=1, only="team 1.0 0")) for seed in range(6))


@proof
def test_a_bucket_that_replaces_what_must_be_created_once_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def create(self: Folder, name: str, content: bytes) -> bool:
        self.put(name, content)
        return True

    monkeypatch.setattr(Folder, "create", create)
    monkeypatch.setattr(races, "STOPS", ("during ",))
    with database("bucket", None, "unused") as found:
        assert "is damaged: journal/" in whats(races.run("tiny", found, runs=20, first=True))


@proof
def test_two_writers_are_seen(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "check", lambda self, connection: None)
    monkeypatch.setattr(races, "STOPS", ("during ",))
    with database("postgres", postgres, "two_writers") as found:
        assert "late writes" in whats(races.run("tiny", found, runs=20, first=True))
