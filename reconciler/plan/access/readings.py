"""What must be read before it is known who can read certain objects; nothing where all of it was read already. Pure.

In: what was read, the audiences of the worlds in question, and the objects. Out: lists to read, objects to ask about, and the objects whose
sources of access were not read. A list is named as in `Actual.complete`: its kind, and the id of its container.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from reconciler.model import Actual
from reconciler.plan.audience.readers import Audiences, part_of
from reconciler.plan.containment import Key
from reconciler.resource import Kind, Kinds

FEW: Final = 3  # up to this many objects are asked about one by one, where it is unknown how many objects may show them


@dataclass
class NeededReadings:
    """`lists`: to be read. `questions`: objects for which a reading must find out what shows them. `unread`: objects whose sources of
    access were not read."""

    lists: set[Key] = field(default_factory=set)
    questions: set[Key] = field(default_factory=set)
    unread: set[Key] = field(default_factory=set)


def needed(kinds: Kinds, actual: Actual, worlds: Collection[Audiences], keys: Iterable[Key]) -> NeededReadings:
    """What must be read to know who reads these objects in any of these worlds."""
    result, ways = NeededReadings(), _ways(worlds, keys)
    for key in ways:
        for audiences in worlds:
            result.lists |= {(name, id) for name, id in _lists(kinds, audiences, key) if (name, id) not in actual.complete}
    for kind in kinds.values():
        for reading in kind.lookups:
            by_container: dict[str, list[Key]] = defaultdict(list)
            for key in ways:
                observed = actual.find(*key) if key[0] == reading.by else None
                if observed is not None:
                    by_container[observed.within.get(kind.within or "", "")].append(key)
            for container, some in by_container.items():
                _showing(result, kinds, kind, actual, worlds, (container, some))
    return result


def _ways(worlds: Collection[Audiences], keys: Iterable[Key]) -> list[Key]:
    """The objects and everything through which readers may reach them in any of the worlds, in a fixed order."""
    known = set(keys)
    ahead = [*known]
    while ahead:
        key = ahead.pop()
        for audiences in worlds:
            new = [source for source in audiences.leading(key) if source not in known]
            known.update(new)
            ahead += new
    return sorted(known)


def _lists(kinds: Kinds, audiences: Audiences, key: Key) -> Iterator[Key]:
    """The unread lists that contain the whole that an object is part of, and what opens the object."""
    kind, observed = kinds[key[0]], audiences.objects.get(key[0], {}).get(key[1])
    if observed is None or kind.audience is None:
        return
    whole = part_of(kind, observed)
    if whole is not None and whole[1] not in audiences.objects.get(whole[0], {}):
        outer = kinds[whole[0]]
        scope = observed.within.get(outer.within or "")
        if outer.whole_listings and scope is not None:
            yield outer.name, scope
    if kind.audience.admits is not None and kind.audience.admits(observed.values):
        for other in kinds.values():
            if other.audience is not None and other.audience.opens == kind.name:
                yield other.name, observed.id


def _showing(
    result: NeededReadings, kinds: Kinds, kind: Kind, actual: Actual, worlds: Collection[Audiences], of: tuple[str, list[Key]]
) -> None:
    """Add to `result` what shows which objects of a kind show some objects of one container: the contents of the former, or a question
    about each of the latter."""
    container, keys = of
    waiting = {key for key in keys if (kind.name, key[1]) not in actual.complete}
    if (kind.name, container) not in actual.complete:
        result.unread |= waiting
        if len(waiting) <= FEW:
            result.questions |= waiting
        else:
            result.lists.add((kind.name, container))
        return
    shows = {key[0] for key in keys}
    inner = [other.name for other in kinds.values() if other.within == kind.name and _refers(other) & shows]
    open_ids = [
        observed.id
        for observed in actual.objects.get(kind.name, {}).values()
        if observed.within.get(kind.within or "") == container and any(audiences.of((kind.name, observed.id)) for audiences in worlds)
    ]
    lists = {(name, id) for id in open_ids for name in inner if (name, id) not in actual.complete}
    if lists and waiting:
        result.unread |= waiting
        if len(waiting) < len(lists):
            result.questions |= waiting
        else:
            result.lists |= lists


def _refers(kind: Kind) -> set[str | None]:
    return {kind.fields[name].refers for name in kind.audience.shows} if kind.audience is not None else set()
