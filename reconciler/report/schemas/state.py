"""The JSON Schemas of the state: the whole as one document (`state pull`, `state push`), and what `state list` and `state show` print."""

from __future__ import annotations

from typing import Final

from reconciler.model import Origin, What
from reconciler.report.schemas.parts import METHODS, Schema, document, items, or_null, record, ref, text
from reconciler.report.tracked import LIST_FORMAT, SHOW_FORMAT

STATE_FORMAT: Final = "reconciler.state/1"
STATUSES: Final = ("done", "failed", "in-doubt", "not-sent", "recovered")  # of a request in the journal
_DIGEST: Final = "^[0-9a-f]{64}$"


def state_schema() -> Schema:
    """Of `state pull`."""
    ids = {"type": "object", "additionalProperties": text()}
    place = record({"parent": text("Its address, or empty for the top."), "index": _count()})
    field = {
        "type": "object",
        "properties": {"sent": {"description": "The request form; absent: none."}, "seen": {"description": "Absent: none."}},
        "additionalProperties": False,
    }
    binding = record(
        {
            "address": ref("address"),
            "kind": ref("kind"),
            "id": text("The object's id on the service."),
            "origin": {"enum": [origin.value for origin in Origin]},
            "protected": {"type": "boolean"},
            "place": or_null(place),
            "fields": {"type": "object", "additionalProperties": field, "description": "Without the sensitive ones."},
        }
    )
    run = record(
        {
            "id": text(),
            "who": text(),
            "command": text(),
            "started": _moment(),
            "ended": or_null(_moment(), "Null where it was killed or is under way."),
            "exit": or_null(_count()),
            "summary": or_null({"type": "object"}),
        }
    )
    outcome = record(
        {
            "at": _moment(),
            "run": text("The run that wrote it, perhaps a later one."),
            "status": {"enum": list(STATUSES)},
            "error": or_null(text()),
            "bound": ids | {"description": "Ids by address."},
            "forgotten": items(ref("address")),
        }
    )
    request = record(
        {
            "id": _count(1),
            "at": _moment(),
            "run": text(),
            "step": _count(),
            "address": ref("address"),
            "kind": ref("kind"),
            "verb": text(),
            "method": {"enum": METHODS},
            "path": text(),
            "target": or_null(text()),
            "writes": {"type": "object", "description": "The request form by field, without the sensitive ones."},
            "known": {"type": "string", "pattern": _DIGEST, "description": "One of `known`."},
            "date": or_null(_moment()),
            "deadline": or_null(_moment()),
            "brings": ids,
            "lookup": items(text()),
            "before": or_null({"type": "object"}, "What it met; null where undoing it needs nothing."),
            "after": or_null({"type": "object"}, "What was seen when it was done."),
            "open": {"type": "boolean", "description": "Whether it has no outcome yet, or is in doubt."},
            "outcomes": items(outcome),
        }
    )
    turn = record(
        {
            "id": _count(1),
            "at": _moment(),
            "run": text(),
            "what": {"enum": [what.value for what in What]},
            "address": ref("address"),
            "kind": ref("kind"),
            "object": text(),
            "old": or_null(ref("address")),
        }
    )
    known = {"type": "object", "additionalProperties": items(text()), "description": "Lists of ids, by their digests."}
    rules = record(
        {
            "guards": {"type": "object"},
            "prune": {"type": "object", "additionalProperties": text()},
            "protect": items(text()),
        }
    )
    whole = {
        "format": {"const": STATE_FORMAT},
        "project": text(),
        "environment": or_null(text()),
        "service": text("Its address, or `sandbox:` with the sandbox's own id. Ids mean nothing elsewhere."),
        "lineage": text("Of this state for good."),
        "serial": _count() | {"description": "Grows with every run that writes."},
        "bindings": items(binding),
        "rules": or_null(rules, "Under which the project was last applied."),
        "runs": items(run, "Oldest first."),
        "known": known,
        "requests": items(request, "The journal, in its order."),
        "turns": items(turn, "What changed of the bindings without a request."),
        "approvals": items(record({"run": text(), "digest": text("The plan's.")}), "Runs that carried out a saved plan."),
    }
    renames = items(record({"old": ref("address"), "new": ref("address")}), "Of the YAML, which have had their effect; absent: none.")
    schema = record(whole)
    return document("A whole state", schema | {"properties": {**schema["properties"], "renames": renames}}, {})


def _moment() -> Schema:
    return {"type": "string", "format": "date-time"}


def _count(minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum, "maximum": 2**31 - 1}


def state_list_schema() -> Schema:
    """Of `state list --format json`."""
    whole = {
        "format": {"const": LIST_FORMAT},
        "lineage": text("Identifies the state; empty where there is none yet."),
        "serial": _count(),
        "bindings": items(record(_tracked()), "By address."),
    }
    return document("What the state tracks", record(whole), {})


def state_show_schema() -> Schema:
    """Of `state show --format json`."""
    field = record(
        {
            "name": text("The field, as the YAML calls it."),
            "sent": {"description": "What was sent last; null also where nothing was. Sensitive values are not shown."},
            "seen": {"description": "What was read after it; null also where nothing was."},
        }
    )
    return document(
        "What the state remembers of an address", record({"format": {"const": SHOW_FORMAT}, **_tracked(), "fields": items(field)}), {}
    )


def _tracked() -> Schema:
    return {
        "address": ref("address"),
        "kind": ref("kind"),
        "id": text("The object's id on the service."),
        "origin": {"enum": [origin.value for origin in Origin]},
        "protected": {"type": "boolean"},
    }
