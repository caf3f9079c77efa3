"""Single readings, and the results of all of them. Only GET; what could not be read is reported, never guessed.

In: paths of kinds. Out: Actual. Forbidden: knowing what is declared.

Whether the base URL is that of the service, where none of the declared roots exists: a wrong URL answers 404 to everything.

One list is read only in that case, so a run that finds its roots sends no additional request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from reconciler.address import bare
from reconciler.client import Answer, WholeList as Pages, encode
from reconciler.client.service import Reader
from reconciler.errors import NotFound, Rejected, ServiceError, Unavailable
from reconciler.model import Actual, Observed, Unknown
from reconciler.model.codec import is_kind, observed, why_unreadable
from reconciler.resource import Kind, Kinds, Listing, placeholders
from reconciler.text.names import a

CORRECT_IT: Final = "If not, correct service.baseUrl, --base-url or RECONCILER_BASE_URL; /v1 is added automatically."


@dataclass(frozen=True)
class EndedListing:
    """A complete listing: its request, the ids it showed, and when it ended (monotonic seconds)."""

    reading: Listing
    path: str
    holes: Mapping[str, str]
    ids: frozenset[str]
    at: float


class Readings:
    """The readings that were sent, and their results."""

    def __init__(self, reader: Reader, kinds: Kinds) -> None:
        self.reader, self.kinds = reader, kinds
        self._objects: dict[str, dict[str, Observed]] = {name: {} for name in kinds}
        self._listed: dict[tuple[str, str], EndedListing] = {}
        self._absent: set[tuple[str, str]] = set()
        self._elsewhere: dict[tuple[str, str], str] = {}
        self._unknown: set[Unknown] = set()
        self._errors: list[ServiceError] = []
        self._asked: set[str] = set()
        self._unproven: set[str] = set()  # paths read in containers that may not exist
        self._within_reach: dict[str, tuple[str, ...]] = {}
        self._date: datetime | None = None
        self._began = reader.monotonic()
        for listing in (listing for kind in kinds.roots for listing in kind.listings):
            reader.note_root(listing.path)
        self._revision = 0  # counts changes of what is known

    def fail_early(self) -> None:
        """Raise where no root could be read: nothing is known then."""
        roots = {kind.name for kind in self.kinds.roots}
        seen = any(self._objects[name] for name in roots) or any(name in roots for name, _ in self._absent)
        if self._errors and not seen:
            error = self._errors[0]
            if type(error) is ServiceError and error.hint is None:  # a useless response: perhaps of another service
                error.hint = f"Is {self.reader.base_url} the URL of the service? {CORRECT_IT}"
            raise error

    def missing_roots(self) -> list[Kind]:
        """The kinds of roots of which no requested object exists, and which were not listed yet."""
        if any(self._objects[kind.name] for kind in self.kinds.roots):
            return []
        absent = {name for name, _ in self._absent}
        return [kind for kind in self.kinds.roots if kind.name in absent and kind.name not in self._within_reach]

    def note_roots(self, kind: Kind, ids: tuple[str, ...]) -> None:
        """Keep the ids of all roots that the token reaches."""
        self._within_reach[kind.name] = ids
        self._revision += 1

    def actual(self) -> Actual:
        """What is known so far."""
        order = {name: position for position, name in enumerate(self.kinds)}
        unknown = sorted(self._unknown, key=lambda unknown: (order[unknown.kind], unknown.scope or "", unknown.reason))
        listed, absent = frozenset(self._listed), frozenset(self._absent)
        return Actual(self._objects, listed, absent, tuple(unknown), self._date, self._began, self._elsewhere, self._within_reach)

    def doubt_one(self, kind: Kind, id: str, reason: str, path: str = "") -> None:
        """Mark this object as unknown. `path`: of a request that failed."""
        self._absent.discard((kind.name, id))
        self._unknown.add(Unknown(kind.name, None, reason, id, path))
        self._revision += 1

    def doubt(self, kind: Kind, scope: str | None, reason: str, path: str = "") -> None:
        """Mark absences of the kind below `scope` (None: anywhere) as unknown. `path`: of a request that failed."""
        self._unknown.add(Unknown(kind.name, scope, reason, path=path))
        for name, id in [(kind.name, scope)] if scope is not None else list(self._listed):
            if name == kind.name:
                self._listed.pop((name, id), None)
        self._revision += 1

    def doubt_contradicted(self) -> None:
        """Doubt every listing that lacks an object which another reading shows to be in it."""
        for kind in self.kinds.values():
            for item in self._objects[kind.name].values():
                inside = item.values.get(kind.inside.name) if kind.inside is not None else None
                for scope in (item.within.get(kind.within or ""), inside):
                    listed = self._listed.get((kind.name, scope)) if isinstance(scope, str) and item.deleted_at is None else None
                    if listed is None or item.id in listed.ids or not isinstance(scope, str):
                        continue
                    if listed.reading.lister:  # that member does not reach everything; what the list shows exists nevertheless
                        del self._listed[(kind.name, scope)]
                        self._revision += 1
                    else:
                        self.doubt(kind, scope, f"GET {listed.path} lacks {item.id}, which exists")

    def is_absent(self, kind: Kind, id: str) -> bool:
        """Whether the object was read by its id and does not exist."""
        return (kind.name, id) in self._absent

    def forget_absence(self, kind: Kind, id: str) -> None:
        """Record that an object that was not found may exist."""
        self._absent.discard((kind.name, id))
        self._elsewhere.pop((kind.name, id), None)
        self._revision += 1

    async def one_again(self, kind: Kind, path: str, id: str, holes: Mapping[str, str]) -> None:
        """Read an object by its id, even if it was read before."""
        self.forget_absence(kind, id)
        await self._read_one(kind, path, id, dict(holes))

    async def list_again(self, kind: Kind, scope: str, pause: float) -> None:
        """Read a complete listing again, at least `pause` seconds later; only what both lack is known to be absent."""
        first = self._listed.get((kind.name, scope))
        if first is None:
            return
        wait = first.at + pause - self.reader.clock.monotonic()
        if wait > 0:
            await self.reader.clock.sleep(wait)
        await self._read_list(kind, first.reading, first.path, dict(first.holes), scope)
        again = self._listed.get((kind.name, scope))
        if again is not None:
            self._listed[(kind.name, scope)] = replace(again, ids=first.ids | again.ids)
            self._revision += 1

    def _once(self, path: str) -> bool:
        if path in self._asked:
            return False
        self._asked.add(path)
        return True

    def _list(self, kind: Kind, reading: Listing, holes: Mapping[str, str], scope: str | None) -> list[Awaitable[None]]:
        path = _path(reading, holes)
        own = kind.owner and kind.within not in placeholders(reading.path)  # from a list that all containers share, each takes its objects
        once = self._once(f"{path} {holes[str(kind.within)]}" if own else path)
        return [self._read_list(kind, reading, path, dict(holes), scope)] if once else []

    def _one(self, kind: Kind, id: str, holes: Mapping[str, str]) -> list[Awaitable[None]]:
        if kind.by_id is None:
            return []
        path = encode(kind.by_id.path, {name: {**holes, "id": bare(id)}[name] for name in placeholders(kind.by_id.path)})
        return [self._read_one(kind, path, id, dict(holes))] if self._once(path) else []

    async def _read_list(self, kind: Kind, reading: Listing, path: str, holes: dict[str, str], scope: str | None) -> None:
        try:
            pages = await pages_of(self.reader, kind, reading, path)
            self._revision += 1
        except ServiceError as error:
            if path in self._unproven:
                _raise_refused(error)
                self._asked.discard(path)
                self._unproven.discard(path)
                return
            self._failed(error)
            self.doubt(kind, scope, error.message, path)
            return
        self._at(pages.date)
        within = {name: holes[name] for name in self.kinds.containers(kind.name)}
        raws: list[Any] = [reading.object(item) for item in pages.items]
        if not all(is_kind(kind, raw) for raw in raws):
            self.doubt(kind, scope, f"GET {path} answered something that is not {a(kind.name)}")
            return
        for rank, raw in enumerate(raws):
            self._keep(kind, raw, within, rank if reading.ordered else None)
        if not pages.complete:
            self.doubt(kind, scope, f"GET {path} is incomplete")
        elif scope is not None:
            ids, at = frozenset(kind.identity(kind.own_id(raw), within) for raw in raws), self.reader.clock.monotonic()
            self._listed[(kind.name, scope)] = EndedListing(reading, path, holes, ids, at)
            self._note_all_inside(kind, raws, holes, scope, at)

    def _note_all_inside(self, kind: Kind, raws: Sequence[Any], holes: Mapping[str, str], scope: str, at: float) -> None:
        """Record the lists of other kinds that a complete list makes unnecessary: they are read where something seems to be missing."""
        for other, sighting in self.kinds.seen_in[kind.name]:
            if not (sighting.all and raws and all(isinstance(raw.get(sighting.at), list) for raw in raws)):
                continue
            outer, reading = {name: holes[name] for name in self.kinds.containers(other.name)}, other.whole_listings[0]
            ids = frozenset(other.identity(other.own_id(part), outer) for raw in raws for part in raw[sighting.at])
            doubted = any((unknown.kind, unknown.scope) == (other.name, scope) for unknown in self._unknown)
            if not doubted and (other.name, scope) not in self._listed and ids <= self._objects[other.name].keys():
                self._listed[(other.name, scope)] = EndedListing(reading, _path(reading, holes), holes, ids, at)

    async def _list_until_one_ends(self, kind: Kind, reading: Listing, asked: Mapping[str, Mapping[str, str]], scope: str) -> None:
        """Read lists, each of which shows everything, until one is complete; earlier failures raise no doubt then."""
        before = set(self._unknown)
        for path, holes in asked.items():
            await self._read_list(kind, reading, path, dict(holes), scope)
            if (kind.name, scope) in self._listed:
                self._unknown -= {unknown for unknown in self._unknown - before if (unknown.kind, unknown.scope) == (kind.name, scope)}
                self._revision += 1
                return

    async def _read_one(self, kind: Kind, path: str, id: str, holes: dict[str, str]) -> None:
        try:
            answer: Answer = await self.reader.get(path)
            self._revision += 1
        except NotFound:
            self._revision += 1
            self._absent.add((kind.name, id))
            return
        except ServiceError as error:
            self._failed(error)
            self.doubt_one(kind, id, error.message, path)
            return
        self._at(answer.date)
        raw = answer.body
        if not is_kind(kind, raw):
            self.doubt_one(kind, id, f"GET {path} answered something that is not {a(kind.name)}")
        elif kind.identity(kind.own_id(raw), holes) != id:
            if kind.by_id is not None and "id" in placeholders(kind.by_id.path):
                self.doubt_one(kind, id, f"GET {path} answered a different {kind.name}")
            else:
                self._absent.add((kind.name, id))  # it was read by its key, which another object has now
        elif (owner := owner_elsewhere(kind, raw, holes)) is not None and not self._known_owner(kind, owner):
            self._absent.add((kind.name, id))  # it is in another container: for this project it does not exist
            self._elsewhere[(kind.name, id)] = owner
        else:
            self._keep(kind, raw, {name: holes[name] for name in self.kinds.containers(kind.name)}, None)

    def _keep(self, kind: Kind, raw: Mapping[str, Any], within: Mapping[str, str], rank: int | None) -> None:
        owner = owner_elsewhere(kind, raw, within)
        if owner is not None and self._known_owner(kind, owner):
            within = {**within, str(kind.within): owner}  # where a transfer takes it from, or has moved it to
        elif owner is not None:
            self._elsewhere[(kind.name, kind.identity(kind.own_id(raw), within))] = owner
            return
        item = observed(self.kinds, kind, raw, within=within, rank=rank)
        if item.unreadable:
            self.doubt_one(kind, item.id, why_unreadable(item))
        known = self._objects[kind.name].get(item.id)
        if known is None:
            self.reader.count_objects(1)
        if known is None or known.rank is None:
            self._objects[kind.name][item.id] = item
        for other, reading in self.kinds.seen_in[kind.name]:
            outer = {name: within[name] for name in self.kinds.containers(other.name) if name in within}
            inner = raw.get(reading.at)
            for rank, part in enumerate(inner if isinstance(inner, list) else [inner]):
                if is_kind(other, part) and other.identity(other.own_id(part), outer) not in self._objects[other.name]:
                    self._keep(other, part, outer, rank if reading.all else None)

    def _known_owner(self, kind: Kind, owner: str) -> bool:
        """Whether an object was shown in another container that was read too, between which its kind can be transferred."""
        return kind.transferable is not None and owner in self._objects[str(kind.within)]

    def _at(self, date: datetime | None) -> None:
        if date is not None and (self._date is None or date > self._date):
            self._date = date

    def _failed(self, error: ServiceError) -> None:
        _raise_refused(error)
        self._errors.append(error)


def _raise_refused(error: ServiceError) -> None:
    """Raise where the service refuses the token: every other request would fail too."""
    if error.id == "RC-token-refused":
        raise error


async def pages_of(reader: Reader, kind: Kind, reading: Listing, path: str) -> Pages:
    """All items of a listing. Raises `ServiceError`."""
    if not reading.single:
        return await reader.list(path, key=lambda item: kind.own_id(reading.object(item) or {}))
    try:
        answer: Answer = await reader.get(path)
    except NotFound:
        return Pages((), 1, None)
    absent = is_kind(kind, answer.body) and kind.blank(answer.body)
    return Pages(() if absent else (answer.body,), 1, answer.date)


def _path(reading: Listing, holes: Mapping[str, str]) -> str:
    return encode(reading.path, {name: holes[name] for name in placeholders(reading.path)})


def owner_elsewhere(kind: Kind, raw: Mapping[str, Any], within: Mapping[str, str]) -> str | None:
    """The fixed container that an object names as its own, where that is not the one it was read in."""
    owner, expected = kind.owner_of(raw), within.get(kind.within or "")
    return owner if owner is not None and expected is not None and owner != expected else None


async def look_for_roots(readings: Readings) -> None:
    """Record which roots the token reaches, where none of the requested ones exists.

    Raises `ServiceError` where the list of roots is not one either: then no response means anything.
    """
    for kind in readings.missing_roots():
        for reading in kind.listings:
            await _look(readings, kind, reading)


async def _look(readings: Readings, kind: Kind, reading: Listing) -> None:
    reader = readings.reader
    try:
        listed = (await reader.list(reading.path)).items
    except NotFound:
        raise not_the_service(reader, f"it answered 404 to GET /v1{reading.path} too") from None
    except (Rejected, Unavailable):
        return  # it may be the service, which does not list them now or for this token
    except ServiceError as error:
        raise not_the_service(reader, error.message) from None
    if not all(is_kind(kind, item) for item in listed):
        raise not_the_service(reader, f"GET /v1{reading.path} answered something that is not {a(kind.name)}")
    readings.note_roots(kind, tuple(sorted(str(item["id"]) for item in listed)))


def not_the_service(reader: Reader, reason: str) -> ServiceError:
    """The error for a URL at which something other than the service answers."""
    return ServiceError(
        f"{reader.base_url} is not the URL of the service: {reason}",
        id="RC-wrong-service",
        hint="Correct service.baseUrl, --base-url or RECONCILER_BASE_URL; /v1 is added automatically.",
    )
