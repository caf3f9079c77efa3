"""Operations: changes of a project in the terms of its language, as an agent or a job proposes them.

    {"op": "set", "address": "acme/site/docs", "fields": {"visibility": "unlisted"}, "unset": ["proxy"]}
    {"op": "add", "address": "acme/space/faq", "in": "acme/collection/support", "after": "acme/space/help", "fields": {"title": "FAQ"}}
    {"op": "move", "address": "acme/space/faq", "in": "acme/collection/product"}
    {"op": "rename", "address": "acme/space/faq", "key": "questions"}
    {"op": "remove", "address": "acme/space/faq", "forget": true}
    {"op": "release", "address": "acme/site/docs/section/guides", "name": "v3", "from": "v2", "keep": 3, "default": true}

In: JSON data of anybody. Out: operations whose addresses, fields and values may be written. Raises `UsageError` for what is not an
operation, `Refused` for what only people change: rules, consents, secrets, and expressions, which could read any of these. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn, get_args

from reconciler.address import KEY_FORM, Address, is_key
from reconciler.config.keys import TOP
from reconciler.config.resources.shapes import KindShape, shapes
from reconciler.config.source.includes import INCLUDE
from reconciler.config.source.nodes import FOR_EACH, HOLE_OPENING
from reconciler.config.source.problems import shown
from reconciler.errors import Refused, UsageError
from reconciler.resource import RESERVED, Field, FieldRole, Kind, Kinds
from reconciler.text.names import a, did_you_mean, one_of

OPERATIONS_MAX: Final = 100
VALUES_MAX: Final = 20_000  # of one call
TEXT_MAX: Final = 256 * 1024  # characters of one text
DEPTH_MAX: Final = 40
ADDRESS_MAX: Final = 1_000  # characters
DIGITS_MAX: Final = 20

Op = Literal["set", "add", "move", "rename", "remove", "release"]
FORMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "flag": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 1},
    "fields": {"type": "object"},
    "address": {"type": "string"},
}
"""The JSON Schemas of the forms of arguments, also of those of tools for agents."""

# Addresses are read by `_address`.
_MUST_BE: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "text": ("text", lambda value: isinstance(value, str)),
    "texts": ("a list of names of fields", lambda value: isinstance(value, list) and all(isinstance(part, str) for part in value)),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "count": ("a number from 1", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1),
    "fields": ("an object: values by field", lambda value: isinstance(value, dict)),
}
_ARGUMENTS: Final[Mapping[str, tuple[tuple[Op, ...], str, str]]] = {
    "fields": (("set", "add"), "fields", "values by field, as in the YAML. add: also lists and maps of resources."),
    "unset": (("set",), "texts", "fields whose lines are removed."),
    "in": (("add", "move"), "address", "the resource whose list or map gets it."),
    "after": (("add", "move"), "address", "the sibling that it follows. Without it: last."),
    "first": (("add", "move"), "flag", "before all siblings."),
    "key": (("rename",), "text", "the new key."),
    "forget": (("remove",), "flag", "keep the object on the service, and stop managing it."),
    "name": (("release",), "text", "the new version, such as v3: its path, and a part of its key and title."),
    "from": (("release",), "text", "the version that it is a copy of. Without it: the newest."),
    "keep": (("release",), "count", "how many versions are shown, the new one included. Without it: all."),
    "default": (("release",), "flag", "readers find the new version first."),
}
"""What an operation has beside `op` and `address`: in which operations, its form, and what it means."""

KEYS: Final[dict[Op, tuple[str, ...]]] = {op: tuple(name for name, (ops, _, _) in _ARGUMENTS.items() if op in ops) for op in get_args(Op)}
"""The keys of each operation, beside `op` and `address`."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": OPERATIONS_MAX,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["op", "address"],
        "properties": {
            "op": {
                "enum": [*KEYS],
                "description": "set: change fields. add: declare a resource, with what it contains. move: to another list or position. "
                "rename: another key, everywhere. remove: with what it contains. release: the next version of a section.",
            },
            "address": {**FORMS["address"], "description": "The resource: ORGANIZATION/KIND/KEY/…; for add, the address that it gets."},
            **{name: {**FORMS[form], "description": f"{', '.join(ops)}: {says}"} for name, (ops, form, says) in _ARGUMENTS.items()},
        },
    },
}
"""The JSON Schema of a list of operations."""

