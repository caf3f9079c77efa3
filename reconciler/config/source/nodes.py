"""The evaluated configuration: maps, lists and scalars with their positions in the files, expressions replaced by their values.

Plain data between reading and the rest of this package. The value of an expression has the position of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.model import Source
from reconciler.text.private_keys import has_private_key

HOLE_OPENING: Final = "${{"
SECRET: Final = re.compile(r"secrets(\.\S.*)?", re.DOTALL)  # a taint that names a secret, not a variable
UNREAD: Final = object()
"""The value of a scalar without an expression: its text is its value."""
UNKNOWN: Final = object()
"""The value of an expression that uses a secret which is not decrypted, where only names are checked."""


# A class of its own, because it travels through everything that accepts texts and must be recognized at the end.
class StandIn(str):
    """A placeholder text for an unknown value, which it names."""

    __slots__ = ()


def holds_expression(text: str) -> bool:
    """Whether a scalar has to be evaluated (also if only to turn `$${{` into text)."""
    return HOLE_OPENING in text


# The way to write the opening itself, as in shells and Terraform ($${).
ESCAPED: Final = "$${{"
_MARKS: Final = re.compile(r"\$?\$\{\{")


def literal(text: str) -> str | None:
    """The text that `$${{` stands for, where nothing is evaluated; None if it contains an expression."""
    if HOLE_OPENING not in text:
        return text
    return None if HOLE_OPENING in _MARKS.findall(text) else text.replace(ESCAPED, HOLE_OPENING)


def literals(value: Any) -> Any:
    """Data without expressions, in which `$${{` is `${{`."""
    if isinstance(value, str):
        return value.replace(ESCAPED, HOLE_OPENING)
    if isinstance(value, dict):
        return {literals(key): literals(part) for key, part in value.items()}
    return [literals(part) for part in value] if isinstance(value, list) else value


def first_expression(node: Node) -> Scalar | None:
    """The first scalar in a node that contains an expression as written."""
    return next((scalar for scalar in scalars(node) if literal(scalar.text) is None), None)


# `slots`: a project of 10,000 resources has 60,000 of these, and a dictionary in each would double their size.
# `eq=False`: nodes are compared by identity; two fields with the same text are not the same node.
@dataclass(slots=True, eq=False)
class Scalar:
    """One scalar. `text`: as written. `plain`: without quotes. `value`: the result of an expression, else UNREAD. `taint`: its source, if
    that is the environment. `computed`: the node itself is an expression, and not part of the result of one."""

    at: Source
    text: str
    plain: bool = True
    value: Any = UNREAD
    taint: tuple[str, ...] = ()
    computed: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing is written."""
        return self.plain and not self.text and self.value is UNREAD

    @property
    def null(self) -> bool:
        """Whether it is `null`, written or computed (an empty value is not `null`)."""
        if self.value is not UNREAD:
            return self.value is None
        return self.plain and self.text in _NULLS

    def core(self) -> Any:
        """Its value by the core schema of YAML 1.2."""
        return self.value if self.value is not UNREAD else core(self.text) if self.plain else self.text


@dataclass(slots=True, eq=False)
class MapEntry:
    """One key of a map and its value."""

    key: str
    at: Source
    node: Node


@dataclass(slots=True, eq=False)
class Map:
    """A map in the order of the file; the reader refuses duplicate keys."""

    at: Source
    entries: dict[str, MapEntry]


@dataclass(slots=True, eq=False)
class List:
    """A list. `computed`: it is an expression."""

    at: Source
    items: list[Node]
    computed: bool = False


@dataclass(frozen=True)
class Each:
    """One element of a `forEach`. `at`: the position of the `forEach`; `element`: the element's name in messages; `value`: the collection
    as written; `place`: the position of the element, if known."""

    at: Source
    element: str
    value: str
    place: Source


@dataclass(eq=False)
class NestedForEach(Map):
    """A map with `forEach` in the result of another one. `scope`: evaluates its expressions."""

    scope: Any


@dataclass(eq=False)
class Generated(Map):
    """The results of a `forEach` for one element."""

    each: Each


Node = Scalar | Map | List

FOR_EACH: Final = "forEach"


