"""A project for a program: a method for each command, which is a thin call of a run or of a feature, and prints and asks nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from reconciler import exits, model
from reconciler.address import Address
from reconciler.cli.option_table import Options
from reconciler.config.source.includes import texts as read_texts
from reconciler.errors import Refused, UsageError
from reconciler.features.access.read import access_of
from reconciler.features.drift.accept import acceptable
from reconciler.features.drift.accepted import LeftToPeople
from reconciler.features.drift.commands.groups import lines as drift_lines
from reconciler.features.drift.model import exit_code as drift_code
from reconciler.features.drift.run.accept import accept, acceptance
from reconciler.features.drift.run.reading import drift_commands, drift_of
from reconciler.features.health.run import health_of
from reconciler.features.importer.project import LIMITS
from reconciler.features.importer.reading import additions_of, declared, read_organization
from reconciler.features.mcp.lookups import known_objects, unmanaged
from reconciler.features.rehearsal.performing import rehearse
from reconciler.features.testing.twin.project_tests import gather, snapshots_of
from reconciler.features.testing.twin.running import run_test
from reconciler.features.undo.session import begin_undo, carry_out_undo
from reconciler.features.urls.recorded import ledger, site_of
from reconciler.features.urls.tables import kept
from reconciler.interface.arguments import limits_of
from reconciler.interface.calls import ProgramCall, Voice
from reconciler.interface.refusals import in_python, translate
from reconciler.interface.results import (
    AcceptResult,
    AccessResult,
    ApplyResult,
    DriftResult,
    FindResult,
    HealthResult,
    ImportResult,
    PlanResult,
    RehearseResult,
    TestResult,
    UndoResult,
    UrlsResult,
)
from reconciler.kinds import load as load_kinds
from reconciler.report.saved import digest_of, saved_plan
from reconciler.run.applying import applying
from reconciler.run.connection.embedded import require_extra
from reconciler.run.connection.unseen import known_state, to_create
from reconciler.run.loading import load_settings, now
from reconciler.run.opened import Run
from reconciler.run.operation import Limits, Operation
from reconciler.run.past import LAST, find_run
from reconciler.run.rules import JudgedProject
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import run_commit
from reconciler.run.saved.use import SavedPlanUse, globs, use_of
from reconciler.run.stages import Planned
from reconciler.run.voice import Voice as RunVoice

T = TypeVar("T")
THE_PLAN: Final = Path("the plan")
"""What messages call a plan that is in no file."""


class OpenedProject:
    """A project that `reconciler.open` opened. Every method begins a run of its own, which reads files, state and service again.

    Methods may be called from several threads, and beside a running event loop, which they block until they return. An exception that
    reaches the caller meanwhile, such as KeyboardInterrupt, ends the run as Ctrl-C ends a command, and is raised when its lease is free.

    Every method raises, besides what it names: `ConfigError` where the files are invalid, `UsageError` where the service, the token or the
    state is not named or not confirmed, `ServiceError` where the service cannot be read, `StateError` where the state cannot.
    """

    def __init__(self, options: Options, limits: Mapping[str, Any], *, token: str | None, voice: Voice | None) -> None:
        self._options, self._token, self._voice = replace(options, **limits), token, voice
        self._closed = False
        settings = self._call(lambda operation, voice: load_settings(operation, voice).settings)
        self._name, self._root = settings.project, settings.root

    def __enter__(self) -> OpenedProject:
        return self

    def __exit__(self, sort: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the service of `":memory:"`, with all that it has. Nothing else is held between two calls."""
        self._closed = True
        memory = self._options.supervision.memory
        if memory is not None:
            memory.close()

    @property
    def name(self) -> str:
        """The name of the project, as its file says."""
        return self._name

    @property
    def path(self) -> Path:
        """The folder of the project, absolute."""
        return self._root

    # -- reading ---------------------------------------------------------------------------------------------------------------------

    def plan(self, *, hold: bool = False) -> PlanResult:
        """Plan: what would change, and why. Sends GET requests only.

        Args:
            hold: Whether what a guard, a policy or a missing consent refuses is held with all that belongs to it, so that `apply` does the
                rest.

        Raises:
            Refused: So many objects are missing that an outage is likelier than their deletion.
        """

        def work(run: Run) -> PlanResult:
            planned = run.plan(operation=replace(run.operation, hold=hold))
            planned = replace(planned, plan=replace(planned.plan, notes=(*run.notes, *planned.plan.notes)))
            made_at, refusals = now(), planned.refusals(run.operation.limits)
            for refused in refusals:
                translate(refused, run.voice.masks)
            return PlanResult(
                model=run.voice.masks.data(planned.plan),
                forecast=planned.forecast,
                refusals=refusals,
                saved=cache(partial(_saved, self._options, run, planned, made_at)),  # one file, which is used once
                made_at=made_at,
                masks=run.voice.masks,
            )

        return self._run(work)

    def drift(self, *, coverage: bool = False) -> DriftResult:
        """Find what was changed outside Reconciler since the last apply. Sends GET requests only.

        Args:
            coverage: Whether to read every list, also for objects that nobody declares.
        """

        def work(run: Run) -> DriftResult:
            reading = drift_of(run, coverage=coverage)
            shown = run.voice.masks.data(reading.shown)
            in_memory = run.operation.supervision.memory is not None
            commands = None if in_memory else drift_commands(run, reading, *drift_lines(self._options))
            return DriftResult(model=shown, code=drift_code(shown), commands=commands, made_at=now(), masks=run.voice.masks)

        return self._run(work)

    def access(self, reader: str | Iterable[str] = (), *, who: str | None = None, people: bool = False) -> AccessResult:
        """Find out who can read what, now and after the plan. Sends GET requests only.

        Args:
            reader: Only these readers: `"anyone"`, `"agent"`, `"link=KEY"`, `"role=ROLE"`, `"member=E-MAIL"`, `"team=KEY"` or
                `"claims=NAME=VALUE"`. Empty: all classes.
            who: Instead, the address of one object, with everybody who can read it by name.
            people: Whether to ask what single people may do, 1 or 2 requests for each: `model.people` and the document then have everybody
                who can read each object by name.

        Raises:
            UsageError: The address is none, or names nothing that has readers.
        """
        readers = [reader] if isinstance(reader, str) else list(reader)
        try:
            about = Address.parse(who) if who is not None else None
        except ValueError as error:
            raise UsageError(f"who is {who}: {error}", id="RC-option-value", hint="Such as acme/space/guides.") from None

        def work(run: Run) -> AccessResult:
            reviewed = access_of(run, readers, about, people=people, whole=people)
            return AccessResult(model=run.voice.masks.data(reviewed), made_at=now(), masks=run.voice.masks)

        return self._run(work)

    def rehearse(self) -> RehearseResult:
        """Apply the plan to a copy of the organization in a temporary folder, and undo it there. Sends GET requests only to the service.
        Nothing needs consent: `refusals` of the model lists what `apply` would refuse.
        """

        def work(run: Run) -> RehearseResult:
            return RehearseResult(model=run.voice.masks.data(rehearse(run)), made_at=now(), masks=run.voice.masks)

        return self._run(work)

    def imported(self, organization: str | None = None) -> ImportResult:
        """Write what the service has and the project does not declare as files, in memory. Sends GET requests only; tracks nothing.

        Args:
            organization: The id of the organization. None: the only one that the project declares.
        """

        def work(run: Run) -> ImportResult:
            org = declared(run.project, organization)
            actual = read_organization(run.voice, run.service, run.plain, org)
            found = additions_of(run.operation, run.voice, run.plain, (run.service, actual), run.project, LIMITS)
            return ImportResult(run.voice.masks.data(found))

        return self._run(work)

    def urls(self, site: str | None = None, *, ended: bool = False) -> UrlsResult:
        """List the published URLs that the ledger in the state has. Sends no requests.

        Args:
            site: Only those of this site: its key, or its address. None: all.
            ended: Those at which no page answers any more, instead.

        Raises:
            UsageError: There is no state yet, or the ledger has no such site.
        """

        def work(operation: Operation, voice: RunVoice) -> UrlsResult:
            with ledger(operation, voice, load_settings(operation, voice)) as store:
                return UrlsResult(tuple(kept.urls(store, site=site_of(store, site), ended=ended)))

        return self._call(work)

    def health(self) -> HealthResult:
        """Find out whether the organization works for its readers: broken URLs, what ends soon. Sends GET requests only."""

        def work(run: Run) -> HealthResult:
            return HealthResult(model=run.voice.masks.data(health_of(run)), made_at=now(), masks=run.voice.masks)

        return self._run(work)

    def test(self, *, name: str | Iterable[str] = ()) -> TestResult:
        """Run the tests of the project, one after the other, each on a sandbox in a temporary folder. Needs no service, token or state.

        Args:
            name: Patterns of names of tests, such as `"partners *"`. Empty: all.

        Raises:
            UsageError: There are no such tests.
        """
        names = [name] if isinstance(name, str) else list(name)

        def work(operation: Operation, voice: RunVoice) -> TestResult:
            require_extra()
            ready = gather(load_kinds(), operation.project, [], names, environment=operation.environment)
            voice.hide(ready.hidden)
            ran = [run_test(test, snapshots_of(test)) for test in ready.tests]
            results = sorted([*ran, *ready.results], key=lambda result: result.source)
            return TestResult(results=tuple(voice.masks.data(results)), project=self._name, made_at=now(), masks=voice.masks)

        return self._call(work)

    def find(self, text: str = "", *, kind: str = "") -> FindResult:
        """Find objects, declared or not, by a text in their address, title, id, URL, readers, file or owners. Sends GET requests only.

        Args:
            text: A part of one of them; with `*`, a pattern for the whole of one. Case does not matter. Empty: all objects.
            kind: Only objects of this kind, such as `"space"`. Empty: of all kinds.
        """

        def work(run: Run) -> FindResult:
            planned = run.plan(everything=True, pages=False)
            known = run.voice.masks.data(known_objects(run.kinds, run.project, planned))
            matching = tuple(item for item in known if item.matches(text) and kind in ("", item.kind))
            return FindResult(matching, tuple(run.voice.masks.data([*unmanaged(planned, known, text, kind)])))

        return self._run(work)

    # -- writing ---------------------------------------------------------------------------------------------------------------------

    def apply(self, plan: PlanResult, *, limits: Limits | None = None) -> ApplyResult:
        """Apply exactly what a plan of this project shows, as `apply --plan` does: planned again under the lease, and compared with it.
        A plan is applied once; applying it again does nothing.

        Args:
            plan: What `plan` returned. What it may replace, target and exclude was decided then.
            limits: What this apply may delete, expose and end. None: the limits of `open`. Nothing is allowed because the plan shows it.

        Raises:
            StalePlan: The service, the state or the files changed, so that a part of it does not hold. Nothing was applied.
            Refused: A guard or a policy forbids it, or consent is missing; `reasons` has each refusal. Nothing was applied.
            Locked: Another run holds the state.
        """
        saved = plan.saved()
        options = self._with(limits).with_scope(saved.document["options"], partial(globs, THE_PLAN))
        uses: list[SavedPlanUse] = []

        def admit(judged_project: JudgedProject) -> None:
            uses[0].check_project(judged_project.project.settings.project)

        def work(operation: Operation, voice: RunVoice) -> ApplyResult:
            use = use_of(voice, operation, saved, seen=False)
            uses.append(use)
            with Run.open(use.operation, voice, create=False, admit=admit) as run:
                outcome, code = _applied(run, use)
            return ApplyResult(model=voice.masks.data(outcome), code=code, made_at=now(), masks=voice.masks)

        return self._call(work, options)

    def accept(self, names: str | Iterable[str] = (), *, limits: Limits | None = None) -> AcceptResult:
        """Write what was changed outside Reconciler into the files of the project. Sends GET requests only.

        Args:
            names: What to accept: `ADDRESS` or `ADDRESS.FIELD`. Empty: everything that files can take in.
            limits: Which exposures it may accept. None: the limits of `open`.

        Raises:
            Refused: It accepts an exposure without consent, or the files would be invalid. The files are as before.
        """
        wanted = [names] if isinstance(names, str) else list(names)

        def work(run: Run) -> AcceptResult:
            reading, left = drift_of(run), list[LeftToPeople]()
            chosen = wanted
            if not wanted:
                fitting = acceptance(run, reading.planned, read_texts(run.operation.project, run.kinds)[1])
                fields, left = acceptable(reading.drift, fitting, run.project.desired.generated, reading.planned.plan.moved_outside)
                chosen = list(map(str, fields))
            lines = accept(run, reading.planned, reading.drift, chosen) if chosen else []
            return run.voice.masks.data(AcceptResult(tuple(line.rstrip("\n") for line in lines), tuple(left)))

        return self._run(work, self._with(limits))

    def undo(self, run: str = LAST, *, limits: Limits | None = None) -> UndoResult:
        """Plan and apply the reverse of a run. What was changed since stays.

        Args:
            run: The id of the run, the beginning of an id, or `"last"`: the newest run that did anything.
            limits: What the undo may delete, expose and end. None: the limits of `open`.

        Raises:
            Refused: A guard forbids it, or consent is missing; `reasons` has each refusal. Nothing was undone.
            UsageError: There is no such run.
            Locked: Another run holds the state.
        """
        recorded: list[model.RecordedRun] = []

        def work(operation: Operation, voice: RunVoice) -> UndoResult:
            def admit(judged_project: JudgedProject) -> None:
                with known_state(operation, voice, judged_project.project) as store:
                    recorded.append(find_run(store.runs() if store is not None else (), run))

            with Run.open(operation, voice, admit=admit) as opened:
                of = recorded[0]
                with applying(opened, f"undo {of.id[:8]}") as (store, session):
                    inverse = begin_undo(session, store, of.id)
                    planned = session.plan()
                    _check(planned, operation.limits)
                    undone = carry_out_undo(session, planned, inverse, on_error="continue")
            shown = voice.masks.data(undone)
            return UndoResult(model=shown, of=of, cannot=tuple(inverse.cannot), made_at=now(), masks=voice.masks)

        return self._call(work, self._with(limits))

    # -- what they have in common ----------------------------------------------------------------------------------------------------

    def _with(self, limits: Limits | None) -> Options:
        return self._options if limits is None else replace(self._options, **limits_of(limits))

    def _run(self, work: Callable[[Run], T], options: Options | None = None) -> T:
        """What `work` returns of a run."""

        def opened(operation: Operation, voice: RunVoice) -> T:
            with Run.open(operation, voice) as run:
                return work(run)

        return self._call(opened, options)

    def _call(self, work: Callable[[Operation, RunVoice], T], options: Options | None = None) -> T:
        """What `work` returns, in a thread of its own. `options`: instead of those of `open`."""
        if self._closed:
            raise UsageError("the project is closed", id="RC-project-closed", hint="Call its methods inside the with block.")
        call, asked = ProgramCall(self._voice), (options or self._options).operation
        operation = replace(asked, token=self._token, supervision=replace(asked.supervision, signals=call.signals))
        with in_python(call.voice.masks):
            return call.run(lambda: work(operation, call.voice))


