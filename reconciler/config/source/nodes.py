"""The evaluated configuration: maps, lists and scalars with their positions in the files, expressions replaced by their values.

Plain data between reading and the rest of this package. The value of an expression has the position of the expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from reconciler.address import Address, Glob
from reconciler.errors import Problem
from reconciler.model import Source
from reconciler.text.credentials import without_credentials
from reconciler.text.private_key import has_private_key

PROBLEMS_MAX: Final = 1_000  # of a project; nobody reads more, and suggestions take time
MARK: Final = "${{"
SECRET: Final = re.compile(r"secrets(\.\S.*)?", re.DOTALL)  # a taint that names a secret, not a variable
UNREAD: Final = object()
"""The value of a scalar without an expression: its text is its value."""
UNKNOWN: Final = object()
"""The value of an expression that uses a secret which is not decrypted, where only names are checked."""


class StandIn(str):
    """A placeholder text for an unknown value, which it names."""

    __slots__ = ()


def holds_expression(text: str) -> bool:
    """Whether a scalar has to be evaluated (also if only to turn `$${{` into text)."""
    return MARK in text


ESCAPED: Final = "$${{"
_MARKS: Final = re.compile(r"\$?\$\{\{")


def literal(text: str) -> str | None:
    """The text that `$${{` stands for, where nothing is evaluated; None if it contains an expression."""
    if MARK not in text:
        return text
    return None if MARK in _MARKS.findall(text) else text.replace(ESCAPED, MARK)


def literals(value: Any) -> Any:
    """Data without expressions, in which `$${{` is `${{`."""
    if isinstance(value, str):
        return value.replace(ESCAPED, MARK)
    if isinstance(value, dict):
        return {literals(key): literals(part) for key, part in value.items()}
    return [literals(part) for part in value] if isinstance(value, list) else value


def first_expression(node: Node) -> Scalar | None:
    """The first scalar in a node that contains an expression as written."""
    return next((scalar for scalar in scalars(node) if literal(scalar.text) is None), None)


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

EACH_ITS_OWN: Final = "each element needs its own, so write an expression with each"
FOR_EACH: Final = "forEach"


def first_unevaluated(node: Node) -> Scalar | None:
    """The first scalar of a value with an expression that was not evaluated: it is in a map with `forEach`."""
    if isinstance(node, Scalar):
        return node if node.value is UNREAD and holds_expression(node.text) else None
    parts = [entry.node for entry in node.entries.values()] if isinstance(node, Map) else node.items
    return next((scalar for part in parts if (scalar := first_unevaluated(part)) is not None), None)


_NULLS: Final = frozenset({"null", "Null", "NULL", "~"})
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER_START: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)
_JSON_FILE: Final = re.compile(r"[\w./-]{1,200}\.json")
_DIGITS_MAX: Final = 400  # a longer integer stays text: int() grows with the square of the length


def core(text: str) -> Any:
    """A plain scalar by the core schema of YAML 1.2: `no` is a text, `0o7` a number."""
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if not text or text in _NULLS:
        return None
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
    if isinstance(node, Scalar):
        return node if node.plain and node.value is UNREAD and node.text and loses_text(node.text) else None
    parts = node.items if isinstance(node, List) else [entry.node for entry in node.entries.values()]
    return next((scalar for part in parts if (scalar := inexact_number(part)) is not None), None)


def loses_text(text: str) -> bool:
    """Whether a plain scalar is a number that is written in another way when it becomes text again."""
    value = core(text) if text[:1] in _NUMBER_START else text
    return not isinstance(value, str) and str(value) != text


def quote_number(text: str) -> str:
    """The message about such a number, after what it is: `1.10 is a number and means 1.1; quote it to keep its text: "1.10"`."""
    return f'{text} is a number and means {core(text)}; quote it to keep its text: "{text}"'


def lifted(value: Any, at: Source, taint: tuple[str, ...] = ()) -> Node:
    """The value of an expression as nodes, all at the position of the expression."""
    if isinstance(value, Mapping):
        return Map(at, {str(key): MapEntry(str(key), at, lifted(part, at, taint)) for key, part in value.items()})
    if isinstance(value, list | tuple):
        return List(at, [lifted(part, at, taint) for part in value])
    return Scalar(at, value if isinstance(value, str) else "", False, value, taint)


def scalars(node: Node) -> Iterator[Scalar]:
    """Every scalar in a node."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Map):
        for entry in node.entries.values():
            yield from scalars(entry.node)
    else:
        for item in node.items:
            yield from scalars(item)


def first_tainted(node: Node) -> Scalar | None:
    """The first scalar in a node that came from the environment or from a secret. (Called for every value: hence no generator.)"""
    if isinstance(node, Scalar):
        return node if node.taint else None
    for part in node.items if isinstance(node, List) else [entry.node for entry in node.entries.values()]:
        scalar = first_tainted(part)
        if scalar is not None:
            return scalar
    return None


def plain(node: Node) -> Any:
    """A node as data, scalars by the core schema."""
    if isinstance(node, Map):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, List):
        return [plain(item) for item in node.items]
    return node.core()


def described(node: Node) -> str:
    """A node's value in a message: `a list`, `"yes"`."""
    if isinstance(node, Map):
        return "a map"
    if isinstance(node, List):
        return "a list"
    if node.taint:
        return "a hidden value"
    if node.null:
        return "null"
    value = node.core()
    return shown(value) if isinstance(value, str) or node.value is not UNREAD else node.text


def described_or_nothing(node: Node) -> str:
    """The same, but `nothing` if no value is written."""
    return "nothing" if isinstance(node, Scalar) and node.empty else described(node)


