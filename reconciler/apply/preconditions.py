r"""Guard reads: a run does not overwrite edits that others make on the service meanwhile.

The premise: a plan is a promise about the objects that people saw when they consented. An apply of thousands of requests lasts minutes, in
which other people work on the same organization, and the service has no conditional request (no ETag, no If-Match). What remains is to
look right before writing, and to write only if the object is still as this run expects it: as the plan read it, with what the run itself
has written since (`expected`).

    steps that may start      one gate, one reading for all who wait          sending
    ------------------        ----------------------------------------        -------
    A  -----------\           nothing is in flight (_quiet)                   A ->
    B  ------------> _gate -> read A, B, C and what the same lists show  ->   B ->
    C  -----------/           judge each: unchanged? stale? unread?           C: stale, not sent

Three rules decide how much is read, because a request for each step would double the run:

- An object that was read less than `fresh` seconds ago needs no reading. Steps that wait at the same time share one, and a list that shows
  more than was asked for refreshes everything in it.
- While it reads, nothing is written, or the reading could show a state between two of our own requests, and accuse somebody of it.
- What cannot be taken back is read whatever its age: the contents of an object before a delete or a transfer, the two containers of a
  transfer, what decides who can read something (`gates`), and the admins who remain after a demotion (`relies`).

A window remains between the reading and the request. docs/reliability.md says which edits can still be overwritten in it.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from reconciler.address import Address
from reconciler.apply.answer import Answers
from reconciler.apply.look import is_listed, look
from reconciler.apply.task import Halt, Task
from reconciler.errors import ServiceError
from reconciler.model import Actual, Observed, Step, StepStatus, Unknown
from reconciler.model.codec import title
from reconciler.model.desired import IGNORE
from reconciler.plan.audience.barriers import opens
from reconciler.plan.audience.readers import Audiences
from reconciler.plan.containment import Key, content_kinds
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import UNSET, Field, FieldRole, Kind
from reconciler.resource.open_work import more_work

Refusal = tuple[StepStatus, str]

AGAIN: Final = 1.0  # seconds before contents are read again that are shown in their state before a write of this run
INSIDE: Final = 1.0  # seconds for which a reading of what a delete includes is valid: a step may wait for its turn after it


class Preconditions:
    """Checks every step of a run before it is sent; steps that wait at the same time share a reading."""

    def __init__(self, task: Task, answers: Answers, halt: Halt) -> None:
        self.reader, self.kinds, self.desired, self.actual = task.writer, task.kinds, task.desired, task.actual
        self.expected, self.ids, self.fresh, self.halt = answers.expected, answers.ids, task.options.fresh, halt
        self.settle = task.options.settle
        plan = task.plan

        # Objects that are deleted or transferred: what people began in them since the plan was shown is not lost unseen.
        looks = self.desired.guards.open_work != IGNORE
        self._ending = {(step.kind, step.target) for step in plan.steps if step.verb in ("delete", "transfer") and looks}

        # What the plan writes, from which follows which fields of an object are this run's business.
        self._writes: dict[Address, set[str]] = {}
        self._moved: set[Address] = set()
        written: dict[Key, Address] = {}
        for step in plan.steps:
            self._writes.setdefault(step.address, set()).update(step.writes)
            if isinstance(step.target, str):
                written[step.kind, step.target] = step.address
            if step.verb == "move":
                self._moved.add(step.address)
        # Objects that this run creates get their ids while it runs, so their addresses are looked up in the answers, not copied.
        self._addresses = ChainMap(answers.addresses, written)

        # The gate. Whoever holds it reads for all who wait; it opens only while nothing is being sent.
        self._gate = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._waiting: dict[int, Step] = {}
        self._sending = 0

        # The pace of the run, from which follows how many of the next steps a reading should serve.
        self._started_at = self.reader.monotonic()
        self._admitted, self._steps = 0, len(plan.steps)
        self._deletes_to_come = {step.id: step for step in plan.steps if step.verb == "delete" and self._takes_contents(step)}

        # What the readings showed, with the reason in the words of the outcome. An object that is read again and is as expected
        # leaves `_unread` and the two below it, but never `_stale`: an edit that was undone in the meantime was still an edit.
        self._stale: dict[Key, str] = {}
        self._unread: dict[Key, str] = {}
        self._readers_grew: dict[Key, str] = {}
        self._relied_changed: dict[Key, str] = {}
        self._deleted: set[Key] = set()

        # Answers that lists do not give as a side effect: which child is the default, and what an object contains.
        self._choices_read_at: dict[Key, float] = {}
        self._contents_read_at: dict[int, float] = {}
        self._contents_verdict: dict[int, Refusal | None] = {}
        # Steps whose last reading lacked only what this run has written: the service reads from a replica that is behind.
        self._lagging: set[int] = set()

    @asynccontextmanager
    async def passing(self, step: Step) -> AsyncIterator[Refusal | None]:
        """Keep the check valid while a step is sent; yields why it must not be sent, None where it may."""
        refusal = await self._admit(step)
        try:
            yield refusal
        finally:
            self._sending -= 1
            if not self._sending:
                self._quiet.set()

    async def _admit(self, step: Step) -> Refusal | None:
        self._waiting[step.id] = step
        try:
            # One turn of the loop, so that all steps that were started together are in `_waiting` when the first of them reads.
            await asyncio.sleep(0)
            async with self._gate:
                until = self.reader.monotonic() + self.settle
                while self._needs(step) and not self.halt:
                    await self._quiet.wait()
                    await self._read()
                    if step.id not in self._lagging or self.reader.monotonic() >= until:
                        break
                    await self.reader.clock.sleep(AGAIN)
                    self._contents_read_at.pop(step.id, None)
                self._sending += 1
                self._admitted += 1
                self._deletes_to_come.pop(step.id, None)
                self._quiet.clear()
                return (StepStatus.SKIPPED, "not sent: the run was stopped") if self.halt else self._verdict(step)
        finally:
            self._waiting.pop(step.id, None)

    # -- what to read ----------------------------------------------------------------------------------------------------------------

    def _target(self, step: Step) -> Observed | None:
        """The object that a step writes; None for a create, and where the plan never saw it."""
        if step.target is None:
            return None
        id = self.ids.get(step.target, "") if isinstance(step.target, Address) else step.target
        return self.expected.find(step.kind, id)

    def _old(self, at: float) -> bool:
        return self.reader.monotonic() - at > self.fresh

    def _needs(self, step: Step) -> bool:
        if any(self._old(self.expected.read_at(key)) for key in (*step.gates, *step.relies) if self.expected.find(*key) is not None):
            return True
        target = self._target(step)
        if target is None:
            return False
        key = (target.kind, target.id)
        # A choice (which child is the default) is shown by the children, so its age is not that of the object that carries it.
        first = self.expected.read_at(key) if key in self.expected.simulation.born else self.expected.first
        chooses = bool(self._choices(step)) and self._old(self._choices_read_at.get(key, first))
        return self._old(self.expected.read_at(key)) or chooses or self._unseen_inside(step)

    def _choices(self, step: Step) -> list[Field]:
        kind = self.kinds[step.kind]
        return [kind.fields[name] for name in step.writes if kind.fields[name].role is FieldRole.CHOICE]

    def _takes_contents(self, step: Step) -> bool:
        """Whether what the object contains must be read right before."""
        return step.verb == "transfer" or (step.verb == "delete" and bool(content_kinds(self.kinds, self.kinds[step.kind])))

    def _unseen_inside(self, step: Step) -> bool:
        """Whether a delete or a transfer affects contents of the object that were not read immediately before."""
        old = self.reader.monotonic() - self._contents_read_at.get(step.id, float("-inf")) > INSIDE
        return old and self._takes_contents(step)

    def _ends(self, step: Step) -> list[Observed]:
        """The container that a transferred object leaves and the one that gets it, as expected."""
        target, owner = self._target(step), self.kinds[step.kind].transferable
        if step.verb != "transfer" or target is None or owner is None or owner.to is None:
            return []
        then = step.writes[owner.name]
        ids = (target.within.get(owner.to, ""), self.ids.get(then, "") if isinstance(then, Address) else str(then))
        return [observed for id in ids if (observed := self.expected.find(owner.to, id)) is not None]

    # -- reading ---------------------------------------------------------------------------------------------------------------------

    def _soon(self, within: float) -> int:
        """How many more steps will follow within this many seconds, at the pace of this run."""
        seconds = self.reader.monotonic() - self._started_at
        return min(self._steps - self._admitted, int(within * self._admitted / seconds)) if seconds > 0 and within > 0 else 0

    async def _read(self) -> None:
        """One reading for every step that waits."""
        waiting = dict(self._waiting)  # a copy: steps keep arriving while this reads, and wait for the next one
        targets = {step.id: observed for step in waiting.values() if (observed := self._target(step)) is not None}
        keys = {id: observed.key for id, observed in targets.items()}

        # Objects that are deleted or transferred with their contents are read whatever their age.
        containers = {id: observed for id, observed in targets.items() if self._unseen_inside(waiting[id])}
        outdated = {
            keys[id]: observed for id, observed in targets.items() if id in containers or self._old(self.expected.read_at(keys[id]))
        }
        choosing = [(targets[id], choice) for id, step in waiting.items() if id in targets for choice in self._choices(step)]
        children = [child for outer, field in choosing for child in self._children(outer, field)]
        ends = {id: self._ends(waiting[id]) for id in targets if waiting[id].verb == "transfer"}
        gates = self._outdated_among((key for step in waiting.values() for key in step.gates), outdated)
        relied = self._outdated_among((key for step in waiting.values() for key in step.relies), outdated)
        extra = (*children, *(end for pair in ends.values() for end in pair))
        objects = {**outdated, **{observed.key: observed for observed in extra}, **gates, **relied}

        # The order of siblings costs a list of its own; only what this run moves is compared in it.
        ordered = {keys[id] for id in targets if waiting[id].address in self._moved} & set(outdated)
        at = self.reader.monotonic()
        try:
            model, soon = self.expected.simulation, self._soon(self.fresh)
            now = await look(self.reader, objects.values(), model, soon=soon, ordered=ordered, emptied=containers.values())
        except ServiceError as error:
            # Nothing is known, which is no reason to write: every step that waits is skipped with this message.
            now = replace(Actual(), unknown=tuple(Unknown(name, None, error.message) for name in self.kinds))
        shown = Simulation(self.kinds, now, guess=False)

        for key, gate in gates.items():
            self._judge_gate(key, gate, now, at)
        for key, other in relied.items():
            self._judge_relied(key, other, now, at)
        moved_outside = self.expected.moved_outside(shown)
        addresses = {**dict(self._shown(now)), **{keys[id]: waiting[id].address for id in targets if keys[id] in outdated}}
        for key, address in addresses.items():
            self._judge(key, address, now, at, key in moved_outside)
        for id, pair in ends.items():
            self._judge_ends(keys[id], pair, now)
        for outer, _ in choosing:
            self._judge_choices(outer, now, shown, at)
        # Last, because the contents are compared without what the judgements above found deleted.
        for id, outer in {**containers, **self._contents_shown_too(containers.values(), now)}.items():
            self._contents_verdict[id] = self._judge_contents(id, outer, now, shown)
            self._contents_read_at[id] = self.reader.monotonic()

    def _outdated_among(self, keys: Iterable[Key], outdated: Collection[Key]) -> dict[Key, Observed]:
        """The objects among these that are read again: with what is outdated anyway, or because they are too old themselves."""
        known = {key: observed for key in keys if (observed := self.expected.find(*key)) is not None}
        return {key: observed for key, observed in known.items() if key in outdated or self._old(self.expected.read_at(key))}

    def _shown(self, now: Actual) -> Iterator[tuple[Key, Address]]:
        """Everything in a reading that the run writes at some point, whether or not it was asked for."""
        for kind, some in now.objects.items():
            for id in some:
                address = self._addresses.get((kind, id))
                if address is not None and self.expected.find(kind, id) is not None:
                    yield (kind, id), address

    def _contents_shown_too(self, read: Collection[Observed], now: Actual) -> dict[int, Observed]:
        """The next deletes whose contents the same readings show, because they list everything beside what was `read`."""
        whole: dict[Key, bool] = {}
        for observed in read:
            outer = observed.within.get(str(self.kinds[observed.kind].within), "")
            inside = self._inside(self.kinds[observed.kind])
            whole[observed.kind, outer] = all((name, observed.within.get(str(self.kinds[name].within))) in now.complete for name in inside)
        if not any(whole.values()):
            return {}
        following = islice(self._deletes_to_come.values(), self._soon(INSIDE))
        targets = {step.id: target for step in following if (target := self._target(step)) is not None}
        return {id: seen for id, seen in targets.items() if whole.get((seen.kind, seen.within.get(str(self.kinds[seen.kind].within), "")))}

    def _children(self, outer: Observed, field: Field) -> Iterator[Observed]:
        """What shows which child is chosen: any two of them, so that their listing is read."""
        yield from self.expected.simulation.inside(str(field.to), outer.kind, outer.id)

    # -- judging ---------------------------------------------------------------------------------------------------------------------

    def _judge(self, key: Key, address: Address, now: Actual, at: float, moved_outside: bool) -> None:
        kind, observed = self.kinds[key[0]], now.find(*key)
        self._unread.pop(key, None)
        if observed is None:
            failed = next((unknown for unknown in now.unknown if unknown.kind == kind.name), None)
            if key in now.elsewhere:
                self._stale[key] = f"it belongs to another {kind.within} now ({now.elsewhere[key]})"
            elif self._may_lag(key):
                return  # the service does not show yet what this run has just created
            elif failed is not None:
                self._unread[key] = f"it could not be read again: {failed.reason}"
            else:
                self._deleted.add(key)
            return
        self.expected.note_read(key, at)
        old = self.expected.find(*key)
        assert old is not None
        if kind.transferable is not None and observed.within != old.within:
            self._stale[key] = f"it belongs to another {kind.within} now ({observed.within.get(str(kind.within))})"
        if observed.deleted_at is not None and old.deleted_at is None:
            self._stale[key] = "it was deleted in the meantime"
        elif observed.deleted_at is None and old.deleted_at is not None:
            self._stale[key] = "it was restored in the meantime"
        differing = self.expected.differences(kind, key[1], observed, self._names(kind, address))
        changed = [
            difference_text(*difference) for difference in differing if not self.expected.is_earlier(difference[0], key, difference[2])
        ]
        if changed and key not in self._stale:
            self._stale[key] = "; ".join(changed)
        if key in self._ending and key not in self._stale and (more := more_work(kind.counted, old.raw, observed.raw)):
            self._stale[key] = more
        if address in self._moved and key not in self._stale and moved_outside:
            self._stale[key] = "it was reordered in the meantime"

    def _may_lag(self, key: Key) -> bool:
        """Whether the service may not show an object yet, because this run has just created it."""
        expected = self.expected.find(*key)
        return expected is not None and self.expected.created_since(self.reader.monotonic() - self.settle, expected)

    def _judge_ends(self, key: Key, ends: list[Observed], now: Actual) -> None:
        """Whether both containers of a transfer still exist."""
        for end in ends:
            if now.find(end.kind, end.id) is None and key not in self._stale:
                failed = next((failure for failure in now.unknown if failure.kind == end.kind), None)
                if failed is not None:
                    self._unread[key] = f"{end.kind} {end.id} could not be read again: {failed.reason}"
                else:
                    self._stale[key] = f"{end.kind} {end.id} no longer exists"

    def _judge_gate(self, key: Key, expected: Observed, now: Actual, at: float) -> None:
        """Whether an object that decides who can read something admits more people than the plan showed."""
        kind, observed = self.kinds[key[0]], now.find(*key)
        self._readers_grew.pop(key, None)
        if observed is None or kind.audience is None:
            failed = next((failure for failure in now.unknown if failure.kind == kind.name), None)
            if failed is not None:
                self._readers_grew[key] = f"its readers could not be read again: {failed.reason}"
            return
        # Fields that this run itself may be changing at this moment (`loose`) prove nothing about other people.
        names = [name for name in kind.audience.gates if name not in self.expected.loose[key]]
        world = Audiences(self.kinds, self.expected.simulation.objects, complete=())
        if opens(world, key, expected.values, {**expected.values, **{name: observed.values.get(name, UNSET) for name in names}}):
            changed = [name for name in names if observed.values.get(name, UNSET) != expected.values.get(name, UNSET)]
            differences = (difference_text(kind.fields[name], expected.values.get(name), observed.values.get(name)) for name in changed)
            says = f"more people can read {kind.name} {title(observed)!r} than the plan showed: {'; '.join(differences)}"
            self._readers_grew[key] = says
        if key not in self._addresses:
            self.expected.note_read(key, at)

    def _judge_relied(self, key: Key, expected: Observed, now: Actual, at: float) -> None:
        """Whether an object on which a step relies still exists, with the value that some objects must always keep."""
        kind, observed, scarce = self.kinds[key[0]], now.find(*key), self.kinds[key[0]].scarce
        self._relied_changed.pop(key, None)
        if observed is None:
            failed = next((failure for failure in now.unknown if failure.kind == kind.name), None)
            says = f"could not be read again: {failed.reason}" if failed is not None else "no longer exists"
            self._relied_changed[key] = f"{kind.name} {title(expected)!r}, on which this relies, {says}"
            return
        if not kind.is_active(observed.values):
            self._relied_changed[key] = f"{kind.name} {title(expected)!r}, on which this relies, was disabled"
        elif scarce is not None and observed.values.get(scarce.name) != expected.values.get(scarce.name):
            changed = difference_text(scarce, expected.values.get(scarce.name), observed.values.get(scarce.name))
            self._relied_changed[key] = f"of {kind.name} {title(expected)!r}, on which this relies, {changed}"
        if key not in self._addresses:
            self.expected.note_read(key, at)

    def _names(self, kind: Kind, address: Address) -> list[str]:
        """The fields to compare: declared and written ones, and the location; all fields of an undeclared object."""
        declared = self.desired.resources.get(address)
        if declared is None:
            return list(kind.fields)
        mine = {*(declared.values.keys() - declared.ignores), *self._writes.get(address, ())}
        return [name for name, field in kind.fields.items() if name in mine or field.container]

    def _judge_choices(self, outer: Observed, now: Actual, shown: Simulation, at: float) -> None:
        kind, key = self.kinds[outer.kind], (outer.kind, outer.id)
        self._choices_read_at[key] = at
        failed = next((unknown for unknown in now.unknown if unknown.kind in {field.to for field in kind.fields.values()}), None)
        if failed is not None and self._may_lag(key):
            return
        if failed is not None:
            self._unread[key] = f"it could not be read again: {failed.reason}"
            return
        choices = self.expected.chosen(kind, outer.id, shown)
        changed = [difference_text(*choice) for choice in choices if not self.expected.is_earlier(choice[0], key, choice[2])]
        if changed and key not in self._stale:
            self._stale[key] = "; ".join(changed)

    def _judge_contents(self, step: int, outer: Observed, now: Actual, shown: Simulation) -> Refusal | None:
        """Refuse a step whose object does not contain exactly what the plan counted, less what this run removed; None where it does.

        A reading that only lacks what this run has written is outdated: it is repeated until the settle time has passed.
        """
        self._lagging.discard(step)
        kind = self.kinds[outer.kind]
        if (outer.kind, outer.id) in self._deleted:
            return None
        gone, inside = {id for _, id in self._deleted}, self._inside(kind)
        failed = next((unknown for unknown in now.unknown if unknown.kind in inside and unknown.scope not in gone), None)
        if failed is not None:
            return StepStatus.SKIPPED, f"not sent: its contents could not be read again: {failed.reason}"
        before, after = (dict(simulation.contents(kind, outer.id)) for simulation in (self.expected.simulation, shown))
        # An object that a list did not show completely may have been there all the time, so it counts neither as added nor as removed.
        added = [key for key in after if key not in before and is_listed(self.kinds, self.actual.complete, after[key])]
        removed = [key for key in before if key not in after and is_listed(self.kinds, now.complete, before[key])]
        changes = [f"{key[0]} {title(after[key])!r} was added" for key in added]
        changes += [f"{key[0]} {title(before[key])!r} was removed" for key in removed]
        for key, observed in after.items():
            if key in before:
                inner = self.kinds[key[0]]
                differing = self.expected.differences(inner, key[1], observed, list(inner.fields))
                changed = [difference for difference in differing if not self.expected.is_earlier(difference[0], key, difference[2])]
                changes += [f"in {key[0]} {title(observed)!r} {difference_text(*difference)}" for difference in changed]
                if (outer.kind, outer.id) in self._ending and (more := more_work(inner.counted, before[key].raw, observed.raw)):
                    changes.append(f"in {key[0]} {title(observed)!r} {more}")
        # Nothing differs but what this run has added or removed itself: the reading is behind our own writes.
        if changes and len(changes) == len(added) + len(removed) and all(map(self.expected.is_written, (*added, *removed))):
            self._lagging.add(step)
        return (StepStatus.STALE, f"its contents changed in the meantime: {'; '.join(changes[:5])}") if changes else None

    def _inside(self, outer: Kind) -> frozenset[str]:
        """The kinds whose objects may be in one of the kind, at any depth."""
        inside, ahead = set[str](), [outer]
        while ahead:
            for kind in content_kinds(self.kinds, ahead.pop()):
                if kind.name not in inside:
                    inside.add(kind.name)
                    ahead.append(kind)
        return frozenset(inside)

    def _verdict(self, step: Step) -> Refusal | None:
        reasons = [self._readers_grew[key] for key in step.gates if key in self._readers_grew]
        reasons += [self._relied_changed[key] for key in step.relies if key in self._relied_changed]
        if reasons:
            return StepStatus.STALE, reasons[0]
        target = self._target(step)
        if target is None:
            return None
        key = (target.kind, target.id)
        if key in self._deleted:  # a delete has nothing to do then, and the service says so
            return None if step.verb == "delete" else (StepStatus.STALE, "it no longer exists")
        if key in self._stale:
            return StepStatus.STALE, self._stale[key]
        if key in self._unread:
            return StepStatus.SKIPPED, f"not sent: {self._unread[key]}"
        return self._contents_verdict.get(step.id)


def difference_text(field: Field, expected: Any, now: Any) -> str:
    """The difference in words; a sensitive value is not shown."""
    if field.sensitive:
        return f"{field.name} was changed in the meantime"
    return f"{field.name} was {_shown(field, expected)} and is now {_shown(field, now)}"


def _shown(field: Field, value: Any) -> str:
    if value is UNSET or value is None:
        return "nothing"
    text = repr(field.shown(value))
    return text if len(text) <= 60 else f"{text[:59]}…"
