"""Plans, outcomes, drift, undo and tracked objects as data: documents whose keys `schemas` declares.

No value of a sensitive field and no request body is in them. The same plan gives the same document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote

from reconciler.address import Address, bare
from reconciler.features.drift.model import Drift, Drifted, DriftGroup, DriftWord
from reconciler.features.drift.report.groups import DriftCommands, group_text
from reconciler.features.undo import Cannot, YamlLine
from reconciler.model import (
    Action,
    Binding,
    Blocked,
    Change,
    Delta,
    Edited,
    Exposure,
    Forecast,
    Outcome,
    Plan,
    Position,
    RecordedRun,
    Source,
    State,
    StateChange,
    Step,
    StepStatus,
    Unknown,
    Unmanaged,
    Violation,
)
from reconciler.report.schemas import plan as plan_types, runs as run_types, state as state_types, types as t
from reconciler.report.sections import SECTIONS
from reconciler.report.words import CAUSES, HIDDEN, data
from reconciler.text.names import utc_text

R = TypeVar("R", bound=Mapping[str, Any])

PLAN_FORMAT: Final = "reconciler.plan/1"
LATER: Final = (Action.TRANSFER, Action.RENAME)  # their numbers are absent where they are 0
UNREAD: Final = "RC-unread"
IN_SECOND_RUN: Final = "in a second run: "
SECOND_RUN: Final = "reconciler apply, once more when this run is done"


def record(shape: Callable[..., R], item: object, **keys: Any) -> R:
    """A part of a document: the keys of a TypedDict in their order, with the values of the attributes of the same name.

    `keys`: those for which the document says something else than the model. So a key that means the same in both is written once, in
    `schemas/`, and a document never has a key that its schema does not know.
    """
    names = _attributes(shape)
    return cast("R", {key: keys[key] if key in keys else _plain(getattr(item, name)) for key, name in names})


@cache
def _attributes(shape: Callable[..., Any]) -> list[tuple[str, str]]:
    """Each key, and the name of its attribute: `deletedAt` and `deleted_at`."""
    return [(key, re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", key)) for key in shape.__annotations__]


def _plain(value: Any) -> Any:
    return source_data(value) if isinstance(value, Source) else data(value)


def source_data(source: Source | None) -> t.SourceData | None:
    """A line of the YAML."""
    return None if source is None else {"file": source.file, "line": source.line}


def source_of(data: Mapping[str, Any] | None) -> Source | None:
    """The line of the YAML that a document names."""
    return None if data is None else Source(data["file"], data["line"])


# -- plans, outcomes, drift -----------------------------------------------------------------------------------------------------------


def plan_document(
    plan: Plan, *, created_at: datetime, forecast: Forecast | None = None, max_urls: int | None = None
) -> plan_types.PlanDocument:
    """The document of a plan; steps that need a second run are among the blocked ones, with the second run as their remedy.

    `max_urls`: how many URLs of pages it lists, None for the usual number; those that end come first.
    """
    # A program that waits until nothing is blocked needs no second rule for these.
    later = [Blocked(address, f"{IN_SECOND_RUN}{reason}", SECOND_RUN, id="RC-second-run") for address, reason in plan.deferred.items()]
    blocked = (*plan.blocked, *later)
    counts = Counter(action for change in plan.changes for action in change.actions)
    summary: dict[str, int | None] = {action.value: counts[action] for action in Action if action not in LATER}
    summary |= {
        "unmanaged": None if plan.files_only else len(plan.unmanaged),
        "blocked": len(blocked),
        "requests": len(plan.steps),
        "outside": plan.outside or 0,
    }
    # Keys that came with a later version are absent where they say nothing, so that a document without them is still the same.
    summary |= {action.value: counts[action] for action in LATER if counts[action]}
    if plan.ignored:
        summary["ignored"] = plan.ignored_count
    document: plan_types.PlanDocument = {
        "format": PLAN_FORMAT,
        "project": plan.project,
        "environment": plan.environment,
        "createdAt": utc_text(created_at),
        "summary": cast("plan_types.SummaryData", summary),
        "forecast": None
        if forecast is None
        else {"writes": forecast.writes, "reads": forecast.reads, "seconds": round(forecast.seconds, 1), "held": round(forecast.held, 1)},
        "changes": [_change(change) for change in plan.changes],
        "steps": [_step(step) for step in plan.steps],
        "exposures": [exposure_data(item) for item in plan.exposures],
        "broken": [record(plan_types.BrokenUrlData, item) for item in plan.broken],
        "forbidden": [record(plan_types.ForbiddenData, item) for item in plan.forbidden],
        "violations": [violation_data(item) for item in plan.violations],
        "unmanaged": _unmanaged(plan.unmanaged),
        "unknown": unknown_data(plan.unknown),
        "inDoubt": [str(address) for address in plan.in_doubt],
        "blocked": [record(plan_types.BlockedData, item) for item in blocked],
        "notes": list(plan.notes),
    }
    for section in SECTIONS:
        document = cast("plan_types.PlanDocument", {**document, **section.document(plan, max_urls)})
    if plan.lost_readers:
        document["lostReaders"] = [{"address": str(address), "readers": list(readers)} for address, readers in plan.lost_readers.items()]
    if plan.ignored:
        document["ignored"] = _ignored(plan.ignored)
    return document


def _ignored(ignored: Mapping[Address, tuple[Delta, ...]]) -> list[t.IgnoredData]:
    """The differences that the YAML says to leave alone."""
    return [{"address": str(address), "field": delta.name} for address, deltas in ignored.items() for delta in deltas]


def outcome_document(outcome: Outcome) -> run_types.OutcomeDocument:
    """The document of an apply: what it did, and which parts of a saved plan it did not do."""
    held = outcome.not_applied
    refused: list[t.ReasonData] = [{"address": at, "reason": why} for at, why in sorted(held.refused.items())] if held else []
    return {
        "format": "reconciler.outcome/1",
        "project": outcome.plan.project,
        "environment": outcome.plan.environment,
        **results_document(outcome),
        "savedPlan": None
        if held is None
        else {
            "refused": refused,
            "new": list(held.new),
            "origin": cast("plan_types.OriginData | None", held.origin),
            "sameConfiguration": held.same,
        },
    }


def results_document(outcome: Outcome) -> run_types.ResultsData:
    """How many requests ended in which way, a line for each step of the plan, and the result of the final reading."""
    document: run_types.ResultsData = {
        "summary": {
            "done": outcome.count(StepStatus.DONE),
            "failed": outcome.count(StepStatus.FAILED),
            "skipped": outcome.count(StepStatus.SKIPPED),
            "inDoubt": outcome.count(StepStatus.IN_DOUBT),
            "stale": outcome.count(StepStatus.STALE),
            "requests": outcome.requests,
            "outside": outcome.plan.outside or 0,
        },
        "steps": [
            {
                "id": result.step.id,
                "address": str(result.step.address),
                "verb": result.step.verb,
                "status": result.status.value,
                "error": result.error,
                "cause": None if result.status is StepStatus.DONE else result.id or CAUSES[result.status],
            }
            for result in outcome.results
        ],
        "edited": [_edited(edit) for edit in outcome.edited],
        "leftover": [str(address) for address in outcome.leftover],
        "unverified": [str(address) for address in outcome.unverified],
    }
    if outcome.not_visible:
        document["notVisible"] = [str(address) for address in outcome.not_visible]
    if outcome.plan.ignored:
        document["ignored"] = _ignored(outcome.plan.ignored)
    return document


def _edited(edit: Edited) -> run_types.EditedData:
    hidden = {"before": HIDDEN, "after": HIDDEN} if edit.sensitive else {}
    return record(run_types.EditedData, edit, **hidden, reason=edit.says)


def drift_document(drift: Drift, commands: DriftCommands | None = None) -> plan_types.DriftDocument:
    """The document of drift; `whole`: everything was read, so that the coverage is complete."""
    # What is unknown about one address is not a kind that could not be read, but programs must treat it alike.
    unread: list[t.UnknownData] = [
        {"kind": item.kind, "reason": f"{item.address}: {item.reason}", "id": UNREAD} for item in (*drift.unread, *drift.undecided)
    ]
    document: plan_types.DriftDocument = {
        "format": "reconciler.drift/1",
        "project": drift.project,
        "environment": drift.environment,
        "summary": {
            "changed": drift.count(DriftWord.CHANGED),
            "deleted": drift.count(DriftWord.DELETED),
            "moved": drift.count(DriftWord.MOVED),
            "unmanaged": len(drift.unmanaged),
            "managed": drift.managed,
            "silenced": len(drift.ignored),
            "unjudged": len(drift.unjudged),
            "coverage": {kind: share.ratio for kind, share in drift.coverage.items()},
            "whole": drift.whole,
        },
        "resources": [_drifted(item) for item in drift.resources],
        "unmanaged": _unmanaged(drift.unmanaged),
        "unknown": unknown_data(drift.unknown) + unread,
        "unjudged": [str(address) for address in drift.unjudged],
        "silenced": [
            {"address": str(item.address), "field": item.field, "reason": item.known.reason, "until": item.known.until.isoformat()}
            for item in drift.ignored
        ],
        "notes": list(drift.notes),
        "violations": [violation_data(item) for item in drift.violations],
    }
    if drift.groups:
        document["groups"] = [_drift_group(item) for item in drift.groups]
    if commands is not None:
        for entry, group in zip(document.get("groups", ()), drift.groups, strict=True):
            entry["revert"] = commands.revert([group])
            entry["accept"] = commands.accept(drift, [group])
    if drift.exposures:
        document["exposures"] = [exposure_data(item) for item in drift.exposures]
    if drift.left_alone:
        document["summary"]["ignored"] = drift.left_alone_count
        document["ignored"] = _ignored(drift.left_alone)
    return document


def _drift_group(group: DriftGroup) -> plan_types.DriftGroupData:
    after, before = (None if moment is None else utc_text(moment) for moment in (group.between.after, group.between.before))
    data: plan_types.DriftGroupData = {
        "id": group.id,
        "class": group.drift_class.value,
        "addresses": [str(address) for address in group.addresses],
        "between": {"after": after, "before": before},
        "says": group_text(group),
        "readers": [{"who": item.who, "gains": item.gains, "addresses": [str(at) for at in item.addresses]} for item in group.readers],
        "urls": [{"before": url.before, "after": url.after} for url in group.urls],
    }
    if group.effects:
        data["effects"] = list(group.effects)
    if group.unmanaged is not None:
        (data["unmanaged"],) = _unmanaged([group.unmanaged])
    return data


def _drifted(resource: Drifted) -> plan_types.DriftedData:
    return record(
        plan_types.DriftedData,
        resource,
        fields=[_drifted_field(delta) for delta in resource.fields],
        place=None if resource.place is None else {"lastApplied": _spot(resource.place[0]), "now": _spot(resource.place[1])},
        deletedAt=None if resource.deleted_at is None else utc_text(resource.deleted_at),
        restorableFor=None if resource.left is None else int(resource.left.total_seconds()),
    )


def _drifted_field(delta: Delta) -> plan_types.DriftedFieldData:
    # Drift is seen from what was applied last: "now" is what a plan calls "before".
    last, now, declared = (HIDDEN,) * 3 if delta.sensitive else (data(delta.last), data(delta.before), data(delta.after))
    return record(plan_types.DriftedFieldData, delta, lastApplied=last, now=now, declared=declared, cannotBeSet=delta.note is not None)


def _unmanaged(unmanaged: Iterable[Unmanaged]) -> list[t.UnmanagedData]:
    return [record(t.UnmanagedData, item, id=bare(item.id)) for item in unmanaged]


def unknown_data(unknown: Iterable[Unknown]) -> list[t.UnknownData]:
    """What could not be read."""
    reasons = [(item.kind, item.reason if item.scope is None else f"in {item.scope}: {item.reason}") for item in unknown]
    return [{"kind": kind, "reason": reason, "id": UNREAD} for kind, reason in reasons]


def path_text(path: tuple[str | Address, ...]) -> str:
    """The path of a request as it is sent; the id of an object that does not exist yet is written as `{address}`."""
    return "/v1/" + "/".join(map(_segment, path))


def _segment(part: str | Address) -> str:
    return f"{{{part}}}" if isinstance(part, Address) else quote(part, safe="", errors="backslashreplace")


def exposure_data(exposure: Exposure) -> plan_types.ExposureData:
    """An exposure as data."""
    return record(plan_types.ExposureData, exposure, field=exposure.field or None)


def violation_data(violation: Violation) -> plan_types.ViolationData:
    """A violated rule."""
    return record(plan_types.ViolationData, violation)


def _change(change: Change) -> plan_types.ChangeData:
    return record(
        plan_types.ChangeData,
        change,
        fields=[_field(delta) for delta in change.fields],
        place={"before": _spot(change.before), "after": _spot(change.after)} if Action.MOVE in change.actions else None,
        reason="; ".join(filter(None, [change.reason, *field_notes(change.fields)])),
    )


def field_notes(fields: Iterable[Delta]) -> list[str]:
    """What the reason of a change ends with: the notes of its fields, by name."""
    return [f"{delta.name}: {delta.note}" for delta in fields if delta.note]


def _field(delta: Delta) -> plan_types.FieldData:
    hidden = {"before": HIDDEN, "after": HIDDEN} if delta.sensitive else {}
    document = record(plan_types.FieldData, delta, **hidden)
    if not delta.from_defaults:
        del document["fromDefaults"]
    if not delta.note:
        del document["note"]
    return document


def _spot(spot: Position | None) -> t.SpotData:
    return {"parent": None, "previous": None} if spot is None else record(t.SpotData, spot)


def _step(step: Step) -> plan_types.StepData:
    return record(plan_types.StepData, step, path=path_text(step.path), needs=sorted(step.needs), after=sorted(step.after))


# -- undo and the state ---------------------------------------------------------------------------------------------------------------


def undo_document(
    run: RecordedRun, outcome: Outcome, state_changes: Iterable[StateChange], cannot: Iterable[Cannot], lines: Iterable[YamlLine]
) -> run_types.UndoDocument:
    """`run`: the run that was undone. `state_changes`: the changes of the state. `cannot`: changes of that run that remain.

    `lines`: lines of the YAML that still declare them.
    """
    return {
        "format": "reconciler.undo/1",
        **results_document(outcome),
        "run": run.id,
        "state": [state_change_document(state_change) for state_change in state_changes],
        "cannot": [record(t.ReasonData, item) for item in cannot],
        "yaml": [record(run_types.LineData, line) for line in lines],
    }


def state_change_document(state_change: StateChange) -> run_types.TurnData:
    """The data of one change of the state. `from` is null unless it is a rename."""
    old = None if state_change.old is None else str(state_change.old)
    return record(run_types.TurnData, state_change, object=bare(state_change.id), **{"from": old})


def bindings_document(state: State) -> state_types.StateListDocument:
    """Every tracked object, in the order of addresses."""
    bindings = [record(state_types.TrackedData, binding, id=bare(binding.id)) for _, binding in sorted(state.bindings.items())]
    return {"format": "reconciler.state-list/1", "lineage": state.lineage, "serial": state.serial, "bindings": bindings}


def binding_document(binding: Binding, fields: Mapping[str, tuple[Any, Any]]) -> state_types.StateShowDocument:
    """One tracked object. `fields`: the values sent and read back, by field; sensitive values are hidden already."""
    listed: list[state_types.TrackedFieldData] = [
        {"name": name, "sent": data(sent), "seen": data(seen)} for name, (sent, seen) in fields.items()
    ]
    return {"format": "reconciler.state-show/1", **record(state_types.TrackedData, binding, id=bare(binding.id)), "fields": listed}
