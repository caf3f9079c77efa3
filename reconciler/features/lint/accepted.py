"""The findings of all rules, without those that a project accepts in `lint.ignore`; and what a fix removes in other files. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.address import Address, Glob
from reconciler.features.lint.rules import RUN, LintFacts
from reconciler.model import Finding, Fix, Source
from reconciler.model.lint import RULES, Ignore, cause_of_rule
from reconciler.report.findings import in_order

UNUSED: Final = "RC-unused-variable"


def findings(facts: LintFacts) -> tuple[Finding, ...]:
    """The findings of all rules, without the accepted ones, by position."""
    accepted = _Accepted(facts.ignores)
    left = [finding for rule in RUN for finding in rule(facts) if not accepted.has(finding)]
    left += accepted.unused(facts)
    return in_order(left)


def variables_of(findings: Iterable[Finding]) -> frozenset[str]:
    """The names of the variables that findings report as unused."""
    return frozenset(finding.address.removeprefix("vars.") for finding in findings if finding.id == UNUSED)


def in_environments(findings: Iterable[Finding], given: Mapping[str, Sequence[Source]]) -> tuple[Finding, ...]:
    """The findings, with the fix of an unused variable extended to the environments that set it: otherwise those values would be errors.

    `given`: where they do, by the name of the variable."""
    return tuple(_in_environments(finding, given) for finding in findings)


def _in_environments(finding: Finding, given: Mapping[str, Sequence[Source]]) -> Finding:
    places = given.get(finding.address.removeprefix("vars."), ()) if finding.id == UNUSED else ()
    if not places or finding.fix is None:
        return finding
    return replace(finding, fix=replace(finding.fix, removes=(*finding.fix.removes, *places)))


class _Accepted:
    """The entries of `lint.ignore`, and which of them matched a finding."""

    def __init__(self, ignores: Iterable[Ignore]) -> None:
        self.by_cause: Mapping[str, list[tuple[Ignore, Glob | None]]] = {cause_of_rule(rule): [] for rule in RULES}
        for ignore in ignores:
            self.by_cause[cause_of_rule(ignore.id)].append((ignore, Glob.parse(ignore.address) if ignore.address else None))
        self.matched: set[Ignore] = set()

    def has(self, finding: Finding) -> bool:
        """Whether the project accepts a finding."""
        accepted = False
        for ignore, glob in self.by_cause[finding.id]:
            if glob is None or (finding.address and glob.matches(Address.parse(finding.address))):
                self.matched.add(ignore)
                accepted = True
        return accepted

    def unused(self, facts: LintFacts) -> Iterator[Finding]:
        """A finding for each entry that matched nothing, if its rules could be run."""
        for rule in RULES:
            entries = self.by_cause[cause_of_rule(rule)]
            if RULES[rule].of_state and facts.state is None:
                continue
            for ignore, glob in entries:
                if ignore not in self.matched and rule != "unused-ignore" and not self._elsewhere(facts, glob):
                    about = f" at {ignore.address}" if ignore.address else ""
                    message = f"{rule} finds nothing{about}, so nothing is ignored"
                    fix: Fix | None = Fix("remove the entry of lint.ignore", (ignore.source,))
                    remedy = "remove it"
                    if facts.desired.environment is not None:
                        fix, remedy = None, "remove it if it matches nothing in any environment"
                    unused = Finding("RC-unused-ignore", RULES["unused-ignore"].severity, message, "lint", ignore.source, remedy, fix)
                    if not self.has(unused):
                        yield unused

    def _elsewhere(self, facts: LintFacts, glob: Glob | None) -> bool:
        """Whether a pattern matches resources that this environment removes and others have."""
        return glob is not None and any(glob.matches(address) for address in facts.desired.excluded)
