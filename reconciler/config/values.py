"""Convert the node of one field to its written form: scalars by the field's type, then the field's own validation.

In: a node of the evaluated configuration. Out: the value as the engine stores it, references still `Named` or `Foreign`, or INVALID, the
problems reported at their positions. Annotations are compiled once per kind. Forbidden: knowledge of any kind, I/O.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions
from pydantic import TypeAdapter, ValidationError

from reconciler.config.source.nodes import UNREAD, List, Map, Node, Scalar, StandIn, first_tainted, is_stand_in, plain, scalars, unknown
from reconciler.config.source.problems import (
    ProblemReport,
    described,
    described_or_nothing,
    empty,
    read_from_file,
    shown,
    untainted,
    without_private_key,
    wrong_form,
)
from reconciler.model import Source
from reconciler.resource import Field, FieldRole, Kind, To, WithheldError
from reconciler.text.names import a, did_you_mean, one_of

INVALID: Final = object()
"""The result for an invalid value, whose problem is reported."""

_REFERENCE = "write the key of {kind}, or {{id: …}} for one outside the project"

Convert = Callable[[Node, str, ProblemReport], Any]
"""Converts a node to the data that its type requires; the text is its name in messages (`source.url`)."""


class Outside(dict[str, str]):
    """`{id: …}` as data that a set can hold."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.get("id"))


@dataclass(frozen=True, eq=False)
class FieldReader:
    """Reads the values of one field. `name`: its key in the YAML. `convert` makes the data that its type requires of a node, with messages
    about YAML (`must be a list, not "a"`); `validate` is pydantic's, which alone decides what the type accepts."""

    field: Field
    convert: Convert
    name: str

    @cached_property
    def validate(self) -> Callable[..., Any]:
        # Compiled when the first value is read: a project uses a third of the fields, and each takes half a millisecond.
        return adapter(self.field.type).validator.validate_python

    def read(self, node: Node, report: ProblemReport) -> Any:
        """The written form, or INVALID; reports every problem found."""
        name, field = self.name, self.field
        if (node.__class__ is not Scalar or isinstance(node.value, StandIn)) and is_stand_in(node):
            return plain(node)
        secret_allowed = field.sensitive or field.secret_allowed
        # A secret in a title would be published. Checked before anything else: no message about the value may show it.
        if not secret_allowed and not untainted(node, name, report):
            return INVALID
        # A certificate field with the whole PEM file in it, key included, is a mistake that people make.
        if secret_allowed and not field.sensitive and not without_private_key(node, name, report):
            return INVALID
        tainted = first_tainted(node) if secret_allowed else None
        if tainted is not None:
            if unknown(node):
                return INVALID  # it cannot be checked, and is not used
            report = _hiding(report, name, tainted)
        if isinstance(node, Scalar) and node.empty:
            report(node.at, empty(name), id="RC-no-value")
            return INVALID
        if isinstance(node, Scalar) and node.null:
            if field.clear:
                return None
            report(node.at, f"{name} cannot be cleared; remove the line to stop managing it", id="RC-not-clearable")
            return INVALID
        failed = False

        def noted(at: Source, message: str, *, id: str) -> None:
            nonlocal failed
            failed = True
            report(at, message, id=id)

        value = self.convert(node, name, noted)
        if failed:
            return INVALID
        try:
            return self.validate(value, strict=True)
        except ValidationError as error:
            # Nothing is said about a secret: joined with texts of several lengths, a limit would measure it. The service checks the value.
            if tainted is not None:
                return value
            for mistake in error.errors(include_url=False):
                part = _part(node, mistake["loc"])
                report(part.at, sentence(name, mistake, part), id=cause_of_value(mistake))
            return INVALID


def _hiding(report: ProblemReport, name: str, tainted: Scalar) -> ProblemReport:
    """Reports that a value is wrong without its value and the reason, which could reveal a part of it."""

    def hidden(at: Source, message: str, *, id: str) -> None:
        report(tainted.at, f"{name} is not valid; the reason is hidden because it uses {', '.join(tainted.taint)}", id="RC-hidden-reason")

    return hidden


