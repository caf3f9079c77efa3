"""Applying: step by step over the graph, each with an intent before its request and an outcome after it.

In: a plan, a writer, a journal under its lease. Out: an Outcome; a failed step is a value, not an exception, and the rest goes on. Ends
with a reading that tells whether anything is left to change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol

from reconciler.address import Address
from reconciler.client import Answer, RetryClass, Writer, encode
from reconciler.errors import Ambiguous, NotFound, ServiceError
from reconciler.graph import Edges, Schedule
from reconciler.landing import Landing
from reconciler.model import Actual, Binding, Desired, Intent, Origin, Outcome, Plan, Result, Status, Step
from reconciler.observe import observe
from reconciler.plan import Selection, match
from reconciler.plan import plan as make_plan
from reconciler.reading import is_kind, observed, substitute, told
from reconciler.resource import UNSET, Kind, Kinds, Role
from reconciler.state import Ending, Journal

GRACE = 5.0  # seconds for what is in flight after the first signal


class Progress(Protocol):
    """Told what happens; its methods must not raise."""

    def planned(self, steps: int) -> None: ...

    def ended(self, result: Result) -> None: ...


class Quiet:
    """Tells nobody."""

    def planned(self, steps: int) -> None: ...

    def ended(self, result: Result) -> None: ...


async def apply(
    writer: Writer,
    kinds: Kinds,
    desired: Desired,
    plan: Plan,
    actual: Actual,
    journal: Journal,
    *,
    deadline: float,
    selection: Selection | None = None,
    listener: Progress | None = None,
    on_error: Literal["continue", "stop"] = "continue",
    stop: asyncio.Event | None = None,
) -> Outcome:
    """Carry out a plan.

    `deadline`: seconds one request may take, everything included; it is written into every intent. `stop`: when set, nothing new is started
    and what is in flight gets `GRACE` seconds. Raises `StateError` where the journal cannot be written: no request without an intent.
    """
    run = _Run(writer, kinds, desired, plan, actual, journal, deadline, listener or Quiet(), on_error, stop or asyncio.Event())
    journal.remember(bind=plan.memory.bind.values(), forget=plan.memory.forget)
    await run.all()
    journal.remember(places=run.places())
    leftover: tuple[Address, ...] = ()
    if not run.stop.is_set() and plan.steps:
        leftover = await _left_over(writer, kinds, desired, journal, plan, run, selection)
    results = tuple(run.results[step.id] for step in plan.steps)
    stopped = "interrupted" if run.stop.is_set() else None
    return Outcome(journal.run, plan, results, run.sent, leftover, tuple(run.notes), stopped)


async def _left_over(
    writer: Writer, kinds: Kinds, desired: Desired, journal: Journal, plan: Plan, run: _Run, selection: Selection | None
) -> tuple[Address, ...]:
    """The addresses that a fresh plan would still change although every step of theirs was done."""
    state = journal.state()
    actual = await observe(writer, kinds, desired, state)
    again = make_plan(kinds, desired, state, actual, selection=selection)
    journal.remember(bind=[one for one in again.memory.bind.values() if one.address in state.bindings])
    undone = {result.step.address for result in run.results.values() if result.status is not Status.DONE}
    waiting = undone | set(plan.deferred) | {blocked.address for blocked in plan.blocked}
    return tuple(step.address for step in again.steps if step.address not in waiting)


class _Run:
    """One apply under way."""

    def __init__(
        self,
        writer: Writer,
        kinds: Kinds,
        desired: Desired,
        plan: Plan,
        actual: Actual,
        journal: Journal,
        timeout: float,
        listener: Progress,
        on_error: str,
        stop: asyncio.Event,
    ) -> None:
        self.writer, self.kinds, self.desired, self.plan, self.actual, self.journal = writer, kinds, desired, plan, actual, journal
        self.timeout, self.listener, self.on_error, self.stop = timeout, listener, on_error, stop
        state = journal.state()
        self.bindings: dict[Address, Binding] = {**state.bindings, **plan.memory.bind}
        self.ids = dict(match(kinds, desired, state, actual).ids)
        for change in (step.address for step in plan.steps if step.create_like or step.verb == "create"):
            self.ids.pop(change, None)
        self.known: dict[str, set[str]] = {name: set(actual.objects.get(name, {})) for name in kinds}
        self.landing = Landing(writer, kinds, desired, actual, self.ids)
        self.results: dict[int, Result] = {}
        self.notes: list[str] = []
        self.sent = 0

    async def all(self) -> None:
        """Run every step that can be run; the rest is skipped, with the reason."""
        steps = {step.id: step for step in self.plan.steps}
        schedule = Schedule({step.id: Edges(step.needs, step.after) for step in self.plan.steps}, {id: (id,) for id in steps})
        running: dict[asyncio.Task[Result], int] = {}
        self.listener.planned(len(steps))
        stopping = asyncio.create_task(self.stop.wait())
        try:
            while not schedule.done or running:
                halted = self.stop.is_set() or (
                    self.on_error == "stop" and any(one.status is Status.FAILED for one in self.results.values())
                )
                for id in () if halted else schedule.ready():
                    schedule.start(id)
                    running[asyncio.create_task(self._step(steps[id]))] = id
                if not running:
                    break
                waiting: set[asyncio.Task[Any]] = {*running, *(() if self.stop.is_set() else (stopping,))}
                ended, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=GRACE if self.stop.is_set() else None)
                if not ended:
                    for task in running:
                        task.cancel()
                for task in [one for one in running if one in ended]:
                    id = running.pop(task)
                    self._ended(task.result())
                    if self.results[id].status is Status.DONE:
                        schedule.succeed(id)
                    else:
                        for skipped in schedule.fail(id):
                            self._ended(Result(steps[skipped], Status.SKIPPED, f"needs step {id} ({steps[id].address})"))
        finally:
            stopping.cancel()
            for task in running:
                task.cancel()
            await asyncio.gather(stopping, *running, return_exceptions=True)
        why = "interrupted" if self.stop.is_set() else "an earlier step failed"
        for step in self.plan.steps:
            if step.id not in self.results:
                self._ended(Result(step, Status.SKIPPED, why))

    def _halted(self) -> bool:
        """Whether nothing new is started."""
        failed = any(result.status is Status.FAILED for result in self.results.values())
        return self.stop.is_set() or (failed and self.on_error == "stop")

    def _ended(self, result: Result) -> None:
        self.results[result.step.id] = result
        self.listener.ended(result)

    def places(self) -> dict[Address, Any]:
        """The places of siblings whose rows were wholly done."""
        troubled = {place.parent for address, place in self.plan.places.items() if self._troubled(address)}
        return {address: place for address, place in self.plan.places.items() if place.parent not in troubled and address in self.bindings}

    def _troubled(self, address: Address) -> bool:
        return any(result.status is not Status.DONE for result in self.results.values() if result.step.address == address)

    # -- one step ------------------------------------------------------------------------------------------------------------------

    async def _step(self, step: Step) -> Result:
        kind = self.kinds[step.kind]
        try:
            known, date, lookup = await self._before(step, kind)
        except ServiceError as error:
            return Result(step, Status.SKIPPED, f"not sent: {error.message}")
        path = "/" + "/".join(encode("{id}", {"id": self._id(part)}) for part in step.path)
        body = substitute(step.body, self.ids)
        writes = {name: kind.fields[name].body(substitute(value, self.ids)) for name, value in step.writes.items()}
        clock = asyncio.get_running_loop()
        until = (
            clock.time() + self.timeout
        )  # from before the intent is written, so that a run which was held up after it sends nothing late
        (intent,) = self.journal.intend([self._intent(step, path, writes, known, date, lookup)])
        retry = RetryClass.CREATE if step.create_like else RetryClass.IDEMPOTENT
        try:
            self.sent += 1
            answer = await self.writer.send(step.method, path, body, retry=retry, deadline=until - clock.time())
        except asyncio.CancelledError:
            return Result(step, Status.IN_DOUBT, "interrupted while the request was under way; the next apply reads what became of it")
        except Ambiguous as error:
            return Result(step, Status.IN_DOUBT, error.message)
        except ServiceError as error:
            if isinstance(error, NotFound) and step.method == "DELETE":  # gone already: what was wanted
                return self._answered(step, kind, intent, writes, Answer(404, None, None))
            self.journal.settle([Ending(intent.id, "failed", error.message)])
            return Result(step, Status.FAILED, error.message)
        return self._answered(step, kind, intent, writes, answer)

    def _id(self, part: str | Address) -> str:
        return self.ids[part] if isinstance(part, Address) else part

    async def _before(self, step: Step, kind: Kind) -> tuple[frozenset[str], datetime | None, tuple[str, ...]]:
        """The ids that could be mistaken for what this step makes, when they were read, and where to look for it."""
        if step.source is not None:
            return await self.landing.snapshot(kind, self._id(step.source))
        if step.verb != "create":
            return frozenset(), self.actual.date, ()
        return frozenset(self.known[kind.name]), self.actual.date, self.landing.listings(kind, step.address, self.ids, step.identity)

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
        now = self.actual.date
        return Intent(
            id=0,
            run=self.journal.run,
            step=step.id,
            address=step.address,
            kind=step.kind,
            verb=step.verb,
            method=step.method,
            path=path,
            target=self._id(target) if target is not None else None,
            writes=told(self.kinds[step.kind], {**identity, **writes}) if step.source is None else {},
            known=known,
            date=date,
            deadline=self.landing.now(now) + timedelta(seconds=self.timeout),
            brings={at: str(child) for _, at, child in step.brings},
            lookup=lookup,
            before=step.before,
        )

    # -- its answer ----------------------------------------------------------------------------------------------------------------

    def _answered(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> Result:
        if step.verb == "create":
            return self._created(step, kind, intent, writes, answer)
        if step.verb == "delete":
            self.bindings.pop(step.address, None)
            self.journal.settle([Ending(intent.id, "done", None, forget=(step.address, *step.takes))])
            return Result(step, Status.DONE)
        other = next((one.to for one in kind.fields.values() if one.role is Role.MEMBER and step.verb in ("join", "leave")), None)
        shown = self.kinds[other] if other else kind
        if isinstance(answer.body, Mapping) and answer.body and not is_kind(shown, answer.body):
            what = str(answer.body.get("type", answer.body.get("result", "something else")))
            message = f"the service answered {answer.status} with {what!r} instead of the {shown.name}"
            self.journal.settle([Ending(intent.id, "failed", message)])
            return Result(step, Status.FAILED, message)
        raw = answer.body if shown is kind and isinstance(answer.body, Mapping) else {}
        return self._taken(step, kind, intent, writes, raw)

    def _taken(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], raw: Mapping[str, Any]) -> Result:
        old = self.bindings[step.address]
        seen = {name: kind.fields[name].seen(raw) if raw else UNSET for name in writes}
        for name, value in seen.items():
            if value is not UNSET and kind.fields[name].exact and value != writes[name] and kind.fields[name].role is not Role.CHOICE:
                message = f"the service answered {name}: {value!r} where {writes[name]!r} was sent: not taken"
                self.journal.settle([Ending(intent.id, "failed", message)])
                return Result(step, Status.FAILED, message)
        kept = {name: value if value is not UNSET else writes[name] for name, value in seen.items() if kind.fields[name].readable}
        for name, value in kept.items():
            if value != writes[name]:
                self.notes.append(f"{step.address}: the service keeps {name} as {value!r}")
        binding = replace(old, sent={**old.sent, **writes}, seen={**old.seen, **kept})
        self.bindings[step.address] = binding
        after = {**told(kind, writes), **(seen_of(self.kinds, kind, raw) if raw else {})}
        self.journal.settle([Ending(intent.id, "done", None, bind=(binding,), after={step.address: after})])
        return Result(step, Status.DONE)

    def _created(self, step: Step, kind: Kind, intent: Intent, writes: Mapping[str, Any], answer: Answer) -> Result:
        raw = answer.body
        if not is_kind(kind, raw):
            return Result(step, Status.IN_DOUBT, f"the service answered {answer.status} with something that is no {kind.name}")
        made = bound_as(self.kinds, self.desired, kind, step.address, raw, writes, Origin.CREATED)
        bind = [made]
        after = {step.address: seen_of(self.kinds, kind, raw)}
        self._born(made)
        for name, at, child in step.brings:
            for part in (raw.get(at) or [])[:1]:
                if is_kind(self.kinds[name], part):
                    bind.append(bound_as(self.kinds, self.desired, self.kinds[name], child, part, {}, Origin.CREATED))
                    after[child] = seen_of(self.kinds, self.kinds[name], part)
                    self._born(bind[-1])
        self.journal.settle([Ending(intent.id, "done", None, bind=tuple(bind), after=after)])
        missing = [str(child) for _, _, child in step.brings if child not in self.ids]
        if missing:
            return Result(step, Status.FAILED, f"the answer does not show {', '.join(missing)}; a second run finds it")
        return Result(step, Status.DONE)

    def _born(self, binding: Binding) -> None:
        self.bindings[binding.address] = binding
        self.ids[binding.address] = binding.id
        self.known[binding.kind].add(binding.id)
        self.landing.add(binding.kind, binding.id)


def seen_of(kinds: Kinds, kind: Kind, raw: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer shows of an object, as the history keeps it."""
    return told(kind, observed(kinds, kind, raw, within={}).values)


def bound_as(
    kinds: Kinds, desired: Desired, kind: Kind, address: Address, raw: Mapping[str, Any], writes: Mapping[str, Any], origin: Origin
) -> Binding:
    """The binding of an object that was just made; *seen* is what its answer shows of the fields that were sent."""
    shown = observed(kinds, kind, raw, within={})
    declared = desired.resources.get(address)
    protect = declared.protect if declared is not None else None
    return Binding(
        address=address,
        kind=kind.name,
        id=str(raw["id"]),
        origin=origin,
        sent=dict(writes),
        seen={name: shown.values[name] for name in writes if shown.values.get(name, UNSET) is not UNSET},
        protected=protect if protect is not None else kind.name in desired.protect,
    )
