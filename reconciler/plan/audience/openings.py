"""Openings: the differences between two worlds' audiences, each with its cause and the objects that have more readers by it. Pure.

An object that does not exist before the plan has no readers to compare with; it counts by what it shows and what it was copied from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.plan.audience.barriers import opens
from reconciler.plan.audience.readers import Access, Audiences, changed, folded, included, order, part_of
from reconciler.plan.containment import Key
from reconciler.resource import UNSET, Kinds
from reconciler.resource.risks import BY_ROLE, MEMBERS

PARTS: Final = {MEMBERS: tuple(BY_ROLE)}
"""The classes that a class of readers consists of."""


@dataclass
class Opening:
    """One cause of more readers.

    `at`: the object that the line is about: the one whose field opens it, else the first existing object that is opened. `field`: that
    field, "" where no field of an existing object opens it. `cause`: the object that was changed or created. `own`: the new readers of
    `at`, `others`: those of what else is opened. `path`: from the object that is opened to what admits its readers. `opened`: all objects
    that have more readers by it, each with the new readers and what admits them.
    """

    at: Key
    field: str
    cause: Key
    own: set[Access] = dataclasses.field(default_factory=set)
    others: set[Access] = dataclasses.field(default_factory=set)
    path: tuple[Key, ...] = ()
    opened: dict[tuple[Key, Access], Key] = dataclasses.field(default_factory=dict)

    @property
    def place(self) -> tuple[Key, str, Key]:
        """What tells it from other openings of the same plan."""
        return self.at, self.field, self.cause

    @property
    def readers(self) -> list[Access]:
        """The classes of new readers, without those that another of them includes."""
        among = folded(self.own or self.others)
        return sorted((access for access in among if not any(other.includes(access) for other in among if other != access)), key=order)


def gained(before: Audiences, after: Audiences, key: Key) -> list[Access]:
    """The readers of an object after a plan whom no reader before it includes, in a fixed order. Where others before it include
    a part of a class, only the rest of it."""
    then, now = before.of(key), after.of(key)
    if then == now:
        return []
    return sorted((new for access in now if not included(access, then) for new in _new(access, then)), key=order)


def _new(access: Access, then: Collection[Access]) -> Iterator[Access]:
    """A class of readers, or those of its parts that none of these includes."""
    parts = [replace(access, who=part) for part in PARTS.get(access.who, ())]
    new = [part for part in parts if not included(part, then)]
    yield from new if len(new) < len(parts) else (access,)


def openings(kinds: Kinds, before: Audiences, after: Audiences, transferred: Mapping[Key, Key] = {}) -> list[Opening]:
    """One opening for each cause and each object that it concerns, in the order of kinds and ids. `transferred`: see `Worlds`."""
    result: dict[tuple[Key, str, Key], Opening] = {}
    for kind in kinds.values():
        if kind.audience is not None:
            for id in sorted(before.objects.get(kind.name, {})):
                key = (kind.name, id)
                for access in gained(before, after, key):
                    path = after.path(key, access)
                    for at, name, cause in _PathReason(kinds, before, after, path, transferred).of(access):
                        opening = result.setdefault((at, name, cause), Opening(at, name, cause, path=path))
                        opening.opened[key, access] = path[-1]
                        if key == at:
                            opening.own.add(access)
                        elif not opening.own:
                            opening.others.add(access)
    for key, access in _openers(kinds, before, after):
        name = (audience.gates if (audience := kinds[key[0]].audience) is not None else ())[0]
        opening = result.setdefault((key, name, key), Opening(key, name, key, path=(key,)))
        opening.opened[key, access] = key
        opening.own.add(access)
    return [opening for opening in result.values() if not all(_leads_nowhere(kinds, after, key) for key, _ in opening.opened)]


def _leads_nowhere(kinds: Kinds, after: Audiences, key: Key) -> bool:
    """Whether an object has nothing to read itself, and what contains it is not published: a share link of such a site. What publishes
    it is an opening then."""
    audience, observed = kinds[key[0]].audience, after.find(key)
    outer = audience.opens if audience is not None else None
    if outer is None or observed is None:
        return False
    container, published = after.find((outer, observed.within.get(outer, ""))), kinds[outer].published
    if container is None or published is None or published.unless is None:
        return False
    field, value = published.unless
    return bool(container.values.get(field) == value)


def closings(kinds: Kinds, before: Audiences, after: Audiences) -> Iterator[tuple[Key, Access, tuple[Access, ...]]]:
    """Who can no longer read what remains: (object, class of readers, those of them who still can)."""
    for kind in kinds.values():
        if kind.audience is not None:
            for id in sorted(before.objects.get(kind.name, {})):
                key = (kind.name, id)
                if after.find(key) is not None:
                    left = after.of(key)
                    for access in gained(after, before, key):
                        yield key, access, tuple(sorted((other for other in left if access.includes(other)), key=order))


def _openers(kinds: Kinds, before: Audiences, after: Audiences) -> Iterator[tuple[Key, Access]]:
    """New objects that admit readers of their own to what existed before, regardless of who can read that already."""
    for kind in kinds.values():
        outer = kind.audience.opens if kind.audience is not None else None
        if outer is not None:
            for id in sorted(after.objects.get(kind.name, {})):
                observed = after.objects[kind.name][id]
                exists = before.objects.get(str(outer), {}).get(observed.within.get(str(outer), "")) is not None
                if exists and id not in before.objects.get(kind.name, {}):
                    for access in sorted(after.of((kind.name, id)), key=order):
                        yield (kind.name, id), access


@dataclass(frozen=True)
class _PathReason:
    """Why readers reach an object by a path."""

    kinds: Kinds
    before: Audiences
    after: Audiences
    path: tuple[Key, ...]
    transferred: Mapping[Key, Key]

    def of(self, access: Access) -> Iterator[tuple[Key, str, Key]]:
        """(object of the line, its field or "", what was changed or created)."""
        top = self._top(access)
        key = self.path[top]
        if self.before.objects.get(key[0], {}).get(key[1]) is None:
            yield self._born(top)
            return
        root = self.transferred.get(key)
        if root is not None and self._among_new_people(top, access):
            yield root, owner.name if (owner := self.kinds[root[0]].transferable) is not None else "", root
            return
        names = self._changed(key)
        if names:
            for name in self._decisive(key, names):
                yield key, name, key
            return
        was = self.before.find(key)
        if was is not None and top + 1 < len(self.path):
            source = self.path[top + 1]
            shows = self.kinds[source[0]].audience
            if shows is not None:
                for name in shows.shows:
                    if self._differs(source, name):
                        yield key, "", source
                        return
            for upper in self.path[top + 1 :]:
                above = self._changed(upper)
                if above:
                    yield upper, above[0], upper
                    return
        yield key, "", key

    def _among_new_people(self, top: int, access: Access) -> bool:
        """Whether these are people of the container that the object is transferred to, who can read it through what it is part of there."""
        kind, key = self.kinds[self.path[top][0]], self.path[top]
        observed = self.after.objects[key[0]][key[1]]
        container = (str(kind.within), observed.within.get(kind.within or ""))
        return access.of == container and self.path[top + 1 : top + 2] in ((), (part_of(kind, observed),))

    def _top(self, access: Access) -> int:
        """The place on the path, from what admits the readers downwards, of the first object that is new or has more readers."""
        for index in range(len(self.path) - 1, -1, -1):
            key = self.path[index]
            exists = self.before.objects.get(key[0], {}).get(key[1]) is not None
            same = (access.who, access.via, access.of)
            gains = gained(self.before, self.after, key)
            if not exists or any(gain.includes(access) or (gain.who, gain.via, gain.of) == same for gain in gains):
                return index
        return 0

    def _born(self, top: int) -> tuple[Key, str, Key]:
        """The cause, where it is a new object: reported at the first existing object below it, or at itself where it admits readers to
        existing objects."""
        new = self.path[top]
        audience = self.kinds[new[0]].audience
        if audience is not None and audience.opens is not None and audience.gates:
            return new, audience.gates[0], new
        below = next(key for key in reversed(self.path[:top]) if self.before.objects.get(key[0], {}).get(key[1]) is not None)
        return below, "", new

    def _values(self, audiences: Audiences, key: Key) -> Mapping[str, Any]:
        observed = audiences.objects.get(key[0], {}).get(key[1])
        return observed.values if observed is not None else {}

    def _differs(self, key: Key, name: str) -> bool:
        return changed(self._values(self.before, key).get(name, UNSET), self._values(self.after, key).get(name, UNSET))

    def _changed(self, key: Key) -> list[str]:
        """The changed fields of an existing object that its audience depends on."""
        audience = self.kinds[key[0]].audience
        assert audience is not None
        restored = self.before.find(key) is None
        return [] if restored else [name for name in (*audience.gates, *audience.inherits) if self._differs(key, name)]

    def _decisive(self, key: Key, names: list[str]) -> list[str]:
        """Those of several changed fields without which the object would have no more readers; all where each alone would do."""
        if len(names) == 1:
            return names
        kind, old, new = self.kinds[key[0]], self._values(self.before, key), self._values(self.after, key)
        assert kind.audience is not None
        gates = [name for name in names if name in kind.audience.gates] if opens(self.after, key, old, new) else []
        needed = [name for name in gates if not opens(self.after, key, old, {**new, name: old.get(name, UNSET)})]
        return [*(needed or gates), *(name for name in names if name in kind.audience.inherits)] or names


def without_known(outside: Iterable[Opening], opened: Collection[Opening]) -> Iterator[Opening]:
    """The openings without the readers that another opening says already."""
    known = {entry for opening in opened for entry in opening.opened}
    for opening in outside:
        left = {entry: end for entry, end in opening.opened.items() if entry not in known}
        if left:
            own = {access for key, access in left if key == opening.at}
            others = {access for key, access in left if key != opening.at} if not own else set()
            yield replace(opening, own=own, others=others, opened=left)
