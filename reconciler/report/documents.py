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
from reconciler.model import (
    Action,
    Binding,
    Blocked,
    Change,
    Delta,
    Edited,
    Exposure,
    Forecast,
    HeldPart,
    Outcome,
    Plan,
    Position,
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
    if plan.held:
        summary["held"] = len(plan.held.changes)
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
        "unmanaged": unmanaged_data(plan.unmanaged),
        "unknown": unknown_data(plan.unknown),
        "inDoubt": [str(address) for address in plan.in_doubt],
        "blocked": [record(plan_types.BlockedData, item) for item in blocked],
        "notes": list(plan.notes),
    }
    for section in SECTIONS:
        document = cast("plan_types.PlanDocument", {**document, **section.document(plan, max_urls)})
    if plan.held:
        document["held"] = held_data(plan.held)
    if plan.lost_readers:
        document["lostReaders"] = [{"address": str(address), "readers": list(readers)} for address, readers in plan.lost_readers.items()]
    if plan.ignored:
        document["ignored"] = ignored_data(plan.ignored)
    return document


def held_data(held: HeldPart) -> plan_types.HeldData:
    """What is refused and left alone, and why."""
    return {
        "changes": [record(plan_types.HeldChangeData, change) for change in held.changes],
        "refusals": [record(plan_types.HeldRefusalData, refusal) for refusal in held.refusals],
    }


def ignored_data(ignored: Mapping[Address, tuple[Delta, ...]]) -> list[t.IgnoredData]:
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
            "asked": outcome.count(StepStatus.ASKED),
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
    if outcome.plan.held:
        document["held"] = held_data(outcome.plan.held)
    if outcome.plan.ignored:
        document["ignored"] = ignored_data(outcome.plan.ignored)
    return document


def _edited(edit: Edited) -> run_types.EditedData:
    hidden = {"before": HIDDEN, "after": HIDDEN} if edit.sensitive else {}
    return record(run_types.EditedData, edit, **hidden, reason=edit.says)


def unmanaged_data(unmanaged: Iterable[Unmanaged]) -> list[t.UnmanagedData]:
    """Objects that nobody declares."""
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
        place={"before": spot_data(change.before), "after": spot_data(change.after)} if Action.MOVE in change.actions else None,
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


def spot_data(spot: Position | None) -> t.SpotData:
    """A position among siblings."""
    return {"parent": None, "previous": None} if spot is None else record(t.SpotData, spot)


def _step(step: Step) -> plan_types.StepData:
    return record(plan_types.StepData, step, path=path_text(step.path), needs=sorted(step.needs), after=sorted(step.after))


# -- the state ---------------------------------------------------------------------------------------------------------------


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