def shown(value: Any) -> str:
    """A value in a message, quoted and truncated."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)[:60]
    value = without_credentials(value)
    first = (value.splitlines() or [""])[0]  # a message is one line, whatever its values contain
    return f'"{first}"' if first == value and len(value) <= 60 else f'"{first[:59]}…"'


class Enough(Exception):
    """So many problems were reported that checking stops."""


@dataclass
class Problems:
    """Collects problems. `about` is the address that a message is about, if there is one.

    `partial`: a file could not be read, so missing names may be defined in it. `settled`: positions without further problems.
    """

    found: list[Problem]
    partial: bool = False
    settled: set[tuple[str, int, int]] = field(default_factory=set)
    _said: set[tuple[Source, str]] = field(default_factory=set)

    def add(self, at: Source, message: str, about: Address | str | None = None, *, id: str) -> None:
        """Report a problem with the id of its cause, unless its position is settled, or it was reported for another element of the same
        `forEach`."""
        if (at.file, at.line, at.column) not in self.settled and (at, message) not in self._said:
            self._said.add((at, message))
            text = message if about is None else f"{about}: {message}"
            self._note(Problem(at.file, at.line, at.column, text, id=id))

    def absent(self, at: Source, message: str, about: Address | str | None = None, *, id: str) -> None:
        """Report that a name is used and not declared."""
        if not self.partial:
            self.add(at, message, about, id=id)

    def settle(self, problem: Problem) -> None:
        """Report a problem that makes others at its position redundant."""
        self._note(problem)
        self.settled.add((problem.file, problem.line, problem.column))

    def _note(self, problem: Problem) -> None:
        self.found.append(
            replace(problem, message=problem.message.replace("\n", "\\n").replace("\r", "\\r"))
        )  # one line each, whatever a key contains
        if len(self.found) >= PROBLEMS_MAX:
            raise Enough

    def glob(self, text: str, at: Source) -> Glob | None:
        """An address or a pattern of addresses; None, with a problem, if it is neither."""
        try:
            return Glob.parse(text)
        except ValueError as error:
            self.add(at, str(error), id="RC-address-form")
            return None

    def about(self, address: Address | str | None) -> ProblemReport:
        """A reporter for one address."""

        def report(at: Source, message: str, *, id: str) -> None:
            self.add(at, message, address, id=id)

        return report


class ProblemReport(Protocol):
    """Reports a problem at a position, with the id of the cause."""

    def __call__(self, at: Source, message: str, *, id: str) -> None: ...


class Mistake(NamedTuple):
    """A problem whose position is not known yet. `id`: of the cause."""

    id: str
    message: str


# -- messages about any value -------------------------------------------------------------


def read_from_file(node: Node) -> str:
    """The expression that reads the JSON file which a text names; "" if it names none."""
    if isinstance(node, Scalar) and node.value is UNREAD and _JSON_FILE.fullmatch(node.text) is not None:
        return f'${{{{ json(file("{node.text}")) }}}}'
    return ""


def wrong_form(node: Node) -> str:
    """The id of the cause if a value has the wrong form: it is missing, or of another type."""
    return "RC-no-value" if isinstance(node, Scalar) and node.empty else "RC-wrong-form"


def empty(name: str) -> str:
    return f"{name} has no value; write one, or remove the line"


def untainted(node: Node, name: str, report: ProblemReport) -> bool:
    """Whether no part of a node is a secret: none came from the environment or from a secret, or is a private key; else reports it."""
    tainted = first_tainted(node)
    if tainted is not None:
        report(tainted.at, exposed(name, tainted.taint), id="RC-would-show-secret")
        return False
    return without_private_key(node, name, report)


def without_private_key(node: Node, name: str, report: ProblemReport) -> bool:
    """Whether no part of a node is a private key; reports the first that is."""
    key = first_private_key(node)
    if key is not None:
        wrong = f"{name} contains a private key, which would be sent and stored; remove it, or write ... for the key if it is an example"
        report(key.at, wrong, id="RC-private-key")
        return False
    return True


def first_private_key(node: Node) -> Scalar | None:
    """The first scalar in a node that contains a private key."""
    if isinstance(node, Scalar):
        text = node.text if node.value is UNREAD else node.value
        return node if isinstance(text, str) and has_private_key(text) else None
    if isinstance(node, Map):
        key = next((entry.key for entry in node.entries.values() if has_private_key(entry.key)), None)
        if key is not None:
            return Scalar(node.at, "", False)
    parts = node.items if isinstance(node, List) else [entry.node for entry in node.entries.values()]
    return next((scalar for part in parts if (scalar := first_private_key(part)) is not None), None)


def exposed(name: str, taint: tuple[str, ...]) -> str:
    """The message if a value that may be a secret would be shown."""
    secrets = [source for source in taint if SECRET.fullmatch(source)]
    if secrets:
        return f"{name} would show a secret ({', '.join(secrets)}); secrets are only allowed in sensitive fields"
    ways = " ".join(f"--public-var {source}" for source in taint)
    return f"{name} would show a value from the environment ({', '.join(taint)}), which may be a secret; if it is not, pass {ways}"


def unknown(node: Node) -> bool:
    """Whether a part of a node is not decrypted."""
    return first_tainted(node) is not None and any(scalar.value is UNKNOWN for scalar in scalars(node))


def is_stand_in(node: Node) -> bool:
    """Whether a part of a node has no known value."""
    if isinstance(node, Scalar):
        return isinstance(node.value, StandIn)
    return any(is_stand_in(part) for part in (node.items if isinstance(node, List) else [entry.node for entry in node.entries.values()]))