def readers(kind: Kind) -> dict[str, FieldReader]:
    """A reader for each field that users write, including the one that is the key."""
    fields = {name: field for name, field in kind.fields.items() if field.role in (FieldRole.VALUE, FieldRole.SEED, FieldRole.LOCAL)}
    whole = {kind.place.value_is: kind.place.section_in(kind.within)}
    return {name: FieldReader(field, compiled(field.type), whole.get(name, name)) for name, field in fields.items()}


# -- by type -----------------------------------------------------------------------------------------------------------------------


def compiled(hint: Any) -> Convert:
    """The conversion of nodes for a type; types without a rule here use the core schema."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        to = next((part for part in args[1:] if isinstance(part, To)), None)
        return compiled(args[0]) if to is None else _reference(to.kind)
    if origin in (Union, UnionType):
        options = [part for part in args if part is not type(None)]
        return _nullable(compiled(options[0])) if len(options) == 1 else _anything
    if origin in (Required, NotRequired):
        return compiled(args[0])
    if hint is str or (origin is Literal and all(isinstance(part, str) for part in args)):
        return _text
    if hint in (bool, int, float):
        return {bool: _boolean, int: _integer, float: _number}[hint]
    if typing_extensions.is_typeddict(hint):
        return _record(hint)
    collection = origin or hint
    if collection in (list, tuple, set, frozenset, collections.abc.Sequence):
        return _list(collection, compiled(args[0]) if args else _anything)
    if collection in (dict, collections.abc.Mapping):
        return _mapping(compiled(args[1]) if args else _anything)
    return _anything


def _anything(node: Node, name: str, report: ProblemReport) -> Any:
    return plain(node)


def _nullable(inner: Convert) -> Convert:
    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        return None if isinstance(node, Scalar) and node.null else inner(node, name, report)

    return convert


def _text(node: Node, name: str, report: ProblemReport) -> Any:
    if isinstance(node, Scalar):
        if node.value is UNREAD and not node.null and not node.empty:
            return node.text
        if isinstance(node.value, str):
            return node.value
        if node.value is not UNREAD and node.value is not None:
            wrong = f"{name} is text, but the expression is {described(node)}; declare the variable with type: string"
            report(node.at, wrong, id="RC-text-expected")
            return INVALID
    report(node.at, f"{name} must be text, not {described_or_nothing(node)}", id=wrong_form(node))
    return INVALID


def _scalar(types: Any, must: str, id: str) -> Convert:
    """The conversion of a value that YAML's core schema reads as one of these types."""

    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        value = node.core() if isinstance(node, Scalar) else None
        # In Python a boolean is an integer too.
        if isinstance(value, types) and (types is bool or not isinstance(value, bool)):
            return value
        report(node.at, f"{name} must be {must}, not {described_or_nothing(node)}", id=id or wrong_form(node))
        return INVALID

    return convert


_boolean: Final = _scalar(bool, "true or false", "")
_integer: Final = _scalar(int, "a whole number", "RC-not-a-number")
_real: Final = _scalar(int | float, "a number", "RC-not-a-number")


def _number(node: Node, name: str, report: ProblemReport) -> Any:
    value = _real(node, name, report)
    return value if value is INVALID else float(value)


def _reference(kind: str) -> Convert:
    wanted = _REFERENCE.format(kind=a(kind))

    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        if isinstance(node, Scalar) and not node.null and not node.empty:
            if node.value is UNREAD or isinstance(node.value, str):
                return node.text
        elif isinstance(node, Map) and set(node.entries) == {"id"}:
            return Outside(id=_text(node.entries["id"].node, f"{name}.id", report))
        report(node.at, f"{name} is not {described_or_nothing(node)}; {wanted}", id=wrong_form(node))
        return INVALID

    return convert


