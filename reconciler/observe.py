"""Reading: the fewest requests that tell what the plan needs to know. Only GET; what could not be read is said, never guessed.

In: Desired and State (what is declared, what is bound). Out: Actual. Readings go out in waves: whatever can be asked with the ids known so
far is asked at once, then objects are matched, which makes more ids known. An object of its own is read only where no listing showed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import datetime
from typing import Any

from reconciler.address import Address
from reconciler.client import Answer, Reader, encode
from reconciler.client import Listing as Pages
from reconciler.errors import NotFound, Rejected, ServiceError
from reconciler.model import Actual, Desired, Observed, State, Unknown
from reconciler.plan import Matches, match
from reconciler.plan.match import listed
from reconciler.reading import is_kind, observed
from reconciler.resource import UNSET, Kind, Kinds, Listing, One, Sighting, placeholders


async def observe(reader: Reader, kinds: Kinds, desired: Desired, state: State, *, everything: bool = False) -> Actual:
    """Read what the declared and the bound resources need; with `everything`, all lists that there are below the declared roots.

    Raises `ServiceError` where the service refuses the token.
    """
    survey = Survey(reader, kinds, desired, state, everything=everything)
    while tasks := survey.next_wave():
        await asyncio.gather(*tasks)
        survey.fail_early()
    return survey.actual()


class Survey:
    """One observation under way: what was asked already, and what came back."""

    def __init__(self, reader: Reader, kinds: Kinds, desired: Desired, state: State, *, everything: bool = False) -> None:
        self.reader, self.kinds, self.desired, self.state, self.everything = reader, kinds, desired, state, everything
        self._objects: dict[str, dict[str, Observed]] = {name: {} for name in kinds}
        self._complete: set[tuple[str, str]] = set()
        self._absent: set[tuple[str, str]] = set()
        self._unknown: list[Unknown] = []
        self._errors: list[ServiceError] = []
        self._asked: set[str] = set()
        self._date: datetime | None = None
        self._needed = self._needs()

    def fail_early(self) -> None:
        """Raise where not even one root could be read: nothing can be said of anything."""
        roots = {kind.name for kind in self.kinds.roots}
        seen = any(self._objects[name] for name in roots) or any(name in roots for name, _ in self._absent)
        if self._errors and not seen:
            raise self._errors[0]

    def actual(self) -> Actual:
        """What is known so far."""
        order = {name: position for position, name in enumerate(self.kinds)}
        unknown = sorted(self._unknown, key=lambda one: (order[one.kind], one.scope or "", one.reason))
        return Actual(self._objects, frozenset(self._complete), frozenset(self._absent), tuple(unknown), self._date)

    def _needs(self) -> dict[tuple[str, Address | None], bool]:
        """Which kinds are wanted in which containers; all of them in one that is about to go."""
        needed: dict[tuple[str, Address | None], bool] = {}
        for address, declared in self.desired.resources.items():
            needed[(declared.kind, address.container)] = True
        for address, binding in self.state.bindings.items():
            needed.setdefault((binding.kind, address.container), True)
            if address not in self.desired.resources and address.container is not None:
                for kind in self.kinds.below(binding.kind):  # a delete would take all of it along
                    needed.setdefault((kind.name, address), True)
        return needed

    # -- what to ask ---------------------------------------------------------------------------------------------------------------

    def next_wave(self) -> list[Awaitable[None]]:
        """The readings that can be asked now and were not asked yet; empty when everything needed is known."""
        found = match(self.kinds, self.desired, self.state, self.actual())
        wave = [*self._roots(), *self._listings(found), *self._each(found)]
        return wave or self._listers(found) or self._ones(found) or (self._rest(found) if self.everything else [])

    def _rest(self, found: Matches) -> list[Awaitable[None]]:
        """Every list below what was seen that was not read yet, whoever it belongs to."""
        wave = []
        lister = found.ids.get(self.desired.lister) if self.desired.lister is not None else None
        for kind in self.kinds.values():
            for reading in kind.reads:
                host = reading.each or kind.within if isinstance(reading, Listing) else None
                if not isinstance(reading, Listing) or host is None or (reading.lister and lister is None):
                    continue
                for one in list(self._objects[host].values()):
                    if one.deleted_at is None:
                        holes = {**one.within, host: one.id} | ({"lister": lister} if reading.lister and lister else {})
                        wave += self._list(kind, reading, holes, None if reading.lister else one.id)
        return wave

    def _once(self, path: str) -> bool:
        if path in self._asked:
            return False
        self._asked.add(path)
        return True

    def _roots(self) -> list[Awaitable[None]]:
        wave = []
        for address, declared in self.desired.resources.items():
            if address.container is not None:
                continue
            binding = self.state.bindings.get(address)
            for id in {binding.id if binding else declared.id, declared.id} - {None}:
                wave += self._one(self.kinds[declared.kind], str(id), {})
        return wave

    def _listings(self, found: Matches) -> list[Awaitable[None]]:
        wave = []
        for name, container in self._needed:
            kind = self.kinds.get(name)
            scope = found.id(container) if container is not None else None
            if kind is None or container is None or scope is None:
                continue
            for reading in kind.reads:
                if isinstance(reading, Listing) and reading.each is None and not reading.lister:
                    wave += self._list(kind, reading, self._holes(container, found), scope)
        return wave

    def _each(self, found: Matches) -> list[Awaitable[None]]:
        wave = []
        for kind in self.kinds.values():
            for reading in kind.reads:
                if not isinstance(reading, Listing) or reading.each is None:
                    continue
                for holder, id in self._holders(kind, reading.each, found):
                    container = holder.container
                    if container is None or found.id(container) is None:
                        continue
                    wave += self._list(kind, reading, {**self._holes(container, found), reading.each: id}, id)
        return wave

    def _holders(self, kind: Kind, each: str, found: Matches) -> list[tuple[Address, str]]:
        """The objects of kind `each` whose contents matter: something declared stands in them, or they are about to go."""
        wanted: dict[Address, str] = {}
        inside = kind.inside
        for declared in self.desired.resources.values():
            if declared.kind == kind.name and inside is not None:
                parent = declared.values.get(inside.name, UNSET)
                if isinstance(parent, Address) and parent in found.ids:
                    wanted[parent] = found.ids[parent]
        former = set(found.renamed.values())
        for address, binding in self.state.bindings.items():
            gone = address not in self.desired.resources and address not in former
            if binding.kind == each and gone and binding.id in self._objects[each]:
                wanted[address] = binding.id
        for (name, id), meant in found.late.items():
            if name == each and meant.container is not None:
                wanted[meant.container.child(name, id)] = id  # it may have to go, if nothing stands in it
        if inside is not None and not inside.cascade and inside.to == each and each not in self.desired.protect:
            wanted |= self._prunable(each, found)
        return list(wanted.items())

    def _prunable(self, name: str, found: Matches) -> dict[Address, str]:
        """What `prune: all` would delete: it must be seen to be empty first."""
        if self.desired.prune.get(name) != "all":
            return {}
        bound = {binding.id for binding in self.state.bindings.values() if binding.kind == name} | set(found.ids.values())
        within = self.kinds[name].within or ""
        return {
            container.child(name, one.id): one.id
            for container, written in self.desired.written
            if written == name
            for one in self._objects[name].values()
            if one.id not in bound and one.within.get(within) == found.ids.get(container)
        }

    def _listers(self, found: Matches) -> list[Awaitable[None]]:
        lister = found.ids.get(self.desired.lister) if self.desired.lister is not None else None
        if lister is None or self.desired.lister is None:
            return []
        wave = []
        for kind in self.kinds.values():
            for reading in kind.reads:
                container = self.desired.lister.container
                if isinstance(reading, Listing) and reading.lister and container is not None and container in found.ids:
                    unseen = len(self._unseen(kind, found))
                    if unseen > 1 or self._perhaps_new(kind, found):
                        wave += self._list(kind, reading, {**self._holes(container, found), "lister": lister}, None)
        return wave

    def _perhaps_new(self, kind: Kind, found: Matches) -> bool:
        """Whether something is declared that may exist already and could only be told by its natural key."""
        return any(
            declared.kind == kind.name and declared.id is None and address not in found.ids and address not in self.state.bindings
            for address, declared in self.desired.resources.items()
        )

    def _ones(self, found: Matches) -> list[Awaitable[None]]:
        wave = []
        for kind in self.kinds.values():
            if kind.within is not None and not listed(kind):
                for id, container in self._unseen(kind, found).items():
                    wave += self._one(kind, id, self._holes(container, found))
        return wave

    def _unseen(self, kind: Kind, found: Matches) -> dict[str, Address]:
        """Ids that are bound or written and that no reading has shown yet, with their container."""
        if not any(isinstance(reading, One) for reading in kind.reads):
            return {}
        ids: dict[str, Address] = {}
        for address, binding in self.state.bindings.items():
            if binding.kind == kind.name and address.container is not None:
                ids[binding.id] = address.container
        for address, declared in self.desired.resources.items():
            if declared.kind == kind.name and declared.id is not None and address.container is not None:
                ids[declared.id] = address.container
        return {
            id: container
            for id, container in ids.items()
            if id not in self._objects[kind.name] and (kind.name, id) not in self._absent and found.id(container) is not None
        }

    def _holes(self, container: Address, found: Matches) -> dict[str, str]:
        """The ids of the fixed containers by kind, from the given one outwards."""
        holes: dict[str, str] = {}
        at: Address | None = container
        while at is not None:
            id = found.id(at)
            if id is not None:
                holes[self.kinds.of(at).name] = id
            at = at.container
        return holes

    # -- asking --------------------------------------------------------------------------------------------------------------------

    def _list(self, kind: Kind, reading: Listing, holes: Mapping[str, str], scope: str | None) -> list[Awaitable[None]]:
        path = encode(reading.path, {name: holes[name] for name in placeholders(reading.path)})
        return [self._read_list(kind, reading, path, dict(holes), scope)] if self._once(path) else []

    def _one(self, kind: Kind, id: str, holes: Mapping[str, str]) -> list[Awaitable[None]]:
        reading = next((each for each in kind.reads if isinstance(each, One)), None)
        if reading is None:
            return []
        path = encode(reading.path, {name: {**holes, "id": id}[name] for name in placeholders(reading.path)})
        return [self._read_one(kind, path, id, dict(holes))] if self._once(path) else []

    async def _read_list(self, kind: Kind, reading: Listing, path: str, holes: dict[str, str], scope: str | None) -> None:
        item = reading.item

        def key(one: dict[str, Any]) -> str:
            return str((one.get(item) or {}).get("id")) if item else str(one.get("id"))

        try:
            pages: Pages = await self.reader.list(path, key=key)
        except ServiceError as error:
            self._failed(kind, scope, error)
            return
        self._at(pages.date)
        within = {name: holes[name] for name in self.kinds.containers(kind.name)}
        raws: list[Any] = [one.get(item) if item else one for one in pages.items]
        if not all(is_kind(kind, raw) for raw in raws):
            self._unknown.append(Unknown(kind.name, scope, f"GET {path} answered something that is no {kind.name}"))
            return
        for rank, raw in enumerate(raws):
            self._keep(kind, raw, within, rank if reading.ordered else None)
        if not pages.complete:
            self._unknown.append(Unknown(kind.name, scope, f"GET {path} did not come to its end"))
        elif scope is not None:
            self._complete.add((kind.name, scope))

    async def _read_one(self, kind: Kind, path: str, id: str, holes: dict[str, str]) -> None:
        try:
            answer: Answer = await self.reader.get(path)
        except NotFound:
            self._absent.add((kind.name, id))
            return
        except ServiceError as error:
            self._failed(kind, None, error)
            return
        self._at(answer.date)
        raw = answer.body
        if not is_kind(kind, raw):
            self._unknown.append(Unknown(kind.name, None, f"GET {path} answered something that is no {kind.name}"))
        elif kind.within is not None and raw.get(kind.within, holes.get(kind.within)) != holes.get(kind.within):
            self._absent.add((kind.name, id))  # it stands in another container: for this project it is not there
        else:
            self._keep(kind, raw, {name: holes[name] for name in self.kinds.containers(kind.name)}, None)

    def _keep(self, kind: Kind, raw: Mapping[str, Any], within: Mapping[str, str], rank: int | None) -> None:
        known = self._objects[kind.name].get(str(raw["id"]))
        if known is None or known.rank is None:
            self._objects[kind.name][str(raw["id"])] = observed(self.kinds, kind, raw, within=within, rank=rank)
        for other in self.kinds.values():
            for reading in other.reads:
                if isinstance(reading, Sighting) and reading.kind == kind.name and is_kind(other, raw.get(reading.at)):
                    outer = {name: within[name] for name in self.kinds.containers(other.name) if name in within}
                    if str(raw[reading.at]["id"]) not in self._objects[other.name]:
                        self._keep(other, raw[reading.at], outer, None)

    def _at(self, date: datetime | None) -> None:
        if date is not None and (self._date is None or date > self._date):
            self._date = date

    def _failed(self, kind: Kind, scope: str | None, error: ServiceError) -> None:
        if isinstance(error, Rejected) and error.status == 401:
            raise error
        self._errors.append(error)
        self._unknown.append(Unknown(kind.name, scope, error.message))
