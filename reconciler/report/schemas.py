"""The JSON Schemas of the documents. Checked in as `schemas/*.schema.json`; a test fails when they are stale."""

from __future__ import annotations

from typing import Any, Final

from reconciler.address import KEY_PATTERN, KIND_PATTERN
from reconciler.drift import Kept
from reconciler.model import Action, Cause, Status
from reconciler.report.documents import COUNTED, DRIFT_FORMAT, OUTCOME_FORMAT, PLAN_FORMAT
from reconciler.report.escape import as_json

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
ADDRESS: Final = f"^{KEY_PATTERN}(/{KIND_PATTERN}/{KEY_PATTERN})*(/{KIND_PATTERN})?$"
SAVED: Final = {
    "madeBy": "the version of reconciler.",
    "service": "whose ids are meant: a base address, or a sandbox.",
    "options": "those it was made with.",
    "digests": "what it was made from.",
    "preconditions": "the object of each change, as it was.",
    "requests": "what each step sends.",
}
METHODS: Final = ["POST", "PUT", "PATCH", "DELETE"]

Schema = dict[str, Any]


def schemas() -> dict[str, Schema]:
    """Every schema of this package, by its file's name."""
    return {
        "plan.schema.json": plan_schema(),
        "saved-plan.schema.json": saved_plan_schema(),
        "outcome.schema.json": outcome_schema(),
        "drift.schema.json": drift_schema(),
    }


def dumped() -> dict[str, str]:
    """The same as the texts of those files."""
    return {name: as_json(schema) + "\n" for name, schema in schemas().items()}


def plan_schema() -> Schema:
    """Of `plan --format json`; what `plan --out` writes fits it too."""
    counts = [*(action.value for action in COUNTED), "unmanaged", "blocked", "requests"]
    source = _source()
    spot = _spot()
    field = _object(
        {
            "name": _text("The field, as the YAML calls it."),
            "before": {"description": "What is there; null also where nothing is known."},
            "after": {"description": "What is wanted."},
            "cause": {"enum": [cause.value for cause in Cause], "description": "Who changed it: your files, the service, or both."},
        }
    )
    change = _object(
        {
            "address": _ref("address"),
            "kind": _ref("kind"),
            "actions": {"type": "array", "items": {"enum": [action.value for action in Action]}, "minItems": 1, "uniqueItems": True},
            "fields": _list(field),
            "place": _or_null(_object({"before": spot, "after": spot}), "Where it moves from and to, among its managed siblings."),
            "reason": _text("One sentence, empty where it is plain."),
            "source": source,
        }
    )
    step = _object(
        {
            "id": _ref("step"),
            "address": _ref("address"),
            "verb": _text("What the request does to the address."),
            "method": {"enum": METHODS},
            "path": {"type": "string", "pattern": "^/v1/", "description": "`{address}` stands for the id of what is not born yet."},
            "fields": _list(_text("A field the request carries.")),
            "needs": _list(_ref("step"), "Steps that must have succeeded."),
            "after": _list(_ref("step"), "Steps that must have ended."),
        }
    )
    exposure = _object(
        {
            "address": _ref("address"),
            "kind": _ref("kind"),
            "field": _or_null({"type": "string"}, "The field that does it; null where the object goes."),
            "before": {"description": "What is there; null also where nothing is known."},
            "after": {"description": "What is wanted."},
            "says": _text("What is then so, as the end of a sentence."),
            "asked": {"type": "boolean", "description": "Whether apply --yes wants a consent."},
            "source": source,
        }
    )
    broken = _object(
        {
            "address": _ref("address"),
            "kind": _ref("kind"),
            "before": _or_null({"type": "string"}, "The public address; null where it is a secret."),
            "after": _or_null({"type": "string"}, "Where the same is read then; null where nowhere, or where only the service can tell."),
            "reason": _text("One sentence."),
            "source": source,
        }
    )
    forbidden = _object(
        {"address": _ref("address"), "verb": _text(), "flag": _text("The permission that is false."), "of": _ref("address")}
    )
    seconds = {"type": "number", "minimum": 0}
    forecast = _object(
        {
            "writes": _count(),
            "reads": _count() | {"description": "About."},
            "seconds": seconds | {"description": "About, waiting included."},
            "held": seconds | {"description": "How many of them are spent waiting for the service's rate limit."},
        }
    )
    properties = {
        "format": {"const": PLAN_FORMAT},
        "project": _text("The project's name."),
        "environment": _or_null({"type": "string"}),
        "createdAt": {"type": "string", "format": "date-time"},
        "summary": _object({name: _count() for name in counts}),
        "forecast": _or_null(forecast, "What applying it takes; null where nobody measured, as in a saved plan."),
        "changes": _list(change, "What happens to each address; nothing else is listed."),
        "steps": _list(step, "The requests that write, in an order that could be run one by one."),
        "exposures": _list(exposure, "What becomes public or loses its protection."),
        "broken": _list(broken, "Public addresses that stop working."),
        "forbidden": _list(forbidden, "Requests that the service will refuse, by what it says of the token."),
        "unmanaged": _list(_object({"kind": _ref("kind"), "id": _text(), "title": _text()})),
        "unknown": _list(_object({"kind": _ref("kind"), "reason": _text()}), "What could not be read."),
        "inDoubt": _list(_ref("address"), "Addresses with a request of an earlier run that has no outcome yet."),
        "blocked": _list(_object({"address": _ref("address"), "reason": _text(), "remedy": _text()}), "What cannot be done in this run."),
    }
    whole = _object(properties)
    whole["properties"] |= {name: {"description": f"Only in a saved plan: {says}"} for name, says in SAVED.items()}
    return _document("A plan", whole, {"step": {"type": "integer", "minimum": 1}})


