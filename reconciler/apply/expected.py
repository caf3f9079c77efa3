"""What the service should show by now: what the plan saw of each object, and what this run has changed of it since. No I/O.

In: the readings the plan was made from, and every write of the run as it ends. Out: for a new reading of an object, what is different in
it that this run did not do. Times are seconds of the clock that the writer was given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.model import Actual, Observed, Step
from reconciler.plan.drafts import choices
from reconciler.reading import ids_in
from reconciler.resource import UNSET, Field, Kind, Kinds, Role

Key = tuple[str, str]
"""An object: its kind and its id."""

Row = tuple[str, str, Any]
"""Siblings: their kind, the id of their container, the id of the node they stand in."""

Objects = Mapping[str, Mapping[str, Observed]]


class Expected:
    """A model of the service, kept as the run goes on.

    `first`: when the plan's reading began. `loose`: fields whose value is not known, because the run wrote them and no answer showed what
    became of them; the next reading tells. `order`: the order of siblings, as far as it was read or made by this run.
    """

    def __init__(self, kinds: Kinds, actual: Actual) -> None:
        self.kinds = kinds
        self.objects: dict[str, dict[str, Observed]] = {name: dict(actual.objects.get(name, {})) for name in kinds}
        self.loose: dict[Key, set[str]] = defaultdict(set)
        self.order: dict[Row, list[str]] = defaultdict(list)
        self.born: set[Key] = set()
        self.removed: set[str] = set()
        self.first = actual.read_at if actual.read_at is not None else float("-inf")
        self._read: dict[Key, float] = {}
        self._unsure: set[Key] = set()  # whose chosen child is the service's choice now
        self._reshaped: set[Key] = set()  # (kind, container) whose objects the service rearranged
        for row, ids in rows(kinds, self.objects).items():
            self.order[row] = ids

    def find(self, kind: str, id: str) -> Observed | None:
        """The object as it should be; None where there is none."""
        return self.objects.get(kind, {}).get(id)

    def read_at(self, key: Key) -> float:
        """When the object was last read."""
        return self._read.get(key, self.first)

    # -- what this run does ----------------------------------------------------------------------------------------------------------

    def made(self, one: Observed, at: float) -> None:
        """A create was answered, or a child of it was shown."""
        self.objects[one.kind][one.id] = one
        self.born.add((one.kind, one.id))
        self.loose[(one.kind, one.id)] |= {name for name, value in one.values.items() if value is UNSET}
        self._read[(one.kind, one.id)] = at

    def wrote(self, step: Step, kind: Kind, id: str, writes: Mapping[str, Any], seen: Mapping[str, Any], body: Any) -> None:
        """A request on an object that exists was done; `seen`: the written fields as its answer shows them, UNSET where it does not."""
        old = self.find(kind.name, id)
        if old is None:
            return
        values = {name: value for name, value in writes.items() if kind.fields[name].role is not Role.CHOICE}
        shown = {name: value for name, value in seen.items() if name in values and value is not UNSET}
        for name in values:
            if name not in shown and kind.fields[name].lossy:
                self.loose[(kind.name, id)].add(name)
        restored = step.verb == "restore"
        self.objects[kind.name][id] = replace(
            old, values={**old.values, **values, **shown}, deleted_at=None if restored else old.deleted_at
        )
        for name, value in writes.items():
            if kind.fields[name].role is Role.CHOICE:
                self._choose(kind, id, kind.fields[name], value)
        if restored or any(kind.fields[name].container for name in writes) or step.verb == "move":
            self._place(kind, id, body)

    def doubted(self, kind: Kind, id: str, writes: Mapping[str, Any]) -> None:
        """A request on the object was sent, and its end is not known."""
        self.loose[(kind.name, id)] |= set(writes)
        self._forget_place(kind, id)
        if any(kind.fields[name].role is Role.CHOICE for name in writes):
            self._unsure.add((kind.name, id))

    def reshaped(self, names: Collection[str], container: str) -> None:
        """The service rearranged all objects of some kinds in a container."""
        self._reshaped |= {(name, container) for name in names}

    def deleted(self, kind: Kind, id: str) -> None:
        """A delete was done, with what goes along."""
        for _, one in [*contents(self.kinds, self.objects, kind, id)]:
            self._drop(self.kinds[one.kind], one.id)
        self._drop(kind, id)

    def _drop(self, kind: Kind, id: str) -> None:
        self._forget_place(kind, id)
        one = self.objects[kind.name].pop(id, None)
        self.removed.add(id)
        if one is not None and any(one.flags.values()):
            self._unsure |= {*one.within.items(), *((str(field.to), str(one.values.get(field.name))) for field in _containers(kind))}

    def _choose(self, kind: Kind, id: str, field: Field, value: Any) -> None:
        if field.to is None or field.flag is None:
            return
        self._unsure.discard((kind.name, id))
        for one in list(self.objects[field.to].values()):
            if _chooser(self.kinds, self.kinds[field.to], field, one) == (kind.name, id):
                self.objects[field.to][one.id] = replace(one, flags={**one.flags, field.flag: one.id == value})

    def _forget_place(self, kind: Kind, id: str) -> None:
        for (name, _, _), ids in self.order.items():
            if name == kind.name and id in ids:
                ids.remove(id)

    def _place(self, kind: Kind, id: str, body: Any) -> None:
        self._forget_place(kind, id)
        one = self.objects[kind.name][id]
        position = body.get("position", {}) if isinstance(body, Mapping) else {}
        ids = self.order[_row(kind, one)]
        for side, anchor in position.items():
            named = next((text for key, text in anchor.items() if key != "type"), None)
            if named in ids:
                ids.insert(ids.index(named) + (side == "after"), id)

    # -- what a reading shows --------------------------------------------------------------------------------------------------------

    def differences(self, kind: Kind, id: str, now: Observed, names: Iterable[str]) -> Iterator[tuple[Field, Any, Any]]:
        """The fields that are not as they should be: (field, expected, now). What was not known is known then."""
        old = self.find(kind.name, id)
        if old is None:
            return
        unknown = self.loose[(kind.name, id)]
        for name in names:
            field, value = kind.fields[name], now.values.get(name, UNSET)
            if not field.compared or not field.readable or field.role is Role.CHOICE:
                continue
            expected = old.values.get(name, UNSET)
            if value == expected or self._follows(kind, old, field, expected):
                continue
            if name not in unknown:
                yield field, expected, value
        learned = {name: now.values[name] for name in unknown if name in now.values}
        unknown.clear()
        self.objects[kind.name][id] = replace(old, values={**old.values, **learned})

    def _follows(self, kind: Kind, old: Observed, field: Field, expected: Any) -> bool:
        """Whether the service changes the field by itself after what this run did: it named something that is gone, or was rearranged."""
        if any(text in self.removed for text in ids_in(expected) if expected is not UNSET):
            return True
        return field.container and (kind.name, old.within.get(kind.within or "", "")) in self._reshaped

    def chosen(self, kind: Kind, id: str, now: Objects) -> Iterator[tuple[Field, Any, Any]]:
        """The choices of an object that are not as they should be: (field, expected id, id now)."""
        if (kind.name, id) in self._unsure:
            return
        before, after = (choices(self.kinds, Actual(objects)).get((kind.name, id), {}) for objects in (self.objects, now))
        for field in kind.fields.values():
            if field.role is Role.CHOICE:
                old, new = before.get(field.name), after.get(field.name)
                if old != new and not (old is None and (str(field.to), str(new)) in self.born):
                    yield field, old, new

    def strayed(self, kind: Kind, now: Observed, order: Mapping[Row, list[str]]) -> bool:
        """Whether an object no longer stands where it should among those siblings whose order is known; `order`: as it is now."""
        row = _row(kind, now)
        ids, known = order.get(row, []), self.order.get(row, [])
        if now.id not in ids or now.id not in known:
            return False
        before = set(ids[: ids.index(now.id)]) & set(known)
        return before != set(known[: known.index(now.id)]) & set(ids)

    def looked(self, key: Key, at: float) -> None:
        """The object was read again."""
        self._read[key] = at


def rows(kinds: Kinds, objects: Objects) -> dict[Row, list[str]]:
    """The ids of siblings in the order in which their listing shows them."""
    found: dict[Row, list[Observed]] = defaultdict(list)
    for name, some in objects.items():
        for one in some.values():
            if one.rank is not None:
                found[_row(kinds[name], one)].append(one)
    return {row: [one.id for one in sorted(some, key=lambda one: one.rank or 0)] for row, some in found.items()}


def _row(kind: Kind, one: Observed) -> Row:
    stands = one.values.get(kind.inside.name) if kind.inside is not None else None
    return kind.name, one.within.get(kind.within or "", ""), stands


def _containers(kind: Kind) -> list[Field]:
    return [field for field in kind.fields.values() if field.container]


def holds(kinds: Kinds, kind: Kind) -> list[Kind]:
    """The kinds whose objects may stand in one of this kind."""
    return [other for other in kinds.values() if other.within == kind.name or any(field.to == kind.name for field in _containers(other))]


def contents(kinds: Kinds, objects: Objects, kind: Kind, id: str) -> Iterator[tuple[Key, Observed]]:
    """What stands in an object, at whatever depth, each once; what was deleted and can still be restored does not count."""
    met: set[Key] = set()
    ahead = [(kind, id)]
    while ahead:
        outer, at = ahead.pop()
        for other in holds(kinds, outer):
            for one in objects.get(other.name, {}).values():
                inside = one.within.get(outer.name) == at and other.within == outer.name
                inside = inside or any(field.to == outer.name and one.values.get(field.name) == at for field in _containers(other))
                if inside and one.deleted_at is None and (one.kind, one.id) not in met:
                    met.add((one.kind, one.id))
                    ahead.append((other, one.id))
                    yield (one.kind, one.id), one


def _chooser(kinds: Kinds, child: Kind, field: Field, one: Observed) -> Key | None:
    """Whose choice a child's flag is: that of the node it stands in where that kind chooses, else that of its container."""
    by_kind = {parent.name for parent, each in kinds.flags(child.name).get(str(field.flag), ())}
    inside = child.inside
    stands = one.values.get(inside.name) if inside is not None else None
    if stands and inside is not None and inside.to in by_kind:
        return str(inside.to), str(stands)
    return (str(child.within), one.within.get(str(child.within), "")) if child.within in by_kind else None
