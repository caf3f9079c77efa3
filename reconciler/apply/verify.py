"""The check after a run: whether what was written exists, what somebody else changed meanwhile, and what is still to do.

In: a run whose steps have all ended. Out: `Verification`. What differs from what was seen after a write is reported, never stored as seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.apply.answer import Answers
from reconciler.apply.reread import read_written
from reconciler.apply.task import Task
from reconciler.dataclass import dataclass
from reconciler.errors import ServiceError
from reconciler.model import Actual, Binding, Desired, Edited, Observed, State, Step, StepResult, StepStatus
from reconciler.observe import observe
from reconciler.plan import plan as make_plan
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds

GONE = "was deleted: it existed when it was last read"
DELETED = "was deleted; it can be restored"
MOVED_OUTSIDE = "was reordered among its siblings"


@dataclass(frozen=True)
class Verification:
    """The result of the check after a run; see `Outcome`."""

    edited: tuple[Edited, ...] = ()
    leftover: tuple[Address, ...] = ()
    unverified: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()


async def verify_writes(task: Task, answers: Answers, results: Mapping[int, StepResult]) -> Verification:
    """Read again and compare; fields that no response showed are recorded as they are read here."""
    kinds, selection, state = task.kinds, task.options.selection, task.journal.state()
    desired = _still_declared(task, results)
    written = _written(results)
    try:
        actual = await read_written(task, answers, results) if task.options.verify == "written" else None
        actual = actual if actual is not None else await observe(task.writer, kinds, desired, state)
    except ServiceError as error:
        unread = tuple(address for address in written if address in state.bindings)
        return Verification(unverified=unread, notes=(f"what was written could not be read again: {error.message}",))
    task.options.listener.comparing(len(desired.resources))
    read_back = _ReadBack(kinds, answers, state, actual)
    again = make_plan(kinds, replace(desired, access=()), state, actual, selection=selection)
    edited = [edit for address in written for edit in read_back.written(address, written[address])]
    unverified = tuple(address for address in written if read_back.unread(address))
    undone = {result.step.address for result in results.values() if result.status is not StepStatus.DONE}
    waiting = undone | set(task.plan.deferred) | {blocked.address for blocked in task.plan.blocked} | set(unverified)
    reported = {edit.address for edit in edited}
    leftover: list[Address] = []
    consequences: set[int] = set()  # steps that are needed because of somebody else's edit
    for step in again.steps:
        if step.address in reported or step.needs & consequences:
            consequences.add(step.id)
            continue
        if step.address in waiting:
            continue
        edits = list(read_back.meanwhile(step))
        reported |= {edit.address for edit in edits}
        consequences |= {step.id} if edits else set()
        edited += edits
        leftover += [] if edits or step.address in leftover else [step.address]
    task.journal.note_seen(read_back.learned(reported))
    unreported = set(state.bindings) - reported - undone - set(answers.unseen)
    task.journal.remember(bind=[binding for binding in again.state_update.bind.values() if binding.address in unreported])
    return Verification(tuple(edited), tuple(leftover), unverified)


def _still_declared(task: Task, results: Mapping[int, StepResult]) -> Desired:
    """What was declared, without lines that would take effect again: they already have."""
    done = dict(task.plan.state_update.rename)
    for result in results.values():
        if result.status is StepStatus.DONE:
            done |= result.step.renames
    moved = tuple(move for move in task.desired.moved if not (move.again and done.get(move.old) == move.new))
    return replace(task.desired, moved=moved)


def _written(results: Mapping[int, StepResult]) -> dict[Address, set[str]]:
    """The fields that were written, by address, in the order of the steps; deletes are left out."""
    fields: dict[Address, set[str]] = {}
    for _, result in sorted(results.items()):
        if result.status is StepStatus.DONE and result.step.verb != "delete":
            fields.setdefault(result.step.address, set()).update(result.step.writes)
    return fields


class _ReadBack:
    """The reading after a run, and what should exist."""

    def __init__(self, kinds: Kinds, answers: Answers, state: State, actual: Actual) -> None:
        self.kinds, self.answers, self.state, self.actual = kinds, answers, state, actual
        self.simulation = Simulation(kinds, actual, guess=False)
        self.moved_outside = answers.expected.moved_outside(self.simulation)

    def _now(self, binding: Binding) -> Observed | None:
        return self.actual.find(binding.kind, binding.id)

    def unread(self, address: Address) -> bool:
        """Whether it is unknown whether the writes to an object took effect."""
        binding = self.state.bindings.get(address)
        return binding is not None and self._now(binding) is None and any(unknown.kind == binding.kind for unknown in self.actual.unknown)

    def written(self, address: Address, names: set[str]) -> Iterator[Edited]:
        """The fields that are not as they were seen after the write."""
        binding = self.state.bindings.get(address)
        if binding is None or self.unread(address):
            return
        now, kind = self._now(binding), self.kinds[binding.kind]
        if now is None or now.deleted_at is not None:
            yield Edited(address, None, says=GONE if now is None else DELETED)
            return
        for name, field in kind.fields.items():
            if name not in names or not field.compared or not field.readable or name in self.answers.unseen.get(address, ()):
                continue
            seen = binding.seen.get(name, UNSET)
            value = self._value(kind, now, field)
            sent = binding.sent.get(name, UNSET)
            if seen is not UNSET and value is not UNSET and not field.same(field.stored(value, binding.id), seen, sent):
                yield _edit(address, field, seen, value)

    def meanwhile(self, step: Step) -> Iterator[Edited]:
        """What somebody else changed so that a fresh plan would send a request: the differences from what should exist."""
        binding, kind = self.state.bindings.get(step.address), self.kinds[step.kind]
        expected = self.answers.expected.find(kind.name, binding.id) if binding is not None else None
        if binding is None or expected is None:
            return
        now = self._now(binding)
        if now is None or (now.deleted_at is not None and expected.deleted_at is None):
            yield Edited(step.address, None, says=GONE if now is None else DELETED)
            return
        names = [name for name in kind.fields if name in step.writes]
        model = self.answers.expected
        changed = [*model.differences(kind, binding.id, now, names), *model.chosen(kind, binding.id, self.simulation)]
        yield from (_edit(step.address, *change) for change in changed if change[0].name in step.writes)
        if not changed and step.verb == "move" and (kind.name, now.id) in self.moved_outside:
            yield Edited(step.address, None, says=MOVED_OUTSIDE)

    def learned(self, reported: set[Address]) -> dict[Address, dict[str, Any]]:
        """The fields that no answer showed, as they are now."""
        values_now: dict[Address, dict[str, Any]] = {}
        for address, names in self.answers.unseen.items():
            binding = self.state.bindings.get(address)
            now = self._now(binding) if binding is not None else None
            if now is not None and address not in reported:
                values = {name: now.values[name] for name in sorted(names) if now.values.get(name, UNSET) is not UNSET}
                values_now[address] = self.kinds[now.kind].stored(values, now.id)
        return values_now

    def _value(self, kind: Kind, now: Observed, field: Field) -> Any:
        if field.role is FieldRole.CHOICE:
            return self.simulation.chosen(kind.name, now.id).get(field.name, UNSET)
        return now.values.get(field.name, UNSET)


def _edit(address: Address, field: Field, before: Any, after: Any) -> Edited:
    return Edited(address, field.name, field.shown(before), field.shown(after), sensitive=field.sensitive)
