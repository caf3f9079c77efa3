"""Proof of deletes: an object counts as deleted once a reading shows that it does not exist any more.

A service answers 2xx to a delete that it does not carry out: it asks somebody first (202), or does nothing. So the intent of a delete stays
open when it is answered, and its object stays tracked, until a reading:

    not shown       the delete is done, and the state forgets the object
    still shown     asked for, not done: the object stays tracked, and the next plan deletes it again
    not readable    in doubt, as after a kill in between: recovery reads it

The readings are those that show what the run wrote, which cost nothing more where one list shows both. A delete that keeps readers out
is read before what it is needed for is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reconciler.apply.look import is_listed, look
from reconciler.client.service import Reader
from reconciler.model import Actual, Intent, Observed, Plan, State, Step, StepResult, StepStatus
from reconciler.plan.simulation.simulate import Simulation
from reconciler.state import IntentEnding

AGAIN: Final = 1.0  # seconds before an object is read again that is still shown

Settle = Callable[[IntentEnding], None]


@dataclass(frozen=True)
class Deletion:
    """A delete that was answered with `status`. `object`: what it deletes, as it was."""

    step: Step
    intent: Intent
    object: Observed
    status: int

    def ended(self, verdict: str | None) -> StepResult:
        """The result of the step. `verdict`: why nothing shows whether it was done; "" where its object is still shown."""
        if verdict is None:
            return StepResult(self.step, StepStatus.DONE)
        if verdict:
            says = f"the service answered {self.status}, and {verdict}; the next apply finds out whether it was done"
            return StepResult(self.step, StepStatus.IN_DOUBT, says)
        says = f"asked for, not done: the service answered {self.status} and still shows it; it stays tracked, and the next apply asks again"
        return StepResult(self.step, StepStatus.ASKED, says, id="RC-asked-not-done")

    def ending(self, result: StepResult) -> IntentEnding | None:
        """The outcome of its intent; None where that stays open."""
        if result.status is StepStatus.DONE:
            return IntentEnding(self.intent.id, "done", None, forget=(self.step.address, *self.step.takes))
        return IntentEnding(self.intent.id, "failed", result.error) if result.status is StepStatus.ASKED else None


class Deletions:
    """The deletes of one run that were answered and are not proved yet, by the id of the step.

    `simulation`: what should exist. `needed`: the steps that must be proved before what needs them is sent.
    """

    def __init__(self, simulation: Simulation, plan: Plan) -> None:
        self.kinds, self.simulation = simulation.kinds, simulation
        self.open: dict[int, Deletion] = {}
        self._verdicts: dict[int, str | None] = {}
        # The contents of a container are read before it is deleted anyway.
        self.needed = {on for step in plan.steps if step.verb not in ("delete", "leave") for on in step.needs}

    def objects(self) -> list[Observed]:
        """What a reading must show to prove them: objects that are deleted with their container are proved by it."""
        return [deletion.object for deletion in self._outermost(self.open.values())]

    def _outermost(self, deletions: Iterable[Deletion]) -> Iterator[Deletion]:
        deletions = [*deletions]
        containers = {(deletion.object.kind, deletion.object.id) for deletion in deletions}
        return (deletion for deletion in deletions if containers.isdisjoint(deletion.object.within.items()))

    async def read(self, reader: Reader, shown: Actual | None, settle: Settle) -> None:
        """Judge all of them, and settle those that are done. `shown`: a reading of `objects`, where there is one already.

        Raises `ServiceError` where the service refuses the token.
        """
        left = dict(self.open)
        while left:
            outer = [*self._outermost(left.values())]
            now = shown if shown is not None else await look(reader, [deletion.object for deletion in outer], self.simulation)
            shown = None
            for deletion in outer:
                self._verdicts[deletion.step.id] = self._verdict(deletion.object, now)
                if self._verdicts[deletion.step.id] is None:
                    inner = (other for other in left.values() if deletion.object.key in other.object.within.items())
                    self._verdicts |= dict.fromkeys(other.step.id for other in inner)
            for id in [id for id in left if id in self._verdicts]:
                del left[id]
        for id in [id for id, verdict in self._verdicts.items() if verdict is None]:
            self._close(id, settle)

    def _verdict(self, observed: Observed, now: Actual) -> str | None:
        """None where the object does not exist, "" where it does, else why that is not known."""
        found = now.find(*observed.key)
        if found is not None:
            return "" if found.deleted_at is None else None
        if observed.key in now.absent or is_listed(self.kinds, now.complete, observed):
            return None
        failed = (unknown.reason for unknown in now.unknown if unknown.kind == observed.kind and unknown.id in (None, observed.id))
        return f"it could not be read again: {next(failed, 'nothing shows it')}"

    def _close(self, id: int, settle: Settle) -> StepResult:
        """Settle a delete as it was judged last."""
        deletion = self.open.pop(id)
        result = deletion.ended(self._verdicts.pop(id, "it was not read again"))
        if (ending := deletion.ending(result)) is not None:
            settle(ending)
        return result

    async def add(self, reader: Reader, deletion: Deletion, settle: Settle, seconds: float) -> StepResult:
        """Take a delete that was answered; one that other steps need is read at once, for so many seconds while its object is still shown.

        Raises `ServiceError` where the service refuses the token.
        """
        self.open[deletion.step.id] = deletion
        if deletion.step.id not in self.needed:
            return deletion.ended(None)
        until = reader.clock.monotonic() + seconds
        while True:
            verdict = self._verdict(deletion.object, await look(reader, [deletion.object], self.simulation))
            if verdict != "" or reader.clock.monotonic() >= until:
                break
            await reader.clock.sleep(AGAIN)
        self._verdicts[deletion.step.id] = verdict
        return self._close(deletion.step.id, settle)

    def shown(self) -> list[Deletion]:
        """Those whose objects the last reading shows."""
        return [deletion for id, deletion in self.open.items() if self._verdicts.get(id) == ""]

    def close(self, settle: Settle) -> Mapping[int, StepResult]:
        """The results of those that no reading has proved."""
        return {id: self._close(id, settle) for id in [*self.open]}

    def without(self, state: State) -> State:
        """A state as it is once they are done."""
        addresses = {address for deletion in self.open.values() for address in (deletion.step.address, *deletion.step.takes)}
        intents = {deletion.intent.id for deletion in self.open.values()}
        return replace(
            state,
            bindings={address: binding for address, binding in state.bindings.items() if address not in addresses},
            intents=tuple(intent for intent in state.intents if intent.id not in intents),
        )
