"""What is under way in the objects that a plan changes: the lists that name it, read only where something is lost. Only GET.

In: the losses of a plan, and the reading that it was made from. Out: the work of each object. What cannot be read is said, with the reason;
a number that the object itself counts is known even then.

    what                              requests
    drafts, comments                  one for each sort of which an object counts some: the first items
    unfinished work that refers to it one list for each container, if it was not read
    attached objects                  one list for each known object that is not attached to everything
    links                             the list of each object of the kind that remains, of at most SOURCES_MAX
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.address import bare
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.errors import ServiceError
from reconciler.features.work.model import WorkItem, WorkSort
from reconciler.features.work.plan import ITEMS_MAX, LEFT, Answers, Loss, counted_sort, joined, unfinished
from reconciler.model import Actual, Observed
from reconciler.model.codec import title
from reconciler.observe.readers import reaching
from reconciler.plan.containment import Key
from reconciler.resource import AttachedList, CountedWork, Kind, Kinds, LinkList, placeholders
from reconciler.resource.open_work import at, number_of

LISTS_MAX: Final = 200  # lists of counted work in one plan; of the rest, the numbers are known
SOURCES_MAX: Final = 100  # objects whose links are read
LINKS: Final = 100  # links in a page: each contains the objects at both of its ends
LINK_PAGES_MAX: Final = 20
TOO_MANY: Final = f"a plan reads at most {LISTS_MAX} lists"

Tasks = Iterator[Awaitable[Sequence[tuple[Key, WorkSort]]]]
"""Readings, each with what it showed of some objects."""


async def open_work(reader: Reader, kinds: Kinds, lost: Sequence[Loss], actual: Actual) -> Answers:
    """What is under way in each object."""
    left = [loss for loss in lost if loss.effect in LEFT]
    tasks: list[Awaitable[Sequence[tuple[Key, WorkSort]]]] = [*_counted(reader, [(loss.kind, loss.observed) for loss in lost])]
    for loss in left:
        if (sort := unfinished(loss.kind, [loss.observed.raw])) is not None:
            tasks.append(_known(loss.key, sort))
    for kind in kinds.values():
        tasks += _processed(reader, kinds, kind, left, actual)
        tasks += _attached(reader, kind, left, actual)
        if kind.links is not None:
            tasks += _linked(reader, kinds, kind, kind.links, left, actual)
    return await _joined(tasks)


async def counted_work(reader: Reader, objects: Sequence[tuple[Kind, Observed]]) -> Answers:
    """What people have begun in each of these objects, as far as the objects count it."""
    return await _joined([*_counted(reader, objects)])


async def _joined(tasks: Sequence[Awaitable[Sequence[tuple[Key, WorkSort]]]]) -> Answers:
    answers: dict[Key, tuple[WorkSort, ...]] = defaultdict(tuple)
    for sorts in await asyncio.gather(*tasks):
        for key, sort in sorts:
            answers[key] = joined(answers[key], sort)
    return answers


async def _known(key: Key, sort: WorkSort) -> Sequence[tuple[Key, WorkSort]]:
    return [(key, sort)]


def _path(path: str, observed: Observed) -> str:
    """A path with the ids of an object and of what it is in and refers to."""
    known = {**observed.values, **observed.within, "id": bare(observed.id)}
    return encode(path, {name: str(known[name]) for name in placeholders(path)})


async def _first(reader: Reader, path: str, query: Mapping[str, str], number: int) -> list[Any]:
    """The first items of a list. Raises `ServiceError`."""
    body = (await reader.get(path, {**query, "limit": str(number)})).body
    items = body.get("items") if isinstance(body, Mapping) else None
    if not isinstance(items, list):
        raise ServiceError(f"GET {path}: the response is not a list", id="RC-response-unusable")
    return items


# -- what an object counts -----------------------------------------------------------------------------------------------------------


def _counted(reader: Reader, objects: Sequence[tuple[Kind, Observed]]) -> Tasks:
    asked = 0
    for kind, observed in objects:
        for word in kind.counted:
            number, key = number_of(observed.raw, word), (kind.name, observed.id)
            if number == 0:
                continue
            asked += 1
            is_asked = asked <= LISTS_MAX
            yield _titles(reader, key, observed, word, number) if is_asked else _known(key, counted_sort(word, number, (), TOO_MANY))


async def _titles(reader: Reader, key: Key, observed: Observed, word: CountedWork, number: int | None) -> Sequence[tuple[Key, WorkSort]]:
    try:
        items = await _first(reader, _path(word.path, observed), word.query, ITEMS_MAX)
    except ServiceError as error:
        return [(key, counted_sort(word, number, (), error.message))]
    sort = counted_sort(word, number, items)
    # An object that does not count it still has a list of it.
    return [(key, sort if number is not None else WorkSort(sort.noun, len(sort.items), sort.items, more=len(items) == ITEMS_MAX))]


# -- what refers to an object ----------------------------------------------------------------------------------------------------------


def _processed(reader: Reader, kinds: Kinds, kind: Kind, left: Sequence[Loss], actual: Actual) -> Tasks:
    """The unfinished objects of a kind that refer to what is lost."""
    to = {field.to for field in kind.fields.values() if kind.service_copies and field.to is not None and field.to != kind.within}
    concerned: dict[str, list[Loss]] = defaultdict(list)
    for loss in left:
        if loss.kind.name in to and kind.within in loss.observed.within:
            concerned[loss.observed.within[str(kind.within)]].append(loss)
    gone = {loss.key for loss in left}
    for container, some in concerned.items():
        known = (kind.name, container) in actual.complete
        objects = [observed.raw for observed in actual.objects.get(kind.name, {}).values() if (kind.name, observed.id) not in gone]
        yield _referring(reader, kind, some, objects if known else None)


async def _referring(
    reader: Reader, kind: Kind, some: Sequence[Loss], raws: Sequence[Mapping[str, Any]] | None
) -> Sequence[tuple[Key, WorkSort]]:
    if raws is None:
        try:
            raws = (await reader.list(_path(kind.whole_listings[0].path, some[0].observed))).items
        except ServiceError as error:
            return [(loss.key, WorkSort(f"unfinished {kind.name}", None, unread=error.message)) for loss in some]
    sorts = ((loss.key, unfinished(kind, raws, loss.key)) for loss in some)
    return [(key, sort) for key, sort in sorts if sort is not None]


def _attached(reader: Reader, kind: Kind, left: Sequence[Loss], actual: Actual) -> Tasks:
    """The known objects of a kind that are attached to what is lost."""
    for word in kind.attached:
        concerned = [loss for loss in left if loss.kind.name == word.kind]
        for observed in actual.objects.get(kind.name, {}).values() if concerned else ():
            # What is attached to everything has no settings that end with one object.
            if at(observed.raw, word.all[0]) != word.all[1]:
                yield _attachments(reader, word, observed, concerned)


async def _attachments(reader: Reader, word: AttachedList, observed: Observed, concerned: Sequence[Loss]) -> Sequence[tuple[Key, WorkSort]]:
    try:
        listed = await reader.list(_path(word.path, observed), key=lambda item: _id(at(item, word.of)) or "")
    except ServiceError as error:
        return [(loss.key, WorkSort(word.noun, None, unread=error.message)) for loss in concerned]
    items = {_id(at(item, word.of)): item for item in listed.items}
    return [
        (loss.key, WorkSort(word.noun, 1, (WorkItem(observed.id, str(at(items[bare(loss.observed.id)], word.title) or "")),)))
        for loss in concerned
        if bare(loss.observed.id) in items
    ]


def _id(value: Any) -> str | None:
    """The id of an object that an answer contains, or names by its id."""
    id = value.get("id") if isinstance(value, Mapping) else value
    return id if isinstance(id, str) else None


# -- links ---------------------------------------------------------------------------------------------------------------------------


def _linked(reader: Reader, kinds: Kinds, kind: Kind, word: LinkList, left: Sequence[Loss], actual: Actual) -> Tasks:
    """The links to what is lost from the objects of its kind that remain."""
    gone = {loss.key: loss for loss in left if loss.kind is kind}
    if not gone:
        return
    yield _links_to(reader, kinds, kind, word, gone, actual)


async def _sources(reader: Reader, kinds: Kinds, kind: Kind, gone: Mapping[Key, Loss], actual: Actual) -> tuple[list[Observed], bool]:
    """The objects beside what is lost, and whether these are all."""
    known = {observed.id: observed for observed in actual.objects.get(kind.name, {}).values() if observed.deleted_at is None}
    containers = {loss.observed.within.get(str(kind.within), "") for loss in gone.values()}
    complete = True
    for container in sorted(containers):
        listing, within = kind.lister_listing, {str(kind.within): container}
        if listing is None or (kind.name, container) in actual.complete:
            continue
        # What nobody manages may be in no other list: whoever reaches everything is asked.
        people = (person for person in reaching(kinds, actual.objects) if person.within.get(str(kind.within)) == container)
        person = next(people, None)
        try:
            path = encode(listing.path, {**within, "lister": bare(person.id)}) if person is not None else ""
            items = (await reader.list(path, key=lambda item: str(at(item, f"{listing.item}.id")))).items if path else ()
        except ServiceError:
            path, items = "", ()
        complete = complete and bool(path)
        for raw in (at(item, str(listing.item)) for item in items):
            id = kind.identity(kind.own_id(raw), within) if isinstance(raw, Mapping) else ""
            if id and raw.get(kind.deleted_at or "") is None:
                known.setdefault(id, Observed(kind.name, id, {}, within, raw))
    beside = [other for id, other in sorted(known.items()) if (kind.name, id) not in gone]
    return [other for other in beside if other.within.get(str(kind.within)) in containers], complete


async def _links_to(
    reader: Reader, kinds: Kinds, kind: Kind, word: LinkList, gone: Mapping[Key, Loss], actual: Actual
) -> Sequence[tuple[Key, WorkSort]]:
    sources, all_known = await _sources(reader, kinds, kind, gone, actual)
    lists = await asyncio.gather(*(links_of(reader, word, source) for source in sources[:SOURCES_MAX]))
    items: dict[str, list[WorkItem]] = defaultdict(list)
    failures: list[str] = []
    more = len(sources) > SOURCES_MAX or not all_known
    for source, (links, complete, failure) in zip(sources, lists, strict=False):
        more = more or not complete
        failures += [failure] if failure else []
        for link in links:
            if (id := _id(at(link, word.to))) is not None:
                name = at(link, word.title)
                items[id].append(WorkItem(source.id, name if isinstance(name, str) else "", title(source)))
    sorts = []
    for key, loss in gone.items():
        some = items[bare(loss.observed.id)]
        unread = f"{len(failures)} of {len(sources)} lists of links could not be read: {failures[0]}" if failures else ""
        if some or unread:
            number = len(some) if some else None
            sorts.append((key, WorkSort(word.noun, number, tuple(some[:ITEMS_MAX]), unread, more=more or bool(failures))))
    return sorts


async def links_of(reader: Reader, word: LinkList, source: Observed) -> tuple[list[Any], bool, str]:
    """The links out of an object, whether these are all, and why they could not be read."""
    links: list[Any] = []
    token: str | None = None
    path = _path(word.path, source)
    try:
        for _ in range(LINK_PAGES_MAX):
            page = {"page": token} if token is not None else {}
            body = (await reader.get(path, {"limit": str(LINKS), **page})).body
            items = body.get("items") if isinstance(body, Mapping) else None
            if not isinstance(items, list):
                return links, False, f"GET {path}: the response is not a list"
            links += items
            before, token = token, at(body, "next.page")
            if not isinstance(token, str) or not token or token == before:
                return links, True, ""
    except ServiceError as error:
        return links, False, error.message
    return links, False, ""
