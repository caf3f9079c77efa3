"""Positions in the YAML, and what is wrong there: findings about a project, and the rules that a plan violates."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from reconciler.address import Address


class Source(NamedTuple):
    """A position in the YAML; line and column count from 1, the file is relative to the project.

    A tuple, because every value of the YAML has one, and a tuple is created in half the time.
    """

    file: str
    line: int
    column: int = 1

    @property
    def file_and_line(self) -> str:
        """The position without its column."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """The position as messages show it."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Severity(StrEnum):
    """The severity of a rule: an error refuses the run, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """One rule that a plan violates.

    `sort`: what the rule is (`policy`, `access`). `rule`: its id. `address`: of the resource that violates it; None where the whole plan
    does. `message`: what is wrong, as one sentence without its full stop. `path`: how readers reach the resource, from it to what admits
    them; () where no readers are involved. `along`: the addresses of the same, and of what keeps out readers who must see it; of a
    policy, what it counted. `source`: where the rule is written; `declared`: where the resource is. `remedy`: what to do, as the end of a
    sentence. `id`: of the cause; `rule` is the project's own.
    """

    sort: str
    rule: str
    address: Address | None
    message: str
    level: Severity = Severity.ERROR
    path: tuple[str, ...] = ()
    source: Source | None = None
    declared: Source | None = None
    remedy: str = ""
    along: tuple[Address, ...] = ()
    id: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """`policy two-admins`."""
        return f"{self.sort} {self.rule}"


@dataclass(frozen=True)
class Edit:
    """The text between two places of a file, the end not included, and what replaces it. Lines and columns count from 1."""

    start: Source
    end: Source
    text: str = ""


@dataclass(frozen=True)
class Fix:
    """A correction that needs no decision: `removes` begin at these places. `says`: what it does, as an imperative.

    An entry of a map begins with its key, an item of a list with its value; a place inside an item refers to that item. `edits`: the same
    as changes of text, one for each file; () where they were not requested, or where the correction is not possible.
    """

    says: str
    removes: tuple[Source, ...]
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Something about the project that is wrong, or probably a mistake.

    `id`: of the cause. `rule`: the name of the rule, where the project gives it (`policy/two-admins`). `message`: one sentence without its
    full stop. `address`: the resource that it is about, or a setting (`vars.brand`); "" for neither. `source`: where that is written; None
    where no line says it. `remedy`: what to do.
    """

    id: str
    severity: Severity
    message: str
    address: str = ""
    source: Source | None = None
    remedy: str = ""
    fix: Fix | None = None
    rule: str = ""

    @property
    def name(self) -> str:
        """The name by which other programs group findings: the rule of the project, else the cause."""
        return self.rule or self.id
