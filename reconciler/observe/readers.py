"""Who may read what a plan opens: the lists that show it, read only where the plan asks for them. Only GET.

In: what was read, and objects of which the plan must know who can read them, or lists that it needs for that. Out: the same reading with
their sources of access: the objects that show them and those that open these, managed or not.

The members who reach most: their lists show what no other reading does. Pure.

In: what was observed. Out: people, as the kinds declare them. Nothing is read here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from reconciler.address import bare
from reconciler.client import Answer, encode
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.model import Actual, Observed, Plan
from reconciler.model.codec import is_kind
from reconciler.observe.readings import Readings
from reconciler.resource import Kind, Kinds, Lookup, PersonalList, placeholders
from reconciler.resource.conditions import excludes_nobody
from reconciler.resource.open_work import at
from reconciler.text.names import a

Key = tuple[str, str]
"""An object: its kind and its id."""


async def planned(
    reader: Reader, kinds: Kinds, actual: Actual, make: Callable[[Actual], Plan], pages: dict[str, Answer] | None = None
) -> tuple[Plan, Actual]:
    """A plan, and the reading on which it is based, including what the plan asks about readers. `pages`: gets the answers that show pages,
    by path."""
    asked: set[Key] = set()
    listed: set[Key] = set()
    while True:
        plan = make(actual)
        questions, lists, trees = plan.questions - asked, plan.lists - listed, plan.trees - actual.guarded.keys()
        if not questions and not lists and not trees:
            return plan, actual
        asked |= questions
        listed |= lists
        actual = await with_readers(reader, kinds, actual, questions, lists, trees, pages)


async def with_readers(
    reader: Reader,
    kinds: Kinds,
    actual: Actual,
    questions: Collection[Key],
    lists: Collection[Key] = (),
    trees: Collection[Key] = (),
    pages: dict[str, Answer] | None = None,
) -> Actual:
    """The reading, with the sources of access of these objects, these lists, and whether pages of `trees` have conditions of their own.
    What cannot be read is in `unknown`."""
    leading = _Leading(reader, kinds, actual)
    asked = {key: tasks for key in sorted(questions) if (tasks := [*leading.reached(key)])}
    if asked:
        reader.announce(len(asked), sum(map(len, asked.values())))
    tasks = [*chain.from_iterable(asked.values()), *(task for key in sorted(questions) for task in leading.showing(key))]
    guarding = (leading.guard(key, {} if pages is None else pages) for key in sorted(trees))
    await asyncio.gather(*tasks, *guarding, *(task for key in sorted(lists) for task in leading.whole(key)))
    await asyncio.gather(*(task for key in sorted(lists) for task in leading.originals(key)))
    while wave := [task for key in sorted(questions) for task in leading.opening(key)] + leading.deeper():
        await asyncio.gather(*wave)
    return leading.merged()


class _Leading(Readings):
    """The lists with the sources of access of some objects, in addition to what was read already."""

    def __init__(self, reader: Reader, kinds: Kinds, actual: Actual) -> None:
        super().__init__(reader, kinds)
        self.before = actual
        self._objects = {name: dict(actual.objects.get(name, {})) for name in kinds}
        self._date = actual.date
        self._found: list[Observed] = []
        self._personal = {key: {**levels} for key, levels in actual.personal.items()}
        self._personal_failures: dict[Key, str] = {}
        self._guarded: dict[Key, bool] = {}
        self._answers: dict[Key, set[Key]] = {}  # which lists must have ended before it is known what shows an object

    def merged(self) -> Actual:
        """What was read before and here."""
        now = self.actual()
        for observed in [*self._gathered(now.objects)]:
            self._objects[observed.kind][observed.id] = observed
        unknown = (*self.before.unknown, *(failure for failure in now.unknown if failure not in self.before.unknown))
        complete = self.before.complete | now.complete
        complete |= {answer for answer, lists in self._answers.items() if lists <= complete}
        return replace(
            self.before,
            objects=now.objects,
            complete=complete,
            unknown=unknown,
            date=now.date,
            personal={**self.before.personal, **self._personal},
            personal_failures={**self.before.personal_failures, **self._personal_failures},
            guarded={**self.before.guarded, **self._guarded},
        )

    def showing(self, key: Key) -> Iterator[Awaitable[None]]:
        """The readings that find what contains objects that show this one."""
        observed = self.before.find(*key)
        for kind in self.kinds.values():
            for reading in kind.lookups:
                if observed is not None and reading.by == key[0]:
                    yield self._find(kind, reading, observed)

    async def _find(self, kind: Kind, reading: Lookup, shown: Observed) -> None:
        path = encode(reading.path, {name: shown.within[name] for name in placeholders(reading.path)})
        try:
            pages = await self.reader.list(path, {reading.query: shown.id})
        except ServiceError as error:
            self._failed(error)
            self.doubt(kind, None, error.message)
            return
        within = {name: shown.within[name] for name in self.kinds.containers(kind.name)}
        outer = [kind.identity(kind.own_id(raw), within) for raw in pages.items if is_kind(kind, raw)]
        for raw in pages.items:
            if is_kind(kind, raw):
                self._keep(kind, raw, within, None)
        self._found += [self._objects[kind.name][id] for id in outer]
        if pages.complete:
            showing = [inner.name for inner in self.kinds.below(kind.name) if inner.audience is not None and inner.audience.shows]
            self._answers[kind.name, shown.id] = {(name, id) for name in showing for id in outer}

    def reached(self, key: Key) -> Iterator[Awaitable[None]]:
        """The lists of what a person may do."""
        person = self.before.find(*key)
        kind = self.kinds[key[0]]
        for reading in kind.personal:
            # Who may do everything everywhere, or nothing anywhere, needs no list of where.
            decided = person is not None and (kind.holds_scarce(person.values) or not kind.is_active(person.values))
            if person is None or (decided and self.kinds[reading.kind].audience is not None):
                continue
            levels = self._personal.setdefault(person.key, {})
            if reading.number and person.values.get(reading.number) == 0:
                levels[reading.kind] = {}
            else:
                yield self._reach(person, reading, levels)

    def _gathered(self, objects: Mapping[str, Mapping[str, Observed]]) -> Iterator[Observed]:
        """The objects with the people who say that they are in them, where all people of the container were asked."""
        for people in self.kinds.values():
            for kind in (self.kinds[reading.kind] for reading in people.personal):
                for field in (field for field in kind.fields.values() if field.gathered):
                    for observed in objects.get(kind.name, {}).values():
                        inside = [one for one in objects.get(people.name, {}).values() if one.within == observed.within]
                        lists = {one.id: self._personal.get(one.key, {}).get(kind.name) for one in inside}
                        listed = (people.name, observed.within.get(people.within or "")) in self.before.complete
                        if listed and all(some is not None for some in lists.values()):
                            among = sorted(bare(id) for id, some in lists.items() if observed.id in (some or ()))
                            yield replace(observed, values={**observed.values, field.name: among})

    async def _reach(self, person: Observed, reading: PersonalList, levels: dict[str, Mapping[str, str]]) -> None:
        path = encode(reading.path, {**person.within, "id": bare(person.id)})
        try:
            pages = await self.reader.list(path, key=lambda item: str((item.get(reading.item) or {}).get("id")))
        except ServiceError as error:
            self._failed(error)
            self._personal_failures[person.key] = error.message
            return
        found: dict[str, str] = {}
        for item in pages.items:
            raw: Mapping[str, Any] = item.get(reading.item) or {}
            level = at(item, reading.level)
            if not is_kind(self.kinds[reading.kind], raw) or not isinstance(level, str):
                self._personal_failures[person.key] = f"GET {path} answered something that is not {a(reading.kind)} with a level"
                return
            found[self.kinds[reading.kind].own_id(raw)] = level
        if pages.complete:
            levels[reading.kind] = found
        else:
            self._personal_failures[person.key] = f"GET {path} is incomplete"

    async def guard(self, key: Key, pages: dict[str, Answer]) -> None:
        """Read whether pages of an object have conditions of their own. They may have some where nobody can tell."""
        word = self.kinds[key[0]].pages
        assert word is not None
        try:
            path = encode(word.tree, {"id": bare(key[1])})
            pages[path] = answer = await self.reader.get(path)
        except ServiceError as error:
            self._failed(error)
            self._guarded[key] = True
            return
        self._guarded[key] = any(not excludes_nobody(condition) for condition in _conditions(answer.body, word.condition))

    def whole(self, key: Key) -> Iterator[Awaitable[None]]:
        """The list of a kind in one object."""
        kind, id = self.kinds[key[0]], key[1]
        outer = self.before.find(kind.within, id) if kind.within is not None else None
        if outer is not None:
            yield from self._inside(kind, outer)

    def originals(self, key: Key) -> Iterator[Awaitable[None]]:
        """The readings of the objects in a list whose copies are known results."""
        kind = self.kinds[key[0]]
        for field in kind.service_copies:
            known, copied = self._objects[str(field.to)], self.kinds[str(field.to)]
            for observed in [*self._objects[kind.name].values()]:
                original = observed.values.get(str(field.copies))
                if observed.values.get(field.name) in known and isinstance(original, str) and original not in known:
                    yield from self._one(copied, original, observed.within)

    def opening(self, key: Key) -> Iterator[Awaitable[None]]:
        """The readings of the lists of what opens an object."""
        observed = self._objects[key[0]].get(key[1])
        for kind in self.kinds.values():
            if observed is not None and kind.audience is not None and kind.audience.opens == key[0]:
                yield from self._inside(kind, observed)

    def deeper(self) -> list[Awaitable[None]]:
        """The readings of the lists of everything through which readers reach the objects that were found."""
        readable = [kind for kind in self.kinds.values() if kind.audience is not None]
        return [task for outer in self._found for kind in readable if kind.within == outer.kind for task in self._inside(kind, outer)]

    def _inside(self, kind: Kind, outer: Observed) -> Iterator[Awaitable[None]]:
        if (kind.name, outer.id) in self.before.complete:
            return
        for reading in kind.whole_listings:
            yield from self._list(kind, reading, {**outer.within, outer.kind: outer.id}, outer.id)


def _conditions(answer: Any, name: str) -> Iterator[str]:
    """The conditions of the pages in an answer, at any depth."""
    waiting = [answer]
    while waiting:
        page = waiting.pop()
        if isinstance(page, Mapping):
            condition, inside = page.get(name), page.get("pages")
            yield from [condition] if isinstance(condition, str) and condition else []
            waiting += inside if isinstance(inside, list) else []


Objects = Mapping[str, Mapping[str, Observed]]


def people(kinds: Kinds, objects: Objects) -> Iterator[Observed]:
    """The people who may be referenced without being declared."""
    for kind in kinds.values():
        if kind.undeclared:
            yield from objects.get(kind.name, {}).values()


def reaching(kinds: Kinds, objects: Objects) -> Iterator[Observed]:
    """The people who reach everything: those with a value that some objects must always keep (the admins)."""
    return (person for person in people(kinds, objects) if reaches_all(kinds, person))


def reaches_all(kinds: Kinds, person: Observed) -> bool:
    """Whether a person holds such a value."""
    return kinds[person.kind].holds_scarce(person.values)
