"""`drift --accept`: write current values into the files of the project, and prove with a plan that none of them is left to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.cli.checks.rules_from import judged
from reconciler.cli.files import rewrite
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.loading import load
from reconciler.cli.wiring.run import Planned
from reconciler.config import Project
from reconciler.config.source.includes import texts as read
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.importer.accept import Acceptance, AcceptedField, chosen
from reconciler.importer.gather import MatchedProject, excluded_objects
from reconciler.model import Action, Plan
from reconciler.model.drift import Drift
from reconciler.plan.guard import consent_to_exposures
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.resource import Kinds
from reconciler.yamltext import line_ends


def accept(screen: Screen, options: Options, kinds: Kinds, project: Project, planned: Planned, drift: Drift, names: Sequence[str]) -> None:
    """Write the named values. Raises `Refused` or `UsageError` before anything is written; if it fails, the files are as before."""
    root, before = read(options.project, kinds)
    picked = chosen(drift, names, project.desired.generated)
    texts = accepted_texts(acceptance(kinds, project, planned, before), before, picked, planned)
    try:
        rewrite(root, texts)
        left = prove(screen, options, kinds, project, planned, picked)
        if left:
            wrong = f"the change could not be written to the YAML, which was not changed: {', '.join(left)}"
            raise ReconcilerError(wrong, id="RC-edit-by-hand", hint="Change it by hand.")
    except ReconcilerError:
        rewrite(root, {file: before[file] for file in texts})
        raise
    for accepted in picked:
        where = f" in {accepted.drifted.source.file}" if accepted.drifted.source is not None else ""
        screen.out(f"{accepted}: its lines were moved.\n" if accepted.moved else f"{accepted} was updated{where}.\n")


def acceptance(kinds: Kinds, project: Project, planned: Planned, before: Mapping[str, str]) -> Acceptance:
    """What knows how to write values into these files. `before`: their texts as they are, by name."""
    matches = identify(kinds, project.desired, planned.state, planned.actual)
    excluded = excluded_objects(kinds, project.desired, planned.state, planned.actual, matches)
    plain = {file: line_ends.plain(text) for file, text in before.items()}
    return Acceptance(MatchedProject(kinds, project.desired, matches.former.state, planned.actual, matches.ids, excluded), plain)


def accepted_texts(acceptance: Acceptance, before: Mapping[str, str], picked: Sequence[AcceptedField], planned: Planned) -> dict[str, str]:
    """The new texts by file, with the line ends that the files have."""
    texts = acceptance.edited(picked, planned.plan.moved_outside)
    return {file: line_ends.as_before(text, before[file]) for file, text in texts.items()}


def prove(screen: Screen, options: Options, kinds: Kinds, project: Project, planned: Planned, picked: Sequence[AcceptedField]) -> list[str]:
    """What the files still change of these values, or change besides: ADDRESS or ADDRESS.field, sorted.

    Raises `ReconcilerError` if they are no longer a valid project, `Refused` if they now accept an exposure without consent.
    """
    try:
        desired = judged(screen, options, kinds, load(screen, options, kinds)).project.desired
    except ConfigError as error:
        raise ReconcilerError(f"the files would become invalid and were not changed: {error.message}", id="RC-accepted-invalid") from None
    again = plan(kinds, desired, planned.state, planned.actual)

    def pending(plan: Plan) -> set[str]:
        fields = {f"{address}.{delta.name}" for address, deltas in plan.differing.items() for delta in deltas}
        return fields | {f"{change.address}" for change in plan.changes if Action.MOVE in change.actions}

    former = plan(kinds, project.desired, planned.state, planned.actual)
    every, before = pending(again), pending(former)
    left = sorted(every & {str(accepted) for accepted in picked} | every - before)
    if left:
        return left
    known = [replace(exposure, source=None) for exposure in former.exposures]
    accepted_exposures = [exposure for exposure in again.exposures if replace(exposure, source=None) not in known]
    consent_to_exposures(accepted_exposures, options.allow_exposure, "accepting this makes something public or removes a protection, which")
    return []
