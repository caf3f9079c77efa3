"""The JSON Schema of test files, for editors; generated from the table of keys. Pure.

It is less strict than the reader, which also knows the project: addresses, fields, variables.
"""

from __future__ import annotations

import json
from typing import Any, Final

from reconciler.config.schemas.document import DIALECT, TEXTLIKE, WELL_FORMED, WHOLE
from reconciler.config.schemas.forms import COMMENT, EXPRESSION, Schema, described_map, map_of
from reconciler.features.access.section import access_schema
from reconciler.features.policies.section.row import policy_schemas
from reconciler.features.testing import keys as k
from reconciler.features.testing.reading import COUNTED
from reconciler.report.schemas.documents import FileSchema
from reconciler.resource import Kinds

ID: Final = "https://www.schemastore.org/docs-reconciler-tests.json"
NUMBER: Final[Schema] = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {
            "type": "object",
            "properties": {name: {"type": "integer", "minimum": 0} for name in (k.AT_LEAST, k.AT_MOST)},
            "additionalProperties": False,
            "minProperties": 1,
        },
        EXPRESSION,
    ]
}
ADDRESS: Final[Schema] = {"type": "string", "minLength": 1}


def schema(kinds: Kinds) -> dict[str, Any]:
    """The schema of test files, as plain data; equal kinds give equal schemas."""
    rules = policy_schemas(kinds)
    top: Schema = {
        k.TESTS: {"description": "Tests of the project.", "type": "array", "items": {"$ref": "#/$defs/test"}, "minItems": 1},
        "examples": {"description": "Examples of policies, as policy test runs them.", "type": "array"},
        "policies": rules["policies"],
        "use": rules["use"],
    }
    return {
        "$schema": DIALECT,
        "$id": ID,
        "title": "Tests of a project of Reconciler",
        **map_of(top),
        "patternProperties": COMMENT,
        "anyOf": [{"required": [k.TESTS]}, {"required": ["examples"]}],
        "$defs": {
            "expression": {"description": "A value computed from variables and files.", "type": "string", "pattern": WHOLE},
            "text": {"description": "Text; a text field uses the text as it is written.", "type": TEXTLIKE, "pattern": WELL_FORMED},
            "key": {"type": TEXTLIKE},
            "test": _test(),
            "step": _step(),
            "expectation": _expectation(kinds),
        },
    }


def _test() -> Schema:
    with_ = described_map(k.WITH.keys, {"vars": {"type": "object"}})
    values: dict[str, Schema] = {
        "with": with_,
        "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}},
        "expect": {"type": "array", "items": {"$ref": "#/$defs/expectation"}, "minItems": 1},
    }
    return described_map(k.TEST, values)


def _step() -> Schema:
    values: dict[str, Schema] = {
        "apply": {"anyOf": [{"type": "null"}, described_map(k.APPLY, {})]},
        "plan": {"type": "null"},
        "edit": described_map(k.EDIT, {"address": ADDRESS, "set": {"type": "object", "minProperties": 1}}),
        "create": described_map(k.CREATE, {"address": ADDRESS, "set": {"type": "object", "minProperties": 1}}),
        "api": described_map(k.CALL, {"body": {}}),
        "by": {"const": k.COLLEAGUE},
    }
    steps = described_map(k.STEP, values)
    return {"anyOf": [{"enum": ["apply", "plan"]}, {**steps, "oneOf": [{"required": [name]} for name in k.SORTS]}]}


def _expectation(kinds: Kinds) -> Schema:
    """One of the tables, chosen by the first key that is present."""
    reader = access_schema(kinds)["access"]["items"]
    counts = {"type": "object", "properties": dict.fromkeys(COUNTED, NUMBER), "additionalProperties": False, "minProperties": 1}
    values: dict[str, Schema] = {
        "as": reader["properties"]["as"],
        "plan": {"anyOf": [{"const": k.EMPTY}, counts]},
        "requests": NUMBER,
        "is": {},
        "answers": {"type": "boolean"},
    }
    chosen: Schema = {"not": {}, "description": f"One of {', '.join(k.EXPECTATIONS)}."}
    for name, table in reversed(k.EXPECTATIONS.items()):
        then = reader if table is k.READERS else described_map(table, values)
        chosen = {"if": {"required": [name]}, "then": then, "else": chosen}
    return {"type": "object", **chosen}


def dumped(kinds: Kinds) -> str:
    """The schema as the text of `schemas/test.schema.json`."""
    return json.dumps(schema(kinds), indent=2, ensure_ascii=False) + "\n"


FILES: Final = FileSchema("test", "test files", schema)
