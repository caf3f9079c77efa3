"""What the service should show by now: what the plan saw of each object, and what this run has changed of it since. No I/O.

In: the readings on which the plan is based, and every write of the run as it ends. Out: for a new reading of an object, the differences
that this run did not cause. Times are seconds of the writer's clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from reconciler.model import Actual, Observed, Step
from reconciler.model.codec import ids_in
from reconciler.plan.containment import Key
from reconciler.plan.siblings.rows import Siblings
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds


class Expectations:
    """What is known during a run, in addition to the `simulation` of its requests.

    `first`: when the plan's reading began. `loose`: fields whose value is not known, because the run wrote them and no response showed
    them; the next reading does. `unsure`: objects whose chosen child is the service's choice now. `reshaped`: (kind, container) whose
    objects the service rearranged. `doubts`: whether the effect of any request is unknown.
    """

    def __init__(self, kinds: Kinds, actual: Actual) -> None:
        self.kinds = kinds
        self.simulation = Simulation(kinds, actual, guess=False)
        self.loose: dict[Key, set[str]] = defaultdict(set)
        self.first = actual.read_at if actual.read_at is not None else float("-inf")
        self._read: dict[Key, float] = {}
        self._created: dict[Key, float] = {}
        self._earlier: dict[tuple[Key, str], list[Any]] = defaultdict(list)
        self.unsure: set[Key] = set()
        self.reshaped: set[Key] = set()
        self.doubts = False

    def find(self, kind: str, id: str) -> Observed | None:
        """The object as it should be; None where there is none."""
        return self.simulation.find(kind, id)

    def read_at(self, key: Key) -> float:
        """When the object was last read."""
        return self._read.get(key, self.first)

    # -- what this run does ----------------------------------------------------------------------------------------------------------

    def note_created(self, observed: Observed, at: float) -> None:
        """A create was answered, or a child of it was shown."""
        self.simulation.add_created(observed)
        self._note_earlier((observed.kind, observed.id), observed.values)
        self._rearranged(observed, self.simulation.gather(self.kinds[observed.kind], observed.id))
        self.loose[(observed.kind, observed.id)] |= {name for name, value in observed.values.items() if value is UNSET}
        self._read[(observed.kind, observed.id)] = at
        self._created[(observed.kind, observed.id)] = at

    def note_written(self, step: Step, kind: Kind, id: str, writes: Mapping[str, Any], seen: Mapping[str, Any], body: Any) -> None:
        """A request on an object that exists was done; `seen`: the written fields as its answer shows them, UNSET where it does not."""
        old = self.find(kind.name, id)
        if old is None:
            return
        self._note_earlier((kind.name, id), {**old.values, **self.simulation.chosen(kind.name, id)}, writes)
        choices = {name for name in writes if kind.fields[name].role is FieldRole.CHOICE}
        shown = {name: value for name, value in seen.items() if name in writes and name not in choices and value is not UNSET}
        self.loose[(kind.name, id)] |= {name for name in writes if kind.fields[name].lossy and name not in choices and name not in shown}
        if choices:
            self.unsure.discard((kind.name, id))
        self.simulation.write(step, kind, id, {**writes, **shown}, body)

    def _note_earlier(self, key: Key, values: Mapping[str, Any], names: Iterable[str] | None = None) -> None:
        """Remember the values that an object has before this run changes it."""
        for name in values if names is None else names:
            self._earlier[key, name].append(values.get(name, UNSET))

    def is_earlier(self, field: Field, key: Key, value: Any) -> bool:
        """Whether a field had this value before a write of this run: a reading that shows it may be older than the write."""
        return value is not UNSET and any(field.agree(value, earlier) for earlier in self._earlier.get((key, field.name), ()))

    def is_new(self, key: Key) -> bool:
        """Whether this run created the object."""
        return key in self.simulation.born

    def is_written(self, key: Key) -> bool:
        """Whether this run created, changed or deleted the object."""
        return key[1] in self.simulation.removed or any(written == key for written, _ in self._earlier)

    def created_since(self, at: float, observed: Observed) -> bool:
        """Whether this run created the object, or what contains it, after that time."""
        keys = ((observed.kind, observed.id), *observed.within.items())
        return any(self._created.get(key, float("-inf")) > at for key in keys)

    def note_in_doubt(self, kind: Kind, id: str, writes: Mapping[str, Any]) -> None:
        """A request on the object was sent, and its end is not known."""
        self.doubts = True
        self.loose[(kind.name, id)] |= set(writes)
        self.simulation.order.remove(kind.name, id)
        if any(kind.fields[name].role is FieldRole.CHOICE for name in writes):
            self.unsure.add((kind.name, id))

    def _rearranged(self, observed: Observed, names: Collection[str]) -> None:
        """The service rearranged all objects of some kinds in the container of an object."""
        self.reshaped |= {(name, observed.within.get(str(self.kinds[observed.kind].within), "")) for name in names}

    def note_deleted(self, kind: Kind, id: str) -> None:
        """A delete was done, including what the service deletes with the object."""
        last = self.find(kind.name, id)
        if last is not None:
            self._rearranged(last, self.simulation.rearranged_with(kind, id))
        for removed in self.simulation.delete(kind, id):
            if any(removed.flags.values()):
                containers = [field for field in self.kinds[removed.kind].fields.values() if field.container]
                self.unsure |= {*removed.within.items(), *((str(field.to), str(removed.values.get(field.name))) for field in containers)}

    # -- what a reading shows --------------------------------------------------------------------------------------------------------

    def differences(self, kind: Kind, id: str, now: Observed, names: Iterable[str]) -> Iterator[tuple[Field, Any, Any]]:
        """The fields that are not as expected: (field, expected, now). Fields that were not known become known."""
        old = self.find(kind.name, id)
        if old is None:
            return
        # `loose`: fields whose value no answer showed since they were written. Whatever a reading shows is their value.
        unknown = self.loose[(kind.name, id)]
        for name in names:
            field, value = kind.fields[name], now.values.get(name, UNSET)
            if not field.compared or not field.readable or field.role is FieldRole.CHOICE:
                continue
            expected = old.values.get(name, UNSET)
            if field.agree(value, expected) or self._follows(kind, old, field, expected):
                continue
            if name not in unknown:
                yield field, expected, value
        outdated = {name for name in unknown if self.is_earlier(kind.fields[name], (kind.name, id), now.values.get(name, UNSET))}
        learned = {name: now.values[name] for name in unknown - outdated if name in now.values}
        unknown &= outdated
        self.simulation.learned(kind.name, id, learned)

    def _follows(self, kind: Kind, old: Observed, field: Field, expected: Any) -> bool:
        """Whether the service changes the field because of this run: it named a deleted object, or its object was rearranged."""
        # A reference to an object that this run deleted is cleared by the service, which is nobody's edit.
        if any(text in self.simulation.removed for text in ids_in(expected) if expected is not UNSET):
            return True
        return (field.container or field.unique) and (kind.name, old.within.get(kind.within or "", "")) in self.reshaped

    def chosen(self, kind: Kind, id: str, now: Simulation) -> Iterator[tuple[Field, Any, Any]]:
        """The choices of an object that are not as expected: (field, expected id, id now)."""
        if (kind.name, id) in self.unsure:
            return
        before, after = self.simulation.chosen(kind.name, id), now.chosen(kind.name, id)
        for field in kind.fields.values():
            if field.role is FieldRole.CHOICE:
                old, new = before.get(field.name), after.get(field.name)
                if old != new and not (old is None and (str(field.to), str(new)) in self.simulation.born):
                    yield field, old, new

    def moved_outside(self, now: Simulation) -> frozenset[Key]:
        """The objects that are not in the expected position among those siblings whose order is known."""
        return moved_between(self.simulation, now)

    def note_read(self, key: Key, at: float) -> None:
        """The object was read again."""
        self._read[key] = at


def moved_between(known: Simulation, now: Simulation) -> frozenset[Key]:
    """The objects that have another position in one simulation than in the other, among the siblings that both have."""
    moved: set[Key] = set()
    for row, siblings in now.order.rows.items():
        if row in known.order.rows:
            moved |= {(row[0], id) for id in _elsewhere(siblings, known.order.rows[row])}
    return frozenset(moved)


def _elsewhere(now: Siblings[str], known: Siblings[str]) -> Iterator[str]:
    """The siblings in both lists that have different predecessors in the two."""
    ahead: set[str] = set()  # those that only one of the lists has shown so far
    for left, right in zip((id for id in now if id in known), (id for id in known if id in now), strict=True):
        if left != right or ahead:
            yield left
        # Where both lists have shown the same siblings so far, the next one is in its place whatever happened before it.
        ahead ^= {left}
        ahead ^= {right}
