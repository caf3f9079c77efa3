"""One step: its intent, committed before its request, and the request.

In: a step whose needs are done. Out: its Result. Raises `StateError` where the journal cannot be written: no request without an intent.

Names that a service turns out to require to be unique: a request that is refused because a sibling still has its name.

In: a refused step, the plan, what exists by now. Out: the request that gives the sibling a temporary name, where this run gives it another
name, or deletes it, later anyway. The plan cannot know of it: most services accept equal names, and nothing is sent for it there.

    a: Alpha -> Beta, b: Beta -> Alpha      409: b is still called Beta
        b -> Alpha-aside-5f0c               as part of the step of b, with an intent of its own
        a -> Beta                           the refused request again
        b -> Alpha                          the planned step of b

A run that ends in between leaves a name that the next plan changes like any other, and that matching recognizes without a state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.apply.answer import Answers
from reconciler.apply.deletions import Deletion, Deletions
from reconciler.apply.preconditions import Preconditions
from reconciler.apply.task import Halt, Task, serious
from reconciler.client import Answer, RetryClass, joined
from reconciler.errors import Ambiguous, NotFound, ServiceError
from reconciler.model import Before, Intent, Observed, Step, StepResult, StepStatus
from reconciler.model.codec import is_chosen_name, marked, naming, naming_verb, non_sensitive, renaming, substitute
from reconciler.observe.candidates import CreateCandidates
from reconciler.plan.warnings.limits import REFUSALS, limits_around
from reconciler.resource import Field, Kind
from reconciler.state import SEND_SECONDS_MAX, IntentEnding
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


CLEARED_SECONDS: Final = 5.0  # seconds for which a permission is valid


class Held(Exception):
    """A step must not be sent any more; the message says why."""


class Steps:
    """The steps of one run; `timeout`: seconds for one request, everything included, at most `SEND_SECONDS_MAX`. `sent`: requests."""

    def __init__(self, task: Task, answers: Answers, deletions: Deletions, halt: Halt) -> None:
        self.writer, self.kinds, self.group, self.actual, self.answers = task.writer, task.kinds, task.group, task.actual, answers
        self.timeout, self.nonce, self.settle = min(task.options.deadline, SEND_SECONDS_MAX), task.options.nonce, task.options.settle
        self.deletions = deletions
        self.sent = 0
        self.ids = answers.ids
        find = answers.expected.find
        self.candidates = CreateCandidates(task.writer, task.kinds, task.desired, task.actual, answers.ids, find)
        self.preconditions, self.halt = Preconditions(task, answers, halt), halt
        self.detours = Detours(task, answers)
        self.permission = task.options.permission
        self.serious = serious(task.kinds, task.plan) if self.permission is not None else {}

    async def run(self, step: Step) -> StepResult:
        """Do one step, its guard, its marker and a detour around a name that is still taken included."""
        kind = self.kinds[step.kind]
        self.detours.begun.add(step.id)
        # With markers, an object is created under a name that nobody else would choose, so that a lost answer cannot be
        # mistaken for somebody else's object. A second request gives it its own name.
        marked_step = step if self.nonce is None else marked(kind, step, self.nonce())
        result = await self._past_conflict(marked_step, kind)
        if marked_step is not step and result.status is StepStatus.DONE:
            result = await self._past_conflict(naming(self.kinds, kind, step), kind, asks=False)  # a started object is completed
        return result if result.step is step else replace(result, step=step)

    async def _past_conflict(self, step: Step, kind: Kind, *, asks: bool = True) -> StepResult:
        """Send a step, and where a sibling that gives its name up later in this run is in its way, send it again without that name."""
        result = await self._guarded(step, kind, asks=asks)
        aside = self.detours.around(step, result)
        if aside is None or (await self._guarded(aside, kind)).status is not StepStatus.DONE:
            return result
        (value,) = aside.writes.values()
        why = f"the service requires different names, and {step.address} takes the one that it has"
        self.answers.notes.append(f"{aside.address}: is called {value!r} until its turn, because {why}")
        return await self._guarded(step, kind, asks=asks)

    async def _guarded(self, step: Step, kind: Kind, *, asks: bool = True) -> StepResult:
        try:
            # What exists before a create is read outside the gate: it may take several requests, and steps of other objects
            # need not wait for it.
            known, date, lookup = await self._before(step, kind)
        except ServiceError as error:
            return StepResult(step, StepStatus.SKIPPED, f"not sent: {error.message}", id=error.id)
        async with self.preconditions.passing(step) as refusal:
            if refusal is not None:
                return StepResult(step, *refusal)
            if asks and (held := await self._hold_reason(step)) is not None:
                return StepResult(step, StepStatus.SKIPPED, f"not sent: {held}", id="RC-apply-held")
            return await self._sent(step, kind, known, date, lookup)

    async def _hold_reason(self, step: Step) -> str | None:
        """Why a step that opens something or cannot be undone must not be sent now; None where it may. After a refusal, nothing new is
        started."""
        what = self.serious.get(step.id)
        if self.permission is None or what is None:
            return None
        held = self.halt.refused or await self.permission(what)
        self.halt.refused = self.halt.refused or held
        return held

    async def _sent(self, step: Step, kind: Kind, known: frozenset[str], date: datetime | None, lookup: tuple[str, ...]) -> StepResult:
        path = joined(bare(self.ids[part]) if isinstance(part, Address) else part for part in step.path)
        body = substitute(step.body, self.ids)
        writes = {name: kind.fields[name].body(substitute(value, self.ids)) for name, value in step.writes.items()}
        # From here on a kill leaves a trace: the intent is durable before the first byte of its request.
        intent = await self.group.intend(self._intent(step, path, writes, known, date, lookup))
        retry = RetryClass.CREATE if step.create_like or step.verb == "transfer" else RetryClass.IDEMPOTENT
        # A laptop may have slept between the intent and this line. A recovery that looked meanwhile counts the request as not
        # sent, so it must not be sent any more.
        left = self.candidates.seconds_left(intent)
        if left <= 0:
            message = "not sent: its deadline passed while this run was paused"
            self.group.settle(IntentEnding(intent.id, "not-sent", message))
            return StepResult(step, StepStatus.FAILED, message, id="RC-too-late-to-send")
        try:
            self.sent += 1
            answer = await self._answer(step, path, body, retry, intent)
        except Held as held:
            self.group.settle(IntentEnding(intent.id, "not-sent", str(held)))
            return StepResult(step, StepStatus.SKIPPED, f"not sent: {held}", id="RC-apply-held")
        # The service may have done it all the same, so the intent stays open for the next run.
        except asyncio.CancelledError:
            says = "interrupted while the request was under way; the next apply finds out what happened to it"
            return StepResult(step, StepStatus.IN_DOUBT, says, id="RC-interrupted")
        # No answer, or one that says nothing: whoever reads the object next may find either state.
        except Ambiguous as error:
            self.answers.expected.note_in_doubt(kind, str(intent.target), writes)
            return StepResult(step, StepStatus.IN_DOUBT, error.message, id=error.id)
        except ServiceError as error:
            if isinstance(error, NotFound) and step.method == "DELETE":  # already deleted, as intended
                self.answers.notes.append(f"{step.address}: did not exist any more when its {step.verb} was sent")
                return await self._handle(step, kind, intent, writes, Answer(404, None, None))
            message = "; ".join((error.message, *self._explained(step, error)))
            self.group.settle(IntentEnding(intent.id, "failed", message))
            return StepResult(step, StepStatus.FAILED, message, id=error.id)
        return await self._handle(step, kind, intent, writes, answer)

    def _explained(self, step: Step, error: ServiceError) -> list[str]:
        """What the service shows of payments that may be why it refused the request."""
        return [*limits_around(self.kinds, self.actual, [step.address], self.ids)] if error.status in REFUSALS else []

    async def _handle(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> StepResult:
        """The result of a request that was answered; that of a delete is open until a reading shows what it did."""
        if step.verb != "delete":
            return self.answers.handle(step, kind, intent, writes, answer)
        objects = self.answers.note_deleted(step, kind, str(intent.target))
        deletion = Deletion(step, intent, objects.pop(step.address), objects, answer.status)
        return await self.deletions.add(self.writer, deletion, self.group.settle, self.settle)

    async def _answer(self, step: Step, path: str, body: Any, retry: RetryClass, intent: Intent) -> Answer:
        """Send a step's request. A step that needs permission needs it again where its request waited for its turn. Raises `Held`."""
        while True:
            # Somebody's consent may be withdrawn while a request waits for a rate limit, which can take minutes.
            asked, waited = self.writer.clock.monotonic(), False
            limited = self.permission is not None and step.id in self.serious

            def in_time(asked: float = asked, limited: bool = limited) -> bool:
                nonlocal waited
                waited = limited and self.writer.clock.monotonic() - asked > CLEARED_SECONDS
                return not waited and self.candidates.seconds_left(intent) > 0

            deadline = min(self.candidates.seconds_left(intent), self.timeout)
            try:
                return await self.writer.send(step.method, path, body, retry=retry, deadline=deadline, in_time=in_time)
            except ServiceError as error:
                if not waited or isinstance(error, Ambiguous) or self.candidates.seconds_left(intent) <= 0:
                    raise
            if (held := await self._hold_reason(step)) is not None:
                raise Held(held)

    def _id(self, part: str | Address) -> str:
        return self.ids[part] if isinstance(part, Address) else part

    async def _before(self, step: Step, kind: Kind) -> tuple[frozenset[str], datetime | None, tuple[str, ...]]:
        """(ids that could be mistaken for the object of this create, when they were read, the paths that would show the object).

        Objects that this run created until then are not included: the journal has them.
        """
        if step.source is not None:
            return await self.candidates.snapshot(kind, self._id(step.source))
        if step.verb != "create":
            lookup = self.candidates.readings(kind, step.address, self.ids, self._id(step.target)) if step.target is not None else ()
            return frozenset(), self.actual.date, lookup
        return self.answers.known[kind.name], self.actual.date, self.candidates.listings(kind, step.address, self.ids)

    def _intent(
        self,
        step: Step,
        path: str,
        writes: Mapping[str, Any],
        known: frozenset[str],
        date: datetime | None,
        lookup: tuple[str, ...],
    ) -> Intent:
        identity = {name: substitute(value, self.ids) for name, value in step.identity.items()}
        target = step.source if step.source is not None else step.target
        return Intent(
            id=0,
            run="",
            step=step.id,
            address=step.address,
            kind=step.kind,
            verb=step.verb,
            method=step.method,
            path=path,
            target=self._id(target) if target is not None else None,
            writes=non_sensitive(self.kinds[step.kind], {**identity, **writes}) if step.source is None else {},
            known=known,
            date=date,
            deadline=self.candidates.now() + timedelta(seconds=self.timeout),
            brings={at: str(child) for _, at, child in step.brings},
            lookup=lookup,
            before=replace(step.before, takes=step.takes) if step.takes else step.before,
        )
