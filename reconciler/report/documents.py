"""Plans, outcomes and drift as data: the documents `reconciler.plan/1`, `outcome/1` and `drift/1`, defined in `schemas`.

No value of a sensitive field and no request body is in them. The same plan gives the same document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, cast
from urllib.parse import quote

from reconciler.address import Address, bare
from reconciler.model import (
    Action,
    Blocked,
    BrokenUrl,
    Change,
    Delta,
    Edited,
    Exposure,
    Forecast,
    Outcome,
    Plan,
    Position,
    Source,
    Step,
    StepStatus,
    Unknown,
    Unmanaged,
    Violation,
)
from reconciler.plan.drift import Drift, Drifted, DriftWord
from reconciler.report.schemas import drift as drift_types
from reconciler.report.schemas import plan as plan_types
from reconciler.report.schemas import runs as run_types
from reconciler.report.schemas import types as t
from reconciler.report.values import HIDDEN, data
from reconciler.report.words import CAUSES
from reconciler.text.times import utc_text

PLAN_FORMAT: Final = "reconciler.plan/1"
UNREAD: Final = "RC-unread"
SECOND_RUN: Final = "reconciler apply, once more when this run is done"


def plan_document(plan: Plan, *, created_at: datetime, forecast: Forecast | None = None) -> plan_types.PlanDocument:
    """The document of a plan; steps that need a second run are among the blocked ones, with the second run as their remedy."""
    waiting = tuple(
        Blocked(address, f"in a second run: {reason}", SECOND_RUN, id="RC-second-run") for address, reason in plan.deferred.items()
    )
    blocked = (*plan.blocked, *waiting)
    count = Counter(action for change in plan.changes for action in change.actions)
    summary: plan_types.SummaryData = {
        "create": count[Action.CREATE],
        "update": count[Action.UPDATE],
        "move": count[Action.MOVE],
        "replace": count[Action.REPLACE],
        "delete": count[Action.DELETE],
        "adopt": count[Action.ADOPT],
        "forget": count[Action.FORGET],
        "restore": count[Action.RESTORE],
        "unmanaged": None if plan.files_only else len(plan.unmanaged),
        "blocked": len(blocked),
        "requests": len(plan.steps),
        "outside": plan.outside or 0,
    }
    if count[Action.TRANSFER]:
        summary["transfer"] = count[Action.TRANSFER]
    if plan.ignored:
        summary["ignored"] = plan.ignored_count
    document: plan_types.PlanDocument = {
        "format": PLAN_FORMAT,
        "project": plan.project,
        "environment": plan.environment,
        "createdAt": utc_text(created_at),
        "summary": summary,
        "forecast": None if forecast is None else _forecast(forecast),
        "changes": [_change(change) for change in plan.changes],
        "steps": [_step(step) for step in plan.steps],
        "exposures": [_exposure(item) for item in plan.exposures],
        "broken": [_broken(item) for item in plan.broken],
        "forbidden": [
            {"address": str(item.address), "verb": item.verb, "flag": item.flag, "of": str(item.of), "id": item.id}
            for item in plan.forbidden
        ],
        "violations": [violation_data(item) for item in plan.violations],
        "unmanaged": _unmanaged(plan.unmanaged),
        "unknown": unknown_data(plan.unknown),
        "inDoubt": [str(address) for address in plan.in_doubt],
        "blocked": [_blocked(item) for item in blocked],
        "notes": list(plan.notes),
    }
    if plan.ignored:
        document["ignored"] = _ignored(plan.ignored)
    return document


def _ignored(ignored: Mapping[Address, tuple[Delta, ...]]) -> list[t.IgnoredData]:
    """The differences that the YAML says to leave alone."""
    return [{"address": str(address), "field": delta.name} for address, deltas in ignored.items() for delta in deltas]


def _blocked(resource: Blocked) -> plan_types.BlockedData:
    return {
        "address": str(resource.address),
        "reason": resource.reason,
        "remedy": resource.remedy,
        "cause": _name(resource.cause),
        "id": resource.id,
    }


def outcome_document(outcome: Outcome) -> run_types.OutcomeDocument:
    """The document of an apply: what it did, and which parts of a saved plan it did not do."""
    held = outcome.withheld
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
    before, after = (HIDDEN, HIDDEN) if edit.sensitive else (data(edit.before), data(edit.after))
    return {"address": str(edit.address), "field": edit.field, "before": before, "after": after, "reason": edit.says}


def drift_document(drift: Drift) -> drift_types.DriftDocument:
    """The document of drift; `whole`: everything was read, so that the coverage is complete."""
    unread: list[t.UnknownData] = [
        {"kind": item.kind, "reason": f"{item.address}: {item.reason}", "id": UNREAD} for item in (*drift.unread, *drift.undecided)
    ]
    document: drift_types.DriftDocument = {
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
    if drift.exposures:
        document["exposures"] = [_exposure(item) for item in drift.exposures]
    if drift.left_alone:
        document["summary"]["ignored"] = drift.left_alone_count
        document["ignored"] = _ignored(drift.left_alone)
    return document


def _drifted(resource: Drifted) -> drift_types.DriftedData:
    return {
        "address": str(resource.address),
        "kind": resource.kind,
        "status": resource.status.value,
        "fields": [_drifted_field(delta) for delta in resource.fields],
        "cannotBeSet": resource.cannot_be_set,
        "place": None if resource.place is None else {"lastApplied": _spot(resource.place[0]), "now": _spot(resource.place[1])},
        "deletedAt": None if resource.deleted_at is None else utc_text(resource.deleted_at),
        "restorableFor": None if resource.left is None else int(resource.left.total_seconds()),
        "source": source_data(resource.source),
    }


def _drifted_field(delta: Delta) -> drift_types.DriftedFieldData:
    last, now, declared = (HIDDEN,) * 3 if delta.sensitive else (data(delta.last), data(delta.before), data(delta.after))
    return {
        "name": delta.name, "lastApplied": last, "now": now, "declared": declared, "cause": delta.cause.value,
        "cannotBeSet": delta.note is not None, "note": delta.note,
    }  # fmt: skip


def _unmanaged(unmanaged: Iterable[Unmanaged]) -> list[t.UnmanagedData]:
    return [{"kind": item.kind, "id": bare(item.id), "title": item.title} for item in unmanaged]


def unknown_data(unknown: Iterable[Unknown]) -> list[t.UnknownData]:
    """What could not be read."""
    reasons = [(item.kind, item.reason if item.scope is None else f"in {item.scope}: {item.reason}") for item in unknown]
    return [{"kind": kind, "reason": reason, "id": UNREAD} for kind, reason in reasons]


def path_text(path: tuple[str | Address, ...]) -> str:
    """The path of a request as it is sent; the id of an object that does not exist yet is written as `{address}`."""
    return "/v1/" + "/".join(map(_segment, path))


def _segment(part: str | Address) -> str:
    return f"{{{part}}}" if isinstance(part, Address) else quote(part, safe="", errors="backslashreplace")


def _forecast(ahead: Forecast) -> plan_types.ForecastData:
    return {"writes": ahead.writes, "reads": ahead.reads, "seconds": round(ahead.seconds, 1), "held": round(ahead.held, 1)}


def _exposure(exposure: Exposure) -> plan_types.ExposureData:
    return {
        "address": str(exposure.address),
        "kind": exposure.kind,
        "field": exposure.field or None,
        "before": data(exposure.before),
        "after": data(exposure.after),
        "says": exposure.says,
        "readers": list(exposure.readers),
        "path": list(exposure.path),
        "cause": _name(exposure.cause),
        "reaches": [str(address) for address in exposure.reaches],
        "window": exposure.window,
        "asked": exposure.asked,
        "source": source_data(exposure.source),
        "id": exposure.id,
    }


def _broken(url: BrokenUrl) -> plan_types.BrokenUrlData:
    return {
        "address": str(url.address),
        "kind": url.kind,
        "before": url.before,
        "after": url.after,
        "reason": url.reason,
        "source": source_data(url.source),
        "id": url.id,
    }


def violation_data(violation: Violation) -> plan_types.ViolationData:
    """A violated rule."""
    return {
        "sort": violation.sort,
        "rule": violation.rule,
        "address": _name(violation.address),
        "level": violation.level.value,
        "message": violation.message,
        "path": list(violation.path),
        "remedy": violation.remedy,
        "source": source_data(violation.source),
        "declared": source_data(violation.declared),
        "id": violation.id,
    }


def _change(change: Change) -> plan_types.ChangeData:
    notes = [f"{delta.name}: {delta.note}" for delta in change.fields if delta.note]
    moved = Action.MOVE in change.actions
    return {
        "address": str(change.address),
        "kind": change.kind,
        "actions": [action.value for action in change.actions],
        "fields": [_field(delta) for delta in change.fields],
        "place": {"before": _spot(change.before), "after": _spot(change.after)} if moved else None,
        "reason": "; ".join(filter(None, [change.reason, *notes])),
        "source": source_data(change.source),
    }


def _field(delta: Delta) -> plan_types.FieldData:
    before, after = (HIDDEN, HIDDEN) if delta.sensitive else (data(delta.before), data(delta.after))
    return {"name": delta.name, "before": before, "after": after, "cause": delta.cause.value}


def _spot(spot: Position | None) -> t.SpotData:
    return {"parent": None, "previous": None} if spot is None else {"parent": _name(spot.parent), "previous": _name(spot.previous)}


def _name(address: Address | None) -> str | None:
    return None if address is None else str(address)


def source_data(source: Source | None) -> t.SourceData | None:
    """A line of the YAML."""
    return None if source is None else {"file": source.file, "line": source.line}


def _step(step: Step) -> plan_types.StepData:
    return {
        "id": step.id,
        "address": str(step.address),
        "verb": step.verb,
        "method": step.method,
        "path": path_text(step.path),
        "fields": list(step.fields),
        "needs": sorted(step.needs),
        "after": sorted(step.after),
    }
