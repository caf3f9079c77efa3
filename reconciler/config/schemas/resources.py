"""The JSON Schema of resources: the value of a key, an item of a list, and their fields. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import cache
from typing import Any

from reconciler.config.keys import ADOPT, IGNORE_CHANGES
from reconciler.config.resources.ignored_changes import ignorable
from reconciler.config.schemas.forms import (
    EXPRESSION,
    KEY,
    KEYS,
    LOOP,
    TEXT,
    Schema,
    chosen,
    either,
    loosened,
    map_of,
    or_expression,
    takes_null,
    text,
)
from reconciler.config.source.includes import INCLUDE
from reconciler.config.source.nodes import FOR_EACH
from reconciler.config.values import adapter
from reconciler.resource import Field, Kind, Kinds


class Resources:
    """The definitions of resources. `types`: definitions generated for the annotations of fields, by name."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.types: Schema = {}

    def definition(self, kind: Kind) -> Schema:
        """The schema of the value of a key, or of an item of a list."""
        if kind.place.value_is is not None:
            return {**self._field(kind, kind.fields[kind.place.value_is]), "description": kind.doc}
        return self.node(kind) if kind.place.in_list else self.resource(kind)

    def resource(self, kind: Kind) -> Schema:
        """The map of one resource, without the keys of nodes."""
        reserved = {
            **({FOR_EACH: LOOP} if kind.place.value_is is None else {}),
            "id": text("The id of an existing object to adopt."),
            "previously": or_expression(
                {"description": "The keys that it had before.", "type": "array", "items": {"anyOf": [KEY, EXPRESSION]}}
            ),
            "protect": or_expression({"description": "Whether its deletion requires consent.", "type": "boolean"}),
            "adopt": or_expression({"description": "Whether an existing object with its natural key is adopted.", "enum": list(ADOPT)}),
            IGNORE_CHANGES: ignored(ignorable(kind)),
            **({"expect": _expect(kind)} if kind.expectable else {}),
        }
        flag = or_expression({"description": "The default: the one that readers see first.", "type": "boolean"})
        flags = dict.fromkeys(self.kinds.flags(kind.name), flag)
        full = map_of({**self.fields(kind), **flags, **self.sections(kind), **reserved}, kind.doc)
        if self.sections(kind):
            full |= {"if": {"required": [FOR_EACH]}, "then": {"$ref": "#/$defs/unsplit"}}
        if not kind.place.in_list and kind.place.bare_is is not None:
            return {"description": kind.doc, **chosen([({"type": "object"}, full)], self._field(kind, kind.fields[kind.place.bare_is]))}
        return full

    def node(self, kind: Kind) -> Schema:
        """An item of an ordered list."""
        tag = str(kind.place.tag)
        key = either([KEY, EXPRESSION])  # an expression inside forEach
        own = self._field(kind, kind.fields[tag]) if tag in kind.fields else {"description": f"The key of this {kind.name}.", **key}
        body = self.resource(kind)
        body["properties"] = {
            tag: own,
            **({"key": {"description": "A key of its own, if the first word does not provide it.", **key}} if tag in kind.fields else {}),
            **body["properties"],
        }
        return {**body, "required": [tag]}

    def items(self, members: tuple[Kind, ...]) -> Schema:
        """A list, or the files that contain it. The first key of a node determines its kind."""
        doc = "Ordered: " + ", ".join(kind.name for kind in members) + "."
        tags = {str(kind.place.tag): kind for kind in members}
        cases = [({"required": [tag]}, {"$ref": f"#/$defs/{kind.name}"}) for tag, kind in tags.items()]
        names = list(dict.fromkeys(name for kind in members for name in self.node(kind)["properties"]))
        known = {"propertyNames": {"enum": names}}
        node = chosen([*cases, (known, {"anyOf": [{"required": [tag]} for tag in tags]})], known)
        bare = any(kind.place.bare_is is not None for kind in members)
        item = chosen([({"type": "object"}, node)], {"anyOf": [KEY, EXPRESSION]}) if bare else {"type": "object", **node}
        return {
            "description": doc,
            **chosen(
                [({"type": "array"}, {"items": item}), ({"type": "object"}, {"$ref": "#/$defs/split"})], {"type": ["array", "object"]}
            ),
        }

    def sections(self, kind: Kind) -> Schema:
        maps = {section: self.section(entry) for section, entry in self.kinds.sections(kind.name).items()}
        singles = {section: {"$ref": f"#/$defs/{single.name}"} for section, single in self.kinds.singles(kind.name).items()}
        return {**maps, **{section: {"$ref": f"#/$defs/{kind.name}.{section}"} for section in self.kinds.lists(kind.name)}, **singles}

    def section(self, kind: Kind) -> Schema:
        entry = {"$ref": f"#/$defs/{kind.name}"}
        files = {"$ref": "#/$defs/split/properties/include"}
        return {
            "description": kind.doc,
            "type": "object",
            "propertyNames": KEYS,
            "properties": {INCLUDE: chosen([({"type": "object"}, entry)], {"anyOf": [files, entry]})},
            "additionalProperties": entry,
        }

    def fields(self, kind: Kind) -> Schema:
        return {name: self._field(kind, field) for name, field in kind.fields.items() if field.written and name != kind.place.key_is}

    def _field(self, kind: Kind, field: Field) -> Schema:
        schema = copy.deepcopy(_of_type(field.type, kind.name))
        for name, definition in schema.pop("$defs", {}).items():
            self.types[f"{kind.name}.{name}"] = loosened(definition)
        if field.clear and not takes_null(schema):
            schema = {"anyOf": [schema, {"type": "null"}]}
        value = or_expression(loosened(schema))
        doc = " ".join(part for part in (field.doc, value.get("description", "")) if part)
        return {"description": doc, **{name: part for name, part in value.items() if name != "description"}} if doc else value


@cache
def _of_type(type: Any, kind: str) -> Schema:
    """pydantic's schema of a field's type; must not be changed. A field is described several times, for files and for environments."""
    return adapter(type).json_schema(ref_template=f"#/$defs/{kind}.{{model}}")


def ignored(names: Iterable[str]) -> Schema:
    """A list of fields that are left alone once an object exists."""
    doc = "Fields that are sent when the object is created and left alone afterwards."
    return or_expression({"description": doc, "type": "array", "items": {"anyOf": [{"enum": sorted(set(names))}, EXPRESSION]}})


def _expect(kind: Kind) -> Schema:
    """The assertions about derived values."""
    names = {name: {"description": f"The {name} that the service is expected to derive.", **TEXT} for name in kind.expectable}
    return map_of(names, "What the service is expected to derive; the plan blocks the resource if it derives something else.")
