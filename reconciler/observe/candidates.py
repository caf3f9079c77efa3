"""Where a created object would be shown: the readings that distinguish it from objects that existed before.

In: the service and what was observed of it. Out: ids known before a create, and the paths to read to find its object. Only GET.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from reconciler.address import Address, bare
from reconciler.client import Reader, encode
from reconciler.errors import Rejected, ServiceError
from reconciler.model import Actual, Desired, Intent, Observed
from reconciler.model.codec import is_kind, observed, path_ids
from reconciler.observe.readers import reaches_all
from reconciler.resource import FieldRole, Kind, Kinds, Listing, placeholders

DATE_STEP: Final = 1.0  # seconds; a Date header is cut to whole ones

FindObject = Callable[[str, str], Observed | None]


class CreateCandidates:
    """The lists of one run in which new objects appear, as they were before it; each is read at most once.

    `find`: an object, by its kind and id, where this run has moved it; None where it is not known.
    """

    def __init__(
        self, reader: Reader, kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], find: FindObject
    ) -> None:
        self.reader, self.kinds, self.desired, self.actual, self.ids, self.find = reader, kinds, desired, actual, ids, find
        self._lock = asyncio.Lock()
        self._read: dict[str, tuple[frozenset[str], datetime | None]] = {}
        self._before: dict[tuple[str, ...], frozenset[str]] = {}

    def now(self) -> datetime:
        """The service's clock now, at the latest it can be by its last `Date`; ours where it sends none."""
        skew = self.reader.skew
        return datetime.now(UTC) + (timedelta(seconds=skew + DATE_STEP) if skew is not None else timedelta(0))

    def seconds_left(self, intent: Intent) -> float:
        """Seconds until an intent's deadline, by a clock that also runs while the process is stopped."""
        return (intent.deadline - self.now()).total_seconds() if intent.deadline is not None else 0.0

    def listings(self, kind: Kind, address: Address, ids: Mapping[Address, str]) -> tuple[str, ...]:
        """The listings that would show a new object of the kind at that address."""
        named = path_ids(self.kinds, address.container, ids.get)
        return tuple(
            encode(reading.path, {name: named[name] for name in placeholders(reading.path)})
            for reading in kind.whole_listings
            if set(placeholders(reading.path)) <= set(named)
        )

    def readings(self, kind: Kind, address: Address, ids: Mapping[Address, str], id: str) -> tuple[str, ...]:
        """The paths that would show whether a write to that object took effect: the object itself, else the listings that contain it."""
        named = {**path_ids(self.kinds, address.container, ids.get), "id": bare(id)}
        fits = kind.by_id is not None and set(placeholders(kind.by_id.path)) <= set(named)
        return (encode(kind.by_id.path, named),) if kind.by_id is not None and fits else self.listings(kind, address, ids)

    async def snapshot(self, kind: Kind, source: str) -> tuple[frozenset[str], datetime | None, tuple[str, ...]]:
        """The ids a copy of `source` could be mistaken for, when they were read, and the paths that would show the copy.

        Raises `ServiceError` where nothing would show it: the copy is not created then.
        """
        async with self._lock:
            paths = await self._paths_of_copies(kind, source)
            if paths not in self._before:
                self._before[paths] = frozenset[str]().union(*(self._read[path][0] for path in paths))
            return self._before[paths], self._read[paths[-1]][1], paths

    async def _paths_of_copies(self, kind: Kind, source: str) -> tuple[str, ...]:
        original = self.find(kind.name, source)
        if original is None:  # it is outside the project: the lister's list is searched for its copy
            original = observed(self.kinds, kind, {"id": source}, within=self._outer())
        inside = kind.inside
        stands = original.values.get(inside.name) if inside is not None and inside.role is FieldRole.INSIDE else None
        paths = []
        for reading in kind.listings:
            if reading.each is not None and isinstance(stands, str) and inside is not None and reading.each == inside.to:
                path = encode(reading.path, {**original.within, reading.each: stands})
                await self._read_once(path, reading)
                paths.append(path)
        lister = await self._by_lister(kind, original.within, needed=not paths)
        return (*paths, *([lister] if lister else []))

    def _outer(self) -> Mapping[str, str]:
        """The ids of the outermost container, from any object that was seen."""
        for objects in self.actual.objects.values():
            for item in objects.values():
                if item.within:
                    return item.within
        return {}

    async def _by_lister(self, kind: Kind, within: Mapping[str, str], *, needed: bool) -> str | None:
        """The listing of a member who reaches everything: the project's, else that of the first admin that can be read."""
        reading = kind.lister_listing
        if reading is None:
            return None
        named = self.ids.get(self.desired.lister) if self.desired.lister is not None else None
        if named is None and not needed:
            return None
        for id in [named] if named is not None else await self._reaching(within):
            path = encode(reading.path, {**within, "lister": bare(id)})
            try:
                await self._read_once(path, reading)
            except Rejected:
                continue
            return path
        if not needed:
            return None
        wrong = f"a copy at the top level could not be told from other {kind.name}s: no member with access to all of them was found"
        raise ServiceError(wrong, id="RC-copy-not-recognized", hint="set service.member to one")

    async def _reaching(self, within: Mapping[str, str]) -> list[str]:
        """Members who may be expected to reach everything, from the listing of the kind that may be referenced undeclared."""
        ids: list[str] = []
        for kind in self.kinds.values():
            for reading in kind.listings if kind.undeclared else ():
                pages = await self.reader.list(encode(reading.path, {name: within[name] for name in placeholders(reading.path)}))
                people = [observed(self.kinds, kind, raw, within=within) for raw in pages.items if is_kind(kind, raw)]
                ids += [kind.own_id(person.raw) for person in people if reaches_all(self.kinds, person)]
        return ids

    async def _read_once(self, path: str, reading: Listing) -> None:
        if path in self._read:
            return
        pages = await self.reader.list(path, key=reading.id)
        if not pages.complete:
            raise ServiceError(f"GET {path} is incomplete", id="RC-reading-incomplete")
        self._read[path] = (frozenset(reading.id(item) for item in pages.items), pages.date)
