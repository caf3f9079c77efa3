"""One reading of many objects at once: the fewest requests that show them as they are now. Only GET.

In: objects as they should be, and containers whose contents are to be complete. Out: `Actual`; what could not be read is in it by name.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Collection, Mapping

from reconciler.client import Reader
from reconciler.model import Actual, Desired, Observed, State
from reconciler.observe import Survey
from reconciler.plan.simulate import Key, World, holds
from reconciler.resource import Kind, Kinds, Listing, One, placeholders


async def look(
    reader: Reader, kinds: Kinds, objects: Collection[Observed], *, ordered: Collection[Key] = (), emptied: Collection[Observed] = ()
) -> Actual:
    """How these objects are now. `ordered`: of which the place counts too; `emptied`: of which everything that stands in them is read.

    Raises `ServiceError` where the service refuses the token.
    """
    one = _Look(reader, kinds)
    wave = [*one.some(objects, frozenset(ordered)), *(task for each in emptied for task in one.inside(each))]
    while wave:
        await asyncio.gather(*wave)
        wave = [*one.unseen(objects), *one.deeper(emptied)]
    return one.actual()


class _Look(Survey):
    """A survey that is told which objects to read."""

    def __init__(self, reader: Reader, kinds: Kinds) -> None:
        super().__init__(reader, kinds, Desired("", None, {}, {}, frozenset()), State("", 0))

    def some(self, objects: Collection[Observed], ordered: frozenset[Key]) -> list[Awaitable[None]]:
        """Each object by a listing that shows several of those asked for, else by itself."""
        groups: dict[tuple[str, str, str], list[Observed]] = defaultdict(list)
        for each in objects:
            stands = self._stands(self.kinds[each.kind], each)
            groups[(each.kind, each.within.get(self.kinds[each.kind].within or "", ""), stands)].append(each)
        wave: list[Awaitable[None]] = []
        for (name, _, _), group in groups.items():
            kind = self.kinds[name]
            reading = self._listing(kind, group[0])
            alone = len(group) == 1 and not {(each.kind, each.id) for each in group} & ordered
            if reading is None or (alone and any(isinstance(each, One) for each in kind.reads)):
                wave += [task for each in group for task in self._by_itself(kind, each)]
            else:
                scope = self._stands(kind, group[0]) or group[0].within.get(kind.within or "")
                wave += self._list(kind, reading, self._names(kind, group[0]), scope)
        return wave

    def unseen(self, objects: Collection[Observed]) -> list[Awaitable[None]]:
        """What the listing did not show any more may stand elsewhere: it is asked for by its id."""
        lost = [each for each in objects if each.id not in self._objects[each.kind] and (each.kind, each.id) not in self._absent]
        return [task for each in lost for task in self._by_itself(self.kinds[each.kind], each)]

    def inside(self, outer: Observed) -> list[Awaitable[None]]:
        """Everything that stands in an object, one level deep."""
        wave: list[Awaitable[None]] = []
        for kind in holds(self.kinds, self.kinds[outer.kind]):
            within = {**outer.within, outer.kind: outer.id}
            for reading in kind.reads:
                if isinstance(reading, Listing) and not reading.lister and set(placeholders(reading.path)) <= set(within):
                    direct = outer.kind in (kind.within, reading.each)
                    wave += self._list(kind, reading, within, outer.id if direct else within.get(kind.within or ""))
        return wave

    def deeper(self, emptied: Collection[Observed]) -> list[Awaitable[None]]:
        """The next level of what is to be read completely."""
        world = World(self.kinds, Actual(self._objects), guess=False)
        found = [one for outer in emptied for _, one in world.contents(self.kinds[outer.kind], outer.id)]
        return [task for one in found for task in self.inside(one)]

    def _stands(self, kind: Kind, one: Observed) -> str:
        """The node whose listing shows the object; "" where the container's does, or none."""
        inside = kind.inside
        by_node = inside is not None and any(isinstance(each, Listing) and each.each == inside.to for each in kind.reads)
        return str(one.values.get(inside.name) or "") if inside is not None and by_node else ""

    def _listing(self, kind: Kind, one: Observed) -> Listing | None:
        names = self._names(kind, one)
        fitting = [
            each
            for each in kind.reads
            if isinstance(each, Listing) and not each.lister and kind.within is not None and set(placeholders(each.path)) <= set(names)
        ]
        return fitting[0] if fitting else None

    def _names(self, kind: Kind, one: Observed) -> Mapping[str, str]:
        """What fills the placeholders of its readings."""
        stands, inside = self._stands(kind, one), kind.inside
        keys = {field.name: str(one.values[field.name]) for field in kind.keys if isinstance(one.values.get(field.name), str)}
        return {**keys, **one.within, **({str(inside.to): stands} if stands and inside is not None else {})}

    def _by_itself(self, kind: Kind, one: Observed) -> list[Awaitable[None]]:
        return self._one(kind, one.id, self._names(kind, one))
