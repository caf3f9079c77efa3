"""Reading everything: one organization completely, driven by what the kinds declare. Only GET; what could not be read is reported.

In: the ids of roots. Out: Actual. Containers are listed before their contents; last come the lists of those members who reach most, the
only ones that show objects without a folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from reconciler.address import bare
from reconciler.client import Reader
from reconciler.model import Actual, Desired, State
from reconciler.observe import Survey
from reconciler.observe.readers import people, reaching
from reconciler.observe.readings import look_for_roots
from reconciler.resource import Kind, Kinds, Listing


async def roots(reader: Reader, kinds: Kinds) -> tuple[Mapping[str, Any], ...]:
    """Every root object that the token reaches, as the service shows it. Raises `ServiceError`."""
    objects: list[Mapping[str, Any]] = []
    for kind in kinds.roots:
        for reading in kind.listings:
            objects += (await reader.list(reading.path)).items
    return tuple(objects)


async def read_all(reader: Reader, kinds: Kinds, ids: Sequence[str]) -> Actual:
    """Everything below the roots with these ids. Raises `ServiceError` where the service refuses the token, or is another service."""
    survey = _EverythingSurvey(reader, kinds, ids)
    while tasks := survey.next_wave():
        await asyncio.gather(*tasks)
        survey.fail_early()
        await look_for_roots(survey)
    return survey.actual()


class _EverythingSurvey(Survey):
    """A survey that is not limited by any YAML."""

    def __init__(self, reader: Reader, kinds: Kinds, ids: Sequence[str]) -> None:
        super().__init__(reader, kinds, Desired("", None, {}, {}, frozenset()), State("", 0))
        self.ids = ids

    def next_wave(self) -> list[Awaitable[None]]:
        """The readings that can be sent now and were not sent yet; empty when everything readable was seen."""
        wave = [task for kind in self.kinds.roots for id in self.ids for task in self._one(kind, id, {})]
        for kind in self.kinds.values():
            for reading in kind.listings:
                if kind.within is not None and not reading.lister:
                    wave += self._below(kind, reading, reading.each or kind.within)
        return wave or self._by_listers()

    def _below(self, kind: Kind, reading: Listing, holder: str) -> list[Awaitable[None]]:
        """One listing for each object of the containing kind."""
        wave = []
        for observed in list(self._objects[holder].values()):
            wave += self._list(kind, reading, {**observed.within, holder: observed.id}, observed.id)
        return wave

    def _by_listers(self) -> list[Awaitable[None]]:
        wave = []
        for kind in self.kinds.values():
            if kind.lister_listing is not None:
                # The members whose lists to read: everybody, where nobody is known to reach everything.
                for observed in list(reaching(self.kinds, self._objects)) or list(people(self.kinds, self._objects)):
                    wave += self._list(kind, kind.lister_listing, {**observed.within, "lister": bare(observed.id)}, None)
        return wave