def _list(collection: Any, inner: Convert) -> Convert:
    unordered = collection in (set, frozenset)

    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        if not isinstance(node, List):
            null = isinstance(node, Scalar) and node.null
            report(
                node.at,
                f"{name} must be a list, not {described_or_nothing(node)}; write {'[]' if null else _listed(node)}",
                id=wrong_form(node),
            )
            return INVALID
        values = [inner(item, f"{name}[{index}]", report) for index, item in enumerate(node.items)]
        if unordered:
            seen: set[Any] = set()
            for item, value in zip(node.items, values, strict=True):
                if value in seen and value is not INVALID:
                    report(item.at, f"{name} names {described(item)} twice", id="RC-value-twice")
                seen.add(value)
        return collection(values) if collection in (tuple, set, frozenset) else values

    return convert


def _listed(node: Node) -> str:
    """What to write: the same value as a list of one, if it is a plain word; the expression that reads the file, if it names one."""
    if reads := read_from_file(node):
        return reads
    if isinstance(node, Scalar) and node.plain and node.value is UNREAD and node.text and not set(node.text) & set(" ,[]{}:#&*"):
        return f"[{node.text}]"
    return "[…]"


def _mapping(inner: Convert) -> Convert:
    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        if not isinstance(node, Map):
            report(
                node.at,
                f"{name} must be a map, not {described_or_nothing(node)}; write {read_from_file(node) or '{…}'}",
                id=wrong_form(node),
            )
            return INVALID
        return {key: inner(entry.node, f"{name}.{key}", report) for key, entry in node.entries.items()}

    return convert


def _record(hint: Any) -> Convert:
    hints = get_type_hints(hint, include_extras=True)
    parts = {key: compiled(part) for key, part in hints.items()}
    required = sorted(key for key in hint.__required_keys__ if get_origin(hints[key]) is not NotRequired)

    def convert(node: Node, name: str, report: ProblemReport) -> Any:
        if not isinstance(node, Map):
            reads = f"; write {text}" if (text := read_from_file(node)) else ""
            report(node.at, f"{name} is a map with {', '.join(parts)}, not {described_or_nothing(node)}{reads}", id=wrong_form(node))
            return INVALID
        for key, entry in node.entries.items():
            if key not in parts:
                report(entry.at, f'{name} has no "{key}"{did_you_mean(key, parts)}', id="RC-unknown-field")
        for key in required:
            if key not in node.entries:
                report(node.at, f"{name} lacks {key}", id="RC-missing-field")
        record = {}
        for key, entry in node.entries.items():
            if isinstance(entry.node, Scalar) and entry.node.empty:
                report(entry.node.at, empty(f"{name}.{key}"), id="RC-no-value")
            elif key in parts:
                record[key] = parts[key](entry.node, f"{name}.{key}", report)
        return record

    return convert


# -- references --------------------------------------------------------------------------------------------------------------------


def references_in(hint: Any, node: Node) -> Iterator[tuple[Scalar, str]]:
    """The texts of a node that a type reads as references, each with the kind; every text, without a kind, where the type says nothing
    about the inside of its values."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        to = next((part for part in args[1:] if isinstance(part, To)), None)
        if to is None:
            yield from references_in(args[0], node)
        elif isinstance(node, Scalar):
            yield node, to.kind
    elif origin in (Union, UnionType):
        for option in args:
            yield from references_in(option, node)
    elif origin in (Required, NotRequired):
        yield from references_in(args[0], node)
    elif hint is Any:
        yield from ((scalar, "") for scalar in scalars(node))
    elif typing_extensions.is_typeddict(hint) and isinstance(node, Map):
        hints = get_type_hints(hint, include_extras=True)
        for key, entry in node.entries.items():
            yield from references_in(hints.get(key), entry.node)
    elif isinstance(node, List) and args and (origin or hint) in (list, tuple, set, frozenset, collections.abc.Sequence):
        for item in node.items:
            yield from references_in(args[0], item)
    elif isinstance(node, Map) and len(args) > 1 and (origin or hint) in (dict, collections.abc.Mapping):
        for entry in node.entries.values():
            yield from references_in(args[1], entry.node)


# -- validation --------------------------------------------------------------------------------------------------------------------


@functools.cache
def adapter(hint: Any) -> TypeAdapter[Any]:
    """Validates data of a type; compiled once per process, and only on request."""
    return TypeAdapter(hint)


def _part(node: Node, path: tuple[int | str, ...]) -> Node:
    """The node at pydantic's path, as far as it can be followed."""
    for part in path:
        if isinstance(node, Map) and isinstance(part, str) and part in node.entries:
            node = node.entries[part].node
        elif isinstance(node, List) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
    return node


