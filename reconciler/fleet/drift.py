"""What was changed outside Reconciler in one project, and what people decided on it: revert it, or ignore it until a day. Pure.

A decision is about exactly one difference: another value, or a deletion, has another digest and alarms again. Accepting a change is not a
decision here: it is a commit, because a fleet writes to no repository.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reconciler.fleet.approvals import ApprovalTerms, Continuation, Decision
from reconciler.fleet.drift_groups import PREFIX, FleetDriftGroup, differences
from reconciler.fleet.model import FleetProject

NOT_REVERTED: Final = "changes made outside Reconciler are not reverted without a decision (revertDrift is false)"


def digest(groups: Iterable[FleetDriftGroup]) -> str:
    """The digest of what people read before they decide: of all differences."""
    return PREFIX + hashlib.sha256("\n".join(sorted(difference.digest for difference in differences(groups))).encode()).hexdigest()


def decided(
    groups: Iterable[FleetDriftGroup],
    decisions: Mapping[str, Sequence[Decision]],
    terms: ApprovalTerms,
    *,
    continues: Continuation | None = None,
) -> dict[str, Decision]:
    """The decision in effect on each difference, by address. `decisions`: by digest, oldest first. `continues`: the apply that is
    continued.

    The last one counts, as long as its person may decide. A revert expires as approvals do and is good for one apply; to ignore something
    ends at its time.
    """
    effective = {}
    for difference in differences(groups):
        current: Decision | None = None
        for decision in decisions.get(difference.digest, ()):
            if not decision.person:
                left = continues is not None and continues.used(decision) and difference.address in continues.reverts
                current = current if left else None
            elif terms.directory.may_approve(decision.who, terms.tenant):
                over = decision.until <= terms.now if decision.until is not None else terms.is_over(decision)
                current = None if over else decision
        if current is not None:
            effective[difference.address] = current
    return effective


def reverts(effective: Mapping[str, Decision]) -> set[str]:
    """The addresses that somebody decided to revert."""
    return {address for address, decision in effective.items() if decision.until is None}


def ignores(effective: Mapping[str, Decision]) -> set[str]:
    """The addresses that somebody decided to ignore until a time."""
    return {address for address, decision in effective.items() if decision.until is not None}


def apply_command(project: FleetProject) -> str:
    """The command that applies the files in a clone of the repository."""
    return f"reconciler apply {shlex.join([project.source.path, *project.selecting])}"


def in_clone(project: FleetProject) -> str:
    """Where people run the commands of a project, and with what, as a part of a sentence."""
    return f"in a clone of {project.source.git}, with RECONCILER_TOKEN, and {state_of(project)} in RECONCILER_STATE"


def state_of(project: FleetProject) -> str:
    """What the variable RECONCILER_STATE of those commands contains."""
    if project.state is None:
        return "the URL of the fleet's database"
    return f"the value of {project.state.name}" if project.state.kind == "env" else f"the content of {project.state.name}"
