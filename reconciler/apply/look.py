"""One reading of many objects at once: the fewest requests that show them as they are now. Only GET.

In: objects as they should be, and containers whose contents are to be complete. Out: `Actual`; what could not be read is in it by name.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Collection, Mapping, Sequence

from reconciler.address import bare
from reconciler.client import PAGE_SIZE
from reconciler.client.service import Reader
from reconciler.model import Actual, Desired, Observed, State
from reconciler.observe import Survey
from reconciler.observe.privileged import reaching
from reconciler.plan.containment import Key, content_kinds
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import Kind, Kinds, Listing, placeholders


async def look(
    reader: Reader,
    kinds: Kinds,
    objects: Collection[Observed],
    simulation: Simulation,
    *,
    soon: int = 0,
    ordered: Collection[Key] = (),
    emptied: Collection[Observed] = (),
) -> Actual:
    """How these objects are now.

    `simulation`: what should exist, from which the length of lists follows. `soon`: how many more objects will be asked for before this
    reading is outdated. `ordered`: objects whose position among their siblings matters too. `emptied`: objects that are read with all their
    contents. Raises `ServiceError` where the service refuses the token.
    """
    survey = _ObjectSurvey(reader, kinds, simulation, soon)
    wave = [*survey.some(objects, frozenset(ordered)), *(task for observed in emptied for task in survey.inside(observed))]
    while wave:
        await asyncio.gather(*wave)
        wave = [*survey.unseen(objects), *survey.deeper(emptied)]
    return survey.actual()


class _ObjectSurvey(Survey):
    """A survey limited to given objects."""

    def __init__(self, reader: Reader, kinds: Kinds, simulation: Simulation, soon: int) -> None:
        super().__init__(reader, kinds, Desired("", None, {}, {}, frozenset()), State("", 0))
        self.simulation, self.soon = simulation, soon

    def some(self, objects: Collection[Observed], ordered: frozenset[Key]) -> list[Awaitable[None]]:
        """The fewest requests: for each object its own, a listing of its siblings, or the listing of a member who reaches everything."""
        groups: dict[tuple[str, str, str], list[Observed]] = defaultdict(list)
        for observed in objects:
            stands = self._stands(self.kinds[observed.kind], observed)
            groups[(observed.kind, observed.within.get(self.kinds[observed.kind].within or "", ""), stands)].append(observed)
        wave: list[Awaitable[None]] = []
        several: dict[tuple[str, str], list[list[Observed]]] = defaultdict(list)
        for (name, outer, _), group in groups.items():
            if ordered.isdisjoint((observed.kind, observed.id) for observed in group) or self._listing(self.kinds[name], group[0]) is None:
                several[name, outer].append(group)
            else:
                wave += self._siblings(group, ordered)
        for (name, outer), some in several.items():
            kind = self.kinds[name]
            # One list of everything may have fewer pages than the lists of many small containers; what will be asked for soon
            # counts too, because the same list would show it.
            pages = _pages_of(self.simulation.count(name, str(kind.within), outer))
            alone = sum(min(len(group), self._pages(kind, group[0]) or len(group)) for group in some)
            everything = self._everything(kind, some[0][0]) if pages < alone + self.soon else []
            wave += everything or [task for group in some for task in self._siblings(group, ordered)]
        return wave

    def _siblings(self, group: Sequence[Observed], ordered: frozenset[Key]) -> list[Awaitable[None]]:
        """Siblings, by their listing or each by itself."""
        kind = self.kinds[group[0].kind]
        reading = self._listing(kind, group[0])
        few = len(group) <= self._pages(kind, group[0]) and ordered.isdisjoint((observed.kind, observed.id) for observed in group)
        if reading is None or (few and kind.by_id is not None):
            return [task for observed in group for task in self._by_itself(kind, observed)]
        scope = self._stands(kind, group[0]) or group[0].within.get(kind.within or "")
        return self._list(kind, reading, self._names(kind, group[0]), scope)

    def _everything(self, kind: Kind, sibling: Observed) -> list[Awaitable[None]]:
        """The listing of a member who reaches everything, which shows objects in every location; empty where no such member is known."""
        reading = kind.lister_listing
        admin = min((person.id for person in reaching(self.kinds, self.simulation.objects)), default=None)
        if reading is None or admin is None:
            return []
        return self._list(kind, reading, {**sibling.within, "lister": bare(admin)}, None)

    def _pages(self, kind: Kind, sibling: Observed) -> int:
        """How many pages a listing of these siblings has; 0 where there is none."""
        if self._listing(kind, sibling) is None:
            return 0
        stands = self._stands(kind, sibling)
        outer = str(kind.inside.to) if stands and kind.inside is not None else str(kind.within)
        return _pages_of(self.simulation.count(kind.name, outer, stands or sibling.within.get(outer, "")))

    def unseen(self, objects: Collection[Observed]) -> list[Awaitable[None]]:
        """Requests by id for objects that the listing no longer showed: they may be in another location."""
        lost = [
            observed
            for observed in objects
            if observed.id not in self._objects[observed.kind] and (observed.kind, observed.id) not in self._absent
        ]
        return [task for observed in lost for task in self._by_itself(self.kinds[observed.kind], observed)]

    def inside(self, outer: Observed) -> list[Awaitable[None]]:
        """Requests for everything in an object, one level deep."""
        wave: list[Awaitable[None]] = []
        for kind in content_kinds(self.kinds, self.kinds[outer.kind]):
            within = {**outer.within, outer.kind: outer.id}
            for reading in kind.listings:
                if not reading.lister and set(placeholders(reading.path)) <= set(within):
                    direct = outer.kind in (kind.within, reading.each)
                    wave += self._list(kind, reading, within, outer.id if direct else within.get(kind.within or ""))
        return wave

    def deeper(self, emptied: Collection[Observed]) -> list[Awaitable[None]]:
        """Requests for the next level of what is to be read completely."""
        simulation = Simulation(self.kinds, Actual(self._objects), guess=False)
        objects = [observed for outer in emptied for _, observed in simulation.contents(self.kinds[outer.kind], outer.id)]
        return [task for observed in objects for task in self.inside(observed)]

    def _stands(self, kind: Kind, observed: Observed) -> str:
        """The node whose listing shows the object; "" where the container's does, or none."""
        inside = kind.inside
        if kind.listed_by is not None:
            return str(observed.values.get(kind.listed_by.name) or "")
        by_node = inside is not None and any(reading.each == inside.to for reading in kind.listings)
        return str(observed.values.get(inside.name) or "") if inside is not None and by_node else ""

    def _listing(self, kind: Kind, observed: Observed) -> Listing | None:
        names = self._names(kind, observed)
        fitting = [
            reading
            for reading in kind.listings
            if not reading.lister and kind.within is not None and set(placeholders(reading.path)) <= set(names)
        ]
        return fitting[0] if fitting else None

    def _names(self, kind: Kind, observed: Observed) -> Mapping[str, str]:
        """The values for the placeholders of its readings."""
        stands, inside = self._stands(kind, observed), kind.inside
        keys = {field.name: str(observed.values[field.name]) for field in kind.keys if isinstance(observed.values.get(field.name), str)}
        return {**keys, **observed.within, **({str(inside.to): stands} if stands and inside is not None else {})}

    def _by_itself(self, kind: Kind, observed: Observed) -> list[Awaitable[None]]:
        return self._one(kind, observed.id, self._names(kind, observed))


def _pages_of(number: int) -> int:
    return -(-number // PAGE_SIZE) or 1
