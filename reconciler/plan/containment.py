"""What contains what, among the objects of a reading or of a simulation. Pure.

In: objects, each as it is put or dropped. Out: the objects in another one. A lookup takes time proportional to its result, and a change
proportional to what it changes, however many objects there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from reconciler.model import Observed
from reconciler.resource import Field, Kind, Kinds

Key = tuple[str, str]
"""An object: its kind and its id."""

Place = tuple[str, str, str]
"""A kind, the kind of what contains its objects, and the id of that."""


def deleted_with(kind: Kind, observed: Observed) -> Iterator[Key]:
    """The objects with which this one is deleted: its container, a node that cascades, what lists it."""
    if kind.within is not None:
        yield kind.within, observed.within.get(kind.within, "")
    node = parent(kind, observed)
    if node is not None and kind.inside is not None and kind.inside.cascade:
        yield node
    if (lister := kind.listed_with(observed.values)) is not None:
        yield lister


def parent(kind: Kind, observed: Observed) -> Key | None:
    """The node that an object is in; None at the top of its container."""
    id = observed.values.get(kind.inside.name) if kind.inside is not None else None
    return (str(kind.inside.to), id) if kind.inside is not None and isinstance(id, str) else None


def containers(kind: Kind, observed: Observed) -> Iterator[Key]:
    """The objects that contain an object: the node that it is in, and its fixed containers."""
    node = parent(kind, observed)
    if node is not None:
        yield node
    yield from observed.within.items()


def content_kinds(kinds: Kinds, kind: Kind) -> list[Kind]:
    """The kinds whose objects an object of this kind may contain directly."""
    return [other for other in kinds.values() if other.within == kind.name or any(field.to == kind.name for field in other.location_fields)]


def page_fields(kinds: Kinds, kind: Kind) -> list[Field]:
    """The fields that name an object with pages, which an object of the kind shows to readers."""
    return [field for field in kind.shows if field.refers is not None and kinds[field.refers].pages is not None]


def showing_kinds(kinds: Kinds) -> set[str]:
    """The kinds of what shows pages to readers, and of what that is part of."""
    showing = [kind for kind in kinds.values() if page_fields(kinds, kind)]

    def around(kind: Kind) -> Iterator[Kind]:
        yield from (kinds[to] for name in (kind.audience.inherits if kind.audience else ()) if (to := kind.fields[name].to) is not None)

    return {kind.name for kind in reached(showing, around)}


class Contents:
    """The objects in each object: in its containers, however far out, in a node directly, and in a list with which it is deleted.

    `objects`: by kind and id. If they change, `put` and `drop` must be called with each change.
    """

    def __init__(self, kinds: Kinds, objects: Mapping[str, Mapping[str, Observed]]) -> None:
        self.kinds, self.objects = kinds, objects
        self._ids: dict[Place, dict[str, None]] = defaultdict(dict)
        self._fields = {name: [(str(field.to), field.name) for field in kind.location_fields] for name, kind in kinds.items()}
        self._listed = {name: kind for name, kind in kinds.items() if kind.listed_by is not None}
        for some in objects.values():
            for observed in some.values():
                self.put(None, observed)

    def inside(self, kind: str, outer: str, id: str) -> Iterator[Observed]:
        """The objects of a kind in a container or a node, first put first."""
        for inner in self._ids.get((kind, outer, id), ()):
            yield self.objects[kind][inner]

    def count(self, kind: str, outer: str, id: str) -> int:
        """How many objects `inside` yields."""
        return len(self._ids.get((kind, outer, id), ()))

    def deleted_below(self, kind: str, outer: str, id: str) -> Iterator[Observed]:
        """The objects of a kind that the service deletes with one that contains or lists them, at any depth of containers."""
        for observed in self.inside(kind, outer, id):
            if observed.within.get(outer) == id or (outer, id) in deleted_with(self.kinds[kind], observed):
                yield observed

    def deleted_directly(self, outer: Key) -> Iterator[Observed]:
        """The objects of any kind that are deleted with an object, and not with another one between them."""
        for kind in self.kinds.values():
            for observed in self.inside(kind.name, *outer):
                if outer in deleted_with(kind, observed):
                    yield observed

    def put(self, old: Observed | None, new: Observed) -> None:
        """Enter an object where `old` was."""
        before = self._places(old) if old is not None else ()
        after = self._places(new)
        for place in before:
            if place not in after:
                self._ids[place].pop(new.id, None)
        for place in after:
            if place not in before:
                self._ids[place][new.id] = None

    def drop(self, observed: Observed) -> None:
        """Remove an object."""
        for place in self._places(observed):
            self._ids[place].pop(observed.id, None)

    def _places(self, observed: Observed) -> Sequence[Place]:
        name, values = observed.kind, observed.values
        places = [(name, outer, id) for outer, id in observed.within.items()]
        for to, field in self._fields[name]:
            if isinstance(id := values.get(field), str):
                places.append((name, to, id))
        if name in self._listed and (lister := self._listed[name].listed_with(values)) is not None:
            places.append((name, *lister))
        return places


# -- copies that the service keeps up to date --------------------------------------------------------------------------------------


ObservedObjects = Mapping[str, Mapping[str, Observed]]


def service_copies(kinds: Kinds, objects: ObservedObjects) -> frozenset[Key]:
    """Every object that the service created for another one."""
    return frozenset(copy for copy, _ in _copied(kinds, objects))


def copied(kinds: Kinds, objects: ObservedObjects) -> dict[Key, list[Key]]:
    """By object: the copies of it that the service created."""
    copies: dict[Key, list[Key]] = {}
    for copy, original in _copied(kinds, objects):
        if original is not None:
            copies.setdefault(original, []).append(copy)
    return copies


def _copied(kinds: Kinds, objects: ObservedObjects) -> Iterator[tuple[Key, Key | None]]:
    for kind in kinds.values():
        for field in kind.service_copies:
            for observed in objects.get(kind.name, {}).values():
                copy, original = observed.values.get(field.name), observed.values.get(str(field.copies))
                if isinstance(copy, str):
                    yield (str(field.to), copy), (str(field.to), original) if isinstance(original, str) else None


def makers(kinds: Kinds, names: Collection[str] | None = None) -> Iterable[tuple[Kind, str]]:
    """The kinds for whose objects the service creates copies, each with the kind of those; of `names` only, where given."""
    for kind in kinds.values():
        for to in dict.fromkeys(str(field.to) for field in kind.service_copies):
            if names is None or to in names:
                yield kind, to


# -- walks -------------------------------------------------------------------------------------------------------------------------


Node = TypeVar("Node", bound=Hashable)


def reached(start: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """These, and everything that is reached from one of them, directly or indirectly."""
    known = set(start)
    ahead = [*known]
    while ahead:
        new = {other for other in onward(ahead.pop()) if other not in known}
        known |= new
        ahead += new
    return known


def groups(members: Iterable[Node], pairs: Iterable[tuple[Node, Node | None]]) -> dict[Node, Node]:
    """By member: the one that stands for its group. `pairs`: two that are in one group; a pair with something else means nothing."""
    above = {member: member for member in members}

    def leader(member: Node) -> Node:
        while above[member] != member:
            # Shorter on every way up, so that long chains of pairs take no longer than short ones.
            above[member] = above[above[member]]
            member = above[member]
        return member

    for member, other in pairs:
        if other is not None and other in above:
            above[leader(member)] = leader(other)
    return {member: leader(member) for member in above}
