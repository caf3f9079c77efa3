"""What to read: the fewest readings that show what the plan needs to know.

In: Desired and State (what is declared, what is tracked). Out: waves of readings; in each, whatever can be read with the ids known so far.
An object is read by its id only where no listing showed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Set as AbstractSet
from typing import Final

from reconciler.address import Address, bare, is_key
from reconciler.client import encode
from reconciler.client.service import Reader
from reconciler.model import Binding, Desired, State
from reconciler.model.codec import holder as shown_by, ids_in, outside, path_ids
from reconciler.observe.readers import reaching
from reconciler.observe.readings import Readings
from reconciler.plan.containment import makers
from reconciler.plan.matching.match import match
from reconciler.plan.matching.matches import Match, Matches
from reconciler.plan.matching.missing import deleted_before, missing
from reconciler.plan.matching.natural_keys import by_reference, listed
from reconciler.plan.matching.outsiders import pending, scope_of
from reconciler.plan.matching.renames import current_addresses, follow
from reconciler.resource import UNSET, Kind, Kinds, Listing, placeholders

ADMINS_ASKED: Final = 3  # members whose lists are read one after the other, until one can be read


class Survey(Readings):
    """One observation, limited to what is declared and tracked."""

    def __init__(self, reader: Reader, kinds: Kinds, desired: Desired, state: State, *, everything: bool = False) -> None:
        super().__init__(reader, kinds)
        self.desired, self.state, self.everything = desired, follow(kinds, desired, state).state, everything
        self._former, self._order = follow(kinds, desired, self.state), tuple(by_reference(kinds, desired))
        self._matches: tuple[int, Matches] | None = None
        self._remembering = True
        # What the YAML names by id alone: the list that shows it depends on a field that nobody wrote, so any list of that field may.
        self._known_by_id = [
            resource
            for resource in desired.resources.values()
            if resource.id is not None and (field := kinds[resource.kind].listed_by) is not None and field.name not in resource.values
        ]
        self._needed = self._needs()
        self._referring = [resource for resource in desired.resources.values() if any(True for _ in outside(resource.values))]

    def suspects(self) -> dict[Address, Binding]:
        """The bindings of what a plan would now consider deleted, without what was deleted with its container."""
        return missing(self.matched())

    def matched(self) -> Matches:
        """The matches of everything declared, based on all that was read so far."""
        if self._matches is None or self._matches[0] != self._revision:
            matches = match(self.kinds, self.desired, self.state, self.actual(), former=self._former, order=self._order)
            self._matches = self._revision, matches
        return self._matches[1]

    def _needs(self) -> dict[tuple[str, Address | None], bool]:
        """The kinds to read in each container: all of them in one that is to be deleted, and those of `prune: all`."""
        needed: dict[tuple[str, Address | None], bool] = {}
        for address, declared in self.desired.resources.items():
            needed[(declared.kind, address.container)] = True
        for address, binding in self.state.bindings.items():
            # Tracked and no longer declared: the plan deletes it, so it has to know whether it still exists.
            needed.setdefault((binding.kind, address.container), True)
            if address not in self.desired.resources and address.container is not None:
                for kind in self.kinds.below(binding.kind):  # a delete would delete all of its contents
                    needed.setdefault((kind.name, address), True)
        # A policy may count what is not managed, so the whole list is needed even where the YAML declares nothing of the kind.
        for container, name in self.desired.policies.asks:
            needed.setdefault((name, container), True)
        for declared in self._known_by_id:  # any list of its kind may show it
            listed_by = self.kinds[declared.kind].listed_by
            needed.setdefault((str(listed_by.refers if listed_by is not None else None), declared.address.container), True)
        for address, former in self.state.renamed.items():
            # The state has the new address already, and the service may still have the object in its former organization.
            if former.root != address.root and former.container is not None and address in self.state.bindings:
                needed.setdefault((self.state.bindings[address].kind, former.container), True)
        for container, name in self.desired.written:
            if self.desired.prune.get(name) == "all":
                needed.setdefault((name, container), True)
                for maker, _ in makers(self.kinds, (name,)):  # its results are not pruned
                    needed.setdefault((maker.name, container), True)
        return needed

    def next_wave(self) -> list[Awaitable[None]]:
        """The readings that can be sent now and were not sent yet; empty when everything needed is known.

        First the roots, then all that follows from the ids in the state, then what only these readings have made known.
        """
        # The ids in the state save a round trip for each level of containers; nothing there is believed, only asked for earlier.
        if self._remembering and self._seen_roots():
            self._remembering = False
            if wave := self._as_remembered():
                return wave
        # No answer yet: nothing can match, and every other reading needs the id of a root.
        if not self._revision:
            return self._roots_by_id()
        matches = self.matched()
        wave = [*self._roots_by_id(), *self._lists_in_containers(matches), *self._lists_in_parents(matches)]
        # Cheapest first, and each only where the ones before left a question: the list of a member can show many objects at once that
        # would otherwise be read one by one.
        wave = wave or self._lists_of_members(matches) or self._objects_by_id(matches)
        wave = wave or self._named_outsiders(matches) or self._lists_of_makers(matches)
        return wave or (self._unread_lists(matches) if self.everything else [])

    def _lists_of_makers(self, matches: Matches) -> list[Awaitable[None]]:
        """The lists of objects that have results, in each container with an unmanaged object that may be such a result."""
        # A result is not listed as one: only the list of what made it names it. Pruning without that list would delete the result.
        wave = []
        managed = self.state.addresses.keys() | {(self.desired.resources[address].kind, id) for address, id in matches.ids.items()}
        for maker, name in makers(self.kinds):
            scopes = {
                observed.within.get(maker.within or "")
                for observed in self._objects[name].values()
                if observed.deleted_at is None and (name, observed.id) not in managed
            }
            for container, declared in self.desired.resources.items():
                scope = matches.ids.get(container) if declared.kind == maker.within else None
                if scope is not None and scope in scopes:
                    for reading in maker.whole_listings:
                        wave += self._list(maker, reading, path_ids(self.kinds, container, matches.id), scope)
        return wave

    def _seen_roots(self) -> dict[Address, str]:
        """The roots that were shown under the one id that the state and the YAML give them."""
        seen = {}
        # Where the YAML gives another id than the state, the project was pointed at another organization: what the state
        # remembers is about the former one.
        for address, declared in self.desired.resources.items():
            binding = self.state.bindings.get(address) if address.container is None else None
            if binding is not None and declared.id in (None, binding.id) and binding.id in self._objects[declared.kind]:
                seen[address] = binding.id
        return seen

    def _as_remembered(self) -> list[Awaitable[None]]:
        """The lists in all objects that the state tracks; a list that fails is read again once its container is known to exist."""
        roots, resources = self._seen_roots(), self.desired.resources
        bound = {address: binding.id for address, binding in self.state.bindings.items() if address.root in roots}
        known = Matches(self._former, {address: Match(id=id, leaving=address not in resources) for address, id in bound.items()})
        before = set(self._asked)
        # The lists of this wave show objects only when they have arrived, so what they will show is not asked for again by id.
        asked = frozenset((binding.kind, address.container) for address, binding in self.state.bindings.items())
        wave = [*self._lists_in_containers(known, asked), *self._lists_in_parents(known), *self._remembered_objects(known)]
        # A container of the state may be gone: a 404 of its list proves nothing, and is asked for again if it exists.
        self._unproven = self._asked - before
        return wave

    def _remembered_objects(self, known: Matches) -> list[Awaitable[None]]:
        """The objects that no list will show according to the state; not where one list could show several of them."""
        wave = []
        for kind in self.kinds.values():
            if kind.within is None or kind.inside is None or kind.by_id is None or listed(kind):
                continue
            # What the last reading of another kind contained, such as the pages in a space, that one's reading shows again.
            showing = {reading.kind for reading in kind.sightings}
            shown = {id for binding in self.state.bindings.values() if binding.kind in showing for id in ids_in(binding.seen)}
            alone = [
                (binding.id, address.container)
                for address, binding in self.state.bindings.items()
                if binding.kind == kind.name and binding.seen.get(kind.inside.name) is None and binding.id not in shown
            ]
            # Several objects at the root, where a member's list shows all of them: one request instead of one for each.
            if len(alone) > 1 and kind.lister_listing is not None:
                continue
            for id, container in alone:
                if container is not None and known.id(container) is not None:
                    wave += self._one(kind, id, path_ids(self.kinds, container, known.id))
        return wave

    def _unread_lists(self, matches: Matches) -> list[Awaitable[None]]:
        """Every unread list below what was seen, managed or not."""
        wave = []
        lister = matches.ids.get(self.desired.lister) if self.desired.lister is not None else None
        for kind in self.kinds.values():
            for reading in kind.listings:
                host = reading.each or kind.within
                # A root is in no list; a member's list cannot be asked for without a member.
                if host is None or (reading.lister and lister is None):
                    continue
                for observed in list(self._objects[host].values()):
                    if observed.deleted_at is None and (kind.name, observed.id) not in self._listed:
                        holes = {**observed.within, host: observed.id} | ({"lister": bare(lister)} if reading.lister and lister else {})
                        # A member's list lacks what that member cannot reach, so it proves no absence: it gets no scope.
                        wave += self._list(kind, reading, holes, None if reading.lister else observed.id)
        return wave

    def _roots_by_id(self) -> list[Awaitable[None]]:
        """The roots, each by its id: no list that a project may read shows them."""
        wave = []
        for address, declared in self.desired.resources.items():
            if address.container is not None:
                continue
            binding = self.state.bindings.get(address)
            # Both ids where they differ: the plan has to say which of the two organizations exist.
            for id in {binding.id if binding else declared.id, declared.id} - {None}:
                wave += self._one(self.kinds[declared.kind], str(id), {})
        return wave

    def _lists_in_containers(self, matches: Matches, asked: AbstractSet[tuple[str, Address | None]] = frozenset()) -> list[Awaitable[None]]:
        """The lists of the containers that are known. `asked`: (kind, container) of the lists in this wave that will show an object."""
        wave = []
        for name, container in self._needed:
            kind = self.kinds.get(name)
            scope = matches.id(container) if container is not None else None
            if kind is None or container is None or scope is None:
                continue
            # The list of another kind shows all objects of this one, or will in this wave: its own list would only repeat them.
            will_be_shown = any(reading.all and (reading.kind, container) in asked for reading in kind.sightings)
            if will_be_shown or (kind.name, scope) in self._listed:
                continue
            for reading in kind.whole_listings:
                wave += self._list(kind, reading, path_ids(self.kinds, container, matches.id), scope)
        return wave

    def _lists_in_parents(self, matches: Matches) -> list[Awaitable[None]]:
        """The lists of kinds that the service lists parent by parent, such as the spaces of a collection."""
        wave = []
        for kind in self.kinds.values():
            for reading in kind.listings:
                if reading.each is None:
                    continue
                for parent, id in self._parents_to_read(kind, reading.each, matches):
                    container = parent.container
                    if container is not None and matches.id(container) is not None:
                        wave += self._list(kind, reading, {**path_ids(self.kinds, container, matches.id), reading.each: id}, id)
        return wave

    def _parents_to_read(self, kind: Kind, container_kind: str, matches: Matches) -> list[tuple[Address, str]]:
        """The objects of kind `container_kind` whose contents matter: they contain or contained declared objects, or are to be deleted."""
        wanted: dict[Address, str] = {}
        if kind.listed_by is not None:
            wanted = self._named_by_key(kind, container_kind, matches)
            for sought in self._known_by_id:
                # Only its id is known, and only the list of its own parent shows it: the lists of all possible parents are read.
                container = sought.address.container
                if sought.kind == kind.name and container is not None:
                    wanted |= {container.child(container_kind, bare(id)): id for id in self._objects[container_kind]}
        inside = kind.inside
        for declared in self.desired.resources.values():
            if declared.kind == kind.name and inside is not None:
                parent = declared.values.get(inside.name, UNSET)
                if isinstance(parent, Address) and parent in matches.ids:
                    wanted[parent] = matches.ids[parent]
        # A declared parent counts under its declared address. The one where an object was last is read too: an object that somebody moved
        # out by hand is missing in the declared parent, and must not count as deleted there.
        known = {*wanted}
        for address, binding in self.state.bindings.items():
            undeclared = address not in self.desired.resources
            last_parent = binding.place.parent if binding.kind == kind.name and binding.place is not None else None
            if last_parent is not None and last_parent not in known and last_parent.kind == container_kind and last_parent in matches.ids:
                wanted[last_parent] = matches.ids[last_parent]
            # It is to be deleted itself, and a delete may include what it contains.
            if binding.kind == container_kind and undeclared and binding.id in self._objects[container_kind]:
                wanted[address] = binding.id
        for (name, id), meant in matches.late.items():
            if name == container_kind and meant.container is not None:
                # A create that an earlier run had given up and that took effect nevertheless: it is deleted, if it is empty.
                wanted[meant.container.child(name, bare(id))] = id
        # The service deletes no parent that is not empty, or moves its contents out: `prune: all` looks before.
        if inside is not None and not inside.cascade and inside.to == container_kind and container_kind not in self.desired.protect:
            wanted |= self._prunable_parents(container_kind, matches)
        wanted |= self._transferred_along(container_kind, matches)
        wanted |= self._deleted_along(container_kind, matches)
        return list(wanted.items())

    def _named_by_key(self, kind: Kind, container_kind: str, matches: Matches) -> dict[Address, str]:
        """The objects of kind `container_kind` that the natural keys of declared or tracked resources name, in any location."""
        resources, bindings = self.desired.resources, self.state.bindings
        named: dict[Address, str] = {}
        for address in dict.fromkeys((*resources, *bindings)):
            declared, binding = resources.get(address), bindings.get(address)
            if kind.name not in (declared.kind if declared is not None else "", binding.kind if binding is not None else ""):
                continue
            # A natural key may be the id of a parent outside the project, where no declaration leads to its list.
            shown = shown_by(kind, declared, binding, matches.ids)
            if isinstance(shown, str) and is_key(shown) and address.container is not None:
                named[address.container.child(container_kind, shown)] = shown
        return named

    def _transferred_along(self, name: str, matches: Matches) -> dict[Address, str]:
        """The objects of the kind `name` that a transfer includes, by address: they may contain more, managed or not."""
        ids = {str(match.id) for address, match in matches.items() if match.transfers is not None and address.kind == name}
        if not ids:
            return {}
        # A transfer includes what is nested in it. Its former organization lists it until then, the new one afterwards.
        going = self._with_nested(name, ids)
        carried: dict[Address, str] = {}
        for address in self.desired.resources:
            if address.container is None and address in matches.ids:
                here = [id for id in going if self._objects[name][id].within.get(str(self.kinds[name].within)) == matches.ids[address]]
                carried |= {address.child(name, bare(id)): id for id in here}
        return carried

    def _deleted_along(self, name: str, matches: Matches) -> dict[Address, str]:
        """The objects of the kind `name` in what is deleted with everything in it, by address: they may contain more, managed or not."""
        deleted: dict[Address, str] = {}
        for address, line in current_addresses(self.desired.removed, matches.former).items():
            binding, container = self.state.bindings.get(address), address.container
            if line.action == "delete-all" and binding is not None and binding.kind == name and container is not None:
                present = self._with_nested(name, {binding.id} & self._objects[name].keys())
                deleted |= {container.child(name, bare(id)): id for id in present}
        return deleted

    def _with_nested(self, name: str, outer: AbstractSet[str]) -> set[str]:
        """The ids of these objects of the kind `name` and of those in them, at any depth."""
        inside, inner = self.kinds[name].inside, dict[str, list[str]]()
        if outer and inside is not None and inside.to == name:
            for observed in self._objects[name].values():
                if isinstance(parent := observed.values.get(inside.name), str):
                    inner.setdefault(parent, []).append(observed.id)
        nested, ahead = set(outer), [*outer]
        while ahead:
            # Somebody may move objects while the lists are read, so what they say together can be a circle.
            more = [id for id in inner.get(ahead.pop(), ()) if id not in nested]
            nested.update(more)
            ahead += more
        return nested

    def _prunable_parents(self, name: str, matches: Matches) -> dict[Address, str]:
        """The objects that `prune: all` would delete: they must be known to be empty first."""
        if self.desired.prune.get(name) != "all":
            return {}
        bound = {binding.id for binding in self.state.bindings.values() if binding.kind == name} | set(matches.ids.values())
        within = self.kinds[name].within or ""
        return {
            container.child(name, bare(observed.id)): observed.id
            for container, written in self.desired.written
            if written == name
            for observed in self._objects[name].values()
            if observed.id not in bound and observed.within.get(within) == matches.ids.get(container)
        }

    def _lists_of_members(self, matches: Matches) -> list[Awaitable[None]]:
        """The list of a member who reaches everything, in each container where nothing else shows what exists."""
        wave = []
        # At the root of an organization, no list shows all objects: the service has only the list of what one member can see.
        for kind in self.kinds.values():
            if kind.lister_listing is not None:
                for container, at_root in self._undecided(kind, matches).items():
                    wave += self._list_by_member(kind, kind.lister_listing, container, matches, needed=at_root)
        return wave

    def _list_by_member(self, kind: Kind, reading: Listing, container: Address, matches: Matches, *, needed: bool) -> list[Awaitable[None]]:
        """Read the list of the project's member and of admins; where none is known and the list is `needed`, read the people first."""
        scope, holes = matches.ids[container], path_ids(self.kinds, container, matches.id)
        if (kind.name, scope) in self._listed:
            return []
        lister = self.desired.lister
        named = matches.ids.get(lister) if lister is not None and lister.container == container else None
        # Members that reach everything: only the list of such a one proves that something does not exist.
        admins = sorted(observed.id for observed in reaching(self.kinds, self._objects) if scope in observed.within.values())
        if named is not None and named not in admins:  # it may not reach everything: its list shows what exists, not what does not
            shown = self._list(kind, reading, {**holes, "lister": bare(named)}, None)
            if shown:
                return shown
        if admins and (needed or named is not None):
            first = sorted(admins, key=lambda id: id != named)[:ADMINS_ASKED]
            paths = {encode(reading.path, {**holes, "lister": bare(id)}): bare(id) for id in first}
            asked = {path: {**holes, "lister": id} for path, id in paths.items() if self._once(path)}
            return [self._list_until_one_ends(kind, reading, asked, scope)] if asked else []
        if not needed:
            return []
        # Nobody is known yet who could be asked: the people are read first, and the next wave asks one of them.
        return [
            task
            for other in self.kinds.values()
            for people in other.listings
            if other.undeclared and other.within == self.kinds.of(container).name
            for task in self._list(other, people, holes, scope)
        ]

    def _undecided(self, kind: Kind, matches: Matches) -> dict[Address, bool]:
        """The containers in which several ids were not seen yet, or an object may exist that only its natural key identifies.

        True where that object is at the root, which no other list shows.
        """
        containers: dict[Address, bool] = {}
        unseen = Counter(self._ids_not_seen(kind, matches).values())
        # One id is cheaper to read by itself; from two on, the list is.
        for container, number in unseen.items():
            if number > 1 and container in matches.ids:
                containers[container] = False
        for address, declared in self.desired.resources.items():
            outer = address.container
            # With an id of its own it is read by that; no other object can be meant.
            if declared.kind != kind.name or outer is None or outer not in matches.ids or declared.id is not None:
                continue
            now = self._objects[kind.name].get(matches.ids.get(address, ""))
            tracked = matches.binding(address) is not None
            if (now is not None and now.deleted_at is not None) or (now is None and (not tracked or matches[address].gone)):
                at_root = kind.inside is None or declared.values.get(kind.inside.name) is None
                containers[outer] = containers.get(outer, False) or (at_root and declared.adopt)
        return containers

    def _named_outsiders(self, matches: Matches) -> list[Awaitable[None]]:
        """Readings of objects that a request may name by id and that no other reading showed: their organization must be known first."""
        wave = []
        for declared in self._referring:
            address, kind = declared.address, self.kinds[declared.kind]
            # What is blocked sends no request, so nothing of it has to be known.
            if matches[address].blocked is not None or matches[address].unknown is not None:
                continue
            now = self._objects[kind.name].get(matches.ids.get(address, ""))
            for reference in pending(kind, declared, now, matches.ids):
                other, container = scope_of(self.kinds, address, reference)
                if other is None or container is None or matches.id(container) is None:
                    continue
                holes = path_ids(self.kinds, container, matches.id)
                id = other.identity(reference.id, holes)
                fits = other.by_id is not None and set(placeholders(other.by_id.path)) <= {*holes, "id"}
                if fits and id not in self._objects[other.name] and (other.name, id) not in self._absent:
                    wave += self._one(other, id, holes)
        return wave

    def _objects_by_id(self, matches: Matches) -> list[Awaitable[None]]:
        """What is tracked or declared by an id, and that no list would show."""
        wave = []
        for kind in self.kinds.values():
            # Where a list shows all objects of a kind, one that it lacks does not exist: reading it by its id would only say so again.
            if kind.within is not None and not listed(kind):
                for id, container in self._ids_not_seen(kind, matches).items():
                    wave += self._one(kind, id, path_ids(self.kinds, container, matches.id))
        return wave

    def _ids_not_seen(self, kind: Kind, matches: Matches) -> dict[str, Address]:
        """Ids that are tracked, declared, or to be restored, and that no reading has shown yet, with their container."""
        if kind.by_id is None:
            return {}
        ids: dict[str, Address] = {}
        for address, binding in self.state.bindings.items():
            if binding.kind == kind.name and address.container is not None:
                ids[binding.id] = address.container
        for address, declared in self.desired.resources.items():
            if declared.kind != kind.name or address.container is None:
                continue
            # Declared again after a delete: the service may still keep the object, which then is restored, not created.
            id = declared.id if address in self.state.bindings else declared.id or deleted_before(kind, declared, self.state)
            if id is not None:
                ids[id] = address.container
        return {
            id: container
            for id, container in ids.items()
            if id not in self._objects[kind.name] and (kind.name, id) not in self._absent and matches.id(container) is not None
        }
