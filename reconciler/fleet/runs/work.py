"""The work of one run: resolve the references, fetch the commit, read, apply what may be applied, write the end.

Every end is stored in a row: after an error it says when the project is due again, and the queue retries nothing.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from reconciler.config.language.variables import ENV_PREFIX
from reconciler.errors import Locked, ReconcilerError
from reconciler.fleet import approvals, drift, drift_groups, status
from reconciler.fleet.continuation import BegunApply
from reconciler.fleet.facts import decided_drift, judged_plan
from reconciler.fleet.health import of_document
from reconciler.fleet.model import Approval, ChangeClass, FleetProject, Mode
from reconciler.fleet.rehearsals import DOCUMENT_MAX as REHEARSAL_MAX, LOST, TRIES_MAX, RehearsalResult, compressed, result_of
from reconciler.fleet.runs import end, folders, holds
from reconciler.fleet.runs.applying import TAKEN_OVER, RunApply
from reconciler.fleet.runs.end import RunResult
from reconciler.fleet.runs.folders import PrivateFolder, document_in, text_in
from reconciler.fleet.runs.forks import ForkServer
from reconciler.fleet.runs.gate import BEGIN, RULES, VARIABLE, RunGate
from reconciler.fleet.runs.process import database_access, execute
from reconciler.fleet.schedule import BACKOFF_FIRST
from reconciler.fleet.secrets import digest, resolved, token_for
from reconciler.fleet.sources import git, tree
from reconciler.fleet.sources.copies import SourceError
from reconciler.fleet.store import FleetDatabase, approvals as kept, budgets, projects as rows, rehearsals, runs
from reconciler.fleet.store.access.rows import opened
from reconciler.fleet.store.approvals import StoredPlan
from reconciler.fleet.up import URL_FILE
from reconciler.writing import write_whole

READ_SECONDS: Final = 900.0
REHEARSE_SECONDS: Final = 1_200.0
APPLY_SECONDS: Final = 3_600.0
MOST_FAILURES: Final = 3  # of what an apply did not do
BLOCKED: Final = "what is left of the commit is blocked"


@dataclass(frozen=True)
class Workplace:
    """The environment of runs: the fleet's database, a cache of repositories, a folder for private folders. `strict`: tokens are sent only
    to services that this machine ties them to. `server`: forks their processes."""

    database: FleetDatabase
    cache: Path
    folder: Path
    server: ForkServer
    strict: bool = False


async def work(place: Workplace, begun: runs.BegunRun, worker: int, trace: Mapping[str, str] = MappingProxyType({})) -> RunResult:
    """Do a run that this worker has started, and write its end. `trace`: variables that add the run's process to a trace."""
    result = RunResult()
    private: list[folders.PrivateFolder] = []
    try:
        private.append(folder := folders.create(f"{folders.RUN}{begun.id}-", place.folder))
        private.append(door := folders.create(folders.GATE))
        await _ProjectRun(place, begun, folder, result, door.path / "gate").all(trace)
    except ReconcilerError as error:
        result.error = _sentence(error)
    except OSError as error:
        result.error = f"this worker cannot do it: {(error.strerror or type(error).__name__).lower()}"
    except Exception as error:  # whatever the error, the run ends, and its row contains it
        result.error = f"this worker failed: {type(error).__name__}"
    finally:
        for mine in private:
            await asyncio.to_thread(mine.remove)
    await asyncio.to_thread(end.write, place.database, begun, worker, result)
    return result


