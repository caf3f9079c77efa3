"""The steps of a plan: read, plan, prove. Every command that reads the service uses them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from reconciler.address import Address, Selection
from reconciler.cli.terminal.progress import Narration
from reconciler.client import Answer
from reconciler.client.service import Reader
from reconciler.errors import UsageError
from reconciler.model import Actual, Desired, Forecast, Plan, PlanCost, RecordedUrls, SiteUrls, State
from reconciler.observe import observe, planned
from reconciler.observe.ledger import read_answering
from reconciler.observe.open_work import open_work
from reconciler.observe.pages import KeptTrees, linking_pages, page_trees, read_trees
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.forecast import forecast
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.missing import believable
from reconciler.plan.open_work import IGNORE, Answers, Loss, losses, with_open_work
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.urls.changes import Trees, dead_pages, readable_spaces, with_answering, with_urls
from reconciler.policies.judge import with_violations
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.connecting import ConnectedService
from reconciler.run.loading import now
from reconciler.run.operation import Operation
from reconciler.urls.planned import with_redirects


@dataclass(frozen=True)
class Planned:
    """A plan and its inputs.

    `matches`: which object is which resource. `read_at`: when reading began, in seconds of a monotonic clock. `trees`: the pages that were
    needed for its URLs. `answers`: the work in progress in what the plan changes. `recorded`: what the state knows of URLs; nothing without
    `urls:`.
    """

    plan: Plan
    state: State
    actual: Actual
    matches: Matches
    read_at: float
    forecast: Forecast
    trees: Trees = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    recorded: RecordedUrls = field(default_factory=RecordedUrls)

    @property
    def age(self) -> float:
        """Seconds since its reading began."""
        return time.monotonic() - self.read_at


def with_policies(kinds: Kinds, desired: Desired, actual: Actual, plan: Plan) -> Plan:
    """The plan with the policies that it violates, as of today."""
    if not desired.policies:
        return plan

    return with_violations(kinds, desired, actual, plan, today=now().date())


async def make_plan(
    reader: Reader,
    kinds: Kinds,
    desired: Desired,
    state: State,
    operation: Operation,
    *,
    everything: bool = False,
    stage: Callable[[str], None] = lambda what: None,
    earlier: tuple[Mapping[str, Answer], float] | None = None,
    kept: KeptTrees | None = None,
    recorded: Callable[[], RecordedUrls] = RecordedUrls,
) -> Planned:
    """Observe, plan, prove.

    `everything`: read all that exists. `stage`: called with the name of each stage after the reading. `earlier`: the answers to a reading
    of this run, which are reused, and when it began, in monotonic seconds. `kept`: the trees of pages that the state has; None to leave out
    what happens to pages and to what people are working on. `recorded`: returns what the state knows of URLs, asked at most once, and only
    with `urls:`: with URLs, or with lines of a table, the pages of everything that anybody can read are needed.

    Raises `ServiceError` if the service cannot be read at all.
    """
    selection, replacements = operation.selection, tuple(map(str, operation.limits.replacements))
    began, before = time.monotonic() if earlier is None else earlier[1], reader.requests
    with reader.giving(earlier[0]) if earlier is not None else nullcontext():
        actual = await observe(reader, kinds, desired, state, everything=everything)
    read_at, objects = time.monotonic(), count(len(desired.resources), "object")
    if earlier is not None:
        actual = replace(actual, read_at=earlier[1])
    stage(f"Planning {objects}")
    matches = identify(kinds, desired, state, actual)

    def make(seen: Actual) -> Plan:
        known = matches if seen is actual else None  # with the lists of readers there may be more
        return plan(kinds, desired, state, seen, selection=selection, allow_replace=replacements, matches=known)

    # Planning may need the lists of more readers, which are only read if the plan opens something.
    new_plan, complete = await planned(reader, kinds, actual, make)
    _check_selection(selection, desired, state, new_plan)
    stage(f"Checking the plan for {objects}")
    known = matches if complete is actual else None
    proved = prove(kinds, desired, state, complete, new_plan, selection=selection, matches=known)
    trees: Trees = {}
    answers: Answers = {}
    known_urls = RecordedUrls()
    if kept is not None:
        trees = await page_trees(reader, kinds, complete, proved.site_urls, kept)
        with reader.keeping() as links:
            proved = await _with_linking(reader, kinds, complete, with_urls(proved, trees), {**_tracked(state), **_known(kinds, matches)})
        lost = lost_work(kinds, desired, proved, complete, matches)
        with reader.giving(links):  # both look for links
            answers = await open_work(reader, kinds, lost, complete) if lost else {}
        proved = with_work(kinds, desired, state, proved, complete, matches, answers)
        known_urls = recorded() if desired.urls is not None else known_urls
        if desired.judges_urls and (proved.urls or known_urls or (desired.urls is not None and desired.urls.earlier)):
            missing = readable_spaces(proved.site_urls) - trees.keys()
            trees = {**trees, **await read_trees(reader, kinds, complete, sorted(missing), kept)}
            proved = with_answering(proved, trees)
    cost = PlanCost(reader.requests - before, read_at - began, time.monotonic() - read_at)
    ahead = forecast(kinds, desired, proved, cost, reader.speed, reader.allowance)
    return Planned(with_policies(kinds, desired, complete, proved), state, complete, matches, began, ahead, trees, answers, known_urls)


def _tracked(state: State) -> dict[tuple[str, str], Address]:
    return {(binding.kind, binding.id): address for address, binding in state.bindings.items()}


def _known(kinds: Kinds, matches: Matches) -> dict[tuple[str, str], Address]:
    return {(kinds.of(address).name, id): address for address, id in matches.ids.items()}


async def _with_linking(
    reader: Reader, kinds: Kinds, actual: Actual, plan: Plan, addresses: Mapping[tuple[str, str], Address]
) -> Plan:  # fmt: skip
    """The plan with the pages that link to those that answer nowhere after it."""
    dead = dead_pages(plan)
    if not dead:
        return plan
    linking, failed = await linking_pages(reader, kinds, actual, dead, caller(kinds, addresses, actual.objects, actual.objects))
    return replace(plan, linking=linking, notes=(*plan.notes, *failed))


def lost_work(kinds: Kinds, desired: Desired, plan: Plan, actual: Actual, matches: Matches) -> tuple[Loss, ...]:
    """The objects that lose work in progress if there is any; none where the project does not look."""
    return () if desired.guards.open_work == IGNORE else losses(kinds, plan, actual, matches.ids)


def with_work(
    kinds: Kinds, desired: Desired, state: State, plan: Plan, actual: Actual, matches: Matches, answers: Answers
) -> Plan:  # fmt: skip
    """The plan with the work in progress that it ends. `answers`: what was read of that."""
    lost = lost_work(kinds, desired, plan, actual, matches)
    # The service's clock, where it shows one: what people do there has its times.
    return with_open_work(plan, lost, answers, desired.guards, state.consents, actual.date or now()) if lost else plan


def narrowed(kinds: Kinds, desired: Desired, planned: Planned, operation: Operation) -> Planned:
    """The same reading, planned for another selection."""
    selection, state, actual = operation.selection, planned.state, planned.actual
    new_plan = plan(kinds, desired, state, actual, selection=selection, allow_replace=tuple(map(str, operation.limits.replacements)))
    proved = with_urls(prove(kinds, desired, state, actual, new_plan, selection=selection), planned.trees)
    if planned.plan.site_urls.answering_after is not None:
        proved = with_answering(proved, planned.trees)
    proved = with_work(kinds, desired, state, proved, actual, planned.matches, planned.answers)
    return replace(planned, plan=with_policies(kinds, desired, actual, proved))


def _check_selection(selection: Selection, desired: Desired, state: State, plan: Plan) -> None:
    """Raise `UsageError` for a pattern that matches nothing: a typing error must neither look like "no changes" nor exclude nothing."""
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


def read_only(
    narration: Narration,
    service: ConnectedService,
    kinds: Kinds,
    desired: Desired,
    state: State,
    operation: Operation,
    *,
    everything: bool = False,
    kept: KeptTrees | None = None,
    recorded: Callable[[], RecordedUrls] = RecordedUrls,
) -> Planned:
    """A plan, read with a client that cannot write. `kept`: see `make_plan`. `recorded`: as well."""

    async def run() -> Planned:

        async with Reader(service.settings, listener=narration) as reader:
            return await make_plan(
                reader, kinds, desired, state, operation, everything=everything, stage=narration.stage, kept=kept, recorded=recorded
            )  # fmt: skip

    with narration.phase(f"Reading {desired.project}", where=service.where):
        planned = asyncio.run(run())
    believable(planned.matches, desired, accept=operation.limits.gone)
    return replace(planned, plan=with_redirects(desired, planned.plan, planned.recorded))


def read_present(
    narration: Narration,
    service: ConnectedService,
    kinds: Kinds,
    desired: Desired,
    state: State,
    *,
    kept: KeptTrees,
    recorded: RecordedUrls,
) -> Plan:
    """A plan without changes, with the redirects that follow from what answers now. Sends GET requests alone."""

    async def run() -> Plan:
        async with Reader(service.settings, listener=narration) as reader:
            actual = await observe(reader, kinds, desired, state)
            called = caller(kinds, _tracked(state), actual.objects, actual.objects)
            now, _ = await read_answering(reader, kinds, actual, called, kept)
            return Plan(desired.project, desired.environment, site_urls=SiteUrls(answering_before=now, answering_after=now))

    with narration.phase(f"Reading {desired.project}", where=service.where):
        present = asyncio.run(run())
    return with_redirects(desired, present, recorded)
