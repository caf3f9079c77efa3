"""Which child of an object its parent chooses, as far as flags on the children show it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from reconciler.model.actual import Observed
from reconciler.resource import Field, Kind, Kinds

Objects = Mapping[str, Mapping[str, Observed]]
"""Objects by kind and id."""


def chooser(kinds: Kinds, kind: Kind, flag: str, observed: Observed) -> tuple[str, str, Field] | None:
    """The object that chooses a child by its flag, as (kind, id, choice field): the node that the child is in, else its container."""
    outer: list[tuple[str, tuple[str, str]]] = []
    node = observed.values.get(kind.inside.name) if kind.inside is not None else None
    if kind.inside is not None and kind.inside.to is not None and node:
        outer.append((kind.inside.to, (kind.inside.to, str(node))))
    if kind.within is not None:
        outer.append((kind.within, (kind.within, observed.within.get(kind.within, ""))))
    owner = kinds.chooser(kind.name, flag, outer)
    return (*owner[0], owner[1]) if owner is not None else None


def choices(kinds: Kinds, objects: Objects) -> dict[tuple[str, str], dict[str, str]]:
    """The chosen children: (kind, id) of the chooser -> choice field -> id of the child."""
    chosen: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for kind in kinds.values():
        for flag in kinds.flags(kind.name):
            for observed in _flagged(objects.get(kind.name, {}).values(), flag):
                parent = chooser(kinds, kind, flag, observed)
                if parent is not None:
                    chosen[parent[:2]][parent[2].name] = observed.id
    return chosen


def _flagged(objects: Iterable[Observed], flag: str) -> Iterable[Observed]:
    return (observed for observed in objects if observed.flags.get(flag))
