"""What a worker does for one run: resolve the references, fetch the commit, read, apply what may be applied, write the end.

Every end is a row: a run that ends in an error writes when the project is due again, and nothing is retried by the queue.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func

from reconciler.config.language.variables import ENV_PREFIX
from reconciler.errors import ReconcilerError
from reconciler.fleet import approvals, schedule, status
from reconciler.fleet.facts import follower
from reconciler.fleet.health import Checked, of_document
from reconciler.fleet.model import Mode, Project
from reconciler.fleet.runs import end
from reconciler.fleet.runs.gate import VARIABLE, Gate
from reconciler.fleet.runs.process import execute
from reconciler.fleet.runs.secrets import digest, resolved
from reconciler.fleet.sources import git, tree
from reconciler.fleet.store import Database, budgets, runs
from reconciler.fleet.store import approvals as kept
from reconciler.fleet.store import projects as rows
from reconciler.fleet.store.schema import projects as tables

READ_SECONDS: Final = 900.0
APPLY_SECONDS: Final = 3_600.0
DOCUMENT_MAX: Final = 64 * 2**20  # bytes


class Failed(ReconcilerError):
    """A run ended without a reading."""


@dataclass
class Result:
    """What a run says of its project. `waits`: why changes are not applied, None where none wait."""

    commit: str | None = None
    reading: status.Reading | None = None
    health: Checked | None = None
    plan: Mapping[str, Any] | None = None
    waits: str | None = None
    applied: bool = False
    says: str = ""
    code: int = 0
    late: bool = False
    requests: int = 0
    error: str | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where runs happen: the fleet's database, a cache of repositories, a folder for private folders."""

    database: Database
    cache: Path
    folder: Path


async def work(place: Place, begun: runs.Begun, worker: int) -> None:
    """Do a run that this worker has started, and write its end."""
    result = Result()
    folder = Path(tempfile.mkdtemp(prefix=f"run-{begun.id}-", dir=place.folder))
    door = Path(tempfile.mkdtemp(prefix="reconciler-"))  # of the gate: the path of a socket must be short
    try:
        await _Run(place, begun, folder, result, door / "gate").all()
    except ReconcilerError as error:
        result.error = _sentence(error)
    except OSError as error:
        result.error = f"this worker cannot do it: {(error.strerror or type(error).__name__).lower()}"
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, True)
        await asyncio.to_thread(shutil.rmtree, door, True)
    await asyncio.to_thread(_end, place.database, begun, worker, result)


class _Run:
    """One run in its private folder."""

    def __init__(self, place: Place, begun: runs.Begun, folder: Path, result: Result, gate: Path) -> None:
        self.place, self.begun, self.folder, self.result, self.gate = place, begun, folder, result, gate
        self.project: Project = begun.project

    async def all(self) -> None:
        project, database = self.project, self.place.database
        token = resolved(project.token, "the token")
        state = resolved(project.state, "the state") if project.state is not None else database.address.url
        name = digest(project.base_url, token)
        commit = await asyncio.to_thread(git.fetched, self.place.cache, project.source)
        self.result.commit = commit.id
        files = self.folder / "files"
        files.mkdir(mode=0o700)
        root = await asyncio.to_thread(tree.write, commit, project.source, files)
        secrets = {"RECONCILER_TOKEN": token, "RECONCILER_STATE": state, VARIABLE: str(self.gate)}
        secrets |= {f"{ENV_PREFIX}{key}": resolved(place, f"the variable {key}") for key, place in project.secret_vars.items()}
        secrets |= {key: resolved(place, f"{key} of sops") for key, place in project.sops.items()}

        def take(method: str, ticket: str) -> float:
            with database.transaction() as connection:
                return budgets.take(connection, name, method, f"{self.begun.id}.{ticket}")

        def report(answers: dict[str, Any]) -> None:
            with database.transaction() as connection:
                budgets.report(connection, name, {f"{self.begun.id}.{ticket}": answer for ticket, answer in answers.items()})

        async with Gate(self.gate, take, report) as gate:
            try:
                await self._read(root, secrets, name, state)
                if project.mode is Mode.APPLY:
                    await self._apply(root, secrets)
            finally:
                self.result.requests = gate.taken

    def _words(self, command: str, root: Path) -> list[str]:
        project = self.project
        words = [command, str(root), "--base-url", project.base_url, "--quiet"]
        words += ["--env", project.environment] if project.environment is not None else []
        return words + [word for key, value in project.vars.items() for word in ("--var", f"{key}={value}")]

    async def _read(self, root: Path, secrets: Mapping[str, str], budget: str, state: str, *, exclude: tuple[str, ...] = ()) -> None:
        words = [*self._words("read", root), "--folder", str(self.folder)]
        words += ["--save"] if self.project.mode is Mode.APPLY else []
        words += [word for glob in exclude for word in ("--exclude", glob)]
        ended = await execute(words, folder=self.folder, secrets=secrets, seconds=READ_SECONDS)
        self.result.code, self.result.late = ended.code, ended.late
        if ended.late:
            raise Failed(f"it took longer than {READ_SECONDS:g} s", id="RC-fleet-run-late")
        if ended.code != 0:
            raise Failed(ended.says or f"it ended with {ended.code}", id="RC-fleet-run-failed")
        plan, drift, about = (_document(self.folder / f"{name}.json") for name in ("plan", "drift", "reading"))
        if exclude:
            return
        scope = digest(state, str(about["service"]), str(about["project"]), str(about["environment"]))
        other = await asyncio.to_thread(self._own, scope, budget)
        if other is not None:
            raise Failed(
                f"the project {other} of this fleet has the same state: project {about['project']} on {self.project.base_url}",
                id="RC-fleet-same-state",
                hint="Give one of them another `project:` in its files, an environment, or a state of its own.",
            )
        assert self.result.commit is not None
        self.result.plan = plan
        self.result.reading = status.of_documents(
            self.result.commit, plan, drift, new_state=about["newState"], refused=about["refused"]
        )  # fmt: skip
        self.result.health = of_document(about["health"])

    def _own(self, scope: str, budget: str) -> str | None:
        with self.place.database.transaction() as connection:
            return runs.own(connection, self.begun.project_id, scope, budget)

    async def _apply(self, root: Path, secrets: Mapping[str, str]) -> None:
        """Apply the plan of the reading as far as it may be applied without anybody."""
        reading, plan, result = self.result.reading, self.result.plan, self.result
        assert reading is not None
        assert plan is not None
        reverts = reading.drift and self.project.revert_drift
        if reading.new_state or not (reading.ahead or reading.both or reading.in_doubt or reverts):
            return
        unreadable = "something could not be read" if reading.unreadable else None
        result.waits = reading.refused or unreadable or await asyncio.to_thread(self._held)
        drifted = () if self.project.revert_drift else _drifted(_document(self.folder / "drift.json"))
        if result.waits is None and drifted:
            if not reading.ahead:
                result.waits = "changes made outside Reconciler are not reverted: revertDrift is false"
                return
            await self._read(root, secrets, "", "", exclude=drifted)
            plan = _document(self.folder / "plan.json")
        if result.waits is None:
            lacking = approvals.missing(approvals.classes(plan), self.project.approvals, (), digest="", authors=())
            if lacking:
                classes = ", ".join(f"{change.value} ({number})" for change, number in lacking.items())
                result.waits = f"the plan needs approvals: {classes}"
        if result.waits is not None:
            return
        words = [*self._words("apply", root), "--plan", str(self.folder / "saved.json")]
        ended = await execute(words, folder=self.folder, secrets=secrets, seconds=APPLY_SECONDS)
        result.code, result.late = ended.code, ended.late
        if ended.late:
            raise Failed(
                f"applying took longer than {APPLY_SECONDS:g} s and was interrupted; the next run continues it", id="RC-fleet-run-late"
            )
        if ended.code != 0:
            raise Failed(ended.says or f"apply ended with {ended.code}", id="RC-fleet-run-failed")
        result.applied = True

    def _held(self) -> str | None:
        """Why nothing may be applied now: a window that is closed, or a wave before this one."""
        project, now = self.project, datetime.now(UTC)
        if not schedule.is_open(project.windows, now):
            return "its windows are closed"
        if project.wave == 0:
            return None
        assert self.result.commit is not None
        with self.place.database.transaction() as connection:
            others = [row for row in rows.read(connection) if not row.orphaned and row.project.source.git == project.source.git]
            soak = timedelta(seconds=rows.soak(connection))
        followers = [follower(row) for row in others]
        return status.wave_before(project.wave, self.result.commit, followers, soak, others[0].now if others else now)