class _ProjectRun:
    """One run in its private folder."""

    def __init__(self, place: Workplace, begun: runs.BegunRun, private: PrivateFolder, result: RunResult, gate: Path) -> None:
        self.place, self.begun, self.private, self.result, self.gate = place, begun, private, result, gate
        self.folder = private.path
        self.project: FleetProject = begun.project
        self.undone: list[Mapping[str, Any]] = []
        self.decided: dict[str, approvals.Decision] = {}
        self.left: BegunApply | None = None  # of the last apply that began
        self.applying: RunApply | None = None
        self.since: str | None = None
        self.selection: Sequence[str] = ()

    async def all(self, trace: Mapping[str, str]) -> None:
        project, database = self.project, self.place.database
        token = token_for(project.token, project.base_url, "the token", required=self.place.strict, known=self.place.cache)
        url, is_own = await asyncio.to_thread(self._login)
        name = digest(project.base_url, token)
        commit = self.commit = await asyncio.to_thread(git.fetched, self.place.cache, project.source)
        self.result.commit = commit.id
        files = self.folder / "files"
        files.mkdir(mode=0o700)
        root = await asyncio.to_thread(tree.write, commit, project.source, files)
        rules = await asyncio.to_thread(self._rules) if project.rules_from else {}
        secrets = {
            **trace,
            **rules,
            **database_access(own=project.state is None, login=not is_own),
            "RECONCILER_TOKEN": token,
            "RECONCILER_STATE": url,
            VARIABLE: str(self.gate),
        }
        secrets |= {f"{ENV_PREFIX}{key}": resolved(place, f"the variable {key}") for key, place in project.secret_vars.items()}
        secrets |= {key: resolved(place, f"{key} of sops") for key, place in project.sops.items()}

        def take(method: str, ticket: str) -> float:
            with database.transaction() as connection:
                return budgets.take(connection, name, method, f"{self.begun.id}.{ticket}")

        def report(answers: dict[str, Any]) -> None:
            with database.transaction() as connection:
                budgets.report(connection, name, {f"{self.begun.id}.{ticket}": answer for ticket, answer in answers.items()})

        async with RunGate(self.gate, take, report, self._held_meanwhile) as gate:
            try:
                await self._read(root, secrets)
                await asyncio.to_thread(self._own, self._claim(str(project.state)), name)
                await asyncio.to_thread(self._keep)
                if project.mode is Mode.APPLY:
                    await self._apply(root, secrets, gate)
            finally:
                self.result.requests = gate.taken

    def _rules(self) -> dict[str, str]:
        """Write the files whose rules judge the project, and return the variable that names them. Raises `SourceError`."""
        source = replace(self.project.source, ref=self.project.rules_from)
        commit, folder = git.fetched(self.place.cache, source), self.folder / "rules"
        folder.mkdir(mode=0o700)
        return {RULES: f"{commit.id}:{tree.write(commit, source, folder)}"}

    def _argv(self, command: str, root: Path) -> list[str]:
        project = self.project
        rules = ["--rules-from", project.rules_from] if project.rules_from else []
        return [command, str(root), "--quiet", *project.selecting, *rules]

    @property
    def _approving(self) -> list[str]:
        """The options that name the classes of changes that people approve."""
        rules = self.project.approvals
        return _each("--approved", (change.value for change in ChangeClass if rules.get(change, Approval.TWO) is not Approval.AUTO))

    def _words_of(self, message: str) -> str:
        """The last message of a process, with the operator's reference to the token instead of the variable of the process."""
        place = self.project.token
        return message.replace("RECONCILER_TOKEN", f"the {'variable' if place.kind == 'env' else 'file'} {place.name}")

    def _failure(self, code: int, message: str) -> ReconcilerError:
        """Why a process failed: its last message. One that was killed has no last message about that, only warnings."""
        said = "" if code < 0 else self._words_of(message)
        return ReconcilerError(said or f"it ended with {code}", id="RC-fleet-run-failed")

    async def _read(self, root: Path, secrets: Mapping[str, str], *, selection: Sequence[str] = ()) -> None:
        """Read the service, and store the plan. `selection`: options that limit the plan; the reading is unchanged by them. Where the
        run may apply, requests of earlier runs that are in doubt are settled first."""
        before = await asyncio.to_thread(self._begun_apply)
        argv = [*self._argv("read", root), "--folder", str(self.folder), "--allowed-project", self.project.project]
        argv += ["--path", self.project.source.path]
        argv += [*(["--keep"] if self._keeps else []), *(["--save"] if self.project.mode is Mode.APPLY else [])]
        argv += self._approving
        argv += ["--began", before.saved] if before is not None else []
        argv += [*selection, *await asyncio.to_thread(self._known_checks)]
        code, message, late = await execute(argv, server=self.place.server, folder=self.private, secrets=secrets, seconds=READ_SECONDS)
        self.result.code, self.result.late = code, late
        if late:
            raise ReconcilerError(f"it took longer than {READ_SECONDS:g} s", id="RC-fleet-run-late")
        if code != 0:
            await asyncio.to_thread(self._refuse_claimed)
            raise self._failure(code, message)
        document, about = document_in(self.folder / "plan.json"), document_in(self.folder / "reading.json")
        text = text_in(self.folder / "plan.txt").decode("utf-8", "replace") if self._keeps else ""
        commit = self.commit.id
        digest = approvals.digest_of(about["digest"], commit) if about["digest"] is not None else None
        reading = str(about["reading"])
        self.left = before.left(commit, about["recorded"]) if before is not None else None
        continues = self.left.continuation(about.get("parts", {})) if self.left is not None else None
        self.result.plan = StoredPlan(commit, document, digest, approvals.classes(document), (), text, reading=reading, continues=continues)
        self.about = about
        self.selection = selection
        if selection:
            return
        self.drift, self.undone = document_in(self.folder / "drift.json"), about["undone"]
        self.outside = drift_groups.of_document(self.drift)
        if (self.folder / "proposal.json").exists():
            self.result.proposal = compressed(document_in(self.folder / "proposal.json"))
        self.decided = await asyncio.to_thread(self._decisions)
        self.scope = (str(about["service"]), str(about["project"]), str(about["environment"]))
        self.lineage = str(about["lineage"])
        where = "the fleet's database" if self.project.state is None else f"the state in {self.project.state.name}"
        self.result.reading = status.of_documents(
            commit,
            document,
            self.drift,
            refused=about["refused"],
            ignored=drift.ignores(self.decided),
            new_state=f"{where} has never seen {about['newState']}" if about["newState"] else "",
            first_apply=first_apply(self.project, self.place.folder) if about["newState"] else "",
        )
        self.result.reading = await asyncio.to_thread(self._bounded, self.result.reading)
        self.result.health = of_document(about["health"])

    def _refuse_claimed(self) -> None:
        """Raise `ReconcilerError` if the files have the name of another project of this fleet: to allow it would only lead to that one."""
        file = self.folder / "claimed.json"
        if not file.exists():
            return
        name = str(document_in(file))
        with self.place.database.transaction() as connection:
            other = rows.claiming(connection, self.begun.project_id, name)
        if other is not None:
            raise ReconcilerError(
                f"the files are of project {name}, which the project {other} of this fleet has already",
                id="RC-fleet-project-not-allowed",
                hint="Give one of them another `project:` in its files, an environment, or a state of its own.",
            )

    def _known_checks(self) -> list[str]:
        """The option with the file of the health checks of earlier runs that cost requests; none where there are none."""
        with self.place.database.transaction() as connection:
            known = rows.read(connection, [self.project.name])[0].health
        if known is None or not known.get("checks"):
            return []
        file = self.folder / "checks.json"
        write_whole(file, json.dumps(known["checks"]))
        return ["--known-checks", str(file)]

    def _bounded(self, reading: status.Reading) -> status.Reading:
        """The reading with the bounds of its drift: the reading before did not have it, or had it already."""
        with self.place.database.transaction() as connection:
            row = rows.read(connection, [self.project.name])[0]
        before = status.of_data(row.reading) if row.reading is not None else None
        known = before.groups if before is not None else ()
        read_at = row.read_at if before is not None and before.is_whole else None
        return replace(reading, groups=drift_groups.bounded(reading.groups, known, read_at=read_at))

    def _decisions(self) -> dict[str, approvals.Decision]:
        """What people decided on what was changed outside Reconciler, by address."""
        with self.place.database.transaction() as connection:
            continues = self.left.as_continuation if self.left is not None else None
            return decided_drift(connection, rows.read(connection, [self.project.name])[0], self.outside, continues=continues)

    def _begun_apply(self) -> BegunApply | None:
        """The last apply that began, and did not end or left something."""
        with self.place.database.transaction() as connection:
            return kept.begun_apply(connection, self.begun.project_id)

    def _login(self) -> tuple[str, bool]:
        """How the run reaches its state: the operator's URL, or (then True) a role of its own in the fleet's database."""
        if self.project.state is not None:
            return resolved(self.project.state, "the state"), False
        with self.place.database.transaction() as connection:
            return opened(connection, self.place.database.url, self.begun.project_id, self.project)

    def _claim(self, state: str) -> str:
        """A digest of the state: of its lineage, which is the same whatever its URL; without one, of where it would be created."""
        return digest("lineage", self.lineage) if self.lineage else digest(state, *self.scope)

    def _own(self, scope: str, budget: str) -> None:
        """Claim the state for this project. Raises `ReconcilerError` if another project has it."""
        with self.place.database.transaction() as connection:
            other = runs.own(connection, self.begun.project_id, scope, budget)
        if other is not None:
            self.result.reading = None
            raise ReconcilerError(
                f"the project {other} of this fleet has the same state: project {self.scope[1]} on {self.project.base_url}",
                id="RC-fleet-same-state",
                hint="Give one of them another `project:` in its files, an environment, or a state of its own.",
            )

    def _keep(self) -> None:
        """Compare the plan with the previous one: its first commit, and the changes undone meanwhile."""
        reading, plan, project = self.result.reading, self._plan, self.project
        assert reading is not None
        with self.place.database.transaction() as connection:
            before = kept.plan_of(connection, self.begun.project_id)
            if project.mode is Mode.APPLY:
                row = rows.read(connection, [project.name])[0]
                holds.settle_quarantines(connection, row, plan, self.undone, whole=reading.is_whole)
        done = reading.is_whole and not (reading.ahead or reading.both)
        since = before.since if before is not None else self.begun.applied
        self.since, self.result.plan = since, replace(plan, since=plan.commit if done else since)

    @property
    def _keeps(self) -> bool:
        """Whether people see the plan."""
        return self.project.mode is not Mode.WATCH

    @property
    def _plan(self) -> StoredPlan:
        assert self.result.plan is not None
        return self.result.plan

    async def _apply(self, root: Path, secrets: Mapping[str, str], gate: RunGate) -> None:
        """Apply the plan of the reading if nothing prevents it."""
        reading, result = self.result.reading, self.result
        assert reading is not None
        drifted = {entry["address"] for entry in self.drift["resources"]}
        left_alone = drift.ignores(self.decided) if reading.ignored else set()
        reverted = drifted - left_alone if self.project.revert_drift else drift.reverts(self.decided)
        if (locked := self.about["locked"]) is not None:
            result.waits, result.again = _held_by_another(locked), locked["seconds"] or BACKOFF_FIRST
            return
        doubt = "; ".join(self.about["inDoubt"]) or None
        if reading.new_state or not (reading.ahead or reading.both or reading.drift):
            result.waits = doubt
            return
        result.waits = reading.refused or ("something could not be read" if reading.unreadable else None)
        selection: list[str] = []
        if reverted and not self.project.revert_drift:
            result.reverted = {address: self.decided[address] for address in sorted(reverted)}
            selection = _each("--target", reverted)
        elif drifted - reverted and (reading.ahead or self.project.revert_drift):
            selection = _each("--exclude", drifted - reverted)
        elif drifted - reverted:
            result.waits = result.waits or drift.NOT_REVERTED
        if result.waits is None and selection:
            since = self._plan.since
            await self._read(root, secrets, selection=selection)
            result.plan = replace(self._plan, since=since)
        if self.project.hold and self.about["pending"] and not reading.unreadable and await asyncio.to_thread(self._holds):
            await self._read_rest(root, secrets, selection)
        if result.waits is None and not self.about["pending"]:
            result.waits = doubt or (BLOCKED if reading.blocked else None)
            return
        await self._rehearse(root, secrets, gate)
        if result.waits is None:
            result.waits = await asyncio.to_thread(self._hold_reason)
        if result.waits is not None:
            return
        self.applying = RunApply(
            self.begun, result, self.about["saved"], self.about["parts"], self.outside, frozenset(reverted), self._plan
        )
        report = self.folder / "outcome.json"
        argv = [*self._argv("apply", root), "--plan", str(self.folder / "saved.json"), "--report", f"json={report}"]
        code, message, late = await execute(argv, server=self.place.server, folder=self.private, secrets=secrets, seconds=APPLY_SECONDS)
        result.code, result.late = code, late
        if late:
            raise ReconcilerError(
                f"applying took longer than {APPLY_SECONDS:g} s and was interrupted; the next run continues it", id="RC-fleet-run-late"
            )
        if code != 0 and gate.refused is not None:
            result.waits, result.stopped = f"applying was stopped: {gate.refused}", True
        elif code == Locked.exit_code and not result.began:
            result.waits, result.again = f"nothing was sent: {self._words_of(message)}", BACKOFF_FIRST
        elif code != 0:
            undone = _undone(document_in(report)) if code > 0 and report.exists() else [self._words_of(message)]
            if undone:
                raise ReconcilerError("; ".join(filter(None, undone)) or f"apply ended with {code}", id="RC-fleet-run-failed")
            result.applied = True  # what is blocked was not in it, and the next run says what that is
        else:
            result.applied = True

    def _holds(self) -> bool:
        """Whether the plan is refused, or people must still approve a part of it. What somebody rejected is not applied in part either."""
        with self.place.database.transaction() as connection:
            verdict = judged_plan(connection, rows.read(connection, [self.project.name])[0], self._plan).verdict
        refused = self.result.waits is None or self.result.waits == self.about["refused"]
        return refused and not verdict.rejected and (self.result.waits is not None or not verdict.allows)

    async def _read_rest(self, root: Path, secrets: Mapping[str, str], selection: Sequence[str]) -> None:
        """Read the plan without what is refused and what people must approve. Where nothing is left, the plan stays the whole one."""
        whole, about, before = self._plan, self.about, self.selection
        held = approvals.waiting(whole.document, self.project.approvals)
        exposes = [] if self.project.approvals.get(ChangeClass.EXPOSURE) is not Approval.AUTO else ["--expose"]
        await self._read(root, secrets, selection=[*selection, "--hold", *_each("--unapproved", held), *exposes])
        if self.about["pending"]:
            self.result.plan, self.result.waits, self.result.holds = replace(self._plan, since=whole.since), None, True
            self.selection = [*selection, *_each("--exclude", self.about["held"])]
        else:
            self.result.plan, self.about, self.selection = whole, about, before

    async def _rehearse(self, root: Path, secrets: Mapping[str, str], gate: RunGate) -> None:
        """Rehearse the plan if somebody asks for it. Whatever happens, the request ends with a result or an error, and the run goes on."""
        plan, before = self._plan.digest, gate.taken
        tries = await asyncio.to_thread(self._take_rehearsal, plan) if plan is not None else None
        if plan is None or tries is None:
            return
        try:
            if tries > TRIES_MAX:
                raise ReconcilerError(LOST, id="RC-fleet-run-failed")
            result = await self._rehearsed(root, secrets, plan)
        except ReconcilerError as error:
            result = RehearsalResult(plan, _sentence(error))
        finally:
            self.result.rehearsing = gate.taken - before
        await asyncio.to_thread(self._end_rehearsal, result)

    async def _rehearsed(self, root: Path, secrets: Mapping[str, str], plan: str) -> RehearsalResult:
        """What a process of its own shows. Raises `ReconcilerError`."""
        reading = self._plan.reading or ""
        argv = [*self._argv("rehearse", root), "--folder", str(self.folder), "--allowed-project", self.project.project]
        argv += ["--sent", approvals.changes_of(plan), "--reading", reading, *self._approving, *self.selection]
        code, message, late = await execute(argv, server=self.place.server, folder=self.private, secrets=secrets, seconds=REHEARSE_SECONDS)
        if late:
            raise ReconcilerError(f"it took longer than {REHEARSE_SECONDS:g} s", id="RC-fleet-run-late")
        if code != 0:
            raise self._failure(code, message)
        document = document_in(self.folder / "rehearsal.json", REHEARSAL_MAX)
        return result_of(plan, reading, document, text_in(self.folder / "rehearsal.txt").decode("utf-8", "replace"))

    def _take_rehearsal(self, plan: str) -> int | None:
        """How many runs have begun the rehearsal that was asked for; None if nobody asks for it."""
        with self.place.database.transaction() as connection:
            return rehearsals.take(connection, self.begun.project_id, plan, self.begun.id)

    def _end_rehearsal(self, result: RehearsalResult) -> None:
        """Store the result, with the plan that it is about, so that people see both at once. Not if others have ended this run."""
        with self.place.database.transaction() as connection:
            if not holds.is_running(connection, self.begun.id, lock=True):
                raise ReconcilerError(TAKEN_OVER, id="RC-fleet-run-failed")
            rows.hold(connection, self.begun.project_id)
            kept.keep_plan(connection, self.begun.project_id, self._plan)
            rehearsals.end(connection, self.begun.project_id, self.begun.id, result)

    def _hold_reason(self) -> str | None:
        """Why nothing may be applied now; None if it may."""
        try:
            self.result.plan = self._by_authors()
        except SourceError as error:
            return f"nobody knows who wrote the commits: {error.message}"
        with self.place.database.transaction() as connection:
            held = holds.hold_reason(connection, self.project.name, self._plan)
            return held or holds.wave_held(connection, self.project, self.commit.id)

    def _held_meanwhile(self, what: str) -> str | None:
        """Why an apply must not begin, or one in progress must stop; None if it may continue."""
        assert self.applying is not None
        with self.place.database.transaction() as connection:
            held = self.applying.begin(connection) if what == BEGIN else self.applying.stop_reason(connection)
        self.result.began = self.result.began or (what == BEGIN and held is None)
        return held

    def _by_authors(self) -> StoredPlan:
        """The plan with the authors of all its commits, if they matter: if two others must approve it."""
        plan = self._plan
        if not any(self.project.approvals.get(change, Approval.TWO) is Approval.TWO for change in plan.changes):
            return plan
        return replace(plan, authors=git.authors(self.place.cache, self.project.source, self.commit, self.since))


