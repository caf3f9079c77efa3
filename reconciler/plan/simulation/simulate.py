"""What one request does to the service, as the declarations describe it. Pure.

In: what was read, and requests. Out: what the service should then show. `prove` and the audiences run a whole plan on it (`simulate`);
an apply keeps it up to date with what its requests were answered. Every operation takes as long as what it changes, however much there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from reconciler.address import Address
from reconciler.model import Actual, Observed, Position, Step
from reconciler.model.codec import Objects, chooser, path_ids, substitute
from reconciler.plan.containment import Contents, Key, content_kinds, deleted_with
from reconciler.plan.siblings.order import Siblings, is_ranked
from reconciler.resource import UNSET, Field, FieldRole, Kind, Kinds


class Simulation:
    """The objects of a service, and what requests do to them.

    `objects`: by kind and id; change them through the methods only. `ids`: by address; a create adds its own. `guess`: an object comes last
    among its siblings where nothing says its place; without, such a place is not known. `order`: of the siblings whose place is known.
    `born`: what was created here. `removed`: the ids of what was deleted here. `places`: the final positions of siblings, which decide the
    position among its own kind of an object that is placed beside one of another kind.
    """

    def __init__(
        self,
        kinds: Kinds,
        actual: Actual,
        *,
        ids: Mapping[Address, str] | None = None,
        guess: bool = True,
        places: Mapping[Address, Position] | None = None,
    ) -> None:
        self.kinds, self.first, self.ids, self.guess = kinds, actual, dict(ids or {}), guess
        self.objects: dict[str, dict[str, Observed]] = {name: {} for name in kinds}
        self.order = Order(places or {})
        self.born: set[Key] = set()
        self._guessed: set[Key] = set()  # no listing showed their position, and nothing has placed them since
        self.removed: set[str] = set()
        self._flags = {name: kinds.flags(name) for name in kinds}
        self._content_kinds = {name: content_kinds(kinds, kind) for name, kind in kinds.items()}
        self._contents, self._chosen = Contents(kinds, self.objects), ChosenChildren(kinds)
        for some in actual.objects.values():
            for observed in some.values():
                self._put(observed)
        for row, order in rows(kinds, self.objects).items():
            for id in order:
                self.order.append(row, id)
        if guess:
            for some in actual.objects.values():
                for observed in some.values():
                    if observed.key not in self.order:
                        self.order.append(row_of(kinds[observed.kind], observed), observed.id)
                        self._guessed.add(observed.key)

    # -- questions -------------------------------------------------------------------------------------------------------------------

    def find(self, kind: str, id: str) -> Observed | None:
        """The object; None where there is none."""
        return self.objects.get(kind, {}).get(id)

    def inside(self, kind: str, outer: str, id: str) -> Iterator[Observed]:
        """The objects of a kind directly within, or inside, an object of the kind `outer`."""
        return self._contents.inside(kind, outer, id)

    def count(self, kind: str, outer: str, id: str) -> int:
        """How many objects `inside` yields."""
        return self._contents.count(kind, outer, id)

    def contents(self, kind: Kind, id: str) -> Iterator[tuple[Key, Observed]]:
        """What an object contains, at any depth, once; what was deleted and can still be restored does not count."""
        met: set[Key] = set()
        ahead = [(kind, id)]
        while ahead:
            outer, at = ahead.pop()
            for other in self._content_kinds[outer.name]:
                for observed in self.inside(other.name, outer.name, at):
                    key = observed.key
                    if observed.deleted_at is None and key not in met:
                        met.add(key)
                        ahead.append((other, observed.id))
                        yield key, observed

    def chosen(self, kind: str, id: str) -> dict[str, str]:
        """The children that an object chooses, by choice field."""
        choices = (field.name for field in self.kinds[kind].fields.values() if field.role is FieldRole.CHOICE)
        return {name: child for name in choices if (child := self._chosen.last((kind, id, name))) is not None}

    def actual(self) -> Actual:
        """What the service would show."""
        rank = self.order.ranks()
        shown = {
            name: {id: replace(observed, rank=rank.get((name, id)) if self._is_listed(observed) else None) for id, observed in some.items()}
            for name, some in self.objects.items()
        }
        everything = {(name, id) for name in self.kinds for _, id in self.born}
        return replace(self.first, objects=shown, complete=self.first.complete | everything)

    def _is_listed(self, observed: Observed) -> bool:
        """Whether a listing shows the position of the object among its siblings."""
        return is_ranked(self.kinds[observed.kind], observed) and observed.key not in self._guessed

    # -- requests of a plan ----------------------------------------------------------------------------------------------------------

    def writes(self, step: Step) -> dict[str, Any]:
        """What a request writes, in the request form, with the ids that are known."""
        kind = self.kinds[step.kind]
        return {name: kind.fields[name].body(substitute(value, self.ids)) for name, value in step.writes.items()}

    def run(self, step: Step) -> None:
        """Do what one request does."""
        kind = self.kinds[step.kind]
        if step.verb == "create":
            self._create(step, kind)
            return
        id = self.ids[step.target] if isinstance(step.target, Address) else step.target
        assert id is not None
        if step.verb == "delete":
            self.delete(kind, id)
        else:
            self.write(step, kind, id, self.writes(step), substitute(step.body, self.ids))

    def _create(self, step: Step, kind: Kind) -> None:
        writes = self.writes(step)
        source = self.ids.get(step.source, "") if isinstance(step.source, Address) else step.source
        copied = self.find(kind.name, source) if source is not None else None
        identity = substitute(step.identity, self.ids) if step.source is None else {}
        self._make(step.address, kind, {**_copied(kind, copied), **identity, **writes})
        for name, _, address in step.brings:
            child, first = self.kinds[name], kind.first
            values = {field.name: self.ids[step.address] for field in child.fields.values() if field.container and field.to == kind.name}
            if first is not None and first.to == name and first.child_field is not None:
                values[first.child_field] = writes.get(first.name, UNSET)
            self._make(address, child, values)
        self.gather(kind, self.ids[step.address])

    def _make(self, address: Address, kind: Kind, values: Mapping[str, Any]) -> None:
        within = path_ids(self.kinds, address.container, self.ids.get)
        id = kind.identity(kind.name if kind.one_per else (f"new-{sha256(str(address).encode()).hexdigest()[:16]}"), within)
        while not kind.one_per and id in self.first.objects.get(kind.name, {}):  # what was read may itself have come from a simulation
            id += "-again"
        blank = {name: _initial(field) for name, field in kind.fields.items() if field.compared or field.key}
        observed = Observed(kind.name, id, {**blank, **values}, within, {"id": id})
        self.ids[address] = id
        # The service chooses what was just created where nothing else is chosen.
        choices = {flag: self._chosen.choice(kind, flag, observed) for flag in self._flags[kind.name]}
        flags = {flag: choice is not None and not self._chosen.ids(choice) for flag, choice in choices.items()}
        self.add_created(replace(observed, flags=flags))

    # -- what a request did ----------------------------------------------------------------------------------------------------------

    def add_created(self, observed: Observed) -> None:
        """Add an object: by a create, or as the child that it creates too."""
        self.born.add(observed.key)
        self._put(observed)
        self.place(self.kinds[observed.kind], observed.id)

    def gather(self, kind: Kind, id: str) -> frozenset[str]:
        """Move into the first object of a kind what it gathers at the top of its container; returns the kinds of that."""
        names, scope = self.rearranged_with(kind, id), self.objects[kind.name][id].within.get(str(kind.within), "")
        for name in names:
            field = self.kinds[name].inside
            for inner in [*self.inside(name, str(kind.within), scope)]:
                if field is not None and field.to == kind.name and inner.values.get(field.name) is None:
                    self.learned(name, inner.id, {field.name: id})
                    self.place(self.kinds[name], inner.id)
        return names

    def rearranged_with(self, kind: Kind, id: str) -> frozenset[str]:
        """The kinds that the service rearranges because the object is the only one of its kind in its container."""
        names, observed = kind.reshapes, self.find(kind.name, id)
        if not names or observed is None or kind.within is None:
            return frozenset()
        siblings = self.inside(kind.name, kind.within, observed.within.get(kind.within, ""))
        return names if all(sibling.id == id for sibling in siblings) else frozenset()

    def learned(self, kind: str, id: str, values: Mapping[str, Any]) -> None:
        """Fields of an object have these values now."""
        old = self.objects[kind][id]
        self._put(replace(old, values={**old.values, **values}))

    def write(self, step: Step, kind: Kind, id: str, writes: Mapping[str, Any], body: Any = None) -> None:
        """A request on an object that exists; `writes` and `body` with ids."""
        if step.verb == "transfer" and kind.transferable is not None:
            self._transferred(kind, id, writes[kind.transferable.name])
            return
        restored = step.verb == "restore"
        old = self.objects[kind.name][id]
        plain = {name: value for name, value in writes.items() if kind.fields[name].role is not FieldRole.CHOICE}
        self._put(replace(old, values={**old.values, **plain}, deleted_at=None if restored else old.deleted_at))
        for name in writes.keys() - plain.keys():
            self.choose(kind, id, kind.fields[name], writes[name])
        if restored or step.verb == "move" or any(kind.fields[name].container for name in writes):
            self.place(kind, id, body, step.address)

    def _transferred(self, kind: Kind, id: str, container: str) -> None:
        """A transfer: the object keeps what it contains, and becomes the last at the top of its new container."""
        inside = [key for key, _ in self.contents(kind, id)]
        for name, inner in inside:
            observed = self.objects[name][inner]
            self._put(replace(observed, within={**observed.within, str(self.kinds[name].within): container}))
        self.order.transfer(inside, container)
        self.order.remove(kind.name, id)
        observed = self.objects[kind.name][id]
        values = {**observed.values, kind.inside.name: None} if kind.inside is not None else observed.values
        self._put(replace(observed, within={**observed.within, str(kind.within): container}, values=values))
        self.place(kind, id)

    def delete(self, kind: Kind, id: str) -> list[Observed]:
        """Delete an object with everything that is deleted with it, and return all of these. Its other contents move to the root.

        What the service rearranges when the last of a kind is deleted is not deleted with it.
        """
        removed: dict[Key, Observed] = {}
        kept = self.rearranged_with(kind, id)
        ahead = [(kind, id)]
        while ahead:
            outer, at = ahead.pop()
            observed = self.objects[outer.name].get(at)
            if observed is None or (outer.name, at) in removed:
                continue
            removed[outer.name, at] = observed
            for other in self._content_kinds[outer.name]:
                for inner in [*self.inside(other.name, outer.name, at)]:
                    if (outer.name, at) in deleted_with(other, inner) and not (outer is kind and other.name in kept):
                        ahead.append((other, inner.id))
                    elif inner.deleted_at is None:
                        self.learned(other.name, inner.id, {field.name: None for field in other.location_fields if field.to == outer.name})
                        self.place(other, inner.id)
        for key, observed in removed.items():
            self._drop(key, observed)
        self.removed |= {id, *(inner for _, inner in removed)}
        for observed in removed.values():
            self._hand_over(observed)
        return [*removed.values()]

    def choose(self, kind: Kind, id: str, field: Field, child: Any) -> None:
        """A parent chooses one of its children."""
        assert field.to is not None
        assert field.flag is not None
        for other in [*self._chosen.ids((kind.name, id, field.name))]:
            if other != child:
                self._flag(field.to, other, field.flag, False)
        new = self.find(field.to, str(child))
        if new is not None and self._chosen.choice(self.kinds[field.to], field.flag, new) == (kind.name, id, field.name):
            self._flag(field.to, new.id, field.flag, True)

    def place(self, kind: Kind, id: str, body: Any = None, address: Address | None = None) -> None:
        """Put an object beside the sibling that the body of a move names."""
        self._guessed.discard((kind.name, id))
        self.order.remove(kind.name, id)
        row = row_of(kind, self.objects[kind.name][id])
        position = body.get("position", {}) if isinstance(body, Mapping) else {}
        for side, anchor in position.items():
            named = next((text for key, text in anchor.items() if key != "type"), None)
            if isinstance(named, str) and named in self.order.rows[row]:
                self.order.beside(row, id, named, after=side == "after")
                return
        if position and address is not None and self.order.knows(address):
            self.order.behind_previous(row, id, address, self.ids)
        elif self.guess:
            self.order.append(row, id)

    # -- the tables ------------------------------------------------------------------------------------------------------------------

    def _put(self, observed: Observed) -> None:
        objects = self.objects[observed.kind]
        old = objects.get(observed.id)
        self._contents.put(old, observed)
        self._chosen.put(old, observed)
        objects[observed.id] = observed

    def _drop(self, key: Key, observed: Observed) -> None:
        self._contents.drop(observed)
        self._chosen.drop(observed)
        self.order.remove(*key)
        self.objects[observed.kind].pop(observed.id, None)

    def _flag(self, kind: str, id: str, flag: str, value: bool) -> None:
        observed = self.objects[kind][id]
        self._put(replace(observed, flags={**observed.flags, flag: value}))

    def _hand_over(self, removed: Observed) -> None:
        """Choose the first remaining child where the chosen one was deleted, as the service does."""
        kind = self.kinds[removed.kind]
        for flag in self._flags[kind.name]:
            choice = self._chosen.choice(kind, flag, removed) if removed.flags.get(flag) else None
            if choice is None or self._chosen.ids(choice) or self.find(*choice[:2]) is None:
                continue
            siblings = iter(self.order.rows[row_of(kind, removed)])
            others = (other.id for other in self.inside(kind.name, *choice[:2]) if self._chosen.choice(kind, flag, other) == choice)
            heir = next(siblings, None) or next(others, None)
            if heir is not None:
                self._flag(kind.name, heir, flag, True)


def simulate(
    kinds: Kinds, actual: Actual, ids: Mapping[Address, str], steps: Iterable[Step], places: Mapping[Address, Position] | None = None
) -> Simulation:
    """The service after these requests. `ids`: of what exists, by address; created and recreated objects get their own. `places`: see
    `Order`."""
    steps = tuple(steps)
    created = {address for step in steps if step.verb == "create" for address in (step.address, *(child for _, _, child in step.brings))}
    world = Simulation(kinds, actual, ids={address: id for address, id in ids.items() if address not in created}, places=places)
    for step in steps:
        world.run(step)
    return world


def _initial(field: Field) -> Any:
    """The value of a field that a create does not set."""
    if field.initial is not UNSET:
        return field.initial
    return None if field.container or (field.clear and field.readable) else UNSET


def _copied(kind: Kind, source: Observed | None) -> dict[str, Any]:
    """What a copy takes from its source: its values and its location; the service chooses its name."""
    if source is None:
        return {}
    return {name: value for name, value in source.values.items() if kind.fields[name].container or not kind.fields[name].key}


# -- which of its children an object chooses ---------------------------------------------------------------------------------------


Choice = tuple[str, str, str]
"""What chooses: its kind, its id, and its choice field."""


class ChosenChildren:
    """The ids of the chosen children by choice, in the order in which they were put."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._flags = {name: kinds.flags(name) for name in kinds}
        self._ids: dict[Choice, dict[str, None]] = defaultdict(dict)

    def ids(self, choice: Choice) -> Iterable[str]:
        """The chosen children, first put first."""
        return self._ids.get(choice, ())

    def last(self, choice: Choice) -> str | None:
        """The child that was put last."""
        return next(reversed(self._ids[choice]), None) if choice in self._ids else None

    def choice(self, kind: Kind, flag: str, observed: Observed) -> Choice | None:
        """The choice that a child's flag belongs to."""
        parent = chooser(self._kinds, kind, flag, observed)
        return (parent[0], parent[1], parent[2].name) if parent is not None else None

    def put(self, old: Observed | None, new: Observed) -> None:
        """Enter a child where `old` was."""
        if not self._flags[new.kind]:
            return
        before = self._choices(old) if old is not None else set()
        after = self._choices(new)
        for choice in before - after:
            self._ids[choice].pop(new.id, None)
        for choice in after - before:
            self._ids[choice][new.id] = None

    def drop(self, observed: Observed) -> None:
        """Remove a child."""
        for choice in self._choices(observed):
            self._ids[choice].pop(observed.id, None)

    def _choices(self, observed: Observed) -> set[Choice]:
        kind = self._kinds[observed.kind]
        flags = [flag for flag in self._flags[kind.name] if observed.flags.get(flag)]
        choices = (self.choice(kind, flag, observed) for flag in flags)
        return {choice for choice in choices if choice is not None}


