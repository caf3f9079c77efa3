"""Who can read what in one world: the model of `docs/decisions/0007-audiences.md`. Pure.

In: objects, as they are or as a plan would leave them. Out: for each object its readers, and the path by which they reach it. No kind is
named: a kind says in its `audience` which readers its fields admit and whose readers it shares.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from reconciler.model import Observed
from reconciler.plan.containment import Key
from reconciler.resource import UNSET, FieldRole, Kind, Kinds
from reconciler.resource.conditions import mistake
from reconciler.resource.risks import ANYONE, ANYONE_WITH_THE_URL, BY_ROLE, EACH_BY_ROLE, GUEST, INCLUDES, LEVELS, MEMBERS, Audience, Grant

Objects = Mapping[str, Mapping[str, Observed]]

NOTHING_GUARDED: Final[Mapping[Key, bool]] = MappingProxyType({})
EVERY_PAGE: Final = ", whatever the conditions of its pages are"
CONTENT: Final = "read"  # what readers of a copy can do with what it was copied from


@dataclass(frozen=True)
class Access:
    """One class of readers of an object and what they may do.

    `via`: the object that admits them, where each has readers of its own (a share link). `conditions`: what must hold for a visitor; one
    without a known meaning may hold for everybody, and is compared like the others: only what it was before is not more.
    `conditional`: whether further conditions narrow them. `of`: the container to which these people belong, None where they are the same
    everywhere. `every_page`: of an object some of whose pages have conditions of their own, whether they read these without meeting them.
    """

    who: str
    level: int
    via: str = ""
    conditions: frozenset[str] = frozenset()
    conditional: bool = True
    of: Key | None = None
    every_page: bool = False

    def includes(self, other: Access) -> bool:
        """Whether every reader of the other is one of these, and may do at least as much."""
        same = self.who == other.who and self.via == other.via
        who = (same or other.who in INCLUDES.get(self.who, ())) and self.of in (None, other.of)
        return who and self.level >= other.level and self.conditions <= other.conditions and self.every_page >= other.every_page

    def text(self, of: str = "") -> str:
        """`members of acme (edit)`. `of`: the name of the container to which they belong, "" where that is clear."""
        known = sorted(condition for condition in self.conditions if mistake(condition) is None)  # nobody knows whom another keeps out
        met = " and ".join(known)
        name = LEVELS[self.level]
        level = "" if self.level == 0 or BY_ROLE.get(self.who) == name else f" ({name})"
        first, rest = self.who.split(" ", 1) if " " in self.who else (self.who, "")
        who = f"{first} of {of}{rest and f' {rest}'}" if of else self.who
        pages = EVERY_PAGE if self.every_page else ""
        return f"{who}{f' for whom {met} hold' if met else ''}{'s' if len(known) == 1 else ''}{level}{pages}"

    def __str__(self) -> str:
        """`signed-in visitors for whom visitor.claims.partner holds`."""
        return self.text()


def admitted(grant: Grant, id: str, within: Mapping[str, str]) -> Access:
    """The readers that the fields of an object admit. `within`: the ids of its containers."""
    level, people = LEVELS.index(grant.level), (grant.of, within[grant.of]) if grant.of in within else None
    return Access(grant.who, level, id if grant.own else "", conditional=grant.conditional, of=people)


def folded(accesses: Iterable[Access]) -> dict[Access, Access]:
    """Classes of readers as people read them, each with one of those that it stands for: members of all roles but guests are one where each
    has the level of their own role, or all have the same, also where others of these include some of them."""
    rest = dict.fromkeys(accesses)
    result: dict[Access, Access] = {}
    for access in rest:
        shown = access
        for levels, level in ((_OWN, 0), (dict.fromkeys(_OWN, access.level), access.level)):
            each = [replace(access, who=who, level=of) for who, of in levels.items()]
            if access in each and all(included(other, rest) for other in each):
                shown = replace(access, who=EACH_BY_ROLE, level=level)
        result.setdefault(shown, access)
    return result


_OWN: Final = {who: LEVELS.index(role) for who, role in BY_ROLE.items() if role != GUEST}


def order(access: Access) -> tuple[str, str, Key]:
    """The sort key of classes of readers: the same order in every process."""
    return "\n".join((str(access), *sorted(access.conditions))), access.via, access.of or ("", "")


def included(access: Access, among: Collection[Access]) -> bool:
    """Whether one of several classes of readers includes this one."""
    return access in among or any(other.includes(access) for other in among)


class Audiences:
    """The readers of every object of one world, computed when they are asked for.

    `copies`: the sources of each copy. `complete`: (kind, id of the container) of the lists that were read to their end; whom the objects
    of any other list admit is unknown. `guarded`: see `Actual`.
    """

    def __init__(
        self,
        kinds: Kinds,
        objects: Objects,
        *,
        complete: Collection[Key],
        copies: Mapping[Key, Collection[Key]] | None = None,
        guarded: Mapping[Key, bool] = NOTHING_GUARDED,
    ) -> None:
        self.kinds, self.objects, self.complete, self.guarded = kinds, objects, complete, guarded
        self.copies = {original: dict.fromkeys(some) for original, some in (copies or {}).items()}
        self._openers: dict[str, list[str]] = defaultdict(list)
        self._showing: dict[Key, list[Key]] = defaultdict(list)
        self._opening: dict[Key, dict[Key, None]] = defaultdict(dict)
        self._readers: dict[Key, frozenset[Access]] = {}
        self._members: dict[Key, frozenset[Access]] = {}
        # By kind, the field that names a container which may be kept from readers.
        fields = [(kind.name, field) for kind in kinds.values() for field in kind.fields.values() if field.container]
        self._containers = {name: field for name, field in fields if field.to is not None and kinds[field.to].inactive}
        for kind in kinds.values():
            if kind.audience is not None and kind.audience.opens is not None:
                self._openers[kind.audience.opens].append(kind.name)
            if kind.audience is not None and (kind.audience.shows or kind.audience.opens is not None):
                for observed in objects.get(kind.name, {}).values():
                    self._index(kind, observed)

    def _index(self, kind: Kind, observed: Observed) -> None:
        assert kind.audience is not None
        key = (kind.name, observed.id)
        for name in kind.audience.shows:
            shown, to = observed.values.get(name), kind.fields[name].refers
            if isinstance(shown, str) and to is not None:
                self._showing[to, shown].append(key)
        if kind.audience.opens is not None:
            self._opening[kind.audience.opens, observed.within.get(kind.audience.opens, "")][key] = None

    def find(self, key: Key) -> Observed | None:
        """The object, None where it does not exist or is deleted."""
        observed = self.objects.get(key[0], {}).get(key[1])
        return observed if observed is not None and observed.deleted_at is None else None

    def of(self, key: Key) -> frozenset[Access]:
        """The readers of an object; none where it does not exist."""
        if key not in self._readers:
            self._readers[key] = frozenset()  # a cycle admits nobody
            self._readers[key] = _widest(access for _, access in self._sources(key, self.of))
        return self._readers[key]

    def members(self, key: Key) -> frozenset[Access]:
        """What the levels of objects let members do with an object, also where everybody can read it."""
        if key not in self._members:
            self._members[key] = frozenset()  # a cycle admits nobody
            self._members[key] = _widest(access for _, access in self._sources(key, self.members) if access.who in (MEMBERS, *BY_ROLE))
        return self._members[key]

    def path(self, key: Key, access: Access) -> tuple[Key, ...]:
        """The objects through which readers reach an object, itself first and what admits them last."""
        path, seen = [key], {key}
        while True:
            source = next((at for at, given in self._sources(path[-1], self.of) if given.includes(access) and at not in seen), None)
            if source is None:
                return tuple(path)
            access = next(
                (candidate for candidate in self.of(source) if self._passed(candidate, path[-1], source).includes(access)), access
            )
            path.append(source)
            seen.add(source)

    def _sources(self, key: Key, of: Callable[[Key], frozenset[Access]]) -> Iterator[tuple[Key, Access]]:
        """Every class of readers of an object with its source: the object itself for those that its own fields admit. `of`: the readers of
        another object."""
        observed, kind = self.find(key), self.kinds[key[0]]
        if observed is None or kind.audience is None:
            return
        for grant in own_grants(kind.audience, observed.values, part_of(kind, observed)):
            access = admitted(grant, observed.id, observed.within)
            yield key, replace(access, every_page=not access.conditional) if self.guarded.get(key) else access
        if kind.audience.admits is not None and kind.audience.admits(observed.values):
            for opener in self._openers[kind.name]:
                if (opener, observed.id) not in self.complete:
                    audience = self.kinds[opener].audience
                    yield key, Access(audience.unread if audience is not None else "", 0, conditional=not self._unconditional(key))
        for source in self.sources_of(key):
            for access in of(source):
                yield source, self._passed(access, key, source)

    def sources_of(self, key: Key) -> Iterator[Key]:
        """The objects whose readers can read this one."""
        observed, kind = self.find(key), self.kinds[key[0]]
        if observed is None or kind.audience is None:
            return
        whole = part_of(kind, observed)
        if whole is not None and asks(kind.audience, observed.values) and self._is_shown(observed):
            yield whole
        yield from self._showing.get(key, ())
        if kind.audience.admits is not None and kind.audience.admits(observed.values):
            yield from self._opening.get(key, ())
        yield from self.copies.get(key, ())

    def _is_shown(self, observed: Observed) -> bool:
        """Whether nothing that an object is in, which may be in something itself, is kept from readers. What was not read keeps nothing."""
        around: Observed | None = observed
        seen: set[Key] = set()
        while around is not None and around.key not in seen:
            seen.add(around.key)
            field = self._containers.get(around.kind)
            outer = around.values.get(field.name) if field is not None else None
            around = self.objects.get(field.to or "", {}).get(str(outer)) if field is not None else None
            if around is not None and not self.kinds[around.kind].is_active(around.values):
                return False
        return True

    def leading(self, key: Key) -> Iterator[Key]:
        """The objects whose readers may be able to read this one, whether or not its fields admit them."""
        observed, kind = self.objects.get(key[0], {}).get(key[1]), self.kinds[key[0]]
        whole = part_of(kind, observed) if observed is not None else None
        if whole is not None:
            yield whole
        yield from self._showing.get(key, ())
        yield from self._opening.get(key, ())
        yield from self.copies.get(key, ())

    def _passed(self, access: Access, key: Key, source: Key) -> Access:
        """The readers of a source as readers of the object, narrowed by its condition."""
        changes: dict[str, Any] = {}
        conditional = access.conditional and not (source in self._opening.get(key, ()) and self._unconditional(key))
        if conditional != access.conditional:
            changes["conditional"] = conditional
        if source in self.copies.get(key, ()):
            changes["level"] = LEVELS.index(CONTENT)
        audience, observed = self.kinds[key[0]].audience, self.find(key)
        unlisted = audience.unlisted if audience is not None and access.who == ANYONE else None
        if unlisted is not None and observed is not None and unlisted(observed.values):
            changes["who"] = ANYONE_WITH_THE_URL
        condition = audience.condition(observed.values) if audience is not None and audience.condition and observed is not None else None
        if condition is not None and conditional:
            changes["conditions"] = access.conditions | {condition}
        if self.guarded.get(key):
            changes["every_page"] = not conditional
        return replace(access, **changes) if changes else access

    def _unconditional(self, key: Key) -> bool:
        """Whether no condition narrows the readers that an opener admits to an object."""
        audience, observed = self.kinds[key[0]].audience, self.find(key)
        if audience is None or audience.unconditional is None or observed is None:
            return False
        return audience.unconditional(observed.values)


def asks(audience: Audience, values: Mapping[str, Any]) -> bool:
    """Whether what an object is part of decides who can read it, beside its own fields."""
    return audience.asks is None or audience.asks(values)


def own_grants(audience: Audience, values: Mapping[str, Any], whole: Key | None) -> Iterator[Grant]:
    """The readers that an object admits by itself. `whole`: what it is part of, None for nothing."""
    if audience.grants is not None:
        yield from audience.grants(values)
    if whole is None and asks(audience, values):
        yield from audience.at_top


def part_of(kind: Kind, observed: Observed) -> Key | None:
    """The object that an object is part of and shares its readers with; None where it is not part of another."""
    if kind.audience is not None:
        for name in kind.audience.inherits:
            field = kind.fields[name]
            value = observed.within.get(field.to or "") if field.role is FieldRole.WITHIN else observed.values.get(name)
            if isinstance(value, str) and field.to is not None:
                return field.to, value
    return None


def whole_of(kinds: Kinds, objects: Objects, key: Key) -> Iterator[Key]:
    """The object that an object is part of, the object that this one is part of, and so on."""
    seen = {key}
    while (observed := objects.get(key[0], {}).get(key[1])) is not None:
        whole = part_of(kinds[key[0]], observed)
        if whole is None or whole in seen:
            return
        yield whole
        seen.add(whole)
        key = whole


def _widest(accesses: Iterator[Access]) -> frozenset[Access]:
    """The classes of readers that no other of them includes."""
    kept: list[Access] = []
    for access in dict.fromkeys(accesses):
        if not any(absorbs(other, access) for other in kept):
            kept = [other for other in kept if not absorbs(access, other)] + [access]
    return frozenset(kept)


def absorbs(wide: Access, narrow: Access) -> bool:
    """Whether one class of readers includes the other, conditions included."""
    return wide.includes(narrow) and (not wide.conditional or narrow.conditional)


def changed(before: Any, after: Any) -> bool:
    """Whether two values of a field differ; UNSET and None are equal."""
    return bool(before != after) and not (before in (UNSET, None) and after in (UNSET, None))
