"""Which steps of a plan open something or cannot be undone, and the port to whoever is asked before each of them.

By default nobody is asked, because the plan was approved. A program that embeds this one passes a `Clearance` in `ApplyOptions`, with which
it can refuse all further steps at any moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from reconciler.address import Address
from reconciler.model import Plan, Step
from reconciler.resource import Kinds

REVERSIBLE: Final = frozenset({"create", "update", "move", "restore"})
"""The verbs that `undo` has a request for."""


class Clearance(Protocol):
    """Asked before each step that opens something or cannot be undone."""

    async def refusal(self, what: str) -> str | None:
        """Why no such step may be sent now, as the end of a sentence; None where it may. `what`: `delete`, `replace`, `transfer`, `expose`
        or `change`. Must not raise."""


def serious(kinds: Kinds, plan: Plan) -> Mapping[int, str]:
    """The steps to ask about, by id, with what they do."""
    opening = {name for exposure in plan.exposures for name in exposure.names}
    steps = ((step, _what(kinds, step, opening)) for step in plan.steps)
    return {step.id: what for step, what in steps if what is not None}


def _what(kinds: Kinds, step: Step, opening: set[Address]) -> str | None:
    if step.before.replaces is not None:
        return "replace"
    if step.verb in ("delete", "transfer"):
        return step.verb
    if step.gates or step.address in opening:
        return "expose"
    kind = kinds[step.kind]
    lost = any(kind.fields[name].sensitive or not kind.fields[name].readable for name in step.writes) and step.verb != "create"
    stays = step.verb == "create" and "delete" not in kind.api and not kind.one_per
    return "change" if step.verb not in REVERSIBLE or lost or stays else None
