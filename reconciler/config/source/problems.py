"""The problems of a project, and how messages word what is wrong with any value.

All problems of a project are collected and reported at once, each at its position:

    reconciler.yaml:12:5  acme/site/docs: visibility is "publik"; one of public, unlisted, private; did you mean "public"?
    ^ Source              ^ about        ^ name        ^ described(node)

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from reconciler.address import Address, Glob
from reconciler.config.source.nodes import SECRET, UNREAD, List, Map, MapEntry, Node, Scalar, core, first_private_key, first_tainted
from reconciler.errors import PROBLEMS_MAX, ConfigError, Problem
from reconciler.model import Source
from reconciler.text.credentials import without_credentials


class Enough(Exception):
    """So many problems were reported that checking stops. `Problems.raised` catches it."""


@dataclass
class Problems:
    """Collects problems. `about` is the address that a message is about, if there is one.

    `partial`: a file could not be read, so missing names may be defined in it. `silent`: nothing is collected, because somebody else
    reports it. `settled`: positions without further problems.
    """

    found: list[Problem]
    partial: bool = False
    silent: bool = False
    settled: set[Source] = field(default_factory=set)
    _reported: set[tuple[Source, str]] = field(default_factory=set)

    @property
    def full(self) -> bool:
        """Whether there are so many that the rest is not checked."""
        return len(self.found) >= PROBLEMS_MAX

    @contextmanager
    def raised(self, *, where: str = "the project", undone: str = "sent") -> Iterator[None]:
        """A block that reports problems, which ends when there are enough of them. Raises `ConfigError` with all of them at its end."""
        with suppress(Enough):
            yield
        if self.found:
            raise ConfigError(self.found, more=self.full, where=where, undone=undone)

    def add(self, at: Source, message: str, about: Address | str | None = None, *, id: str) -> None:
        """Report a problem with the id of its cause, unless its position is settled, or it was reported for another element of the same
        `forEach`."""
        if at not in self.settled and (at, message) not in self._reported:
            self._reported.add((at, message))
            text = message if about is None else f"{about}: {message}"
            self._note(Problem(*at, text, id=id))

    def absent(self, at: Source, message: str, about: Address | str | None = None, *, id: str) -> None:
        """Report that a name is used and not declared."""
        if not self.partial:
            self.add(at, message, about, id=id)

    def settle(self, problem: Problem) -> None:
        """Report a problem that makes others at its position redundant."""
        self._note(problem)
        self.settled.add(Source(problem.file, problem.line, problem.column))

    def _note(self, problem: Problem) -> None:
        if self.silent:
            return
        # One line each, whatever a key contains: a pipeline would read a second line as a message, or as a command, of its own.
        self.found.append(replace(problem, message=problem.message.replace("\n", "\\n").replace("\r", "\\r")))
        if self.full:
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


# -- the wording of messages about any value -------------------------------------------------------------------------------------------

EACH_ITS_OWN: Final = "each element needs its own, so write an expression with each"
_JSON_FILE: Final = re.compile(r"[\w./-]{1,200}\.json")


def quote_number(text: str) -> str:
    """The message about such a number, after what it is: `1.10 is a number and means 1.1; quote it to keep its text: "1.10"`."""
    return f'{text} is a number and means {core(text)}; quote it to keep its text: "{text}"'


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


def report_form(node: Node, name: str, must: str, way: str, report: ProblemReport) -> None:
    """Report a value that is missing, or must be something else: `protect must be a list of kinds, not "site"; write [] for none`."""
    missing = isinstance(node, Scalar) and node.empty
    report(
        node.at, empty(name) if missing else f"{name} must be {must}, not {described(node)}{f'; {way}' if way else ''}", id=wrong_form(node)
    )


def items_of(entry: MapEntry | None, must: str, way: str, report: ProblemReport, *, name: str = "") -> list[Node]:
    """The items of the list of a key; none, with a problem, if its value is something else. `name`: of the key in messages."""
    if entry is None:
        return []
    if isinstance(entry.node, List):
        return entry.node.items
    report_form(entry.node, name or entry.key, must, way, report)
    return []


def entries_of(entry: MapEntry | None, way: str, report: ProblemReport, *, name: str) -> list[MapEntry]:
    """The entries of the map that is the value of a key; none, with a problem, if it is something else."""
    if entry is None:
        return []
    if isinstance(entry.node, Map):
        return list(entry.node.entries.values())
    report_form(entry.node, name, "a map", way, report)
    return []


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


def exposed(name: str, taint: tuple[str, ...]) -> str:
    """The message if a value that may be a secret would be shown."""
    secrets = [source for source in taint if SECRET.fullmatch(source)]
    if secrets:
        return f"{name} would show a secret ({', '.join(secrets)}); secrets are only allowed in sensitive fields"
    ways = " ".join(f"--public-var {source}" for source in taint)
    return f"{name} would show a value from the environment ({', '.join(taint)}), which may be a secret; if it is not, pass {ways}"
