"""The JSON Schemas of the documents. Checked in as `schemas/*.schema.json`; a test fails when they are stale."""

from __future__ import annotations

from typing import Final

from reconciler.model import Action, Cause
from reconciler.plan.drift import Kept
from reconciler.report.documents import COUNTED, DRIFT_FORMAT, OUTCOME_FORMAT, PLAN_FORMAT
from reconciler.report.schemas.parts import (
    METHODS,
    Schema,
    document,
    items,
    number,
    or_null,
    outcome_properties,
    record,
    ref,
    source,
    spot,
    text,
)
from reconciler.report.schemas.runs import doctor_schema, history_schema, run_schema, undo_schema
from reconciler.report.schemas.state import state_list_schema, state_schema, state_show_schema
from reconciler.text.escape import as_json

SAVED: Final = {
    "madeBy": "the version of reconciler.",
    "service": "whose ids are meant: a base address, or a sandbox.",
    "options": "those it was made with.",
    "digests": "what it was made from.",
    "preconditions": "the object of each change, as it was.",
    "consents": "what it allows to open.",
    "requests": "what each step sends.",
}


def schemas() -> dict[str, Schema]:
    """Every schema of this package, by its file's name."""
    found = {
        "plan": plan_schema(),
        "saved-plan": saved_plan_schema(),
        "outcome": outcome_schema(),
        "drift": drift_schema(),
        "history": history_schema(),
        "run": run_schema(),
        "undo": undo_schema(),
        "doctor": doctor_schema(),
        "state": state_schema(),
        "state-list": state_list_schema(),
        "state-show": state_show_schema(),
    }
    return {f"{name}.schema.json": schema for name, schema in found.items()}


def dumped() -> dict[str, str]:
    """The same as the texts of those files."""
    return {name: as_json(schema) + "\n" for name, schema in schemas().items()}


def plan_schema() -> Schema:
    """Of `plan --format json`; what `plan --out` writes fits it too."""
    blocked = {
        "address": ref("address"),
        "reason": text(),
        "remedy": text(),
        "cause": or_null(ref("address"), "What this one waits for; null where it is blocked for a reason of its own."),
    }
    counts = [*(action.value for action in COUNTED), "unmanaged", "blocked", "requests", "outside"]
    field = record(
        {
            "name": text("The field, as the YAML calls it."),
            "before": {"description": "What is there; null also where nothing is known."},
            "after": {"description": "What is wanted."},
            "cause": {"enum": [cause.value for cause in Cause], "description": "Who changed it: your files, the service, or both."},
        }
    )
    change = record(
        {
            "address": ref("address"),
            "kind": ref("kind"),
            "actions": {"type": "array", "items": {"enum": [action.value for action in Action]}, "minItems": 1, "uniqueItems": True},
            "fields": items(field),
            "place": or_null(record({"before": spot(), "after": spot()}), "Where it moves from and to, among its managed siblings."),
            "reason": text("One sentence, empty where it is plain."),
            "source": source(),
        }
    )
    step = record(
        {
            "id": ref("step"),
            "address": ref("address"),
            "verb": text("What the request does to the address."),
            "method": {"enum": METHODS},
            "path": {"type": "string", "pattern": "^/v1/", "description": "`{address}` stands for the id of what is not born yet."},
            "fields": items(text("A field the request carries.")),
            "needs": items(ref("step"), "Steps that must have succeeded."),
            "after": items(ref("step"), "Steps that must have ended."),
        }
    )
    exposure = record(
        {
            "address": ref("address"),
            "kind": ref("kind"),
            "field": or_null({"type": "string"}, "The field that does it; null where no field of the object does."),
            "before": {"description": "What is there; null also where nothing is known."},
            "after": {"description": "What is wanted."},
            "says": text("What is then so, as the end of a sentence."),
            "readers": items(text(), "Who can read more; none where it is about no readers."),
            "path": items(text(), "How they come to the object: from it to what admits them."),
            "cause": or_null(ref("address"), "What was changed or made; null where that is the object."),
            "reaches": items(ref("address"), "What else they can read by the same cause."),
            "window": number() | {"description": "For how many requests it lasts; 0 where it lasts."},
            "asked": {"type": "boolean", "description": "Whether apply --yes requires a consent."},
            "source": source(),
        }
    )
    broken = record(
        {
            "address": ref("address"),
            "kind": ref("kind"),
            "before": or_null({"type": "string"}, "The public address; null where it is a secret."),
            "after": or_null({"type": "string"}, "Where the same is read then; null where nowhere, or where only the service can tell."),
            "reason": text("One sentence."),
            "source": source(),
        }
    )
    forbidden = record({"address": ref("address"), "verb": text(), "flag": text("The permission that is false."), "of": ref("address")})
    seconds = {"type": "number", "minimum": 0}
    forecast = record(
        {
            "writes": number(),
            "reads": number() | {"description": "About."},
            "seconds": seconds | {"description": "About, waiting included."},
            "held": seconds | {"description": "How many of them are spent waiting for the service's rate limit."},
        }
    )
    properties = {
        "format": {"const": PLAN_FORMAT},
        "project": text("The project's name."),
        "environment": or_null({"type": "string"}),
        "createdAt": {"type": "string", "format": "date-time"},
        "summary": record({name: number() for name in counts}),
        "forecast": or_null(forecast, "What applying it takes; null where nobody measured, as in a saved plan."),
        "changes": items(change, "What happens to each address; nothing else is listed."),
        "steps": items(step, "The requests that write, in an order that could be run one by one."),
        "exposures": items(exposure, "What becomes public or loses its protection; a looser rule of the project is of the kind `project`."),
        "broken": items(broken, "Public addresses that stop working."),
        "forbidden": items(forbidden, "Requests that the service will refuse, by what it says of the token."),
        "unmanaged": items(record({"kind": ref("kind"), "id": text(), "title": text()})),
        "unknown": items(record({"kind": ref("kind"), "reason": text()}), "What could not be read."),
        "inDoubt": items(ref("address"), "Addresses with a request of an earlier run that has no outcome yet."),
        "blocked": items(record(blocked), "What cannot be done in this run."),
        "notes": items(text(), "Sentences for the reader."),
    }
    whole = record(properties)
    whole["properties"] |= {name: {"description": f"Only in a saved plan: {says}"} for name, says in SAVED.items()}
    return document("A plan", whole, {"step": {"type": "integer", "minimum": 1}})


