"""What contains what, among all objects that were read; a lookup takes time proportional to its result. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.model import Observed
from reconciler.resource import Kind, Kinds

Key = tuple[str, str]
"""An object: its kind and its id."""

Place = tuple[str, str, str]
"""A kind, the kind of the container or node of its objects, and the id of that."""


def deleted_with(kind: Kind, observed: Observed) -> Iterator[Key]:
    """The objects with which this one is deleted: its container, a node that cascades, what lists it."""
    if kind.within is not None:
        yield kind.within, observed.within.get(kind.within, "")
    inside = kind.inside
    if inside is not None and inside.cascade and isinstance(node := observed.values.get(inside.name), str):
        yield str(inside.to), node
    if (holder := kind.listed_with(observed.values)) is not None:
        yield holder


class Contents:
    """The objects by their fixed container and by the node they are in. `objects`: by kind and id."""

    def __init__(self, kinds: Kinds, objects: Mapping[str, Mapping[str, Observed]]) -> None:
        self.kinds = kinds
        self._within: dict[Place, list[Observed]] = defaultdict(list)
        self._nodes: dict[Place, list[Observed]] = defaultdict(list)
        for name, some in objects.items():
            inside = kinds[name].inside
            for observed in some.values():
                for outer, id in observed.within.items():
                    self._within[name, outer, id].append(observed)
                node = observed.values.get(inside.name) if inside is not None else None
                if inside is not None and isinstance(node, str):
                    self._nodes[name, str(inside.to), node].append(observed)

    def within(self, kind: str, outer: str, id: str) -> Sequence[Observed]:
        """The objects of a kind whose address lies below such an object, at any depth."""
        return self._within.get((kind, outer, id), ())

    def in_node(self, kind: str, outer: str, id: str) -> Sequence[Observed]:
        """The objects of a kind that are in such a node, directly."""
        return self._nodes.get((kind, outer, id), ())

    def cascade(self, kind: str, outer: str, id: str) -> Iterable[Observed]:
        """The objects of a kind that the service deletes together with the object that contains them."""
        inside = self.kinds[kind].inside
        below = self.within(kind, outer, id)
        if inside is None or not inside.cascade or inside.to != outer:
            return below
        return {observed.id: observed for observed in (*below, *self.in_node(kind, outer, id))}.values()
