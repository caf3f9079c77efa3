"""The stages of a plan, in the order of `STAGES`. Every plan is made by them, whoever asks for it, and so is each part of one.

    the service --read--> Planned --stage--> Planned --stage--> ... --> plan with its proof, URLs, open work, redirects, violations
                                    ^ a stage may read what the plan so far needs; its work itself is pure

`make` runs the tuple over a new reading; `narrow` runs it over a reading that it has, for fewer addresses, and asks nobody. A stage that is
missing in one of them would be missing in both.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final

from reconciler.address import Address
from reconciler.client import Answer
from reconciler.client.service import Reader
from reconciler.errors import Refused, UsageError
from reconciler.features.policies.judge import with_violations
from reconciler.features.urls.model.pages import SiteUrls
from reconciler.features.urls.model.redirects import RecordedUrls, judges_urls, url_settings
from reconciler.features.urls.plan.changes import Trees, dead_pages, readable_spaces, with_answering, with_urls
from reconciler.features.urls.read.ledger import read_answering
from reconciler.features.urls.read.pages import KeptTrees, ReadLinks, linking_pages, page_trees, read_links, read_trees
from reconciler.features.urls.redirects.planned import with_redirects
from reconciler.features.work.plan import IGNORE, Answers, Loss, losses, with_open_work
from reconciler.features.work.read import open_work
from reconciler.model import Actual, Allowance, Desired, Forecast, Plan, PlanCost, ServiceSpeed, State
from reconciler.observe import observe, planned as with_lists
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.forecast import forecast
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.missing import believable
from reconciler.plan.matching.renames import Former
from reconciler.plan.planner import plan as decided
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.guards import check, refusals
from reconciler.run.loading import now
from reconciler.run.operation import Limits, Operation

Pace = tuple[PlanCost, ServiceSpeed, Allowance | None]


@dataclass(frozen=True)
class Planned:
    """A plan, and all that it was made from.

    `read_at`: when reading began, in seconds of a monotonic clock. `matches`: which object is which resource; `known`: the same, as long as
    nothing more was read since. `pages`: whether it says what happens to pages and to what people are working on. `trees`: the pages that
    were needed for its URLs; `answering`: those of everything that anybody can read are among them. `links`: of pages, where some end.
    `lost`: the objects that lose work in progress if there is any, none where the project does not look; `answers`: the work in them.
    `recorded`: what the state knows of URLs; nothing without `urls:`. `pace`: what making it took; None until it is made.
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
    trees: Trees = field(default_factory=dict)
    answering: bool = False
    links: ReadLinks = ()
    lost: tuple[Loss, ...] = ()
    answers: Answers = field(default_factory=dict)
    recorded: RecordedUrls = field(default_factory=RecordedUrls)
    pace: Pace | None = None

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
    def objects(self) -> dict[tuple[str, str], Address]:
        """The addresses of the objects that are tracked, or that a resource is, by kind and id."""
        return {**self.state.addresses, **self.kinds.addresses(self.matches.ids)}


@dataclass(frozen=True)
class PlanSource:
    """What a plan is read from. `kept`: the trees of pages that the state has; None to leave out what happens to pages and to what people
    are working on. `recorded`: returns what the state knows of URLs, asked at most once, and only with `urls:`. `links`: answers that two
    stages need. `everything`: read all that exists. `earlier`: answers to a reading of this run, which are reused, and when it began, in
    monotonic seconds."""

    reader: Reader
    kept: KeptTrees | None = None
    recorded: Callable[[], RecordedUrls] = RecordedUrls
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


async def make(
    source: PlanSource,
    kinds: Kinds,
    desired: Desired,
    state: State,
    operation: Operation,
    *,
    stage: Callable[[str], None] = lambda what: None,
) -> Planned:
    """Read, and run every stage. `stage`: called with the name of each stage that lasts.

    Raises `ServiceError` if the service cannot be read at all.
    """
    reader, before, earlier = source.reader, source.reader.requests, source.earlier
    began = time.monotonic() if earlier is None else earlier[1]
    with reader.giving(earlier[0]) if earlier is not None else nullcontext():
        actual = await observe(reader, kinds, desired, state, everything=source.everything)
    read_at, objects = time.monotonic(), count(len(desired.resources), "object")
    if earlier is not None:
        actual = replace(actual, read_at=earlier[1])
    nothing = Plan(desired.project, desired.environment)
    unmatched = Matches(Former(state, state))
    planned = Planned(kinds, desired, state, operation, actual, nothing, began, unmatched, pages=source.kept is not None)
    for step in STAGES:
        if step.says:
            stage(f"{step.says} {objects}")
        if step.reads is not None:
            planned = await step.reads(source, planned)
        planned = step.work(planned)
    cost = PlanCost(reader.requests - before, read_at - began, time.monotonic() - read_at)
    return replace(planned, pace=(cost, reader.speed, reader.allowance))


def narrow(planned: Planned, operation: Operation) -> Planned:
    """The same reading, planned for another operation. Asks nobody."""
    planned = replace(planned, operation=operation)
    for step in STAGES:
        planned = step.work(planned)
    return planned


# -- the stages --------------------------------------------------------------------------------------------------------------------------