def saved_plan_schema() -> Schema:
    """Of what `plan --out` writes and `apply --plan` reads."""
    seen = or_null({"type": "string"}, "A digest of what was read of it; null where it is not there yet.")
    extra = {
        "madeBy": text(),
        "service": text(),
        "options": record(
            {
                "target": items(text()),
                "exclude": items(text()),
                "allowReplace": items(text()),
                "allowDelete": or_null(number()),
                "allowExposure": items(text()),
            }
        ),
        "digests": record(
            {
                "configuration": or_null({"type": "string"}, "Of all that the project declares; null where there was no state."),
                "lineage": text("The state's; empty where there was none."),
                "serial": number(),
            }
        ),
        "preconditions": items(record({"address": ref("address"), "id": or_null({"type": "string"}), "seen": seen})),
        "consents": items(
            record(
                {
                    "address": text("An address, or a rule of the project."),
                    "field": text("Empty where the object is deleted."),
                    "principal": text("Who."),
                    "level": text("What they can then do."),
                    "cause": text("What opens it; empty where it is the field itself."),
                    "value": text("A digest of what is sent."),
                }
            )
        ),
        "requests": items(record({"step": ref("step"), "digest": text("Of everything the request sends and touches.")})),
    }
    whole = plan_schema()
    whole["title"] = "A saved plan"
    whole["properties"] |= {name: each | {"description": SAVED[name].capitalize()} for name, each in extra.items()}
    whole["required"] += list(extra)
    return whole


def outcome_schema() -> Schema:
    """Of `apply --format json`."""
    refused = items(
        record({"address": ref("address"), "reason": text()}), "What the file shows and was not done: it does not hold any more."
    )
    new = items(ref("address"), "What would change although the file does not show it; it was not done.")
    saved = or_null(record({"refused": refused, "new": new}), "What a saved plan did not bring about; null where none was applied.")
    return document("What an apply did", record({"format": {"const": OUTCOME_FORMAT}, **outcome_properties(), "savedPlan": saved}), {})


def drift_schema() -> Schema:
    """Of `drift --format json`."""
    field = record(
        {
            "name": text("The field, as the YAML calls it."),
            "lastApplied": {"description": "What was seen after our last write."},
            "now": {"description": "What is there; null also where nothing is known."},
            "declared": {"description": "What the YAML says."},
            "cause": {"enum": [Cause.DRIFT.value, Cause.BOTH.value], "description": "both: the YAML changed too."},
            "cannotBeSet": {"type": "boolean", "description": "No request sets it back."},
            "note": or_null({"type": "string"}, "Why it cannot be set back; null where it can."),
        }
    )
    resource = record(
        {
            "address": ref("address"),
            "kind": ref("kind"),
            "status": {"enum": [status.value for status in Kept]},
            "fields": items(field, "What differs from what was last applied."),
            "cannotBeSet": {"type": "boolean", "description": "Whether something of it cannot be set back by a request."},
            "place": or_null(record({"lastApplied": spot(), "now": spot()}), "Where it stands among its siblings, if that changed."),
            "deletedAt": or_null({"type": "string", "format": "date-time"}, "When it was deleted, where the service still shows it."),
            "restorableFor": or_null(number(), "Seconds in which it can still be restored; null where the kind cannot be."),
            "source": source(),
        }
    )
    share = {"type": "number", "minimum": 0, "maximum": 1}
    silenced = record(
        {
            "address": ref("address"),
            "field": or_null({"type": "string"}, "Null for a place or a deletion."),
            "reason": text(),
            "until": {"type": "string", "format": "date"},
        }
    )
    summary = record({name: number() for name in ("changed", "deleted", "moved", "unmanaged", "managed", "silenced", "unjudged")})
    summary["properties"] |= {
        "coverage": {"type": "object", "additionalProperties": share, "description": "Managed of what was read, by kind."},
        "whole": {"type": "boolean", "description": "Everything there is to read was read (--coverage)."},
    }
    summary["required"] += ["coverage", "whole"]
    whole = record(
        {
            "format": {"const": DRIFT_FORMAT},
            "project": text("The project's name."),
            "environment": or_null({"type": "string"}),
            "summary": summary,
            "resources": items(resource, "What was changed outside; nothing else is listed."),
            "unmanaged": items(record({"kind": ref("kind"), "id": text(), "title": text()})),
            "unknown": items(record({"kind": ref("kind"), "reason": text()}), "What could not be read."),
            "unjudged": items(
                ref("address"), "What the state does not track, so that nobody knows how it was left; no drift is found there."
            ),
            "silenced": items(silenced, "What a baseline lets be; it is not among the resources."),
            "notes": items(text()),
        }
    )
    return document("Drift", whole, {})