def saved_plan_schema() -> Schema:
    """Of what `plan --out` writes and `apply --plan` reads."""
    seen = _or_null({"type": "string"}, "A digest of what was read of it; null where it is not there yet.")
    extra = {
        "madeBy": _text(),
        "service": _text(),
        "options": _object(
            {
                "target": _list(_text()),
                "exclude": _list(_text()),
                "allowReplace": _list(_text()),
                "allowDelete": _or_null(_count()),
                "allowExposure": _list(_text()),
            }
        ),
        "digests": _object(
            {
                "configuration": _or_null({"type": "string"}, "Of all that the project declares; null where there was no state."),
                "lineage": _text("The state's; empty where there was none."),
                "serial": _count(),
            }
        ),
        "preconditions": _list(_object({"address": _ref("address"), "id": _or_null({"type": "string"}), "seen": seen})),
        "requests": _list(_object({"step": _ref("step"), "digest": _text("Of everything the request sends and touches.")})),
    }
    whole = plan_schema()
    whole["title"] = "A saved plan"
    whole["properties"] |= {name: each | {"description": SAVED[name].capitalize()} for name, each in extra.items()}
    whole["required"] += list(extra)
    return whole


def outcome_schema() -> Schema:
    """Of `apply --format json`."""
    step = _object(
        {
            "id": {"type": "integer", "minimum": 1},
            "address": _ref("address"),
            "verb": _text(),
            "status": {"enum": [status.value for status in Status]},
            "error": _or_null({"type": "string"}, "Why it did not end well; null where it is done."),
        }
    )
    summary = _object({name: _count() for name in ("done", "failed", "skipped", "inDoubt", "requests")})
    whole = _object({"format": {"const": OUTCOME_FORMAT}, "summary": summary, "steps": _list(step)})
    return _document("What an apply did", whole, {})


def drift_schema() -> Schema:
    """Of `drift --format json`."""
    field = _object(
        {
            "name": _text("The field, as the YAML calls it."),
            "lastApplied": {"description": "What was seen after our last write."},
            "now": {"description": "What is there; null also where nothing is known."},
            "declared": {"description": "What the YAML says."},
            "cause": {"enum": [Cause.DRIFT.value, Cause.BOTH.value], "description": "both: the YAML changed too."},
            "cannotBeSet": {"type": "boolean", "description": "No request sets it back."},
            "note": _or_null({"type": "string"}, "Why it cannot be set back; null where it can."),
        }
    )
    resource = _object(
        {
            "address": _ref("address"),
            "kind": _ref("kind"),
            "status": {"enum": [status.value for status in Kept]},
            "fields": _list(field, "What differs from what was last applied."),
            "cannotBeSet": {"type": "boolean", "description": "Whether something of it cannot be set back by a request."},
            "place": _or_null(_object({"lastApplied": _spot(), "now": _spot()}), "Where it stands among its siblings, if that changed."),
            "deletedAt": _or_null({"type": "string", "format": "date-time"}, "When it was deleted, where the service still shows it."),
            "restorableFor": _or_null(_count(), "Seconds in which it can still be restored; null where the kind cannot be."),
            "source": _source(),
        }
    )
    share = {"type": "number", "minimum": 0, "maximum": 1}
    silenced = _object(
        {
            "address": _ref("address"),
            "field": _or_null({"type": "string"}, "Null for a place or a deletion."),
            "reason": _text(),
            "until": {"type": "string", "format": "date"},
        }
    )
    summary = _object({name: _count() for name in ("changed", "deleted", "moved", "unmanaged", "managed", "silenced")})
    summary["properties"] |= {
        "coverage": {"type": "object", "additionalProperties": share, "description": "Managed of what was read, by kind."},
        "whole": {"type": "boolean", "description": "Everything there is to read was read (--coverage)."},
    }
    summary["required"] += ["coverage", "whole"]
    whole = _object(
        {
            "format": {"const": DRIFT_FORMAT},
            "project": _text("The project's name."),
            "environment": _or_null({"type": "string"}),
            "summary": summary,
            "resources": _list(resource, "What was changed outside; nothing else is listed."),
            "unmanaged": _list(_object({"kind": _ref("kind"), "id": _text(), "title": _text()})),
            "unknown": _list(_object({"kind": _ref("kind"), "reason": _text()}), "What could not be read."),
            "silenced": _list(silenced, "What a baseline lets be; it is not among the resources."),
            "notes": _list(_text()),
        }
    )
    return _document("Drift", whole, {})


def _spot() -> Schema:
    return _object({"parent": _or_null(_ref("address")), "previous": _or_null(_ref("address"))})


def _source() -> Schema:
    return _or_null(_object({"file": _text("Relative to the project."), "line": {"type": "integer", "minimum": 1}}))


def _document(title: str, whole: Schema, extra: Schema) -> Schema:
    shared = {
        "address": {"type": "string", "pattern": ADDRESS, "description": "The stable name of a resource."},
        "kind": {"type": "string", "pattern": f"^{KIND_PATTERN}$"},
    }
    used = {name: each for name, each in {**shared, **extra}.items() if f"#/$defs/{name}" in repr(whole)}
    return {"$schema": DRAFT, "title": title, **whole, "$defs": used}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema, description: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": description} if description else {})


def _or_null(schema: Schema, description: str = "") -> Schema:
    return {"anyOf": [schema, {"type": "null"}]} | ({"description": description} if description else {})


def _text(description: str = "") -> Schema:
    return {"type": "string"} | ({"description": description} if description else {})


def _count() -> Schema:
    return {"type": "integer", "minimum": 0}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
