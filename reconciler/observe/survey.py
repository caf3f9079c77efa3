"""What to ask: the fewest readings that tell what the plan needs to know.

In: Desired and State (what is declared, what is bound). Out: waves of readings; in each, whatever can be asked with the ids known so far.
An object of its own is read only where no listing showed it.
"""

from __future__ import annotations

from collections.abc import Awaitable

from reconciler.address import Address, bare
from reconciler.client import Reader
from reconciler.model import Binding, Desired, State
from reconciler.observe.readings import Readings
from reconciler.plan import Matches, match
from reconciler.plan.absence import missing
from reconciler.plan.match import listed
from reconciler.reading import path_ids
from reconciler.resource import UNSET, Kind, Kinds, Listing, One


class Survey(Readings):
    """One observation under way, limited to what is declared and bound."""

    def __init__(self, reader: Reader, kinds: Kinds, desired: Desired, state: State, *, everything: bool = False) -> None:
        super().__init__(reader, kinds)
        self.desired, self.state, self.everything = desired, state, everything
        self._needed = self._needs()

    def suspects(self) -> dict[Address, Binding]:
        """What a plan would now take for gone, with its binding; what went along with something else is left out."""
        return missing(self.state, match(self.kinds, self.desired, self.state, self.actual()))

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
                        holes = {**one.within, host: one.id} | ({"lister": bare(lister)} if reading.lister and lister else {})
                        wave += self._list(kind, reading, holes, None if reading.lister else one.id)
        return wave

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
                    wave += self._list(kind, reading, path_ids(self.kinds, container, found.id), scope)
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
                    wave += self._list(kind, reading, {**path_ids(self.kinds, container, found.id), reading.each: id}, id)
        return wave

    def _holders(self, kind: Kind, each: str, found: Matches) -> list[tuple[Address, str]]:
        """The objects of kind `each` whose contents matter: something declared stands or stood in them, or they are about to go."""
        wanted: dict[Address, str] = {}
        inside = kind.inside
        for declared in self.desired.resources.values():
            if declared.kind == kind.name and inside is not None:
                parent = declared.values.get(inside.name, UNSET)
                if isinstance(parent, Address) and parent in found.ids:
                    wanted[parent] = found.ids[parent]
        former, known = set(found.renamed.values()), {str(address) for address in wanted}
        for address, binding in self.state.bindings.items():
            gone = address not in self.desired.resources and address not in former
            place = binding.place.parent if binding.kind == kind.name and binding.place is not None else None
            stood = Address.parse(place) if place and place not in known else None
            if stood is not None and stood.kind == each and stood in found.ids:
                wanted[stood] = found.ids[stood]
            if binding.kind == each and gone and binding.id in self._objects[each]:
                wanted[address] = binding.id
        for (name, id), meant in found.late.items():
            if name == each and meant.container is not None:
                wanted[meant.container.child(name, bare(id))] = id  # it may have to go, if nothing stands in it
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
            container.child(name, bare(one.id)): one.id
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
                        wave += self._list(kind, reading, {**path_ids(self.kinds, container, found.id), "lister": bare(lister)}, None)
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
                    wave += self._one(kind, id, path_ids(self.kinds, container, found.id))
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
