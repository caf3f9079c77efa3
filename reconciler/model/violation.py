"""Violations of the project's rules by a plan, findings about the project itself, and health concerns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.address import Address
from reconciler.model.source import Source


class Severity(StrEnum):
    """The severity of a rule: an error refuses the run, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """One rule that a plan violates.

    `sort`: what the rule is (`policy`, `access`). `rule`: its id. `address`: of the resource that violates it; None where the whole plan
    does. `message`: what is wrong, as one sentence without its full stop. `path`: how readers reach the resource, from it to what admits
    them; () where no readers are involved. `source`: where the rule is written; `declared`: where the resource is. `remedy`: what to do, as
    the end of a sentence. `id`: of the cause; `rule` is the project's own.
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
    id: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """`policy two-admins`."""
        return f"{self.sort} {self.rule}"


# -- health ------------------------------------------------------------------------------------------------------------------------


class Sort(StrEnum):
    """The subject of a concern."""

    LINKS = "links"  # a published URL that does not work, or shows nothing
    PROCESSING = "processing"  # the service has not finished with something
    BEHIND = "behind"  # a copy that the service keeps is older than what it copies
    EXPIRY = "expiry"  # something that expires on a date
    EXPOSURE = "exposure"  # somebody can do or read more than was consented to


@dataclass(frozen=True)
class Concern:
    """Something in an organization that is broken or expires, whether or not it is as declared.

    `address`: of the object; for an unmanaged one, the address it would have. `sentence`: without its full stop. `until`: the last day on
    which it works; None where it is broken now.
    """

    sort: Sort
    address: str
    sentence: str
    until: date | None = None


# -- findings ---------------------------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Ignore:
    """`lint: {ignore: [{id, address, reason}]}`: findings that the project accepts. `address`: a pattern, "" for all."""

    id: str
    address: str
    reason: str
    source: Source


class LintRule(NamedTuple):
    """What is known about a lint rule without running it. `of_state`: it needs a state."""

    severity: Severity
    summary: str
    of_state: bool = False


RULES: Final[Mapping[str, LintRule]] = {
    "unused-variable": LintRule(Severity.WARNING, "A variable that no expression uses."),
    "unused-default": LintRule(Severity.WARNING, "A value in defaults that no resource takes."),
    "nothing-to-show": LintRule(Severity.WARNING, "A container of which readers see one part first, and that has none."),
    "no-default": LintRule(Severity.WARNING, "Several parts of which readers see one first, and none is the default."),
    "duplicate-title": LintRule(Severity.WARNING, "Siblings that nobody can tell apart."),
    "similar-name": LintRule(Severity.WARNING, "Names of siblings that differ only in case, white space or Unicode form."),
    "unusual-name": LintRule(Severity.WARNING, "A name with white space at its ends, or not in the Unicode form NFC."),
    "suffixed-path": LintRule(Severity.WARNING, "A derived path that a sibling has: it would get a suffix."),
    "certificate-expires": LintRule(Severity.WARNING, "A certificate that expires within 30 days; an error once it has expired."),
    "vague-name": LintRule(Severity.WARNING, "A name that should say who something is for, and does not."),
    "space-on-no-site": LintRule(Severity.WARNING, "A space that no site shows."),
    "member-in-no-team": LintRule(Severity.WARNING, "A member who is in no team."),
    "same-as-source": LintRule(Severity.WARNING, "A value that should differ from another one, and does not."),
    "unlisted-value": LintRule(Severity.WARNING, "A value that is not one of those that the service has today."),
    "credentials-in-text": LintRule(Severity.WARNING, "A password or a token in a URL."),
    "unclear-condition": LintRule(Severity.WARNING, "A condition on visitors that has no meaning: everybody may meet it."),
    "constant-condition": LintRule(Severity.WARNING, "A condition that every visitor meets, or that nobody can meet."),
    "undeclared-claim": LintRule(Severity.WARNING, "A claim, or a value of one, that the schema of the site does not have."),
    "not-evaluated": LintRule(Severity.WARNING, "A text that looks like an expression and is none."),
    "previously-done": LintRule(Severity.WARNING, "A key in previously that renames nothing any more.", of_state=True),
    "moved-done": LintRule(Severity.WARNING, "An entry of moved that renames nothing any more.", of_state=True),
    "unused-ignore": LintRule(Severity.WARNING, "An entry of lint.ignore that matches no finding."),
}
"""Every rule by name. What a declaration asks for (`missed`) has its name here too."""


def cause_of_rule(rule: str) -> str:
    """The id of what a lint rule reports."""
    return f"RC-{rule}"
