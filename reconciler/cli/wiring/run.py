"""The steps of a run: read, plan, prove; recover, apply. Every command that reads the service uses them."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from reconciler.address import Address
from reconciler.apply import FRESH, ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.wiring.connect import ConnectedService, now
from reconciler.client import Answer, Reader, Writer
from reconciler.config import Project
from reconciler.errors import UsageError
from reconciler.model import Actual, Desired, Forecast, Outcome, Plan, PlanCost, State
from reconciler.observe import observe, planned
from reconciler.plan import Selection, plan
from reconciler.plan.forecast import forecast
from reconciler.plan.matching.absence import believable
from reconciler.plan.matching.identity import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.prove import prove
from reconciler.policies.judged import with_violations
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.state import Journal

LOOK_AGAIN: Final = 0.002  # seconds


@dataclass(frozen=True)
class Planned:
    """A plan and its inputs.

    `matches`: which object is which resource. `read_at`: when reading began, in seconds of a monotonic clock.
    """

    plan: Plan
    state: State
    actual: Actual
    matches: Matches
    read_at: float
    forecast: Forecast

    @property
    def age(self) -> float:
        """Seconds since its reading began."""
        return time.monotonic() - self.read_at


@dataclass(frozen=True)
class EarlierReading:
    """The answers to a reading of this run, and when it began (monotonic seconds)."""

    answers: Mapping[str, Answer]
    began: float


@dataclass(frozen=True)
class PlanScope:
    """The scope of a plan. `allow_replace`: patterns of what may be recreated. `everything`: read all that exists."""

    selection: Selection
    allow_replace: Collection[str] = ()
    everything: bool = False


def _judged(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan) -> Plan:
    """The plan with the policies that it violates, as of today."""
    if not desired.policies:
        return plan

    return with_violations(kinds, desired, actual, plan, today=now().date())


async def make_plan(
    reader: Reader,
    kinds: Kinds,
    desired: Desired,
    state: State,
    extent: PlanScope,
    *,
    stage: Callable[[str], None] = lambda what: None,
    earlier: EarlierReading | None = None,
) -> Planned:
    """Observe, plan, prove. `stage`: called with the name of each stage after the reading. `earlier`: a reading whose answers are reused.

    Raises `ServiceError` if the service cannot be read at all.
    """
    began, before = time.monotonic() if earlier is None else earlier.began, reader.requests
    selection = extent.selection
    importing = asyncio.create_task(_import_meanwhile(reader, before))
    try:
        with reader.giving(earlier.answers) if earlier is not None else nullcontext():
            actual = await observe(reader, kinds, desired, state, everything=extent.everything)
    finally:
        importing.cancel()

    read_at, objects = time.monotonic(), count(len(desired.resources), "object")
    if earlier is not None:
        actual = replace(actual, read_at=earlier.began)
    stage(f"Planning {objects}")
    matches = identify(kinds, desired, state, actual)

    def make(seen: Actual) -> Plan:
        known = matches if seen is actual else None  # with the lists of readers there may be more
        return plan(kinds, desired, state, seen, selection=selection, allow_replace=extent.allow_replace, matches=known)

    new_plan, complete = await planned(reader, kinds, actual, make)
    _check_selection(selection, desired, state, new_plan)
    stage(f"Checking the plan for {objects}")
    known = matches if complete is actual else None
    proved = prove(kinds, desired, state, complete, new_plan, selection=selection, matches=known)
    cost = PlanCost(reader.requests - before, read_at - began, time.monotonic() - read_at)
    ahead = forecast(kinds, desired, proved, cost, reader.speed, reader.allowance)
    return Planned(_judged(kinds, desired, complete, proved), state, complete, matches, began, ahead)


async def _import_meanwhile(reader: Reader, before: int) -> None:
    """Import the code for after the readings while the first request is under way: both take about as long."""
    while reader.requests == before:  # noqa: ASYNC110  the client counts, and tells nobody
        await asyncio.sleep(LOOK_AGAIN)
    await asyncio.get_running_loop().run_in_executor(None, _import_planner)


def _import_planner() -> None:
    from reconciler.plan import forecast, guard, planner, prove  # noqa: F401


def _check_selection(selection: Selection, desired: Desired, state: State, made: Plan) -> None:
    """Raise `UsageError` for a pattern that matches nothing: a typing error must neither look like "no changes" nor exclude nothing."""
    addresses = [
        *desired.resources,
        *state.bindings,
        *(change.address for change in made.changes),
        *(blocked.address for blocked in made.blocked),
    ]
    for option, globs in (("--target", selection.targets), ("--exclude", selection.excludes)):
        for glob in globs:
            if not any(glob.matches(address) for address in addresses):
                way = "reconciler state list shows the tracked addresses."
                raise UsageError(f"{option} {glob} matches no address", id="RC-nothing-selected", hint=way)


def read_only(
    narration: Narration,
    service: ConnectedService,
    kinds: Kinds,
    desired: Desired,
    state: State,
    options: Options,
    *,
    everything: bool = False,
) -> Planned:
    """A plan, read with a client that cannot write."""

    async def run() -> Planned:

        async with Reader(service.settings, listener=narration) as reader:
            extent = PlanScope(selected(options), replaceable(options), everything)
            return await make_plan(reader, kinds, desired, state, extent, stage=narration.stage)

    with narration.phase(f"Reading {desired.project}", where=service.where):
        return _believed(asyncio.run(run()), desired, options)


def _believed(planned: Planned, desired: Desired, options: Options) -> Planned:
    """The plan, unchanged. Raises `Refused` if implausibly many objects are missing."""
    believable(planned.matches, desired, accept=options.accept_gone)
    return planned


def selected(options: Options) -> Selection:
    """The selection of the run."""
    return Selection(options.target, options.exclude)


def replaceable(options: Options) -> tuple[str, ...]:
    return tuple(str(glob) for glob in options.allow_replace)


class ApplySession:
    """One apply: a writer for several phases in one event loop, under the lease.

    `desired` and `selection`: what is planned and applied; the project as it is, unless somebody sets something else. `alone`: it neither
    continues the last run nor is continued by the next, so that each asks what it opens.
    """

    def __init__(
        self, narration: Narration, service: ConnectedService, kinds: Kinds, project: Project, journal: Journal, options: Options
    ) -> None:
        self.narration, self.service, self.kinds, self.project = narration, service, kinds, project
        self.journal, self.options = journal, options
        self.desired, self.selection = project.desired, selected(options)
        self.alone = False
        self.signal: int | None = None
        self._runner = asyncio.Runner()
        self._writer: Writer | None = None
        self._earlier: EarlierReading | None = None

    def __enter__(self) -> ApplySession:
        self._writer = self._runner.run(self._open())
        return self

    def __exit__(self, *raised: Any) -> None:
        try:
            if self._writer is not None:
                self._runner.run(self._writer.__aexit__(None, None, None))
        finally:
            self._runner.close()

    async def _open(self) -> Writer:

        return await Writer(self.service.settings, listener=self.narration).__aenter__()

    @property
    def writer(self) -> Writer:
        assert self._writer is not None
        return self._writer

    def recover(self) -> tuple[str, ...]:
        """Resolve what earlier runs left in doubt; returns a sentence for each."""
        if not self.journal.open_intents() and not self.journal.unsaved_endings():
            return ()
        lasting = self.service.effect_seconds(self.project)
        with self.narration.phase("Resolving requests in doubt"):
            return self._runner.run(
                recover(self.writer, self.kinds, self.project.desired, self.journal, settle=lasting, wait=self._wait)
            )  # fmt: skip

    async def _wait(self, seconds: float, why: str) -> None:
        self.narration.waiting(seconds, why)
        await asyncio.sleep(seconds)

    def look(self, desired: Desired) -> Actual:
        """What there is of a Desired and the state; the next `plan` asks only for what was not answered here, unless it comes late."""
        began = time.monotonic()
        with self.narration.phase(f"Reading {desired.project}", where=self.service.where), self.writer.keeping() as answers:
            actual = self._runner.run(observe(self.writer, self.kinds, desired, self.journal.state()))
        self._earlier = EarlierReading(answers, began)
        return actual

    def _fresh_reading(self) -> EarlierReading | None:
        """What `look` was answered, once, and only while nothing of it would have to be read again before it is written."""
        earlier, self._earlier = self._earlier, None
        return earlier if earlier is not None and time.monotonic() - earlier.began <= FRESH else None

    def _state(self) -> State:
        state = self.journal.state()
        return replace(state, consents=frozenset()) if self.alone else state

    def plan(self) -> Planned:
        """A plan of the present state of the service."""
        earlier, extent, stage = self._fresh_reading(), PlanScope(self.selection, replaceable(self.options)), self.narration.stage
        reading = self.narration.phase(f"Reading {self.desired.project}", where=self.service.where)
        with reading if earlier is None else self.narration.lasting("Reading what the plan needs"):
            planned = self._runner.run(
                make_plan(self.writer, self.kinds, self.desired, self._state(), extent, stage=stage, earlier=earlier)
            )  # fmt: skip
        return _believed(planned, self.desired, self.options)

    def narrowed(self, planned: Planned, only: frozenset[Address]) -> Planned:
        """The same reading, planned for these addresses only."""
        selection = replace(self.selection, only=only)
        state, actual = planned.state, planned.actual
        new_plan = plan(self.kinds, self.desired, state, actual, selection=selection, allow_replace=replaceable(self.options))
        proved = prove(self.kinds, self.desired, state, actual, new_plan, selection=selection)
        return replace(planned, plan=_judged(self.kinds, self.desired, actual, proved))

    def apply(
        self, planned: Planned, *, on_error: Literal["continue", "stop"], verify: Literal["written", "full"] = "written"
    ) -> Outcome:  # fmt: skip
        """Apply a plan. The first signal stops it after the requests under way, and `signal` is its number."""
        steps = planned.plan.steps
        with self.narration.phase(f"Applying {len(steps):,} request{'s' if len(steps) != 1 else ''}", steps) if steps else nullcontext():
            return self._runner.run(self._apply(planned, on_error, verify))

    async def _apply(self, planned: Planned, on_error: Literal["continue", "stop"], verify: Literal["written", "full"]) -> Outcome:

        plan = replace(planned.plan, consents=()) if self.alone else planned.plan
        stop, signals, supervision = asyncio.Event(), self.narration.screen.signals, self.narration.screen.supervision

        def calmly() -> None:
            stop.set()
            self.narration.screen.say(
                "Stopping: no new requests are sent; requests under way get 5 seconds. Press Ctrl-C again to exit immediately."
            )

        with signals.stopping(calmly):
            outcome = await apply(
                self.writer, self.kinds, self.desired, plan, planned.actual, self.journal,
                ApplyOptions(
                    deadline=self.project.settings.timeout, selection=self.selection, listener=self.narration, on_error=on_error,
                    stop=stop, verify=verify, nonce=(lambda: secrets.token_hex(4)) if self.project.settings.marks else None,
                    settle=self.service.effect_seconds(self.project) or 0.0,
                    clearance=supervision.clearance if supervision is not None else None,
                ),
            )  # fmt: skip
        self.signal = signals.number if stop.is_set() else None
        if outcome.went_through and planned.plan.state_update.rules is not None:
            self.journal.remember_rules(planned.plan.state_update.rules)
        return outcome
