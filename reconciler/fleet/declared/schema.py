"""The JSON Schema of fleet.yaml, for editors; generated from the table of keys. Pure."""

from __future__ import annotations

import json
from typing import Final

from reconciler.config.schemas.document import DIALECT
from reconciler.config.schemas.forms import Schema, described_map, map_of
from reconciler.fleet.declared import keys
from reconciler.report.schemas.documents import FileSchema

EACH: Final[Schema] = {"type": "string", "pattern": r"\$\{\{"}


def schema() -> Schema:
    """What a fleet file may contain."""
    project = described_map(keys.PROJECT, plain=True)["properties"]
    template = {
        name: value if name == "windows" else {"description": value.pop("description"), "anyOf": [value, EACH]}
        for name, value in project.items()
    }
    secret = described_map(keys.WEBHOOK, plain=True)
    element = {"anyOf": [keys.VALUE, {"type": "object", "additionalProperties": keys.VALUE}]}
    generator = described_map(
        keys.GENERATOR, {"list": {"type": "array", "items": element}, "template": {"$ref": "#/$defs/template"}}, plain=True
    )
    others: dict[str, Schema] = {
        "defaults": described_map(keys.PROJECT[1:], plain=True),
        "generators": {"type": "array", "items": {**generator, "minProperties": 2, "maxProperties": 2}},
        **{forge.name: {"anyOf": [secret, {"type": "array", "minItems": 1, "items": secret}]} for forge in keys.WEBHOOKS},
    }
    reference = {**described_map(keys.REFERENCE, plain=True), "minProperties": 1, "maxProperties": 1}
    return {
        "$schema": DIALECT,
        "$id": "urn:docs-reconciler:fleet-file:1",
        "title": "A fleet of Reconciler",
        **described_map(keys.FLEET, others, plain=True),
        "$defs": {"reference": reference, "template": map_of(template)},
    }


def dumped() -> str:
    """The same as the text of `schemas/fleet.schema.json`."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


FILES: Final = FileSchema("fleet", "fleet files", lambda kinds: schema())