def first_unevaluated(node: Node) -> Scalar | None:
    """The first scalar of a value with an expression that was not evaluated: it is in a map with `forEach`."""
    return next((scalar for scalar in scalars(node) if scalar.value is UNREAD and holds_expression(scalar.text)), None)


# YAML 1.2, section 10.3.2 (core schema). In YAML 1.1 `no`, `off` and `y` were booleans, 0777 was octal and 1:30 a number of seconds: the
# "Norway problem". A text field takes the text as it is written anyway (`Scalar.text`).
_NULLS: Final = frozenset({"null", "Null", "NULL", "~"})
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER_START: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)
_DIGITS_MAX: Final = 400  # a longer integer stays text: int() grows with the square of the length


def core(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2: `no` is a text, `0o7` a number."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if not text or text in _NULLS:
        return None
    # Nearly every scalar is a text: one look at its first character instead of four expressions.
    if text[0] not in _NUMBER_START or len(text) > _DIGITS_MAX:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def inexact_number(node: Node) -> Scalar | None:
    """The first number in a node that looks different as a value: `1.10` is 1.1, `0x1F` is 31. None if there is none."""
    written = (scalar for scalar in scalars(node) if scalar.plain and scalar.value is UNREAD and scalar.text)
    return next((scalar for scalar in written if loses_text(scalar.text)), None)


def loses_text(text: str) -> bool:
    """Whether a plain scalar is a number that is written in another way when it becomes text again."""
    value = core(text) if text[:1] in _NUMBER_START else text
    return not isinstance(value, str) and str(value) != text


def lifted(value: Any, at: Source, taint: tuple[str, ...] = ()) -> Node:
    """The value of an expression as nodes, all at the position of the expression."""
    if isinstance(value, Mapping):
        return Map(at, {str(key): MapEntry(str(key), at, lifted(part, at, taint)) for key, part in value.items()})
    if isinstance(value, list | tuple):
        return List(at, [lifted(part, at, taint) for part in value])
    return Scalar(at, value if isinstance(value, str) else "", False, value, taint)


def parts_of(node: Map | List) -> list[Node]:
    """What is directly in a map or a list."""
    return node.items if isinstance(node, List) else [entry.node for entry in node.entries.values()]


def copied(node: Node, at: Callable[[Source], Source] = lambda source: source) -> Node:
    """A copy of nodes as they were read, because evaluation changes nodes. `at`: their positions in the copy."""
    if isinstance(node, Scalar):
        return Scalar(at(node.at), node.text, node.plain)
    if isinstance(node, List):
        return List(at(node.at), [copied(item, at) for item in node.items])
    return Map(at(node.at), {key: MapEntry(key, at(entry.at), copied(entry.node, at)) for key, entry in node.entries.items()})


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar in a node."""
    if isinstance(node, Scalar):
        yield node
    else:
        for part in parts_of(node):
            yield from scalars(part)


def first_tainted(node: Node) -> Scalar | None:
    """The first scalar in a node that came from the environment or from a secret."""
    if isinstance(node, Scalar):
        return node if node.taint else None  # called for every value of a project, and nearly every value is a scalar
    return next((scalar for scalar in scalars(node) if scalar.taint), None)


def plain(node: Node) -> Any:
    """A node as data, scalars by the core schema."""
    if isinstance(node, Map):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, List):
        return [plain(item) for item in node.items]
    return node.core()


def first_private_key(node: Node) -> Scalar | None:
    """The first scalar in a node that contains a private key."""
    if isinstance(node, Scalar):
        text = node.text if node.value is UNREAD else node.value
        return node if isinstance(text, str) and has_private_key(text) else None
    if isinstance(node, Map) and any(map(has_private_key, node.entries)):
        return Scalar(node.at, "", False)  # a key of the map is one: at the position of the map, as no message may show it
    return next((scalar for part in parts_of(node) if (scalar := first_private_key(part)) is not None), None)


def unknown(node: Node) -> bool:
    """Whether a part of a node is not decrypted."""
    return any(scalar.value is UNKNOWN for scalar in scalars(node))


def is_stand_in(node: Node) -> bool:
    """Whether a part of a node has no known value."""
    return any(isinstance(scalar.value, StandIn) for scalar in scalars(node))
