"""The JSON Schema of a project file and of the files it includes, for editors; generated from the kinds alone. Pure.

It is less strict than `load`, which also checks what depends on several lines: references, defaults, variables.
An expression may replace any value, so every value is also a text with `${{`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reconciler.address import KEY_PATTERN
from reconciler.config.key import by_name
from reconciler.config.keys import (
    BASE_URL,
    ENVIRONMENT,
    EVERYWHERE,
    IGNORE,
    IGNORE_CHANGES,
    PATCH,
    REMOVED_ACTIONS,
    SANDBOX,
    SECRETS,
    SERVICE,
    STATE,
)
from reconciler.config.language.variables import variable_schema
from reconciler.config.resources.ignored_changes import ignorable
from reconciler.config.schemas.forms import (
    EXPRESSION,
    KEY,
    KEYS,
    TEXT,
    Schema,
    chosen,
    described_map,
    either,
    map_of,
    of_key,
    or_expression,
    text,
)
from reconciler.config.schemas.resources import Resources, ignored
from reconciler.config.sections import SECTIONS, known_keys
from reconciler.config.source.includes import INCLUDE
from reconciler.model.lint import RULES as LINT_RULES
from reconciler.resource import PRUNE_SCOPES, Kind, Kinds


def lint() -> Schema:
    """`lint.ignore`."""
    rules = {"anyOf": [{"enum": [*LINT_RULES, *(f"RC-{rule}" for rule in LINT_RULES)]}, EXPRESSION]}
    values: Mapping[str, Schema] = {"id": rules, "address": {"type": "string", "minLength": 1}, "reason": {"type": "string"}}
    return {"type": "array", "items": described_map(IGNORE, values)}


ENCRYPTED_NAME = r"^(?!.*\$\{\{).*\.(yaml|yml|json)$"
WHOLE = r"(?<!\$)\$\{\{(?!\s*\}\})[\s\S]*\}\}"  # an expression that ends and is not empty
INCLUDED = r"^(?!.*\$\{\{)(?![/~]|environments/|reconciler\.yaml$)(?!(?:.*/)?\.)(?!.*\.(?:enc|sops)\.ya?ml$).+$"
LITERAL: Schema = {"not": {"type": "string", "pattern": WHOLE}}
FILES: Schema = {"type": "array", "items": {"type": "string", "pattern": INCLUDED}}
ENCRYPTED: Schema = either(
    [{"type": "array", "items": {"type": "string", "pattern": ENCRYPTED_NAME}}, {"type": "string", "pattern": ENCRYPTED_NAME}]
)
URL_WITHOUT_PASSWORD: Schema = {**TEXT, "not": {"type": "string", "pattern": "//[^/@]*:[^/@]*@"}}
ADDRESS: Schema = {"$ref": "#/$defs/address"}


class FileSchemas:
    """The definitions of files: a project file, what it includes, an environment. `values`: of the keys of which the table has only the
    names, the schemas of their values."""

    def __init__(self, resources: Resources) -> None:
        self.kinds = kinds = resources.kinds
        self.resources = resources
        self.values: dict[str, Schema] = {
            "version": {"const": 1},
            SERVICE.name: {"not": {"required": [BASE_URL, SANDBOX]}, **of_key(SERVICE)},
            STATE: URL_WITHOUT_PASSWORD,
            "include": FILES,
            "vars": {
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                "additionalProperties": {"$ref": "#/$defs/variable"},
            },
            SECRETS: ENCRYPTED,
            "prune": map_of(
                {
                    name: {"description": f"Default: {kind.prune}.", **or_expression({"enum": list(PRUNE_SCOPES)})}
                    for name, kind in kinds.items()
                }
            ),
            "protect": {"type": "array", "items": {"enum": list(kinds)}},
            "defaults": map_of({name: map_of(resources.fields(kind)) for name, kind in kinds.items()}),
            IGNORE_CHANGES: {
                "type": "object",
                "properties": {name: ignored(ignorable(kind)) for name, kind in kinds.items()},
                "additionalProperties": ignored(name for kind in kinds.values() for name in ignorable(kind)),
            },
            "ignore": lint(),
            **{name: value for section in SECTIONS for name, value in section.schemas(kinds).items()},
        }

    def project(self) -> Schema:
        keys = known_keys()
        properties = {key.name: of_key(key, self.values) for key in keys}
        required = tuple(key.name for key in keys if key.required)
        return map_of({**properties, **self._everywhere()}, required=required, ignored=True)

    def fragment(self) -> Schema:
        held: Schema = {}
        for root in self.kinds.roots:
            held[root.name] = {"description": f"The key of the {root.name} that this file belongs to.", **KEY}
            held |= self.resources.sections(root)
        everywhere = {**{key.name: of_key(key, self.values) for key in known_keys() if key.role == "shared rule"}, **self._everywhere()}
        return {**map_of({**held, **everywhere}, ignored=True), "not": {"required": ["version"]}}

    def part(self) -> Schema:
        """A file included by one map or list: nodes, entries, or the map or list under its own key."""
        sections, nodes = self._all_sections()
        names = {section: self.resources.section(kind) for section, kind in sections.items()} | {
            section: {"anyOf": [{"$ref": f"#/$defs/{host}.{section}"} for host in hosts]} for section, hosts in nodes.items()
        }
        items = [{"$ref": f"#/$defs/{host}.{section}"} for section, hosts in nodes.items() for host in hosts]
        wrapped = {**map_of(names, ignored=True), "maxProperties": 1}
        entries = [{"$ref": f"#/$defs/{name}"} for name in dict.fromkeys(kind.name for kind in sections.values())]
        return {
            "description": "What a map or list includes: a list of nodes, a map of entries, or a map with the one key of the section.",
            "anyOf": [
                wrapped,
                {"type": "array", "anyOf": items},
                {
                    "type": "object",
                    "propertyNames": KEYS,
                    "additionalProperties": {"anyOf": entries},
                    "not": {"anyOf": [{"required": [word]} for word in ("version", "project")]},  # a project file
                },
            ],
        }

    def environment(self) -> Schema:
        """The file of an environment: `environments/NAME.yaml`."""
        ids = map_of({"id": text("The id of the organization in this environment.")}, required=("id",))
        roots = {
            root.place.section_in(None): {"description": f"The id of each {root.name}.", "type": "object", "additionalProperties": ids}
            for root in self.kinds.roots
        }
        match = {"type": "string", "pattern": "^[^/]+(/[^/]+)*$"}
        names = {"enum": sorted({name for kind in self.kinds.values() for name in self._patchable(kind)})}
        fields = {"type": "object", "minProperties": 1, "propertyNames": names}
        inner = {**by_name(PATCH)}
        changed = map_of({key: of_key(inner[key], {"match": match, "set": fields}) for key in ("match", "set")}, required=("match", "set"))
        removed = map_of(
            {key: of_key(inner[key], {"match": match, "remove": {"const": True}}) for key in ("match", "remove")},
            required=("match", "remove"),
        )
        patch = chosen([({"required": ["remove"]}, removed)], {**changed, "allOf": self._by_kind()})
        values = {
            **self.values,
            "vars": {"type": "object", "additionalProperties": LITERAL},
            "patch": {"type": "array", "items": patch},
            **{name: value for name, value in self._everywhere().items() if name == "removed"},
        }
        keys = {key.name: of_key(key, values) for key in ENVIRONMENT}
        file = map_of({**keys, **roots}, "The file of an environment: environments/NAME.yaml.", ignored=True)
        return {**file, "not": {"required": ["version"]}}

    def _by_kind(self) -> list[Schema]:
        """The fields that a patch may set, if its pattern determines the kind."""
        return [
            {
                "if": {"properties": {"match": {"pattern": _ending(kind)}}, "required": ["match"]},
                "then": {"properties": {"set": {"properties": self._patchable(kind), "additionalProperties": False}}},
            }
            for kind in self.kinds.values()
        ]

    def _patchable(self, kind: Kind) -> Schema:
        """The fields of a kind that a patch may set, as references to their definitions."""
        own = f"#/$defs/{kind.name}"
        if kind.place.value_is is not None:
            return {kind.place.value_is: {"$ref": own}}
        definition = self.resources.definition(kind)
        path = f"{own}/properties" if "properties" in definition else f"{own}/then/properties"
        tag = [] if kind.place.tag is None or kind.place.tag not in kind.fields else [kind.place.tag]
        names = [*tag, *self.resources.fields(kind), "id", "protect", "adopt", IGNORE_CHANGES, *(["expect"] if kind.expectable else [])]
        return {name: {"$ref": f"{path}/{name}"} for name in dict.fromkeys(names)}

    def split(self) -> Schema:
        """The schema of a list that is split into files."""
        doc = "Files that contain the nodes or entries, by name or pattern; in the order of the names, or as listed."
        name = {"type": "string", "pattern": INCLUDED}
        files = map_of(
            {INCLUDE: {"description": doc, **either([{"type": "array", "items": name, "minItems": 1}, name])}}, required=(INCLUDE,)
        )
        return {"description": "Split into files.", **files}

    def unsplit(self) -> Schema:
        """What `forEach` may contain: none of its maps and lists is split into files."""
        maps, lists = self._all_sections()
        inner = {"$ref": "#/$defs/unsplit"}
        whole = {"properties": {INCLUDE: {"not": {"type": ["string", "array"]}}}, "additionalProperties": inner, "items": inner}
        return {"description": "Inside forEach.", "properties": dict.fromkeys([*maps, *lists], whole)}

    def _all_sections(self) -> tuple[dict[str, Kind], dict[str, list[str]]]:
        """The maps by name, and the kinds that have each list."""
        maps: dict[str, Kind] = {root.place.section_in(None): root for root in self.kinds.roots}
        lists: dict[str, list[str]] = {}
        for name in self.kinds:
            maps |= self.kinds.sections(name)
            for section in self.kinds.lists(name):
                lists.setdefault(section, []).append(name)
        return maps, lists

    def _everywhere(self) -> Schema:
        """The keys that every file may have at its top."""
        values = {
            "address": ADDRESS,
            "action": {"enum": list(REMOVED_ACTIONS)},
            "from": ADDRESS,
            "to": ADDRESS,
        }
        roots = {root.place.section_in(None): self.resources.section(root) for root in self.kinds.roots}
        return {**roots, **{key.name: of_key(key, values) for key in EVERYWHERE}}


def _ending(kind: Kind) -> str:
    """The end of addresses and patterns that match resources of one kind only."""
    if kind.within is None:
        return r"^(?!\*\*$)[^/]+$"
    return f"(^|/){kind.name}$" if kind.one_per else rf"(^|/){kind.name}/(?!\*\*$)[^/]+$"


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
