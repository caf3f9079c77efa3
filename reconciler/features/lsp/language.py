"""What the language allows at a place: keys with their sentences, values, and which kind of resource a text refers to. Pure.

In: the kinds, through the JSON Schema that editors already use, and the places of `place`. Out: `Options`. So a new kind, field or key is
completed and explained without a line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import Annotated, Any, Final, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from reconciler.config.keys import ENVIRONMENTS, PROJECT_FILE
from reconciler.config.schemas.document import schema
from reconciler.features.lsp.place import PathStep, Place
from reconciler.resource import Field, FieldRole, Kind, Kinds
from reconciler.resource.values import To

Schema = Mapping[str, Any]

_REFERENCE: Final = "#/$defs/"
_DEPTH_MAX: Final = 30  # references and alternatives inside each other


@dataclass(frozen=True)
class Form:
    """One form that a value may have. `schema`: without references and alternatives. `kind`: the kind of the resource that it describes,
    None if it describes none. `field`: the field that it is the value of, or a part of, at `path` inside that value. `members`: the kinds
    of a list of nodes. `doc`: the sentence about it."""

    schema: Schema
    kind: Kind | None = None
    field: Field | None = None
    path: tuple[str | None, ...] = ()
    members: tuple[Kind, ...] = ()
    doc: str = ""


@dataclass
class KeyOption:
    """A key that may be written. `forms`: of its value."""

    name: str
    doc: str
    kind: Kind | None
    required: bool
    forms: list[Form] = field(default_factory=list)


class Language:
    """The language of project files."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.definitions: Mapping[str, Schema] = schema(kinds)["$defs"]
        self.lists = {f"{host}.{section}": members for host in kinds for section, members in kinds.lists(host).items()}

    def file(self, name: str, section: str | None) -> list[Form]:
        """What a file contains. `section`: the one that includes it, None for a whole file."""
        if name == PROJECT_FILE:
            return [Form(self._definition("project"))]
        if name.startswith(f"{ENVIRONMENTS}/"):
            return [Form(self._definition("environment"))]
        if section is None:
            return [Form(self._definition("fragment"))]
        wrapped: Schema = self._definition("part")["anyOf"][0]
        inner: Schema = wrapped["properties"].get(section, {})
        return [Form(inner), Form({"type": "object", "properties": {section: inner}})]

    def around(self, file: Sequence[Form], path: Iterable[PathStep], beside: Mapping[str, str]) -> list[Form]:
        """The forms of the map or list at the end of a path. `beside`: its keys."""
        forms = list(file)
        for step in path:
            forms = self._inside(forms, step.key, step.beside)
            if not forms:
                return []
        return self._resolved(forms, beside, listed=False)

    def keys(self, forms: Iterable[Form]) -> dict[str, KeyOption]:
        """The keys of maps of these forms."""
        keys: dict[str, KeyOption] = {}
        for form in forms:
            for name in form.schema.get("properties", {}):
                value = self._property(form, name)
                required = name in form.schema.get("required", ())
                option = keys.setdefault(name, KeyOption(name, value.doc or self._doc(value), form.kind, required))
                option.forms.append(value)
        return keys

    def values(self, file: Sequence[Form], place: Place) -> list[Form]:
        """The forms of what is written at a place: the value of a key, or an item of a list."""
        if place.role == "value":
            return self._resolved(self._inside(file_forms(self, file, place), place.key, place.beside), {}, listed=False, scalar=True)
        steps = place.path
        if not steps or steps[-1].key is not None:
            return []
        forms = list(file)
        for step in steps:
            forms = self._inside(forms, step.key, step.beside)
        return self._resolved(forms, {}, listed=False, scalar=True)

    # -- schemas ---------------------------------------------------------------------------------------------------------------------------

    def _definition(self, name: str) -> Schema:
        return self.definitions[name]

    def _inside(self, forms: Sequence[Form], key: str | None, beside: Mapping[str, str]) -> list[Form]:
        """The forms of the value of a key, or of an item."""
        inner: list[Form] = []
        for form in self._resolved(forms, beside, listed=key is None):
            if key is None:
                items = form.schema.get("items")
                if isinstance(items, Mapping):
                    inner.append(Form(items, None, form.field, (*form.path, None), form.members))
            elif key in form.schema.get("properties", {}):
                inner.append(self._property(form, key))
            elif isinstance(form.schema.get("additionalProperties"), Mapping):
                inner.append(Form(form.schema["additionalProperties"], None, form.field, (*form.path, key)))
        return inner

    def _property(self, form: Form, name: str) -> Form:
        value: Schema = form.schema["properties"][name]
        doc = str(value.get("description", ""))
        if form.kind is not None:
            return Form(value, None, form.kind.fields.get(name), (), (), doc)
        return Form(value, None, form.field, (*form.path, name) if form.field is not None else (), (), doc)

    def _doc(self, form: Form) -> str:
        return next((resolved.doc for resolved in self._resolved([form], {}, listed=False) if resolved.doc), "")

    def _resolved(self, forms: Iterable[Form], beside: Mapping[str, str], *, listed: bool, scalar: bool = False) -> list[Form]:
        """The forms without references and alternatives: those that fit the keys of the map, or all if none does."""
        forms = list(forms)
        shape = "scalar" if scalar else "array" if listed else "object"
        for strict in (True, False):
            resolved = [leaf for form in forms for leaf in self._leaves(form, beside, shape, strict, 0)]
            if scalar or any(_KEYED & leaf.schema.keys() for leaf in resolved):
                return resolved
        return resolved

    def _leaves(self, form: Form, beside: Mapping[str, str], shape: str, strict: bool, depth: int) -> Iterator[Form]:
        value = form.schema
        if depth > _DEPTH_MAX:
            return
        doc = form.doc or str(value.get("description", ""))
        if "$ref" in value:
            name = str(value["$ref"]).removeprefix(_REFERENCE)
            if name == "expression":
                return
            kind = self.kinds.get(name) if "/" not in name else None
            members = self.lists.get(name, form.members)
            target = self.definitions.get(name.partition("/")[0], {})
            for part in name.split("/")[1:]:
                target = target.get(part, {})
            bare = kind is not None and kind.place.value_is is not None
            inside = form
            if kind is not None:
                inside = Form(target, None, kind.fields[str(kind.place.value_is)]) if bare else Form(target, kind)
            yield from self._leaves(replace(inside, schema=target, members=members, doc=doc), beside, shape, strict, depth + 1)
        own = {name: part for name, part in value.items() if name not in _STRUCTURE}
        if own.keys() - {"description"}:
            yield Form(own, form.kind, form.field, form.path, form.members, doc)

        def inner(schema: Schema) -> Iterator[Form]:
            return self._leaves(Form(schema, form.kind, form.field, form.path, form.members, doc), beside, shape, strict, depth + 1)

        for word in ("anyOf", "allOf", "oneOf"):
            for option in value.get(word, ()):
                if isinstance(option, Mapping):
                    yield from inner(option)
        if "if" in value:
            fits = _holds(value["if"], beside, shape, strict)
            if fits is not False and "then" in value:
                yield from inner(value["then"])
            if fits is not True and "else" in value:
                yield from inner(value["else"])


