"""The JSON Schemas of what is told of runs: `history`, `show`, `undo` and `doctor`."""

from __future__ import annotations

from reconciler.model import RunStatus, What
from reconciler.report.findings import FORMAT as DOCTOR_FORMAT
from reconciler.report.findings import Level
from reconciler.report.history import HISTORY_FORMAT, RUN_FORMAT
from reconciler.report.schemas.parts import METHODS, Schema, document, items, number, or_null, outcome_properties, record, ref, source, text
from reconciler.report.schemas.state import STATUSES
from reconciler.report.undo import UNDO_FORMAT


def history_schema() -> Schema:
    """Of `history --format json`."""
    runs = items(record(_run()), "Newest first.")
    return document("Every run", record({"format": {"const": HISTORY_FORMAT}, "runs": runs}), {})


def run_schema() -> Schema:
    """Of `show --format json`."""
    field = record(
        {
            "name": text("The field, as the YAML calls it."),
            "before": {"description": "What the request met; null also where nothing is known. Sensitive values are not shown."},
            "after": {"description": "What it carried; null also where it carried nothing."},
        }
    )
    step = record(
        {
            "id": {"type": "integer", "minimum": 0, "description": "The step of the plan."},
            "address": ref("address"),
            "kind": ref("kind"),
            "verb": text("What the request did to the address."),
            "method": {"enum": METHODS},
            "path": {"type": "string", "pattern": "^/v1/"},
            "at": _moment("When it was about to be sent."),
            "status": {"enum": list(STATUSES), "description": "recovered: a later run found that it was done."},
            "error": or_null({"type": "string"}, "Why it did not end well; null where it did."),
            "object": or_null({"type": "string"}, "The id of the object it was about, or made; null where none is known."),
            "fields": items(field),
        }
    )
    whole = {"format": {"const": RUN_FORMAT}, **_run(), "state": _turns(), "steps": items(step, "In the order in which they were sent.")}
    return document("What one run did", record(whole), {})


def undo_schema() -> Schema:
    """Of `undo --format json`."""
    whole = {
        "format": {"const": UNDO_FORMAT},
        **outcome_properties(),
        "run": text("The id of the run that was undone."),
        "state": _turns(),
        "cannot": items(record({"address": ref("address"), "reason": text()}), "What stays as that run left it."),
        "yaml": items(record({"address": ref("address"), "source": source(), "what": text()}), "What still wants that run again."),
    }
    return document("What an undo did", record(whole), {})


def doctor_schema() -> Schema:
    """Of `doctor --format json`."""
    check = record(
        {
            "check": text("What was looked at; several findings may share it."),
            "status": {"enum": [level.value for level in Level], "description": "skipped: it could not be looked at."},
            "message": text("What is so."),
            "remedy": or_null({"type": "string"}, "What to do; null where there is nothing to do."),
        }
    )
    summary = record({level.value: number() for level in Level})
    return document("What stands in the way", record({"format": {"const": DOCTOR_FORMAT}, "summary": summary, "checks": items(check)}), {})


def _run() -> Schema:
    return {
        "id": text(),
        "who": text("The user and the machine."),
        "command": text(),
        "started": _moment("When it took the lease."),
        "ended": or_null(_moment(), "Null where it is running or was killed."),
        "exit": or_null({"type": "integer"}, "Its exit code; null where it is running or was killed."),
        "status": {"enum": [status.value for status in RunStatus], "description": "killed: it has no end, and does not hold the state."},
        "did": _counts("Requests that were done, by verb."),
        "undone": _counts("Requests that failed or are in doubt, by how they ended."),
        "turned": _counts("Changes of the state without a request, by what they were."),
    }


def _turns() -> Schema:
    turn = record(
        {
            "what": {"enum": [one.value for one in What]},
            "address": ref("address"),
            "kind": ref("kind"),
            "object": text("The id of the object."),
            "from": or_null(ref("address"), "The address it had; null where it is no rename."),
        }
    )
    return items(turn, "What changed of the state without a request.")


def _counts(description: str) -> Schema:
    return {"type": "object", "additionalProperties": number(), "description": description}


def _moment(description: str = "") -> Schema:
    return {**text(description), "format": "date-time"}
