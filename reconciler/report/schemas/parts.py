"""The parts that the JSON Schemas of the documents are made of."""

from __future__ import annotations

from typing import Any, Final

from reconciler.address import KEY_PATTERN, KIND_PATTERN
from reconciler.model import Status

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
ADDRESS: Final = f"^{KEY_PATTERN}(/{KIND_PATTERN}/{KEY_PATTERN})*(/{KIND_PATTERN})?$"
METHODS: Final = ["POST", "PUT", "PATCH", "DELETE"]

Schema = dict[str, Any]


def outcome_properties() -> Schema:
    """What an apply did: how many requests ended how, and each of them."""
    step = record(
        {
            "id": {"type": "integer", "minimum": 1},
            "address": ref("address"),
            "verb": text(),
            "status": {"enum": [status.value for status in Status]},
            "error": or_null({"type": "string"}, "Why it did not end well; null where it is done."),
        }
    )
    summary = record({name: number() for name in ("done", "failed", "skipped", "inDoubt", "stale", "requests", "outside")})
    edited = record(
        {
            "address": ref("address"),
            "field": or_null({"type": "string"}, "The field, as the YAML calls it; null where it is about the whole object."),
            "before": {"description": "What was seen after this run's write, or for the plan where it wrote nothing."},
            "after": {"description": "What is there at the end of the run."},
            "reason": {"type": "string", "description": "What became of the whole object; empty for a field."},
        }
    )
    return {
        "summary": summary,
        "steps": items(step),
        "edited": items(edited, "What somebody else changed while the run was under way."),
        "leftover": items(ref("address"), "What a reading after the run still finds different from what is declared."),
        "unverified": items(ref("address"), "What was written and could not be read again."),
    }


def spot() -> Schema:
    """A place among siblings."""
    return record({"parent": or_null(ref("address")), "previous": or_null(ref("address"))})


def source() -> Schema:
    """A place in the YAML, or null."""
    return or_null(record({"file": text("Relative to the project."), "line": {"type": "integer", "minimum": 1}}))


def document(title: str, whole: Schema, extra: Schema) -> Schema:
    """A whole schema with the definitions it uses. `extra`: its own ones beside those that all share."""
    shared = {
        "address": {"type": "string", "pattern": ADDRESS, "description": "The stable name of a resource."},
        "kind": {"type": "string", "pattern": f"^{KIND_PATTERN}$"},
    }
    used = {name: each for name, each in {**shared, **extra}.items() if f"#/$defs/{name}" in repr(whole)}
    return {"$schema": DRAFT, "title": title, **whole, "$defs": used}


def record(properties: Schema) -> Schema:
    """An object with these properties, all of them and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def items(of: Schema, description: str = "") -> Schema:
    """A list of one sort of thing."""
    return {"type": "array", "items": of} | ({"description": description} if description else {})


def or_null(schema: Schema, description: str = "") -> Schema:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]} | ({"description": description} if description else {})


def text(description: str = "") -> Schema:
    """Any text."""
    return {"type": "string"} | ({"description": description} if description else {})


def number() -> Schema:
    """A whole number, 0 or more."""
    return {"type": "integer", "minimum": 0}


def ref(name: str) -> Schema:
    """One of the definitions that `document` adds."""
    return {"$ref": f"#/$defs/{name}"}
