"""The rules of lint by name, and the findings that a project accepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from reconciler.model.findings import Severity, Source


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