# -- the order of siblings ---------------------------------------------------------------------------------------------------------


Row = tuple[str, str, Any]
"""Siblings: their kind, the id of their container, the id of the node that contains them."""


class Order:
    """`rows`: the siblings of each row. `places`: the final positions of siblings, which decide the position among its own kind of an
    object that is placed beside one of another kind."""

    def __init__(self, places: Mapping[Address, Position]) -> None:
        self.rows: dict[Row, Siblings[str]] = defaultdict(Siblings)
        self._row: dict[Key, Row] = {}
        self._previous = _previous(places)

    def __contains__(self, key: Key) -> bool:
        return key in self._row

    def ranks(self) -> dict[Key, int]:
        """How many siblings come before each object."""
        return {(row[0], id): index for row, siblings in self.rows.items() for index, id in enumerate(siblings)}

    def append(self, row: Row, id: str) -> None:
        """Put an object last."""
        self.rows[row].append(id)
        self._row[row[0], id] = row

    def remove(self, kind: str, id: str) -> None:
        """Forget the place of an object."""
        row = self._row.pop((kind, id), None)
        if row is not None:
            self.rows[row].remove(id)

    def beside(self, row: Row, id: str, anchor: str, *, after: bool) -> None:
        """Put an object beside a sibling."""
        self.rows[row].insert(id, anchor, after=after)
        self._row[row[0], id] = row

    def knows(self, address: Address | None) -> bool:
        """Whether the final position of an address is known."""
        return address in self._previous

    def behind_previous(self, row: Row, id: str, address: Address, ids: Mapping[Address, str]) -> None:
        """Put an object behind the sibling of its kind that comes before it when all requests are done."""
        siblings, at = self.rows[row], self._previous[address]
        while at is not None and ids.get(at, "") not in siblings:
            at = self._previous[at]
        first = next(iter(siblings), None)
        if at is not None:
            self.beside(row, id, ids[at], after=True)
        elif first is not None:
            self.beside(row, id, first, after=False)
        else:
            self.append(row, id)

    def transfer(self, keys: Iterable[Key], container: str) -> None:
        """Give the rows of these objects another container, with all that is in them."""
        for row in {self._row[key] for key in keys if key in self._row}:
            siblings, there = self.rows.pop(row), (row[0], container, row[2])
            self.rows[there] = siblings
            self._row |= {(row[0], sibling): there for sibling in siblings}


def rows(kinds: Kinds, objects: Objects) -> dict[Row, list[str]]:
    """The ids of siblings in the order in which their listing shows them."""
    ranked: dict[Row, list[Observed]] = defaultdict(list)
    for name, some in objects.items():
        for observed in some.values():
            if observed.rank is not None:
                ranked[row_of(kinds[name], observed)].append(observed)
    return {row: [sibling.id for sibling in sorted(some, key=lambda sibling: sibling.rank or 0)] for row, some in ranked.items()}


def row_of(kind: Kind, observed: Observed) -> Row:
    """The row that an object belongs to."""
    node = observed.values.get(kind.inside.name) if kind.inside is not None else None
    return kind.name, observed.within.get(kind.within or "", ""), node


def _previous(places: Mapping[Address, Position]) -> dict[Address, Address | None]:
    """The sibling of its kind that comes before each address; None for the first."""
    previous: dict[Address, Address | None] = {}
    last: dict[tuple[Address | None, str | None], Address] = {}
    for address, place in sorted(places.items(), key=lambda item: item[1].index):
        previous[address] = last.get((place.parent, address.kind))
        last[place.parent, address.kind] = address
    return previous
