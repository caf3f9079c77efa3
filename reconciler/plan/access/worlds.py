"""The worlds before and after a plan, in which access tests look up readers. Pure.

Only what exists on the service counts: declaring a space as a template lets nobody read it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from reconciler.address import Address
from reconciler.model import Actual
from reconciler.plan.access.readings import NeededReadings, needed
from reconciler.plan.access.verdicts import Look
from reconciler.plan.audience.barriers import Worlds, opens
from reconciler.plan.audience.disclosure import Disclosure, ReaderWindow, caller
from reconciler.plan.audience.readers import Audiences, Objects
from reconciler.plan.containment import Key
from reconciler.plan.matching.service_copies import copied
from reconciler.resource import Kinds


@dataclass(frozen=True)
class Sides:
    """`before`, `after`: the worlds. `spread_before`, `spread_after`: the same, where the readers of a copy read what it was copied from.

    `windows`: who reads an object during the run only. `needed`: what must be read to be sure of all this.
    """

    before: Look
    after: Look
    spread_before: Look
    spread_after: Look
    windows: Mapping[Key, Collection[ReaderWindow]]
    called: Callable[[Key], Address]
    needed: NeededReadings


@dataclass(frozen=True)
class WorldInputs:
    """The inputs of the worlds. `ids`: of every address before the plan. `about`: the addresses to ask about."""

    kinds: Kinds
    actual: Actual
    ids: Mapping[Address, str]
    disclosed: Disclosure
    about: Collection[Address]

    def key(self, ids: Mapping[Address, str], address: Address) -> Key | None:
        """The object of an address; None where it has none."""
        id = ids.get(address)
        return None if id is None else (self.kinds.of(address).name, id)

    def sides(self) -> Sides:
        worlds, now = self.disclosed.worlds, self.actual.objects
        before = self._both(now, self.actual.complete, copied(self.kinds, now))
        after = before
        if worlds is not None:
            after = self._both(worlds.served, worlds.after.complete, self._copies(worlds))
        later = worlds.ids if worlds is not None else self.ids
        keys = {key for ids in (self.ids, later) for address in self.about if (key := self.key(ids, address)) is not None}
        need = needed(self.kinds, self.actual, (*before, *after) if worlds is not None else before, keys)
        looks = [Look(audiences, ids, frozenset(need.unread)) for some, ids in ((before, self.ids), (after, later)) for audiences in some]
        windows: dict[Key, list[ReaderWindow]] = {}
        for window in self.disclosed.windows:
            windows.setdefault(window.key, []).append(window)
        return Sides(looks[0], looks[2], looks[1], looks[3], windows, self._caller(worlds), need)

    def _both(self, objects: Objects, complete: Collection[Key], copies: Mapping[Key, Collection[Key]]) -> tuple[Audiences, Audiences]:
        """Who can read what, and who can read what if the readers of a copy could also read its source."""
        own = Audiences(self.kinds, objects, complete=complete)
        return own, Audiences(self.kinds, objects, complete=complete, copies=copies) if copies else own

    def _copies(self, worlds: Worlds) -> dict[Key, Collection[Key]]:
        """The copies and their sources, without copies of what the project itself declares open to everybody."""
        result: dict[Key, Collection[Key]] = {}
        for key, copies in worlds.after.copies.items():
            served = worlds.served.get(key[0], {}).get(key[1])
            said = worlds.after.objects.get(key[0], {}).get(key[1])
            if served is None or said is None or not opens(self.kinds[key[0]], served.values, said.values):
                result[key] = copies
        return result

    def _caller(self, worlds: Worlds | None) -> Callable[[Key], Address]:
        if worlds is not None:
            return self.disclosed.called
        addresses = {(self.kinds.of(address).name, id): address for address, id in self.ids.items()}
        return caller(self.kinds, addresses, self.actual.objects, self.actual.objects)
