"""The check after a run: whether what was written exists, what somebody else changed meanwhile, and what is still to do.

In: a run whose steps have all ended. Out: `Verification`. What differs from what was seen after a write is reported, never stored as seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.address import Address
from reconciler.apply.answer import Answers, altered, is_altered, moved_between
from reconciler.apply.deletions import Deletions
from reconciler.apply.look import read_written
from reconciler.apply.task import Task
from reconciler.errors import ServiceError
from reconciler.model import Actual, Binding, Desired, Edited, Observed, State, Step, StepResult, StepStatus
from reconciler.observe import observe
from reconciler.plan.planner import plan as make_plan
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import UNSET, Field, FieldRole, Kind

GONE = "was deleted: it existed when it was last read"
DELETED = "was deleted; it can be restored"
UNMET = "RC-expectation-not-met"  # the cause of a resource that is blocked because it has another value than `expect` says
MOVED_OUTSIDE = "was reordered among its siblings"


FIRST_PAUSE: Final = 0.5  # seconds before what is not visible yet is read again; each pause is twice as long as the last
LONGEST_PAUSE: Final = 5.0


@dataclass(frozen=True)
class Verification:
    """The result of the check after a run; see `Outcome`."""

    edited: tuple[Edited, ...] = ()
    leftover: tuple[Address, ...] = ()
    unverified: tuple[Address, ...] = ()
    not_visible: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()


async def verify_writes(task: Task, answers: Answers, deletions: Deletions, results: Mapping[int, StepResult]) -> Verification:
    """Read again and compare; fields that no response showed are recorded as they are read here, and deletes that it proves are settled.

    A service may show its last state a moment longer. What is still in its state before a write of this run is read again until the settle
    time has passed.
    """
    clock = task.writer.clock
    until, pause = clock.monotonic() + task.options.settle, FIRST_PAUSE
    while True:
        verification, record = await _compared(task, answers, deletions, results)
        left = until - clock.monotonic()
        if not (verification.not_visible or deletions.any_shown) or left <= 0 or task.options.stop.is_set():
            record()
            return verification
        await clock.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)


async def _compared(
    task: Task, answers: Answers, deletions: Deletions, results: Mapping[int, StepResult]
) -> tuple[Verification, Callable[[], None]]:
    """What one reading shows, and what records it in the state."""
    kinds, selection, state = task.kinds, task.options.selection, deletions.without(task.journal.state())
    desired = _still_declared(task, results)
    written = _written(results)
    try:
        written_only = task.options.verify == "written"
        actual, now = await read_written(task, answers, results, *deletions.objects()) if written_only else (None, None)
        await deletions.read(task.writer, now, lambda ending: task.journal.settle([ending]))
        actual = actual if actual is not None else await observe(task.writer, kinds, desired, state)
    except ServiceError as error:
        unread = tuple(address for address in written if address in state.bindings)
        wrong = f"what was written could not be read again: {error.message}"
        return Verification(unverified=unread, notes=(wrong,)), lambda: None
    task.options.listener.comparing(len(desired.resources))
    read_back = _ReadBack(task, answers, state, actual)
    # The same planner, on what was read back: what it would still send is what this run has not reached. Access tests
    # were judged before the run and would only repeat their violations here.
    again = make_plan(kinds, replace(desired, access=()), state, actual, selection=selection)
    edited = [edit for address in written for edit in read_back.written(address, written[address])]
    unverified = tuple(address for address in written if read_back.unread(address))
    undone = {result.step.address for result in results.values() if result.status is not StepStatus.DONE}
    waiting = undone | set(task.plan.deferred) | {blocked.address for blocked in task.plan.blocked} | set(unverified)
    reported = {edit.address for edit in edited} | read_back.not_visible.keys()
    leftover: list[Address] = []
    consequences: set[int] = set()  # steps that are needed because of somebody else's edit, or of what is not visible yet
    for step in again.steps:
        # Only causes are reported: a step that follows from somebody's edit is the reaction to it, not another edit.
        if step.address in reported or step.needs & consequences:
            consequences.add(step.id)
            continue
        if step.address in waiting:
            continue
        edits = list(read_back.meanwhile(step))
        outdated = step.address in read_back.not_visible or (not edits and read_back.is_outdated(step))
        reported.update((edit.address for edit in edits), read_back.not_visible)
        consequences |= {step.id} if edits or outdated else set()
        edited += edits
        leftover += [] if edits or outdated or step.address in leftover else [step.address]
    unmet = [blocked for blocked in again.blocked if blocked.id == UNMET and blocked.address in written and blocked.address not in waiting]
    leftover += [blocked.address for blocked in unmet if blocked.address not in (*leftover, *reported)]
    # What somebody else changed is reported and not recorded as seen, or the next plan could not show it as drift.
    unreported = set(state.bindings) - reported - undone - set(answers.unseen)
    learned = read_back.learned(reported)
    notes = (*read_back.altered(learned), *(f"{blocked.address}: {blocked.reason}; {blocked.remedy}" for blocked in unmet))
    agreed = [binding for binding in again.state_update.bind.values() if binding.address in unreported]

    def record() -> None:
        task.journal.note_seen(learned)
        task.journal.remember(bind=agreed)

    return Verification(tuple(edited), tuple(leftover), unverified, tuple(read_back.not_visible), notes), record


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
    """The reading after a run, and what should exist. `not_visible`: what the reading shows in its state before a write of this run."""

    def __init__(self, task: Task, answers: Answers, state: State, actual: Actual) -> None:
        self.kinds, self.answers, self.state, self.actual = task.kinds, answers, state, actual
        self.simulation = Simulation(task.kinds, actual, guess=False)
        self.moved_outside = answers.expected.moved_outside(self.simulation)
        self.before = task.actual
        self.not_visible: dict[Address, None] = {}

    def _now(self, binding: Binding) -> Observed | None:
        return self.actual.find(*binding.key)

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
            yield from self._missing(address, binding)
            return
        for name, field in kind.fields.items():
            if name not in names or not field.compared or not field.readable or name in self.answers.unseen.get(address, ()):
                continue
            seen, sent = binding.seen.get(name, UNSET), binding.sent.get(name, UNSET)
            value = self._value(kind, now, field)
            if seen is not UNSET and value is not UNSET and not field.same(field.stored(value, binding.id), seen, sent):
                yield from self._changed(address, binding, field, seen, value)

    def meanwhile(self, step: Step) -> Iterator[Edited]:
        """What somebody else changed so that a fresh plan would send a request: the differences from what should exist."""
        binding, kind = self.state.bindings.get(step.address), self.kinds[step.kind]
        expected = self.answers.expected.find(kind.name, binding.id) if binding is not None else None
        if binding is None or expected is None:
            return
        now = self._now(binding)
        if now is None or (now.deleted_at is not None and expected.deleted_at is None):
            yield from self._missing(step.address, binding)
            return
        names = [name for name in kind.fields if name in step.writes]
        model = self.answers.expected
        changed = [*model.differences(kind, binding.id, now, names), *model.chosen(kind, binding.id, self.simulation)]
        for field, before, after in changed:
            if field.name in step.writes:
                yield from self._changed(step.address, binding, field, before, after)
        if not changed and step.verb == "move" and (kind.name, now.id) in self.moved_outside:
            if (kind.name, now.id) in moved_between(Simulation(self.kinds, self.before, guess=False), self.simulation):
                yield Edited(step.address, None, says=MOVED_OUTSIDE)
            else:
                self.not_visible[step.address] = None

    def is_outdated(self, step: Step) -> bool:
        """Whether a fresh plan would send a request only because the reading is older than the writes of this run."""
        model, kind = self.answers.expected, self.kinds[step.kind]
        if step.verb == "delete":
            outdated = step.target in model.simulation.removed
        else:
            binding = self.state.bindings.get(step.address)
            now = self._now(binding) if binding is not None else None
            fields = [kind.fields[name] for name in step.writes] if now is not None else []
            outdated = bool(fields) and all(
                now is not None and self.answers.expected.is_earlier(field, (kind.name, now.id), self._value(kind, now, field))
                for field in fields
            )
        self.not_visible |= {step.address: None} if outdated else {}
        return outdated

    def _missing(self, address: Address, binding: Binding) -> Iterator[Edited]:
        """That an object no longer exists, unless this run created or restored it."""
        now, before = self._now(binding), self.before.find(*binding.key)
        was_deleted = before is not None and before.deleted_at is not None
        if was_deleted if now is not None else self.answers.expected.is_new(binding.key):
            self.not_visible[address] = None
        else:
            yield Edited(address, None, says=GONE if now is None else DELETED)

    def _changed(self, address: Address, binding: Binding, field: Field, before: Any, after: Any) -> Iterator[Edited]:
        """That a field has another value, unless it is the one from before a write of this run."""
        if self.answers.expected.is_earlier(field, binding.key, after):
            self.not_visible[address] = None
        else:
            yield Edited(address, field.name, field.shown(before), field.shown(after), sensitive=field.hides(before) or field.hides(after))

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

    def altered(self, learned: Mapping[Address, Mapping[str, Any]]) -> Iterator[str]:
        """A sentence for each value that this reading shows first, and that the service stores differently from what it was sent."""
        for address, values in learned.items():
            binding = self.state.bindings[address]
            for name, value in values.items():
                field = self.kinds[binding.kind].fields[name]
                if is_altered(field, value, binding.sent.get(name, value)):
                    yield altered(address, field, value)

    def _value(self, kind: Kind, now: Observed, field: Field) -> Any:
        if field.role is FieldRole.CHOICE:
            return self.simulation.chosen(kind.name, now.id).get(field.name, UNSET)
        return now.values.get(field.name, UNSET)