def _sentence(error: ReconcilerError) -> str:
    """An error on one line, with its id: that of a process which ended is in its last words."""
    cause = "" if "[RC-" in error.message else f" [{error.id}]"
    return f"{error.message}{cause}{f' ({error.hint})' if error.hint else ''}"


def _drifted(drift: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(entry["address"] for entry in drift["resources"])


def _document(path: Path) -> Any:
    """A document that a run wrote. Raises `Failed`."""
    try:
        with path.open("rb") as file:
            text = file.read(DOCUMENT_MAX + 1)
        if len(text) > DOCUMENT_MAX:
            raise Failed(f"{path.name} is larger than {DOCUMENT_MAX // 2**20} MiB", id="RC-fleet-run-large")
        return json.loads(text)
    except (OSError, ValueError) as error:
        raise Failed(f"{path.name} was not written", id="RC-fleet-run-failed") from error


def _end(database: Database, begun: runs.Begun, worker: int, result: Result) -> None:
    """Write the end of a run, and when its project is due again."""
    reading, project = result.reading, begun.project
    failures = begun.failures + 1 if result.error is not None else 0
    due = schedule.delay(project.every, failures)
    if result.applied:
        due = min(due, 1)  # what was applied is verified by a reading of its own
    values: dict[str, Any] = {
        "failures": failures, "error": result.error, "error_at": func.now() if result.error is not None else None,
        "next_due": func.now() + timedelta(seconds=due), "waits": result.waits,
    }  # fmt: skip
    if result.applied:
        values["applied"] = result.commit
    if reading is not None:
        values |= {"reading": status.as_data(reading), "read_at": func.now(), "cost": result.requests}
        synced = status.status(status.Facts(project.every, reading, datetime.now(UTC)), datetime.now(UTC)).word is status.Word.SYNCED
        values["synced_since"] = func.coalesce(tables.c.synced_since, func.now()) if synced else None
        values |= end.values(begun, result)
    run = {
        "commit": result.commit, "exit_code": result.code, "requests": result.requests,
        "says": result.error or result.waits or ("applied" if result.applied else None),
    }  # fmt: skip
    ended = "late" if result.late else "failed" if result.error is not None else "done"
    with database.transaction() as connection:
        if not runs.end(connection, begun.id, worker, ended=ended, values=run, project=values):
            return
        if result.plan is not None and result.commit is not None and project.mode is not Mode.WATCH:
            kept.keep_plan(connection, begun.project_id, kept.Plan(result.commit, result.plan, None))
        end.after(connection, begun, result)
