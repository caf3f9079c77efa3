"""The stages of a plan, in the order of `STAGES`. Every plan is made by them, whoever asks for it, and so is each part of one.

    the service --read--> Planned --stage--> Planned --stage--> ... --> plan with its proof, URLs, open work, redirects, violations
                                    ^ a stage may read what the plan so far needs; its work itself is pure

`staged` runs the tuple over a new reading; `narrow` runs it over a reading that it has, for fewer addresses, and asks nobody. A stage
that is missing in one of them would be missing in both.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler.address import Address
from reconciler.client import Answer
from reconciler.client.service import Reader
from reconciler.errors import Refused, UsageError
from reconciler.model import Actual, Allowance, Desired, Forecast, Plan, PlanCost, ServiceSpeed, State
from reconciler.model.features import FeatureKey, FeatureValues, T
from reconciler.observe import planned as with_lists
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.forecast import forecast
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.missing import believable
from reconciler.plan.planner import plan as make_plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.resource import Kinds
from reconciler.run.guards import check, refusals
from reconciler.run.operation import Limits, Operation
from reconciler.seams import Seam
from reconciler.state.connection import StoredTables

Pace = tuple[PlanCost, ServiceSpeed, Allowance | None]


@dataclass(frozen=True)
class Planned:
    """A plan, and all that it was made from.

    `read_at`: when reading began, in seconds of a monotonic clock. `matches`: which object is which resource; `known`: the same, as long as
    nothing more was read since. `pages`: whether it says what happens to pages and to what people are working on. `features`: what features
    read for it. `pace`: what making it took; None until it is made.
    """

    kinds: Kinds
    desired: Desired
    state: State
    operation: Operation
    actual: Actual
    plan: Plan
    read_at: float
    matches: Matches
    known: Matches | None = None
    pages: bool = False
    features: FeatureValues = field(default_factory=dict)
    pace: Pace | None = None

    def feature(self, key: FeatureKey[T]) -> T:
        """What one feature read for it."""
        return key.of(self.features)

    def with_feature(self, key: FeatureKey[T], value: T) -> Planned:
        """The same, with what one feature read for it."""
        return replace(self, features={**self.features, key: value})

    @property
    def age(self) -> float:
        """Seconds since its reading began."""
        return time.monotonic() - self.read_at

    @property
    def forecast(self) -> Forecast:
        """What applying it takes."""
        assert self.pace is not None
        return forecast(self.kinds, self.desired, self.plan, *self.pace)

    def refusals(self, limits: Limits) -> tuple[Refused, ...]:
        """Why it must not be applied: an error of each guard that it violates, with the exact way past it. Empty if it may."""
        return refusals(self.plan, self.desired, limits)

    def check(self, limits: Limits) -> None:
        """Raise the first of its refusals."""
        check(self.plan, self.desired, limits)

    @property
    def excluded(self) -> frozenset[Address]:
        """What is held, as far as a later plan knows the address."""
        return self.operation.selection.held & {*self.desired.resources, *self.state.bindings, *self.unmanaged}

    @property
    def objects(self) -> dict[tuple[str, str], Address]:
        """The addresses of the objects that are tracked, or that a resource is, by kind and id."""
        return {**self.state.addresses, **self.kinds.addresses(self.matches.ids)}

    @property
    def unmanaged(self) -> frozenset[Address]:
        """The addresses that the objects have that nobody declares, wherever a plan names one."""
        called = caller(self.kinds, self.objects, self.actual.objects, self.actual.objects)
        return frozenset(called((some.kind, some.id)) for some in self.plan.unmanaged)


@dataclass(frozen=True)
class PlanSource:
    """What a plan is read from. `state`: what the state keeps for features; None to leave out what happens to pages and to what people are
    working on. `rereads`: nothing that was kept counts. `links`: answers that two stages need. `everything`: read all that exists.
    `earlier`: answers to a reading of this run, which are reused, and when it began, in monotonic seconds."""

    reader: Reader
    state: StoredTables | None = None
    rereads: bool = False
    links: dict[str, Answer] = field(default_factory=dict)
    everything: bool = False
    earlier: tuple[Mapping[str, Answer], float] | None = None


@dataclass(frozen=True)
class Stage:
    """One stage. `work`: pure. `reads`: what it needs to know of the service before, None for nothing. `says`: how a person calls it, where
    it lasts."""

    name: str
    work: Callable[[Planned], Planned]
    reads: Callable[[PlanSource, Planned], Awaitable[Planned]] | None = None
    says: str = ""


async def staged(source: PlanSource, planned: Planned, *, stage: Callable[[str], None] = lambda says: None) -> Planned:
    """What the stages make of a reading, each after it read what it needs."""
    for step in _stages():
        if step.says:
            stage(step.says)
        if step.reads is not None:
            planned = await step.reads(source, planned)
        planned = step.work(planned)
    return planned


def narrow(planned: Planned, operation: Operation) -> Planned:
    """The same reading, planned for another operation. Asks nobody."""
    planned = replace(planned, operation=operation)
    for step in _stages():
        planned = step.work(planned)
    return planned


# -- the stages --------------------------------------------------------------------------------------------------------------------------


def _matched(planned: Planned) -> Planned:
    matches = identify(planned.kinds, planned.desired, planned.state, planned.actual)
    return replace(planned, matches=matches, known=matches)


def decided(planned: Planned) -> Planned:
    """The plan as far as it is decided from what was read: without its proof, and without what features say of it."""
    operation = planned.operation
    plan = make_plan(
        planned.kinds,
        planned.desired,
        planned.state,
        planned.actual,
        selection=operation.selection,
        allow_replace=tuple(map(str, operation.limits.replacements)),
        matches=planned.known,
    )
    return replace(planned, plan=plan)


async def _with_readers(source: PlanSource, planned: Planned) -> Planned:
    """Planning may need the lists of more readers, which are only read if the plan opens something."""

    def again(seen: Actual) -> Plan:
        return planned.plan if seen is planned.actual else decided(replace(planned, actual=seen, known=None)).plan

    plan, actual = await with_lists(source.reader, planned.kinds, planned.actual, again, source.links)
    return replace(planned, plan=plan, actual=actual, known=planned.known if actual is planned.actual else None)


def _selected(planned: Planned) -> Planned:
    """Raise `UsageError` for a pattern that matches nothing: a typing error must neither look like "no changes" nor exclude nothing."""
    desired, state, plan, selection = planned.desired, planned.state, planned.plan, planned.operation.selection
    addresses = [
        *desired.resources,
        *state.bindings,
        *(change.address for change in plan.changes),
        *(blocked.address for blocked in plan.blocked),
        # What an earlier run deleted, and what `removed` names: a run that deleted its target can be started again.
        *state.deleted,
        *desired.removed,
    ]
    for option, globs in (("--target", selection.targets), ("--exclude", selection.excludes)):
        for glob in globs:
            # What nobody declares is in a plan only if it is deleted, and what is excluded or held is not.
            if not any(glob.matches(address) for address in addresses) and not any(map(glob.matches, planned.unmanaged)):
                way = "reconciler state list shows the tracked addresses."
                raise UsageError(f"{option} {glob} matches no address", id="RC-nothing-selected", hint=way)
    return planned


def _proved(planned: Planned) -> Planned:
    world = World(planned.kinds, planned.desired, planned.state, planned.actual, planned.operation.selection)
    return replace(planned, plan=prove(world, planned.plan, matches=planned.known))


STAGES: Final[tuple[Stage, ...]] = (
    Stage("match", _matched, says="Planning"),  # first: everything else is about an object, or about its absence
    Stage("decide", decided),
    Stage("readers", _selected, _with_readers),  # decides again where the plan opens something, from who reads it now
    Stage("prove", _proved, says="Checking the plan for"),  # before anything is said about the plan: it may block some of it
)

FEATURE_STAGES: Final[Seam[Stage]] = Seam("run", "stages of a plan")
"""What features add to a plan, behind its proof, in the order of `assembled.py`."""


def _stages() -> Iterator[Stage]:
    yield from STAGES
    yield from FEATURE_STAGES


# -- a plan that nobody applies ----------------------------------------------------------------------------------------------------------


def checked(planned: Planned) -> Planned:
    """The same. Raises `Refused` where an outage is likelier than that so many objects were deleted."""
    believable(planned.matches, planned.desired, accept=planned.operation.limits.gone)
    return planned
