"""Names that a service turns out to require to be unique: a request that is refused because a sibling still has its name.

In: a refused step, the plan, what exists by now. Out: the request that gives the sibling a temporary name, where this run gives it another
name, or deletes it, later anyway. The plan cannot know of it: most services accept equal names, and nothing is sent for it there.

    a: Alpha -> Beta, b: Beta -> Alpha      409: b is still called Beta
        b -> Alpha-aside-5f0c               as part of the step of b, with an intent of its own
        a -> Beta                           the refused request again
        b -> Alpha                          the planned step of b

A run that ends in between leaves a name that the next plan changes like any other, and that matching recognizes without a state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from reconciler.address import Address
from reconciler.apply.answer import Answers
from reconciler.apply.task import Task
from reconciler.model import Before, Observed, Step, StepResult, StepStatus
from reconciler.model.codec import is_chosen_name, naming_verb, renaming
from reconciler.resource import Field, Kind
from reconciler.text.names import aside, canonical

REFUSED: Final = frozenset({"RC-request-conflict", "RC-request-refused"})
"""Causes of a request that was certainly not carried out, and whose reason may be a name that is taken."""


class Detours:
    """Finds the sibling whose name a step was refused. `begun`: the steps of this run that were started, which give nothing up any more."""

    def __init__(self, task: Task, answers: Answers) -> None:
        self.kinds, self.steps, self.answers = task.kinds, task.plan.steps, answers
        self.begun: set[int] = set()

    def around(self, step: Step, result: StepResult) -> Step | None:
        """The request that moves the name of a sibling aside, so that the refused step can be sent again; None where that is not the
        reason, or where the sibling keeps its name in this run."""
        if result.status is not StepStatus.FAILED or result.id not in REFUSED:
            return None
        kind = self.kinds[step.kind]
        for field in filter(is_chosen_name, kind.keys):
            name = step.writes.get(field.name)
            if not isinstance(name, str) or naming_verb(kind, field.name) is None:
                continue
            for other, sibling in self._giving_up(step, kind, field, name):
                shown = str(sibling.values[field.name])
                new = other.writes.get(field.name, shown)
                temporary = aside(str(new), sibling.id)
                request = renaming(self.kinds, kind, other, sibling.id, field.name, temporary)
                return replace(request, before=Before({field.name: shown}))
        return None

    def _giving_up(self, step: Step, kind: Kind, field: Field, name: str) -> Iterator[tuple[Step, Observed]]:
        """The steps of this run that are still to change the name that a step needs, or delete its object; each with the object."""
        for other in self.steps:
            # A step that was started may have given the name up already, or may do so at this moment.
            gives = other.kind == step.kind and other.id not in self.begun and (other.verb == "delete" or field.name in other.writes)
            if not gives or other.address == step.address or other.address.container != step.address.container:
                continue
            id = self.answers.ids.get(other.target) if isinstance(other.target, Address) else other.target
            sibling = self.answers.expected.find(kind.name, id) if id is not None else None
            tracked = self.answers.bindings.get(other.address)
            if sibling is None or tracked is None or tracked.id != id:
                continue
            shown = sibling.values.get(field.name)
            if isinstance(shown, str) and canonical(shown, caseless=True) == canonical(name, caseless=True):
                yield other, sibling