_STRUCTURE: Final = ("$ref", "anyOf", "allOf", "oneOf", "if", "then", "else", "not")
_KEYED: Final = frozenset({"properties", "items", "additionalProperties"})


def file_forms(language: Language, file: Sequence[Form], place: Place) -> list[Form]:
    """The forms of the map that contains a value."""
    forms = list(file)
    for step in place.path:
        forms = language._inside(forms, step.key, step.beside)
    return forms


def _holds(condition: Schema, beside: Mapping[str, str], shape: str, strict: bool) -> bool | None:
    """Whether a condition of the schema holds for a value of which only the shape and some keys are known; None if that is not known."""
    answers: list[bool | None] = []
    if "type" in condition:
        types = condition["type"]
        types = {types} if isinstance(types, str) else set(types)
        answers.append(shape in types or (shape == "scalar" and bool(types & {"string", "number", "boolean", "integer"})))
    if "required" in condition:
        missing = [key for key in condition["required"] if key not in beside]
        answers.append(True if not missing else False if strict else None)
    for key, value in condition.get("properties", {}).items():
        if key in beside and "pattern" in value:
            answers.append(re.search(value["pattern"], beside[key].strip("\"' ")) is not None)
    if "propertyNames" in condition and "enum" in condition["propertyNames"]:
        answers.append(all(key in condition["propertyNames"]["enum"] for key in beside))
    if "pattern" in condition:
        answers.append(False)  # whoever asks what may be written here is not asking about expressions
    if "anyOf" in condition:
        options = [_holds(option, beside, shape, strict) for option in condition["anyOf"]]
        answers.append(True if True in options else None if None in options else False)
    return False if False in answers else None if None in answers or not answers else True


# -- references ----------------------------------------------------------------------------------------------------------------------------


def referred(form: Form) -> str | None:
    """The kind that a text of this form refers to; None if it is not a reference."""
    if form.field is not None:
        own = next(_referred(form.field.type, form.path), None)
        if own is None and not form.path and form.field.role in (FieldRole.CHOICE, FieldRole.SEED, FieldRole.INSIDE, FieldRole.MEMBER):
            return form.field.to
        return own
    for member in form.members:
        if member.place.bare_is is not None and member.place.bare_is in member.fields:
            return referred(Form({}, None, member.fields[member.place.bare_is]))
    return None


def _referred(hint: Any, path: tuple[str | None, ...]) -> Iterator[str]:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        to = next((part for part in args[1:] if isinstance(part, To)), None)
        if to is None:
            yield from _referred(args[0], path)
        elif not path:
            yield to.kind
    elif origin in (Union, UnionType):
        for option in args:
            yield from _referred(option, path)
    elif origin in (Required, NotRequired):
        yield from _referred(args[0], path)
    elif is_typeddict(hint):
        if path and path[0] is not None:
            yield from _referred(get_type_hints(hint, include_extras=True).get(path[0]), path[1:])
    elif origin in (list, tuple, Sequence) and args:
        if path and path[0] is None:
            yield from _referred(args[0], path[1:])
    elif origin in (dict, Mapping) and len(args) > 1 and path:
        yield from _referred(args[1], path[1:])
