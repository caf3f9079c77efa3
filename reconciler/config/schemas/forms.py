"""The forms of values in a JSON Schema: alternatives, expressions, a map, a text, a key, the contents of `forEach`. Pure.

`anyOf` accepts valid values, and says of an invalid one only that it is "not valid under any of the given schemas". With `if` and `then`
the form of a value chooses the alternative, and an editor reports the error in that one. Both accept the same values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from reconciler.address import KEY_PATTERN
from reconciler.config.key import Key

Schema = dict[str, Any]

EXPRESSION: Final[Schema] = {"$ref": "#/$defs/expression"}
TEXT: Final[Schema] = {"$ref": "#/$defs/text"}
SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})
SCALAR: Final = "scalar"
_MARK: Final[Schema] = {"type": "string", "pattern": r"(?<!\$)\$\{\{"}  # any text with it must be an expression
_REFERENCES: Final = {"#/$defs/text": SCALAR, "#/$defs/key": SCALAR, "#/$defs/split": "object"}


def chosen(cases: Iterable[tuple[Schema, Schema]], otherwise: Schema) -> Schema:
    """The first alternative whose condition holds, or else the last one."""
    schema = otherwise
    for condition, then in reversed(list(cases)):
        schema = {"if": condition, "then": then, "else": schema}
    return schema


def either(options: Sequence[Schema]) -> Schema:
    """One of several: an expression is recognized by its mark, the others by their type."""
    rest = [option for option in options if option != EXPRESSION]
    expression = [(_MARK, EXPRESSION)] if len(rest) < len(options) else []
    if len(rest) <= 1:
        return chosen(expression, *rest) if rest else EXPRESSION
    forms = [_form(option) for option in rest]
    if None in forms:
        return chosen(expression, {"anyOf": rest})
    by_form: dict[str, list[Schema]] = {}
    for form, option in zip(forms, rest, strict=True):
        by_form.setdefault(str(form), []).append(option)
    last = by_form.pop(SCALAR, None)
    cases = [({"type": form}, _any(members)) for form, members in by_form.items()]
    if last is None:
        return {"type": [*(["string"] if expression else []), *by_form], **chosen([*expression, *cases], {"type": [*by_form]})}
    return chosen([*expression, *cases], _any(last))


def _any(options: Sequence[Schema]) -> Schema:
    return options[0] if len(options) == 1 else {"anyOf": list(options)}


def _form(option: Schema) -> str | None:
    """The only JSON type that an alternative accepts, all scalars counting as one; None if there may be several."""
    if "$ref" in option:
        return _REFERENCES.get(option["$ref"])
    if "enum" in option or "const" in option:
        values = option.get("enum", [option.get("const")])
        return SCALAR if all(isinstance(value, str | int | float) for value in values) else None
    types = option.get("type")
    types = [types] if isinstance(types, str) else types or []
    if types and SCALARS.issuperset(types):
        return SCALAR
    return types[0] if len(types) == 1 else None


def or_expression(schema: Schema) -> Schema:
    """The same, or an expression; the description stays outside, where editors find it."""
    doc = {"description": schema["description"]} if "description" in schema else {}
    bare = {name: part for name, part in schema.items() if name != "description"}
    if bare == TEXT:
        return {**doc, **TEXT}  # an expression is a text
    return {**doc, **either([*(bare["anyOf"] if set(bare) == {"anyOf"} else [bare]), EXPRESSION])}


def takes_null(schema: Schema) -> bool:
    """Whether null is accepted already."""
    return schema.get("type") == "null" or any(takes_null(option) for option in schema.get("anyOf", []))


def loosened(schema: Any) -> Any:
    """pydantic's schema of a type, with expressions allowed inside it and plain texts."""
    if isinstance(schema, list):
        return [loosened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    loose = {name: loosened(part) for name, part in schema.items() if name not in ("title", "uniqueItems", "properties")}
    if loose.get("type") == "string" and "enum" not in loose and "const" not in loose:
        del loose["type"]
        loose |= TEXT
    if "properties" in schema:
        loose["properties"] = {name: or_expression(loosened(part)) for name, part in schema["properties"].items()}
        if "additionalProperties" not in loose and "title" in schema:
            loose["additionalProperties"] = False  # a TypedDict; schemas written by a kind have no title and have a description
    if isinstance(loose.get("items"), dict):
        loose["items"] = or_expression(loose["items"])
    return loose


KEY: Schema = {"$ref": "#/$defs/key"}
KEYS: Schema = {"pattern": rf"^{KEY_PATTERN}$|\$\{{\{{"}  # an expression is a key inside forEach
LOOP: Schema = {
    "description": "One resource for each element of a list or a map: each.key, each.value and each.index are its values.",
    **either([{"type": "array"}, {"type": "object"}, EXPRESSION]),
}
COMMENT: Schema = {"^x-": {"description": "Ignored: use it for YAML anchors."}}


def map_of(properties: Mapping[str, Any], doc: str = "", *, required: tuple[str, ...] = (), ignored: bool = False) -> Schema:
    """A map with these keys and no others; `ignored` allows `x-…` too."""
    schema: Schema = {"description": doc} if doc else {}
    schema |= {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    if ignored:
        schema["patternProperties"] = COMMENT
    return schema


def text(doc: str) -> Schema:
    return {"description": doc, **TEXT}


# -- keys of the table -------------------------------------------------------------------------------------------------------------------


def of_key(key: Key, others: Mapping[str, Schema] = MappingProxyType({}), *, plain: bool = False) -> Schema:
    """The schema of a key of the table. `others`: the schemas of values that the table does not describe, by the names of their keys.
    `plain`: of a file without expressions."""
    doc = {"description": key.doc} if key.doc else {}
    if key.name in others or key.schema is not None:
        return {**doc, **(key.schema or others.get(key.name) or {})}
    if key.form == "map":
        return {**doc, **described_map(key.keys, others, plain=plain)}
    if key.form == "list":
        return {**doc, "type": "array", "items": described_map(key.keys, others, plain=plain)}
    schema = {**doc, **_of_value(key, plain=plain)}
    return schema if plain else or_expression(schema)


def _of_value(key: Key, *, plain: bool) -> Schema:
    if key.form == "choice":
        return {"enum": list(key.options)}
    if key.form in ("number", "whole"):
        least = {"exclusiveMinimum" if key.above else "minimum": key.least}
        most = {"maximum": int(key.most)} if key.most is not None else {}
        return {"type": "number" if key.form == "number" else "integer", **least, **most}
    if plain:
        return {"type": "boolean"} if key.form == "flag" else {"type": "string", "minLength": 1}
    return TEXT


def described_map(keys: Iterable[Key], others: Mapping[str, Schema] = MappingProxyType({}), *, plain: bool = False) -> Schema:
    """A map with these keys and no others."""
    keys = tuple(keys)
    required = tuple(key.name for key in keys if key.required and not key.elsewhere)
    return map_of({key.name: of_key(key, others, plain=plain) for key in keys}, required=required)
