"""Runs of the past in the harness: which there were, and undoing one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from reconciler.address import Selection, bare
from reconciler.apply import ApplyOptions, apply
from reconciler.apply.recover import recover
from reconciler.features.undo import (
    Inverse,
    RevertedRun,
    YamlLine,
    desired_for_reading,
    entries_today,
    journal_arguments,
    redeclaring_lines,
    run_effects,
    state_changes_today,
    stop_managing_fields,
)
from reconciler.model import Outcome
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.world import World
from reconciler.run.guards import check
from reconciler.run.operation import Limits
from tests.harness import Org, kinds

Undone = tuple[Outcome, Inverse, tuple[YamlLine, ...]]


def undo(org: Org, run: str, go: Callable[[Coroutine[Any, Any, Undone]], Undone] = asyncio.run) -> Undone:
    """Take a run back; a second time where the service had to rearrange something first. The results are those of both."""
    outcome, found, lines = go(_undo(org, run))
    if not outcome.plan.deferred:
        return outcome, found, lines
    again, found, lines = go(_undo(org, run))
    return replace(again, results=(*outcome.results, *again.results)), found, lines


async def _undo(org: Org, run: str) -> Undone:
    project = org.load().desired
    with org.store() as store, store.lease(who="test", command=f"undo {run[:8]}") as journal:
        async with org.client() as writer:
            await recover(writer, kinds(), project, journal, settle=org.settle)
            later = store.later_state_changes(run)
            done, state_changes = (
                run_effects(kinds(), entries_today(store.entries(run), later)),
                state_changes_today(store.state_changes(run), later),
            )
            state = journal.state()
            actual = await observe(writer, kinds(), desired_for_reading(kinds(), project, state, done, state_changes), state)
            found = RevertedRun(kinds(), project, state, actual, done, state_changes, set(map(bare, store.ids()))).inverse()
            only = Selection(only=found.only)
            actual = await observe(writer, kinds(), found.desired, state)
            made = plan(kinds(), found.desired, state, actual, selection=only)
            made = check(prove(World(kinds(), found.desired, state, actual, only), made), found.desired, Limits().with_exposures)
            lines = redeclaring_lines(
                kinds(), project, found.desired, made, found.state_changes, identify(kinds(), project, state, actual).ids
            )
            outcome = await apply(writer, kinds(), found.desired, made, actual, journal, ApplyOptions(deadline=30.0, selection=only))
            if not outcome.plan.deferred:
                for address, unset in stop_managing_fields(found, journal.state()).items():
                    journal.note(address, sent=unset, seen=unset)
                forget, rename, protect = journal_arguments(found.state_changes)
                journal.remember(forget=forget, rename=rename, protect=protect)
            return outcome, found, lines