CONSENT: Final = "is a rule or a consent, which only people change"
BY_HAND: Final = "Ask a person to edit the file."
_WHY: Final[Mapping[str, str]] = {
    "id": "decides which object is managed; only add accepts it",
    "key": "is the last part of its address: rename changes it",
    "previously": "is written by rename",
    FOR_EACH: "makes many resources of one entry; propose writes single resources",
}


@dataclass(frozen=True)
class EditOperation:
    """One change. `number`: its place in the call, from 1. `host`: what contains the resource in the YAML (`in`); None where that is not
    said. `key`: the new key of a rename, the name of a release. `forget`: write that the object is no longer managed. `source`, `keep` and
    `default`: of a release, see `release`."""

    number: int
    op: Op
    address: Address
    fields: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    host: Address | None = None
    after: Address | None = None
    first: bool = False
    key: str = ""
    forget: bool = False
    source: str = ""
    keep: int | None = None
    default: bool = False

    def __str__(self) -> str:
        return f"operation {self.number}, {self.op} {self.address}"

    def wrong(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise the error that the operation is none."""
        raise UsageError(f"{self}: {message}", id="RC-operation", hint=hint)

    def refuse(self, message: str, hint: str = BY_HAND) -> NoReturn:
        """Raise the error that only people may do this."""
        raise Refused(f"{self}: {message}", id="RC-not-proposed", hint=hint)


def operations(kinds: Kinds, data: Any) -> tuple[EditOperation, ...]:
    """The operations of a call, each checked alone. Raises `UsageError` and `Refused`."""
    if not isinstance(data, list) or not data:
        raise UsageError("operations must be a list with at least one operation", id="RC-operation", hint=_example())
    if len(data) > OPERATIONS_MAX:
        raise UsageError(f"{len(data):,} operations are too many: at most {OPERATIONS_MAX} are one proposal", id="RC-operation")
    if (reason := unwritable(data)) is not None:
        raise UsageError(f"the operations cannot be written: {reason}", id="RC-operation")
    return tuple(_operation(kinds, number, item) for number, item in enumerate(data, 1))


def _example() -> str:
    return 'Write [{"op": "set", "address": "ORGANIZATION/KIND/KEY", "fields": {"title": "…"}}].'


def unwritable(data: Any) -> str | None:
    """Why data cannot be the values of a YAML file; None if they can. Looks at it without recursion, because anybody may have sent it."""
    count, waiting = 0, [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if count > VALUES_MAX:
            return f"there are more than {VALUES_MAX:,} values"
        if depth > DEPTH_MAX:
            return f"there are more than {DEPTH_MAX} levels"
        match value:
            case dict():
                if not all(isinstance(key, str) for key in value):
                    return "a key is not a text"
                waiting += [(part, depth + 1) for pair in value.items() for part in pair]
            case list():
                waiting += [(part, depth + 1) for part in value]
            case str():
                if len(value) > TEXT_MAX:
                    return f"a text is longer than {TEXT_MAX:,} characters"
                if any("\ud800" <= character <= "\udfff" for character in value):
                    return "a text contains an incomplete character"
            case bool() | None:
                pass
            case int():
                if abs(value) >= 10**DIGITS_MAX:
                    return "a number is too large"
            case float():
                if not math.isfinite(value):
                    return f"{value} is not a number of JSON"
            case _:
                return f"{type(value).__name__} is not a type of JSON"
    return None


def _operation(kinds: Kinds, number: int, item: Any) -> EditOperation:
    where = f"operation {number}"
    if not isinstance(item, dict):
        raise UsageError(f"{where} must be an object", id="RC-operation", hint=_example())
    op = item.get("op")
    if not isinstance(op, str) or op not in KEYS:
        raise UsageError(f"{where}: op is {shown(op)}; {one_of([*KEYS])}{did_you_mean(str(op), KEYS)}", id="RC-operation")
    allowed = ("op", "address", *KEYS[op])
    for key in item:
        if key not in allowed:
            wrong = f"{where}: {op} has no {shown(key)}{did_you_mean(key, allowed) or '; ' + one_of(allowed)}"
            raise UsageError(wrong, id="RC-operation")
    about = _address(kinds, where, "address", item.get("address"))
    if about is None:
        raise UsageError(f"{where} lacks address", id="RC-operation", hint=_example())
    bare = EditOperation(number, op, about)
    for name in (name for name in KEYS[op] if name in item and _ARGUMENTS[name][1] in _MUST_BE):
        what, fits = _MUST_BE[_ARGUMENTS[name][1]]
        if not fits(item[name]):
            bare.wrong(f"{name} must be {what}, not {shown(item[name])}")
    operation = EditOperation(
        number, op, about, item.get("fields", {}), tuple(item.get("unset", ())), _address(kinds, where, "in", item.get("in")),
        _address(kinds, where, "after", item.get("after")), item.get("first", False),
        item.get("name" if op == "release" else "key", ""), item.get("forget", False),
        item.get("from", ""), item.get("keep"), item.get("default", False),
    )  # fmt: skip
    _complete(kinds, operation)
    _check_fields(kinds, operation)
    return operation


def _complete(kinds: Kinds, operation: EditOperation) -> None:
    """Raise `UsageError` where an operation says too little, or twice the same."""
    if operation.address.container is None and operation.op != "set":
        operation.refuse(f"which {kinds.roots[0].name}s a project manages is decided by people")
    match operation.op:
        case "set" if not operation.fields and not operation.unset:
            operation.wrong("it must have fields, or unset")
        case "set" if (both := next((name for name in operation.unset if name in operation.fields), None)) is not None:
            operation.wrong(f"{shown(both)} is both set and unset")
        case "add" | "move" if operation.first and operation.after is not None:
            operation.wrong("write either first or after")
        case "move" if operation.host is None and operation.after is None and not operation.first:
            operation.wrong("say where: in, after or first")
        case "rename" if not is_key(operation.key):
            operation.wrong(f"key is {shown(operation.key)}; {KEY_FORM}")
        case "release" if not is_key(operation.key):
            operation.wrong(f"name is {shown(operation.key)}; {KEY_FORM}")
        case _:
            pass


def _address(kinds: Kinds, where: str, name: str, text: Any) -> Address | None:
    """The address in a key of an operation; None without one."""
    if text is None:
        return None
    try:
        if not isinstance(text, str):
            raise ValueError(f"it must be the text of an address, not {shown(text)}")
        if len(text) > ADDRESS_MAX:
            raise ValueError(f"an address has at most {ADDRESS_MAX:,} characters")
        address = Address.parse(text)
    except ValueError as error:
        raise UsageError(f"{where}: {name}: {error}", id="RC-address-form") from None
    outer = None
    for at in range(1, len(address.parts), 2):
        part = address.parts[at]
        outer = kinds.roots[0].name if at == 1 else address.parts[at - 2]
        if part not in kinds:
            raise UsageError(f"{where}: {name}: there is no kind {shown(part)}{did_you_mean(part, kinds)}", id="RC-unknown-kind")
        if kinds[part].within != outer:
            form = "/".join(["KEY", *(step for kind in reversed([part, *kinds.containers(part)][:-1]) for step in (kind, "KEY"))])
            raise UsageError(f"{where}: {name}: {a(part)} is not directly inside {a(outer)}; write {form}", id="RC-address-form")
    if address.kind is not None and kinds[address.kind].one_per != address.is_singleton:
        ends = "a kind; add a key" if address.is_singleton else "a key, which it does not have"
        raise UsageError(f"{where}: {name}: {address} ends with {ends}", id="RC-address-form")
    return address


# -- fields --------------------------------------------------------------------------------------------------------------------------------


def _check_fields(kinds: Kinds, operation: EditOperation) -> None:
    """Raise where a field does not exist, or may not be proposed."""
    shape = shapes(kinds)[kinds.of(operation.address).name]
    for name in operation.unset:
        _refuse_protected(operation, shape, name)
        if name not in shape.readers and name not in shape.flags:
            operation.wrong(f"{a(shape.kind.name)} has no field {shown(name)}{did_you_mean(name, shape.keys)}")
        if (declared := shape.kind.fields.get(name)) is not None and declared.required:
            operation.wrong(f"{name} is required")
    _Checks(kinds, operation).resource(shape, operation.fields, "")


@dataclass(frozen=True)
class _Checks:
    """The checks of the values of one operation, at any depth."""

    kinds: Kinds
    operation: EditOperation

    def resource(self, shape: KindShape, values: Mapping[str, Any], within: str) -> None:
        """Check the values of a resource. `within`: the path to it in the operation, "" or with its last dot."""
        adds = self.operation.op == "add"
        for name, value in values.items():
            path = f"{within}{name}"
            if adds and within and name == shape.tag and name not in shape.readers:
                self._key(value, path)
            elif name in shape.readers:
                self._value(shape.readers[name].field, value, path)
            elif name in shape.flags:
                if not isinstance(value, bool):
                    self.operation.wrong(f"{path} must be true or false, not {shown(value)}")
            elif name in (*shape.sections, *shape.lists, *shape.singles):
                if not adds:
                    self.operation.wrong(f"{path} contains resources: use add, move and remove for them")
                self._contents(shape, name, value, path)
            elif adds and name == "id" and isinstance(value, str):
                pass
            elif adds and within and name == "key":
                self._key(value, path)
            elif name == shape.tag:
                self.operation.wrong(f"{path} is its key, which the address says")
            else:
                _refuse_protected(self.operation, shape, name)
                if str(self.operation.address) in TOP:
                    self.operation.refuse(f"{self.operation.address} is a key at the top of a file, and no resource")
                self.operation.wrong(f"{a(shape.kind.name)} has no field {shown(path)}{did_you_mean(name, shape.keys)}")

    def _contents(self, shape: KindShape, name: str, value: Any, path: str) -> None:
        """Check the resources of a map or a list, or a value that is one."""
        all_shapes = shapes(self.kinds)
        if name in shape.singles:
            kind = shape.singles[name]
            self._value(kind.fields[str(kind.place.value_is)], value, path)
        elif name in shape.sections:
            if not isinstance(value, dict):
                self.operation.wrong(f"{path} must be an object: resources by key")
            inner = all_shapes[shape.sections[name].name]
            for key, part in value.items():
                self._key(key, path)
                self._part(inner, part, f"{path}.{key}")
        else:
            if not isinstance(value, list):
                self.operation.wrong(f"{path} must be a list of resources")
            for number, part in enumerate(value):
                self._node(shape.lists[name], part, f"{path}[{number}]")

    def _node(self, members: Mapping[str, Kind], part: Any, path: str) -> None:
        """Check an item of a list of resources."""
        tags = [tag for tag in members if tag in part] if isinstance(part, dict) else []
        if isinstance(part, str) and any(kind.place.bare_is is not None for kind in members.values()):
            self._key(part, path)
        elif len(tags) == 1:
            self._part(shapes(self.kinds)[members[tags[0]].name], part, path)
        else:
            self.operation.wrong(f"{path} must have one of {', '.join(members)}")

    def _part(self, shape: KindShape, part: Any, path: str) -> None:
        """Check a resource inside another: a map, or the one value that it may be written as."""
        if isinstance(part, dict):
            self.resource(shape, part, f"{path}.")
        elif shape.bare is not None:
            self._value(shape.readers[shape.bare].field, part, path)
        else:
            self.operation.wrong(f"{path} must be an object: values by field")

    def _key(self, key: Any, path: str) -> None:
        if not isinstance(key, str) or not is_key(key) or key in (INCLUDE, FOR_EACH):
            self.operation.wrong(f"{shown(key)} in {path} is not a key; {KEY_FORM}")

    def _value(self, declared: Field, value: Any, path: str) -> None:
        """Check that a value is one that an agent may write."""
        if declared.role is FieldRole.LOCAL:
            self.operation.refuse(f"{path} {CONSENT}")
        if declared.sensitive:
            self.operation.refuse(f"{path} is a secret, and secrets are not proposed")
        computed = next((text for text in texts_in(value) if HOLE_OPENING in text), None)
        if computed is not None and (self.operation.op == "add" or any(HOLE_OPENING in key for key in _keys_in(value))):
            self.operation.refuse(f"{path} contains an expression, {shown(computed)}, and expressions are not proposed", "Write the value.")


def _refuse_protected(operation: EditOperation, shape: KindShape, name: str) -> None:
    """Raise where a name is that of a rule, a consent or a secret, or of what follows from the location."""
    declared = shape.kind.fields.get(name)
    if name in RESERVED:
        operation.refuse(f"{name} {_WHY.get(name, CONSENT)}")
    if name == shape.kind.place.key_is:
        operation.refuse(f"{name} is its key", "Use rename.")
    if declared is not None and declared.role is FieldRole.LOCAL:
        operation.refuse(f"{name} {CONSENT}")
    if declared is not None and declared.sensitive:
        operation.refuse(f"{name} is a secret, and secrets are not proposed")
    if declared is not None and not declared.written:
        operation.wrong(f"{name} is not a field that the YAML has: it follows from the location, or the service sets it")


def texts_in(value: Any) -> Iterator[str]:
    """Every text in data, keys included."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, Sequence):
            waiting += part


def _keys_in(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield from part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
