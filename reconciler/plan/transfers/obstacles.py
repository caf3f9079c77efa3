"""Why something cannot be transferred now, and what must be done before it is. Pure.

In: what is decided on all addresses, and what is transferred by what. Out: by address why not, with what else waits for it; and what is
deleted, moved out or transferred first. An object is transferred only if everything that is transferred with it, and everything that shows
it, is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Observed, waiting
from reconciler.model.codec import ids_in, title
from reconciler.plan.containment import Key, parent
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.matching.match import moved_line
from reconciler.plan.transfers.together import each_once
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET

AGAIN = "run again when the service answers"


@dataclass
class TransferObstacles:
    """`prevented`: what is not transferred, and why. `required`: by root, what is deleted, moved out or transferred before it."""

    prevented: dict[Address, Blocked] = field(default_factory=dict)
    required: dict[Address, tuple[Address, ...]] = field(default_factory=dict)


def transfer_obstacles(world: World, decisions: Decisions, actual: Actual) -> TransferObstacles:
    """What prevents each transfer of this run, and what comes before it. `actual`: as it is now."""
    return _Obstacles(world, decisions, actual).of_each_root() if world.transferred.roots else TransferObstacles()


def unmanaged_in_transfers(world: World, decisions: Decisions) -> Iterator[str]:
    """One sentence for each transfer that includes unmanaged objects."""
    drafts, _ = decisions.of_this_run()
    tracked = {(binding.kind, binding.id) for binding in world.state.bindings.values()}
    for root, inside in world.transferred.roots.items():
        if root not in drafts or not drafts[root].active:
            continue
        some = [world.actual.find(*key) for key in inside if key not in tracked]
        names = [f"{observed.kind} {title(observed)!r} ({bare(observed.id)})" for observed in some if observed is not None]
        if names:
            more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            yield f"{root}: what is unmanaged in it is transferred too: {', '.join(names[:5])}{more}"


class _Obstacles:
    def __init__(self, world: World, decisions: Decisions, actual: Actual) -> None:
        self.world, self.kinds, self.decisions, self.actual = world, world.kinds, decisions, actual
        self.matches, self.together = decisions.matches, world.transferred
        run_drafts, run_removals = decisions.of_this_run()
        self.run_drafts, self.run_removals = run_drafts, run_removals
        self.drafts: dict[Key, Draft] = {(draft.kind.name, draft.id): draft for draft in decisions.drafts.values() if draft.id is not None}
        self.removals: dict[Key, list[Removal]] = defaultdict(list)
        for removal in decisions.removals.values():
            self.removals[removal.kind.name, removal.id].append(removal)
        self.included = {(self.kinds.of(at).name, self.matches.ids[at]): root for at, root in self.together.root_of.items()}
        self.roots = {(self.kinds.of(root).name, self.matches.ids[root]): root for root in self.together.roots}
        self.transferred_ids = {id for inside in self.together.roots.values() for _, id in inside} | {id for _, id in self.roots}
        self.referring = self._referring()

    def of_each_root(self) -> TransferObstacles:
        """What prevents the transfers, directly or indirectly, and what each requires first."""
        obstacles = TransferObstacles()
        for root, inside in self.together.roots.items():
            required: set[Address] = set()
            for obstacle in self._obstacles(root, inside):
                if isinstance(obstacle, Blocked):
                    obstacles.prevented[root] = obstacle
                    break
                required.add(obstacle)
            obstacles.required[root] = tuple(sorted(required))
        self._prevent_dependents(obstacles)
        return obstacles

    def _prevent_dependents(self, obstacles: TransferObstacles) -> None:
        """Prevent what is transferred together with something prevented, and what requires that first, until nothing is added."""
        while True:
            before = len(obstacles.prevented)
            for batch in each_once(self.world.batches):
                cause = next((obstacles.prevented[root] for root in batch.roots if root in obstacles.prevented), None)
                if cause is None:
                    continue
                for address in (address for address in batch.moves.values() if address not in obstacles.prevented):
                    declared = self.world.desired.resources.get(address)
                    obstacles.prevented[address] = waiting(address, cause, declared.source if declared is not None else None)
            for root, required in obstacles.required.items():
                cause = next((obstacles.prevented[other] for other in required if other in obstacles.prevented), None)
                if cause is not None and root not in obstacles.prevented:
                    obstacles.prevented[root] = waiting(root, cause, self.world.desired.resources[root].source)
            if len(obstacles.prevented) == before:
                return

    # -- one transfer ----------------------------------------------------------------------------------------------------------------

    def _obstacles(self, root: Address, inside: Sequence[Key]) -> Iterator[Blocked | Address]:
        """Why an object cannot be transferred now, and the addresses of what must leave it or stop showing it first."""
        draft = self.decisions.drafts[root]
        if self.world.selection.refuses(root):
            yield self._blocked(root, "its transfer is not part of this run", f"include {root}", id="RC-outside-selection")
        elif draft.blocked is not None:
            yield draft.blocked
        elif root in self.run_drafts:
            key = (draft.kind.name, self.matches.ids[root])
            yield from self._deleted(root, key)
            for outer in (key, *inside):
                yield from self._unread(root, outer)
            for inner in inside:
                yield from self._inside(root, key, inner)
            yield from self._shown(root, {key, *(inner for inner in inside if inner in self.roots or self._removed_by(key, inner) is None)})

    def _blocked(self, root: Address, reason: str, remedy: str, *, id: str) -> Blocked:
        return Blocked(root, reason, remedy, self.world.desired.resources[root].source, id=id)

    def _deleted(self, root: Address, key: Key) -> Iterator[Blocked]:
        observed = self.actual.find(*key)
        if observed is None or observed.deleted_at is None:
            return
        old = self.world.state.renamed[root]
        way = f"restore it first: apply with it declared as {old}, without its line in moved"
        yield self._blocked(root, f"cannot be transferred: {key[0]} {title(observed)!r} is deleted", way, id="RC-transfer-of-deleted")

    def _unread(self, root: Address, key: Key) -> Iterator[Blocked]:
        """Why it is not known what an object contains."""
        container = str(self.matches[root].transfers)
        for kind in self.kinds.values():
            listings = [listing for listing in kind.listings if not listing.lister]
            scope = key[1] if any(listing.each == key[0] for listing in listings) else container
            may_contain = any(field.container and field.to == key[0] for field in kind.fields.values())
            if may_contain and listings and (kind.name, scope) not in self.actual.complete:
                failed = (unknown.reason for unknown in self.actual.unknown if unknown.kind == kind.name and unknown.scope in (None, scope))
                what = f"what {key[0]} {bare(key[1])} contains is unknown, {next(failed, 'it was not read')}"
                yield self._blocked(root, f"cannot be transferred: {what}", AGAIN, id="RC-unread")

    def _inside(self, root: Address, key: Key, inner: Key) -> Iterator[Blocked | Address]:
        """What removes an object from the transferred one first, or why it must not be transferred with it."""
        observed = self.actual.find(*inner)
        assert observed is not None
        removed_by, draft, source = self._removed_by(key, inner), self.drafts.get(inner), self.world.desired.resources[root].source
        undecided = next((removal for removal in self.removals.get(inner, ()) if not removal.forgets), None)
        if inner in self.roots:
            yield self.roots[inner]
        elif inner in self.included:
            yield from self._deleted(root, inner)
        elif removed_by is not None:
            yield removed_by
        elif draft is not None and draft.blocked is not None:
            yield waiting(root, draft.blocked, source)
        elif draft is not None:
            what = f"{draft.address}, which stays in {draft.address.root}, is in it"
            way = f"declare it elsewhere in {draft.address.root}, or {self._there(draft.address, root)}"
            yield self._with_others(root, what, way)
        elif undecided is not None and undecided.blocked is not None and undecided.blocked.id == "RC-probable-transfer":
            yield waiting(root, undecided.blocked, source)
        elif undecided is not None:
            settle = undecided.blocked.remedy if undecided.blocked else AGAIN
            way = f"declare it {self._there(undecided.address, root)}, or settle it first: {settle}"
            yield self._with_others(root, f"{undecided.address}, which is tracked and not declared, is in it", way)
        elif inner in self.world.state.foreign:
            what = f"{inner[0]} {title(observed)!r} ({bare(inner[1])}), which another project tracks, is in it"
            yield self._with_others(root, what, "move it out, or stop managing it there")

    def _with_others(self, root: Address, what: str, way: str) -> Blocked:
        return self._blocked(root, f"cannot be transferred: {what}", way, id="RC-transfer-with-others")

    def _there(self, address: Address, root: Address) -> str:
        """How to declare an object in its new root, by its own key where nothing else has it."""
        new = address.renamed(address.root, root.root)
        if new in self.world.state.bindings or new in self.world.desired.resources:
            line = moved_line(address, Address((*new.parts[:-1], "NEW-KEY")))
            return f"in {root.root} with a free key and {line}, because {new} is another object"
        return f"in {root.root} with {moved_line(address, new)}"

    def _removed_by(self, key: Key, inner: Key) -> Address | None:
        """What removes an object first: its own delete or move, or that of something that contains it."""
        at: Key | None = inner
        while at is not None and at != key:
            for removal in self.removals.get(at, ()):
                if removal.deletes and removal.address in self.run_removals:
                    return removal.address
            draft = self.drafts.get(at)
            moving = draft is not None and draft.active and draft.address in self.run_drafts
            if draft is not None and moving and at not in self.included and any(diff.field.container for diff in draft.sendable):
                return draft.address
            observed = self.actual.find(*at)
            at = parent(self.kinds[at[0]], observed) if observed is not None else None
        return None

    # -- what shows it ---------------------------------------------------------------------------------------------------------------

    def _referring(self) -> Mapping[str, list[Observed]]:
        """By id of what is transferred: the objects that name it."""
        referring: dict[str, list[Observed]] = defaultdict(list)
        for kind in self.kinds.values():
            names = [name for name, field in kind.stored_fields if not field.container]
            if names:
                for observed in self.actual.objects.get(kind.name, {}).values():
                    for name in names:
                        value = observed.values.get(name, UNSET)
                        if value is not UNSET:
                            for id in ids_in(value):
                                if id in self.transferred_ids:
                                    referring[id].append(observed)
        return referring

    def _shown(self, root: Address, transferred: set[Key]) -> Iterator[Blocked | Address]:
        """What stops showing an object first, or why something else must."""
        showing = {kind for name in {name for name, _ in transferred} for kind in self._showing(name)}
        for unknown in self.actual.unknown:
            if unknown.kind in showing:
                yield self._blocked(root, f"cannot be transferred: it is unknown what shows it, {unknown.reason}", AGAIN, id="RC-unread")
        for _, id in sorted(transferred):
            for observed in self.referring.get(id, ()):
                key = (observed.kind, observed.id)
                if key in transferred:
                    continue
                removals = self.removals.get(key, [])
                removal = next((removal for removal in removals if removal.deletes and removal.address in self.run_removals), None)
                if removal is not None:
                    yield removal.address
                    continue
                draft = self.drafts.get(key)
                if draft is not None and draft.active and draft.address in self.run_drafts and self._shows_another(draft, id):
                    yield draft.address
                    continue
                name = draft.address if draft is not None else removals[0].address if removals else self._called(observed)
                reason = f"cannot be transferred: {name} shows it, and nothing is shown outside its {self.kinds[root.kind or ''].within}"
                way = "remove that first, in this apply or in an earlier one"
                blocked = removals[0].blocked if removals else None
                way = way if blocked is None else f"unblock {name} first: {blocked.remedy}"
                yield self._blocked(root, reason, way, id="RC-still-shown")

    def _shows_another(self, draft: Draft, id: str) -> bool:
        """Whether an object that shows one with this id will show another one, which can be shown before anything is transferred."""
        changes = {difference.field.name: difference for difference in draft.sendable if not difference.field.container}
        showing = [name for name, field in draft.kind.stored_fields if not field.container and id in ids_in(_value(draft.observed, name))]
        return bool(showing) and all(name in changes and self.transferred_ids.isdisjoint(ids_in(changes[name].after)) for name in showing)

    def _showing(self, name: str) -> Iterator[str]:
        """The kinds of what shows objects of a kind, and of what contains that."""
        for kind in self.kinds.values():
            if any(reading.by == name for reading in kind.lookups):
                yield kind.name
                below = self.kinds.below(kind.name)
                yield from (other.name for other in below if any(field.refers == name for field in other.fields.values()))

    def _called(self, observed: Observed) -> Address:
        """The address that an unmanaged object would have, with its id as the key."""
        kind = self.kinds[observed.kind]
        outer = self.kinds[kind.within] if kind.within is not None else None
        if outer is None:
            return next((at for at, id in self.matches.ids.items() if id == observed.id), Address((bare(observed.id),)))
        id = observed.within.get(outer.name, "")
        at = next((address for address, known in self.matches.ids.items() if known == id), None)
        if at is None:
            container = self.actual.find(outer.name, id)
            at = self._called(container) if container is not None else Address((bare(id),))
        return kind.address(at, bare(observed.id))


def _value(observed: Observed | None, name: str) -> Any:
    """The value of a field; None where it is unknown."""
    value = observed.values.get(name, UNSET) if observed is not None else UNSET
    return None if value is UNSET else value