def first_apply(project: FleetProject, data: Path) -> str:
    """The command that creates the state of a project, for a shell in its directory. The URL with its password is in no list of processes,
    and not printed. `data`: the folder of the worker, in which `fleet up` writes the URL of its database."""
    file = data / URL_FILE
    if project.state is not None:
        state = f"${project.state.name}" if project.state.kind == "env" else f"$(cat {shlex.quote(project.state.name)})"
    else:
        state = f"$(cat {shlex.quote(str(file))})" if file.exists() else "$RECONCILER_DATABASE"
    return f'RECONCILER_STATE="{state}" reconciler apply {shlex.join(project.selecting)} --create-state'


def _held_by_another(locked: Mapping[str, Any]) -> str:
    """Why nothing is applied while another run holds the state. `locked`: as `read` writes it."""
    left = locked["seconds"]
    ends = f"; its lease expires in {left:.0f} s unless it is renewed" if left is not None else ""
    return f"another run holds the state: {locked['by']}{ends}"


def _undone(outcome: Mapping[str, Any]) -> list[str]:
    """What an apply did not do, or did not find as it was sent; empty if only what is blocked is left."""
    undone = [
        f"{step['address']}: {step['verb']} {step['status']}: {step['error']}" for step in outcome["steps"] if step["status"] != "done"
    ]
    undone += [f"{entry['address']}: {entry['reason']}" for entry in (outcome["savedPlan"] or {"refused": []})["refused"]]
    undone += [f"{edit['address']}: changed by somebody else during the run" for edit in outcome["edited"]]
    undone += [f"{address}: it differs from what was sent" for address in outcome["leftover"]]
    undone += [f"{address}: it could not be read again" for address in outcome["unverified"]]
    return [*undone[:MOST_FAILURES], *([f"and {len(undone) - MOST_FAILURES} more"] if len(undone) > MOST_FAILURES else [])]


def _each(option: str, addresses: Iterable[str]) -> list[str]:
    """An option for each address."""
    return [word for address in sorted(addresses) for word in (option, address)]


def _sentence(error: ReconcilerError) -> str:
    """An error on one line, with its id; the last message of an ended process contains its own id."""
    cause = "" if "[RC-" in error.message else f" [{error.id}]"
    return f"{error.message}{cause}{f' ({error.hint})' if error.hint else ''}"
