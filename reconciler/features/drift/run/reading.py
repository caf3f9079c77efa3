"""The drift of a project, found with GET requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reconciler.features.drift.model import Drift, DriftBounds, KnownDrift
from reconciler.features.drift.plan import drift, grouped, looking_for_access, without_known
from reconciler.features.drift.report.groups import DriftCommands
from reconciler.features.drift.run.accept import by_hand
from reconciler.features.drift.run.groups import CommandLine, other_ways
from reconciler.plan.world import World
from reconciler.run.loading import now
from reconciler.run.opened import Run
from reconciler.run.operation import Limits
from reconciler.run.stages import Planned


@dataclass(frozen=True)
class DriftReading:
    """Drift and the plan that it was found from. `shown`: the drift in groups, without what a baseline ignores."""

    planned: Planned
    drift: Drift
    shown: Drift


def drift_of(run: Run, *, coverage: bool = False, known: Sequence[KnownDrift] = (), pages: bool = False) -> DriftReading:
    """The drift of a project. `coverage`: read every list. `known`: what a baseline ignores. `pages`: read what a plan needs to say what it
    does to URLs of pages."""
    desired, operation = run.project.desired, replace(run.operation, limits=Limits())  # what would be replaced has drifted all the same
    planned = run.plan(desired=looking_for_access(run.kinds, desired), operation=operation, everything=coverage, pages=pages)
    world = World(run.kinds, desired, planned.state, planned.actual, operation.selection)
    drifted = drift(world, planned.plan, whole=coverage)
    drifted = replace(drifted, notes=(*run.notes, *drifted.notes))
    at = planned.actual.date or now()
    with run.store() as store:
        between = DriftBounds(store.verified(), at)
    shown = without_known(drifted, known, at.date())
    shown = grouped(world, planned.matches, shown, between=between)
    return DriftReading(replace(planned, desired=desired), drifted, shown)


def drift_commands(run: Run, reading: DriftReading, command: CommandLine, request: CommandLine) -> DriftCommands:
    """The two ways on. `request`: the command line of a single request."""
    planned, shown = reading.planned, reading.shown
    refused, no_plan = run.voice.masks.data((by_hand(run, planned, shown), other_ways(request, planned, shown.groups)))
    return DriftCommands(command, refused, no_plan)