def _matched(planned: Planned) -> Planned:
    matches = identify(planned.kinds, planned.desired, planned.state, planned.actual)
    return replace(planned, matches=matches, known=matches)


def _decided(planned: Planned) -> Planned:
    operation = planned.operation
    plan = decided(
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
        return planned.plan if seen is planned.actual else _decided(replace(planned, actual=seen, known=None)).plan

    plan, actual = await with_lists(source.reader, planned.kinds, planned.actual, again)
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
            if not any(glob.matches(address) for address in addresses):
                way = "reconciler state list shows the tracked addresses."
                raise UsageError(f"{option} {glob} matches no address", id="RC-nothing-selected", hint=way)
    return planned


def _proved(planned: Planned) -> Planned:
    world = World(planned.kinds, planned.desired, planned.state, planned.actual, planned.operation.selection)
    return replace(planned, plan=prove(world, planned.plan, matches=planned.known))


async def _with_pages(source: PlanSource, planned: Planned) -> Planned:
    if source.kept is None:
        return planned
    reader, kinds, desired, actual = source.reader, planned.kinds, planned.desired, planned.actual
    trees = await page_trees(reader, kinds, actual, planned.plan.site_urls, source.kept)
    plan, links = with_urls(planned.plan, trees), planned.links
    if dead := dead_pages(plan):
        with reader.keeping() as answers:
            links = await read_links(reader, kinds, actual, dead)
        source.links.update(answers)
    settings = url_settings(desired)
    recorded = source.recorded() if settings is not None else planned.recorded
    answering = judges_urls(desired) and bool(plan.urls or recorded or (settings is not None and settings.earlier))
    if answering:
        missing = readable_spaces(plan.site_urls) - trees.keys()
        trees = {**trees, **await read_trees(reader, kinds, actual, sorted(missing), source.kept)}
    return replace(planned, trees=trees, links=links, recorded=recorded, answering=answering)


def _paged(planned: Planned) -> Planned:
    """The plan with the URLs of pages that it changes, the pages that link to those that answer nowhere after it, and all that answer."""
    if not planned.pages:
        return planned
    plan = with_urls(planned.plan, planned.trees)
    if dead := dead_pages(plan):
        objects = planned.actual.objects
        linking, failed = linking_pages(planned.links, dead, caller(planned.kinds, planned.objects, objects, objects))
        plan = replace(plan, linking=linking, notes=(*plan.notes, *failed))
    return replace(planned, plan=with_answering(plan, planned.trees) if planned.answering else plan)


def _lost(planned: Planned) -> Planned:
    looks = planned.pages and planned.desired.guards.open_work != IGNORE
    return replace(planned, lost=losses(planned.kinds, planned.plan, planned.actual, planned.matches.ids) if looks else ())


async def _with_work(source: PlanSource, planned: Planned) -> Planned:
    if not planned.lost:
        return planned
    with source.reader.giving(source.links):  # both look for links
        answers = await open_work(source.reader, planned.kinds, planned.lost, planned.actual)
    return replace(planned, answers=answers)


def _worked(planned: Planned) -> Planned:
    if not planned.lost:
        return planned
    # The service's clock, where it shows one: what people do there has its times.
    at, guards = planned.actual.date or now(), planned.desired.guards
    return replace(planned, plan=with_open_work(planned.plan, planned.lost, planned.answers, guards, planned.state.consents, at))


def _redirected(planned: Planned) -> Planned:
    return replace(planned, plan=with_redirects(planned.desired, planned.plan, planned.recorded))


def _judged(planned: Planned) -> Planned:
    if not planned.desired.policies:
        return planned
    plan = with_violations(planned.kinds, planned.desired, planned.actual, planned.plan, today=now().date())
    return replace(planned, plan=plan)


STAGES: Final[tuple[Stage, ...]] = (
    Stage("match", _matched, says="Planning"),  # first: everything else is about an object, or about its absence
    Stage("decide", _decided),
    Stage("readers", _selected, _with_readers),  # decides again where the plan opens something, from who reads it now
    Stage("prove", _proved, says="Checking the plan for"),  # before anything is said about the plan: it may block some of it
    Stage("pages", _paged, _with_pages),  # what answers where, before and after
    Stage("losses", _lost),  # from the readers that the plan leaves, so behind what decides them
    Stage("work", _worked, _with_work),  # behind the pages: what ends with them
    Stage("redirects", _redirected),  # behind all that changes URLs: from what answers after the plan, and the ledger
    Stage("policies", _judged),  # last: they may ask about anything above
)


# -- a plan that nobody applies ----------------------------------------------------------------------------------------------------------


def checked(planned: Planned) -> Planned:
    """The same. Raises `Refused` where an outage is likelier than that so many objects were deleted."""
    believable(planned.matches, planned.desired, accept=planned.operation.limits.gone)
    return planned


async def present(reader: Reader, kinds: Kinds, desired: Desired, state: State, kept: KeptTrees) -> Plan:
    """A plan without changes, with what answers now. Sends GET requests alone."""
    actual = await observe(reader, kinds, desired, state)
    called = caller(kinds, state.addresses, actual.objects, actual.objects)
    now, _ = await read_answering(reader, kinds, actual, called, kept)
    return Plan(desired.project, desired.environment, site_urls=SiteUrls(answering_before=now, answering_after=now))
