"""What a fix removes in other files than the one of its finding: an unused variable also where environments set it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.model import Finding, Source

UNUSED: Final = "RC-unused-variable"


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
