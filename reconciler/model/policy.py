"""The policies of a project as it declares them, and the exceptions to them.

Positions in the YAML.

Violations of the project's rules by a plan, findings about the project itself, and health concerns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, NamedTuple

from reconciler.address import Address, Glob


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


class ConcernLevel(StrEnum):
    """How bad a concern is; the worst first."""

    BROKEN = "broken"
    WARNING = "warning"
    INFORMATION = "information"


class Sort(StrEnum):
    """The subject of a concern; the worst first."""

    EXPOSURE = "exposure"  # somebody can do or read more than was consented to
    LINKS = "links"  # a published URL that does not work, or shows nothing
    PROCESSING = "processing"  # the service has not finished with something
    EXPIRY = "expiry"  # something that expires on a date
    BEHIND = "behind"  # a copy that the service keeps is older than what it copies
    SEARCH = "search"  # a search does not find what its readers need
    STALE = "stale"  # pages that nobody changed for long
    REVIEWS = "reviews"  # proposed edits that wait for a decision
    TOPICS = "topics"  # what readers ask about

    @property
    def level(self) -> ConcernLevel:
        """How bad a concern without a day is."""
        if self is Sort.TOPICS:
            return ConcernLevel.INFORMATION
        return ConcernLevel.WARNING if self in (Sort.STALE, Sort.REVIEWS) else ConcernLevel.BROKEN


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

    def sentence_on(self, today: date) -> str:
        """`its certificate ends on 2026-12-01, in 8 days`."""
        if self.until is None:
            return self.sentence
        days = (self.until - today).days
        if days < 0:
            return f"{self.sentence}, which has passed"
        return f"{self.sentence}, today" if days == 0 else f"{self.sentence}, in {days:,} day{'s' if days != 1 else ''}"


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


PLAN: Final = "plan"
"""The value of `on` for a policy about the whole plan."""


@dataclass(frozen=True)
class Policy:
    """One rule. `on`: kinds and patterns of addresses, or only `plan`; `kinds`: those of them that are kinds. `when`: the actions that it
    applies to, () for all that leave the resource declared. `test`: the expression that must be true. `message`: as written, expressions
    included. `reason`: why it exists, of a ready one."""

    id: str
    on: tuple[str, ...]
    when: tuple[str, ...]
    test: str
    message: str
    level: Severity
    source: Source
    kinds: frozenset[str] = frozenset()
    ready: bool = False
    reason: str = ""

    @property
    def whole(self) -> bool:
        """Whether it applies to the whole plan."""
        return self.on == (PLAN,)

    @cached_property
    def globs(self) -> tuple[Glob, ...]:
        """The patterns of the addresses that it is about."""
        return tuple(Glob.parse(text) for text in self.on if text not in self.kinds and text != PLAN)

    def applies(self, address: Address, kind: str) -> bool:
        """Whether it applies to a resource, regardless of the action."""
        return kind in self.kinds or any(glob.matches(address) for glob in self.globs)

    @cached_property
    def digest(self) -> str:
        """The digest of what it demands, without its message; of a ready-made policy, of its name."""
        demands = [self.id] if self.ready else [sorted(self.on), sorted(self.when), " ".join(self.test.split())]
        return hashlib.sha256(json.dumps(demands).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Exemption:
    """A policy that is not applied to some addresses until a day, that day included. `address`: a pattern; None for the whole plan."""

    policy: str
    address: str | None
    until: date
    reason: str
    source: Source

    @cached_property
    def glob(self) -> Glob | None:
        """The pattern of the addresses that it is about; None for the whole plan."""
        return Glob.parse(self.address) if self.address is not None else None

    def covers(self, address: Address | None) -> bool:
        """Whether it covers what violates its policy: a resource, or the whole plan."""
        return self.glob is None or (address is not None and self.glob.matches(address))

    @property
    def text(self) -> str:
        """`two-admins for acme until 2026-12-31`, as the state remembers it."""
        return f"{self.policy} for {self.address or PLAN} until {self.until.isoformat()}"


@dataclass(frozen=True)
class Policies:
    """All policies of a project, and the exceptions. `variables`: the values that their expressions use. `asks`: (container, kind) of the
    lists that they use."""

    rules: tuple[Policy, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    asks: frozenset[tuple[Address, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def levels(self) -> dict[str, str]:
        """The level and the digest of each policy by its id, as the state remembers them."""
        return {policy.id: f"{policy.level} {policy.digest}" for policy in self.rules}

    @property
    def exceptions(self) -> frozenset[str]:
        """The exceptions, as the state remembers them."""
        return frozenset(exemption.text for exemption in self.exemptions)
