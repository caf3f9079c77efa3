"""The JSON Schema of a project file and of the files it includes, for editors; generated from the kinds alone. Pure.

It is less strict than `load`, which also checks what depends on several lines: references, defaults, variables.
An expression may replace any value, so every value is also a text with `${{`.
"""

from __future__ import annotations

import json
from typing import Any

from reconciler.address import KEY_PATTERN
from reconciler.config.language.variables import variable_schema
from reconciler.config.schemas.files import LITERAL, WHOLE, FileSchemas
from reconciler.config.schemas.forms import TEXT, Schema, chosen
from reconciler.config.schemas.resources import Resources
from reconciler.resource import Kinds

ID = "https://www.schemastore.org/docs-reconciler.json"  # the permanent URL, at which SchemaStore would publish it too
DIALECT = "https://json-schema.org/draft/2020-12/schema"
WELL_FORMED = r"^(?![\s\S]*(?<!\$)\$\{\{(?:\s*\}\}|(?![\s\S]*\}\})))"  # a text without one that is empty or does not end
TEXTLIKE = ["string", "number", "boolean"]  # whatever an editor makes of `007` or `no`


def schema(kinds: Kinds) -> dict[str, Any]:
    """The schema of project files and included files, as plain data; equal kinds give equal schemas."""
    resources = Resources(kinds)
    files = FileSchemas(resources)
    definitions: Schema = {
        "expression": {"description": "A value computed from variables and files.", "type": "string", "pattern": WHOLE},
        "text": {"description": "Text; a text field uses the text as it is written.", "type": TEXTLIKE, "pattern": WELL_FORMED},
        "key": {
            "description": "A stable name; changing it declares a different resource.",
            "type": TEXTLIKE,
            "pattern": f"^{KEY_PATTERN}$",
        },
        "address": {"description": "The address of a resource, as plans print it.", "type": "string", "pattern": "^[^/]+(/[^/]+)*$"},
        "variable": variable_schema(text=TEXT, literal=LITERAL, textlike=TEXTLIKE),
        "split": files.split(),
        "unsplit": files.unsplit(),
        "project": files.project(),
        "fragment": files.fragment(),
        "part": files.part(),
        "environment": files.environment(),
    }
    for kind in kinds.values():
        definitions[kind.name] = resources.definition(kind)
    for host in kinds:
        for section, members in kinds.lists(host).items():
            definitions[f"{host}.{section}"] = resources.items(members)
    return {
        "$schema": DIALECT,
        "$id": ID,
        "title": "A project of Reconciler, or a file it includes",
        **_files(kinds),
        "$defs": {**definitions, **resources.types},
    }


def _files(kinds: Kinds) -> Schema:
    """The type of a file: a project file by its first keys, a fragment by the key of its organization, an environment by its patches."""
    scalar = {"type": ["string", "number", "boolean"]}
    project, fragment, part, environment = ({"$ref": f"#/$defs/{name}"} for name in ("project", "fragment", "part", "environment"))
    cases: list[tuple[Schema, Schema]] = [
        ({"anyOf": [{"required": ["version"]}, {"required": ["project"]}], "type": "object"}, project),
        ({"type": "array"}, part),
    ]
    cases += [({"type": "object", "required": [root.name], "properties": {root.name: scalar}}, fragment) for root in kinds.roots]
    cases.append(({"type": "object", "required": ["patch"], "properties": {"patch": {"type": "array"}}}, environment))
    return chosen(cases, {"anyOf": [fragment, part, environment]})


def catalog_entry() -> dict[str, Any]:
    """The entry in the catalog of SchemaStore, from which editors choose a schema by the name of a file."""
    return {
        "name": "Reconciler",
        "description": "A project of Reconciler: a documentation organization as code",
        "fileMatch": ["reconciler.yaml"],
        "url": ID,
    }


def dumped(kinds: Kinds) -> str:
    """The schema as the text of `schemas/config.schema.json`."""
    return json.dumps(schema(kinds), indent=2, ensure_ascii=False) + "\n"
