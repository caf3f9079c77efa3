"""Proof of deletes: an object counts as deleted once a reading shows that it does not exist any more.

A service answers 2xx to a delete that it does not carry out: it asks somebody first (202), or does nothing. So the intent of a delete stays
open when it is answered, and its object stays tracked, until a reading:

    not shown       the delete is done, and the state forgets the object
    still shown     asked for, not done: the object stays tracked, and the next plan deletes it again
    not readable    in doubt, as after a kill in between: recovery reads it

What a service deletes with an object is looked for too, and stays tracked where it survives. The readings are those that show what the run
wrote, which cost nothing more where one list shows both. A delete that other requests need (it keeps readers out) is read before they are
sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from reconciler.address import Address
from reconciler.apply.look import is_listed, look
from reconciler.client.service import Reader
from reconciler.model import Actual, Intent, Observed, Plan, State, Step, StepResult, StepStatus
from reconciler.plan.simulation.simulate import Simulation
from reconciler.state import IntentEnding

AGAIN: Final = 1.0  # seconds before an object is read again that is still shown
UNREAD: Final = "it was not read again"

Settle = Callable[[IntentEnding], None]


@dataclass(frozen=True)
class Verdict:
    """What a reading shows of a delete. `survivors`: what still exists of its object and of what is deleted with it, by address; `unread`:
    why that is not known, "" where it is."""

    survivors: tuple[Address, ...] = ()
    unread: str = ""

    @property
    def is_gone(self) -> bool:
        return not self.survivors and not self.unread


@dataclass(frozen=True)
class Deletion:
    """A delete that was answered with `status`. `object`: what it deletes, as it was; `followers`: what is deleted with that."""

    step: Step
    intent: Intent
    object: Observed
    followers: Mapping[Address, Observed]
    status: int

    def ended(self, verdict: Verdict) -> tuple[StepResult, IntentEnding | None]:
        """The result of the step, and the outcome of its intent; None where that stays open."""
        step, answered = self.step, f"the service answered {self.status}"
        if verdict.unread:
            says = f"{answered}, and {verdict.unread}; the next apply finds out whether it was done"
            return StepResult(step, StepStatus.IN_DOUBT, says), None
        survives = step.address in verdict.survivors  # with everything in it
        forget = () if survives else tuple(address for address in (step.address, *step.takes) if address not in verdict.survivors)
        if verdict.is_gone:
            return StepResult(step, StepStatus.DONE), IntentEnding(self.intent.id, "done", None, forget=forget)
        names = ", ".join(map(str, verdict.survivors[:5])) + (f" and {len(verdict.survivors) - 5} more" if verdict.survivors[5:] else "")
        what, it = ("it", "it stays") if survives else (names, "what it shows stays")
        says = f"{answered} and still shows {what}; {it} tracked, and the next apply asks again"
        ending = IntentEnding(self.intent.id, "failed", f"asked for, not done: {says}", forget=forget)
        return StepResult(step, StepStatus.ASKED, says), ending


class Deletions:
    """The deletes of one run that were answered and are not proved yet, by the id of the step.

    `simulation`: what should exist. `needed`: the steps that must be proved before what needs them is sent.
    """

    def __init__(self, simulation: Simulation, plan: Plan) -> None:
        self.kinds, self.simulation = simulation.kinds, simulation
        self.open: dict[int, Deletion] = {}
        self._verdicts: dict[int, Verdict] = {}
        # The contents of a container are read before it is deleted anyway.
        self.needed = {on for step in plan.steps if step.verb not in ("delete", "leave") for on in step.needs}

    def objects(self) -> tuple[list[Observed], list[Observed]]:
        """What a reading must show to prove them: their objects, and what is deleted with these."""
        return _to_read(_outermost(self.open.values()))

    async def add(self, reader: Reader, deletion: Deletion, settle: Settle, seconds: float) -> StepResult:
        """Take a delete that was answered; one that other steps need is read at once, for so many seconds while its object is still shown.

        Raises `ServiceError` where the service refuses the token.
        """
        self.open[deletion.step.id] = deletion
        if deletion.step.id not in self.needed:
            return StepResult(deletion.step, StepStatus.DONE)
        until = reader.clock.monotonic() + seconds
        while True:
            self._verdicts[deletion.step.id] = verdict = self._verdict(deletion, await self._look(reader, [deletion]))
            if not verdict.survivors or reader.clock.monotonic() >= until:
                return self._close(deletion.step.id, settle)
            await reader.clock.sleep(AGAIN)

    async def read(self, reader: Reader, shown: Actual | None, settle: Settle) -> None:
        """Judge all of them, and settle those that are done. `shown`: a reading of `objects`, where there is one already.

        Raises `ServiceError` where the service refuses the token.
        """
        self._verdicts = {}
        while left := [deletion for id, deletion in self.open.items() if id not in self._verdicts]:
            outer = _outermost(left)
            now, shown = shown if shown is not None else await self._look(reader, outer), None
            for deletion in outer:
                self._verdicts[deletion.step.id] = verdict = self._verdict(deletion, now)
                if verdict.is_gone:  # what could only exist in it does not exist either
                    inner = (other.step.id for other in left if deletion.object.key in other.object.within.items())
                    self._verdicts |= dict.fromkeys(inner, verdict)
        for id in [id for id, verdict in self._verdicts.items() if verdict.is_gone]:
            self._close(id, settle)

    async def _look(self, reader: Reader, deletions: Iterable[Deletion]) -> Actual:
        objects, followers = _to_read(deletions)
        return await look(reader, objects, self.simulation, followers=followers)

    def _verdict(self, deletion: Deletion, now: Actual) -> Verdict:
        objects = {deletion.step.address: deletion.object, **deletion.followers}
        shown = {address: now.find(*observed.key) for address, observed in objects.items()}
        survivors = tuple(address for address, observed in shown.items() if observed is not None and observed.deleted_at is None)
        own = deletion.object
        if survivors or shown[deletion.step.address] is not None or own.key in now.absent or is_listed(self.kinds, now.complete, own):
            return Verdict(survivors)
        failed = (unknown.reason for unknown in now.unknown if unknown.kind == own.kind and unknown.id in (None, own.id))
        return Verdict(unread=f"it could not be read again: {next(failed, 'nothing shows it')}")

    def _close(self, id: int, settle: Settle) -> StepResult:
        """Settle a delete as it was judged last."""
        result, ending = self.open.pop(id).ended(self._verdicts.pop(id, Verdict(unread=UNREAD)))
        if ending is not None:
            settle(ending)
        return result

    @property
    def any_shown(self) -> bool:
        """Whether the last reading shows what should not exist any more."""
        return any(verdict.survivors for verdict in self._verdicts.values())

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


def _outermost(deletions: Iterable[Deletion]) -> list[Deletion]:
    """Those whose objects are not in the object of another one."""
    deletions = [*deletions]
    containers = {deletion.object.key for deletion in deletions}
    return [deletion for deletion in deletions if containers.isdisjoint(deletion.object.within.items())]


def _to_read(deletions: Iterable[Deletion]) -> tuple[list[Observed], list[Observed]]:
    """The objects of deletes, and what could survive of what is deleted with them."""
    objects = [deletion.object for deletion in deletions]
    deleted = {observed.key for observed in objects}
    followers = (observed for deletion in deletions for observed in deletion.followers.values())
    return objects, [observed for observed in followers if deleted.isdisjoint(observed.within.items())]