# -- pydantic's errors in the sentences of this program -----------------------------------------------------------------------------------

_LIMITS: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "multiple_of": "a multiple of {multiple_of}",
}

_LENGTHS: Final = frozenset({"string_too_long", "string_too_short", "too_long", "too_short"})


def sentence(name: str, error: Any, node: Node) -> str:
    """One problem of one value. `error` is an item of `ValidationError.errors()`; `name` the field's."""
    path = name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"] if _telling(part))
    kind, context, value = error["type"], error.get("ctx", {}), error["input"]
    if kind in _LIMITS:
        limits = {name: f"{limit:g}" if isinstance(limit, int | float) else limit for name, limit in context.items()}
        return f"{path} is {described(node)}; the service allows {_LIMITS[kind].format(**limits)}"
    wording = _SENTENCES.get(kind)
    if wording is not None:
        return wording(path, value, context)
    if isinstance(context.get("error"), WithheldError):
        return f"{path} {context['error']}"
    message = str(error["msg"]).replace("{{", "{").replace("}}", "}")  # a message without values comes with its braces still doubled
    if kind == "value_error":
        message = message.removeprefix("Value error, ")
    return f"{path} is {shown(value) if isinstance(value, str | int | float) else described(node)}; {message[:1].lower()}{message[1:]}"


def cause_of_value(error: Any) -> str:
    """The id of what is wrong with a value. `error` is an item of `ValidationError.errors()`."""
    kind = error["type"]
    if kind in _LIMITS or kind in _LENGTHS:
        return "RC-out-of-range"
    return "RC-unknown-choice" if kind == "literal_error" else "RC-value-not-accepted"


def _telling(part: Any) -> bool:
    """Whether a part of pydantic's path comes from the user (pydantic adds names of types and validators)."""
    return isinstance(part, int) or (isinstance(part, str) and part.isidentifier() and part not in ("str", "int", "float", "bool"))


def _literal(path: str, value: Any, context: Any) -> str:
    try:
        options = [str(option) for option in ast.literal_eval("[" + str(context["expected"]).replace(" or ", ", ") + "]")]
    except (SyntaxError, ValueError):
        return f"{path} is {shown(value)}; expected {context['expected']}"
    return f"{path} is {shown(value)}; {one_of(options)}{did_you_mean(str(value), options)}"


def _short(path: str, value: Any, context: Any) -> str:
    length = f"{len(value)} character{'s' if len(value) != 1 else ''} long" if value else "empty"
    return f"{path} is {length}; the service requires at least {context['min_length']}"


_SENTENCES: Mapping[str, Callable[[str, Any, Any], str]] = {
    "string_too_long": lambda path, value, limits: f"{path} is {len(value)} characters long; the service allows {limits['max_length']}",
    "string_too_short": _short,
    "too_long": lambda path, _, limits: f"{path} has {limits['actual_length']} items; the service allows {limits['max_length']}",
    "too_short": lambda path, _, limits: (
        f"{path} has {limits['actual_length']} items; the service requires at least {limits['min_length']}"
    ),
    "literal_error": _literal,
    "string_pattern_mismatch": lambda path, value, limits: f"{path} is {shown(value)}, which does not match {limits['pattern']}",
}
