"""`drift --accept`: write current values into the files of the project, and prove with a plan that none of them is left to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reconciler.config.source.includes import texts as read
from reconciler.errors import ConfigError, ReconcilerError, Refused
from reconciler.features.drift.accept import Acceptance, AcceptedField, acceptable, chosen
from reconciler.features.drift.model import Drift, Drifted
from reconciler.features.drift.report.groups import ACCEPTED_MAX
from reconciler.features.importer.matched import MatchedProject, excluded_objects
from reconciler.files import rewrite
from reconciler.model import Action, Exposure, Plan
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.run.guards import missing_consent, raise_first
from reconciler.run.loading import load
from reconciler.run.opened import Run
from reconciler.run.rules import judged
from reconciler.run.stages import Planned

ACCEPTING: Final = "accepting this makes something public or removes a protection, which"


def accept(run: Run, planned: Planned, drift: Drift, names: Sequence[str]) -> list[str]:
    """Write the named values; returns a line for each. Raises `Refused`, `UsageError` or `ReconcilerError`: the files are as before."""
    root, before = read(run.operation.project, run.kinds)
    picked = chosen(drift, names, run.project.desired.generated, run.kinds)
    taken = taken_in(run, planned, before, picked)
    if taken.left:
        wrong = f"the change could not be written to the YAML, which was not changed: {', '.join(taken.left)}"
        raise ReconcilerError(wrong, id="RC-edit-by-hand", hint="Change it by hand.")
    raise_first(missing_consent(taken.exposures, run.operation.limits.exposures, ACCEPTING))
    try:
        rewrite(root, taken.texts)
    except ReconcilerError:
        rewrite(root, {file: before[file] for file in taken.texts})
        raise
    return [f"{accepted}{_written(accepted)}.\n" for accepted in picked]


def _written(accepted: AcceptedField) -> str:
    where = f" in {accepted.drifted.source.file}" if accepted.drifted.source is not None else ""
    return ": its lines were moved" if accepted.moved else f" was updated{where}"


@dataclass(frozen=True)
class TakenIn:
    """New files. `texts`: by name, of those that change. `left`: what they still change, or change besides: ADDRESS or
    ADDRESS.field, sorted. `exposures`: what they accept that was not accepted before."""

    texts: Mapping[str, str]
    left: tuple[str, ...]
    exposures: tuple[Exposure, ...]


def acceptance(run: Run, planned: Planned, before: Mapping[str, str]) -> Acceptance:
    """What knows how to write values into these files. `before`: their texts as they are, by name."""
    kinds, project = run.kinds, run.project
    matches = identify(kinds, project.desired, planned.state, planned.actual)
    excluded = excluded_objects(kinds, project.desired, planned.state, planned.actual, matches)
    return Acceptance(MatchedProject(kinds, project.desired, matches.former.state, planned.actual, matches.ids, excluded), before)


def taken_in(run: Run, planned: Planned, before: Mapping[str, str], picked: Sequence[AcceptedField]) -> TakenIn:
    """The files with the current values of these fields, and what a plan of them says. Writes nothing.

    Raises `Refused` where the YAML cannot simply be edited, or would no longer be a valid project.
    """
    texts = acceptance(run, planned, before).edited(picked, planned.plan.moved_outside)
    try:
        desired = judged(run.operation, run.voice, run.kinds, load(run.operation, run.voice, run.kinds, texts=texts)).project.desired
    except ConfigError as error:
        wrong = f"the files would become invalid and were not changed: {error.message}"
        raise Refused(wrong, id="RC-accepted-invalid", hint="Change them by hand.") from None
    former, again = (plan(run.kinds, declared, planned.state, planned.actual) for declared in (run.project.desired, desired))
    every, earlier = _pending(again), _pending(former)
    left = sorted(every & {str(accepted) for accepted in picked} | every - earlier)
    known = [replace(exposure, source=None) for exposure in former.exposures]
    exposures = tuple(exposure for exposure in again.exposures if replace(exposure, source=None) not in known)
    return TakenIn(texts, tuple(left), exposures)


def by_hand(run: Run, planned: Planned, drift: Drift) -> dict[str, str]:
    """What `accept` would refuse, ADDRESS or ADDRESS.field, and what people do instead, as a clause. Of many changes, only what `forEach`
    generates: no command line names them all."""
    generated = run.project.desired.generated
    if not drift.resources:
        return {}
    if len(drift.resources) > ACCEPTED_MAX:
        left = [str(resource.address) for resource in drift.resources if resource.address in generated]
        ways = dict.fromkeys(left, "")
    else:
        fitting = acceptance(run, planned, read(run.operation.project, run.kinds)[1])
        ways = {item.name: item.way for item in acceptable(drift, fitting, generated, planned.plan.moved_outside)[1]}
    by_name = {name: resource.address for resource in drift.resources for name in _names(resource)}
    clauses = {}
    for name, way in ways.items():
        first = way.partition(";")[0].rstrip(".")
        is_generated = by_name[name] in generated
        clauses[name] = f"change the forEach of {by_name[name]}" if is_generated else f"{first[:1].lower()}{first[1:]} ({name})"
    return clauses


def _names(resource: Drifted) -> list[str]:
    return [str(resource.address), *(f"{resource.address}.{delta.name}" for delta in resource.fields)]


def _pending(plan: Plan) -> set[str]:
    """What a plan changes: ADDRESS.field, and ADDRESS of what it moves."""
    fields = {f"{address}.{delta.name}" for address, deltas in plan.differing.items() for delta in deltas}
    return fields | {f"{change.address}" for change in plan.changes if Action.MOVE in change.actions}