def _saved(options: Options, run: Run, planned: Planned, made_at: datetime) -> plan_file.Saved:
    """The plan as `plan --out` saves it, in memory."""
    recorded = options.with_held(planned.excluded).recorded
    inputs = plan_file.plan_inputs(recorded, run.project, planned.state, run.service.identity, rules=run.judged.origin)
    digests = plan_file.digests_of(run.voice, planned.state.lineage, run.seen.key)
    document = saved_plan(planned.plan, planned.kinds, planned.actual, created_at=made_at, inputs=inputs, digests=digests)
    return plan_file.Saved(THE_PLAN, document, digest_of(document))


def _check(planned: Planned, limits: Limits) -> None:
    """Raise `Refused` with every reason why a plan must not be applied."""
    if refusals := planned.refusals(limits):
        raise Refused.of(*refusals)


def _applied(run: Run, use: SavedPlanUse) -> tuple[model.Outcome, int]:
    """What `apply --plan` does where it asks nobody; the outcome, and the exit code."""
    use.check_service(run.service)
    new = to_create(run.operation, run.voice, run.project, run.service)
    if new is not None:
        use.check_new(new)
        if not run.operation.create_state:
            hint = f"Correct {new.named} if that is the wrong address; or pass --create-state to create the state."
            raise Refused(f"{new.fact[0].lower()}{new.fact[1:].rstrip('.')}", id="RC-unseen-state", hint=hint)
    with applying(run, "apply --plan") as (store, session):
        for note in session.recover():
            run.voice.say(note)
        if (earlier := use.applied_before(store)) is not None:
            session.journal.finish(exit_code=exits.DONE, summary={})
            return use.repeated(session.journal.run, earlier), exits.DONE
        planned = use.begin(session, store)
        use.tell()
        if use.refused:
            raise use.partly(use.rest(planned))
        _check(planned, use.limits)
        session.journal.carry_out(use.saved.digest)
        outcome, code = use.ended(*session.carry_out(planned, on_error="continue"))
        session.journal.finish(exit_code=code, summary={**outcome.summary, **run_commit(run.project)})
    return outcome, code
