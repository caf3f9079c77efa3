"""Transfers: what a plan gives from one organization to another. Pure.

In: the world, what was matched, and which objects are in a container that the YAML has them leave. Out: the decisions on a service in which
everything has been transferred that can be; what cannot be keeps its container and its address, and whatever needs it waits.

- together: what one request brings, and the same reading as if all had been transferred: the rest of a plan is based on it
- obstacles: why something cannot be transferred now, and what is deleted, moved out or transferred before it is. An object is transferred
  only if everything that is transferred with it, and everything that shows it, is known
- decisions: what happens to each address, once nothing prevents what is left to transfer

The state changes all addresses of one *batch* with the outcome of its last transfer. A batch is mostly what one request brings. Where one
address is freed by a transfer and taken by another, both belong to it, so that at no moment two objects have one address:

    moved: acme/space/guide -> beta/space/guide      one batch: each address is free only once the other
           beta/space/guide -> acme/space/guide      object has left it, and the state changes both at the end
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Actual, Blocked, Observed, Position, waiting
from reconciler.model.codec import ids_in, title
from reconciler.plan.changes import Names
from reconciler.plan.containment import Contents, Key, groups, parent
from reconciler.plan.decisions import Batch, Draft, Removal, Transfer, TransferredTogether
from reconciler.plan.matching.match import moved_line
from reconciler.plan.matching.matches import Matches
from reconciler.plan.siblings.order import Sibling, UnmanagedSibling, current_positions, unmanaged_siblings
from reconciler.plan.world import Decisions, World
from reconciler.resource import Kinds

# -- What is transferred together ----------------------------------------------------------------------------------------------------


def transferred_together(actual: Actual, contents: Contents, matches: Matches) -> TransferredTogether:
    """What is transferred by what. `contents`: of `actual`."""
    is_any = any(match.transfers is not None for match in matches.values())
    return _Transfers(actual, contents, matches).together() if is_any else TransferredTogether(actual)


def in_container(kinds: Kinds, observed: Observed, container: str, *, top: bool) -> Observed:
    """An object as its new container shows it; `top`: it is at the top of that."""
    kind = kinds[observed.kind]
    values = {**observed.values, kind.inside.name: None} if kind.inside is not None and top else observed.values
    within = {**observed.within, str(kind.within): container}
    return replace(observed, within=within, values=values, rank=None if top else observed.rank)


class _Transfers:
    """`target`: the new container of each object that the YAML has leave its own; `address`: its address. `remaining`: other matches."""

    def __init__(self, actual: Actual, contents: Contents, matches: Matches) -> None:
        self.kinds = kinds = contents.kinds
        self.actual, self.contents, self.matches = actual, contents, matches
        self.transferable = [kind.name for kind in kinds.values() if kind.transferable is not None]
        self.target: dict[Key, str] = {}
        self.address: dict[Key, Address] = {}
        for address in matches.where(lambda match: match.transfers is not None):
            key = (kinds.of(address).name, matches.ids[address])
            self.address[key] = address
            self.target[key] = matches.ids[address.root]
        self.remaining = {(kinds.of(address).name, match.id) for address, match in matches.items() if match.id is not None} - {*self.target}
        self._destinations: dict[Key, str | None] = {}

    def together(self) -> TransferredTogether:
        roots: dict[Address, tuple[Key, ...]] = {}
        root_of: dict[Address, Address] = {}
        objects = {name: dict(some) for name, some in self.actual.objects.items()}
        for key, address in self.address.items():
            if self._is_included(key):
                continue
            inside = tuple(self._inside(key))
            roots[address] = inside
            for inner in (key, *inside):
                observed = self.actual.find(*inner)
                if observed is None or self._destination(inner) != self.target[key]:
                    continue
                objects[inner[0]][inner[1]] = in_container(self.kinds, observed, self.target[key], top=inner == key)
                if inner != key and inner in self.address and self._is_included(inner):
                    root_of[self.address[inner]] = address
        return TransferredTogether(replace(self.actual, objects=objects), roots, root_of)

    def _inside(self, key: Key) -> Iterator[Key]:
        """Everything in an object, at any depth, in the order in which it was read."""
        seen, ahead = {key}, [key]
        while ahead:
            outer = ahead.pop()
            for name in self.transferable:
                for observed in self.contents.inside(name, *outer):
                    inner = (name, observed.id)
                    if inner not in seen:
                        seen.add(inner)
                        ahead.append(inner)
                        yield inner

    def _is_included(self, key: Key) -> bool:
        """Whether the transfer of what contains an object includes it, and leads to where it belongs."""
        observed = self.actual.find(*key)
        outer = parent(self.kinds[key[0]], observed) if observed is not None else None
        return outer is not None and self._destination(outer) == self.target[key]

    def _destination(self, key: Key) -> str | None:
        """The container that an object is in after the transfers; None where it stays in its own."""
        if key not in self._destinations:
            self._destinations[key] = None  # an object inside itself stays
            observed = self.actual.find(*key)
            outer = parent(self.kinds[key[0]], observed) if observed is not None and key not in self.remaining else None
            self._destinations[key] = self.target.get(key) or (self._destination(outer) if outer is not None else None)
        return self._destinations[key]


# -- which addresses the state changes together ------------------------------------------------------------------------------------


def batches(
    moves: Mapping[Address, Address],
    roots: Collection[Address],
    root_of: Mapping[Address, Address],
    inner: Mapping[Address, Collection[Address]],
) -> tuple[Batch, ...]:
    """One for each group of transfers whose addresses depend on each other.

    `moves`: tracked address to today's. `roots`: in the order of the YAML. `root_of`: see `TransferredTogether`. `inner`:
    roots by a root that they must leave before it is transferred itself.
    """
    if not roots:
        return ()
    former = {new: old for old, new in moves.items()}
    pairs = [(old, new) for old, new in moves.items()]
    pairs += [(old, old.container) for old, new in moves.items() if old.container is not None and moves.get(old.container) == new.container]
    pairs += [(old, former[root_of[new]]) for old, new in moves.items() if root_of.get(new) in former]
    leader = groups(moves, pairs)
    result: dict[Address, list[Address]] = {}
    for root in roots:
        if root in former:
            result.setdefault(leader[former[root]], []).append(root)
    members: dict[Address, dict[Address, Address]] = {at: {} for at in result}
    for old, new in moves.items():
        if leader[old] in members:
            members[leader[old]][old] = new
    return tuple(Batch(tuple(_inner_first(some, inner)), members[at]) for at, some in result.items())


def each_once(by_address: Mapping[Address, Batch]) -> Iterable[Batch]:
    """The batches of a table that has each of them at all its addresses."""
    return {id(batch): batch for batch in by_address.values()}.values()


def _inner_first(roots: Sequence[Address], inner: Mapping[Address, Collection[Address]]) -> list[Address]:
    """The roots, each after those that must leave it."""
    place = {root: index for index, root in enumerate(roots)}
    ordered: dict[Address, None] = {}

    def add(root: Address) -> None:
        if root not in ordered:
            for other in sorted((other for other in inner.get(root, ()) if other in place and other != root), key=place.__getitem__):
                add(other)
            ordered[root] = None

    for root in roots:
        add(root)
    return list(ordered)


# -- What prevents a transfer --------------------------------------------------------------------------------------------------------


def unmanaged_in_transfers(world: World, decisions: Decisions) -> Iterator[str]:
    """One sentence for each transfer that includes unmanaged objects."""
    drafts, _ = decisions.of_this_run()
    for root, inside in world.transferred.roots.items():
        if root not in drafts or not drafts[root].active:
            continue
        some = [world.actual.find(*key) for key in inside if key not in world.state.addresses]
        names = [f"{observed.kind} {title(observed)!r} ({bare(observed.id)})" for observed in some if observed is not None]
        if names:
            more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            yield f"{root}: what is unmanaged in it is transferred too: {', '.join(names[:5])}{more}"


class _Obstacles:
    """`prevented`: what is not transferred in this run, and why. `required`: by root, what is deleted, moved out or transferred before it.
    `actual`: as it is now."""

    def __init__(self, world: World, decisions: Decisions, actual: Actual) -> None:
        self.world, self.kinds, self.decisions, self.actual = world, world.kinds, decisions, actual
        self.matches, self.together = decisions.matches, world.transferred
        self.run_drafts, self.run_removals = decisions.of_this_run()
        self.drafts: dict[Key, Draft] = {(draft.kind.name, draft.id): draft for draft in decisions.drafts.values() if draft.id is not None}
        self.removals: dict[Key, list[Removal]] = defaultdict(list)
        for removal in decisions.removals.values():
            self.removals[removal.kind.name, removal.id].append(removal)
        self.included = {(self.kinds.of(at).name, self.matches.ids[at]): root for at, root in self.together.root_of.items()}
        self.roots = {(self.kinds.of(root).name, self.matches.ids[root]): root for root in self.together.roots}
        self.transferred_ids = {id for inside in self.together.roots.values() for _, id in inside} | {id for _, id in self.roots}
        self.referring = self._referring()
        self.prevented: dict[Address, Blocked] = {}
        self.required: dict[Address, tuple[Address, ...]] = {}
        self._find()

    def _find(self) -> None:
        """Find what prevents the transfers, directly or indirectly, and what each requires first."""
        for root, inside in self.together.roots.items():
            required: set[Address] = set()
            for obstacle in self._obstacles(root, inside):
                if isinstance(obstacle, Blocked):
                    self.prevented[root] = obstacle
                    break
                required.add(obstacle)
            self.required[root] = tuple(sorted(required))
        self._prevent_dependents()

    def _prevent_dependents(self) -> None:
        """Prevent what is transferred together with something prevented, and what requires that first, until nothing is added."""
        while True:
            before = len(self.prevented)
            for batch in each_once(self.world.batches):
                cause = next((self.prevented[root] for root in batch.roots if root in self.prevented), None)
                if cause is None:
                    continue
                for address in (address for address in batch.moves.values() if address not in self.prevented):
                    declared = self.world.desired.resources.get(address)
                    self.prevented[address] = waiting(address, cause, declared.source if declared is not None else None)
            for root, required in self.required.items():
                cause = next((self.prevented[other] for other in required if other in self.prevented), None)
                if cause is not None and root not in self.prevented:
                    self.prevented[root] = waiting(root, cause, self.world.desired.resources[root].source)
            if len(self.prevented) == before:
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
                yield self._blocked(root, f"cannot be transferred: {what}", WHEN_READ, id="RC-unread")

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
            settle = undecided.blocked.remedy if undecided.blocked else WHEN_READ
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
            for observed in self.actual.objects.get(kind.name, {}).values() if names else ():
                for id in (id for name in names for id in ids_in(observed.values.get(name))):
                    if id in self.transferred_ids:
                        referring[id].append(observed)
        return referring

    def _shown(self, root: Address, transferred: set[Key]) -> Iterator[Blocked | Address]:
        """What stops showing an object first, or why something else must."""
        showing = {kind for name in {name for name, _ in transferred} for kind in self._showing(name)}
        for unknown in self.actual.unknown:
            if unknown.kind in showing:
                yield self._blocked(
                    root, f"cannot be transferred: it is unknown what shows it, {unknown.reason}", WHEN_READ, id="RC-unread"
                )
        for _, id in sorted(transferred):
            for observed in self.referring.get(id, ()):
                if (key := observed.key) in transferred:
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
        values = draft.observed.values if draft.observed is not None else {}
        showing = [name for name, field in draft.kind.stored_fields if not field.container and id in ids_in(values.get(name))]
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


# -- The decisions -------------------------------------------------------------------------------------------------------------------

Decide = Callable[[World, Matches], Decisions]


def decide_with_transfers(world: World, matches: Matches, decide: Decide) -> tuple[World, Decisions]:
    """The world after the possible transfers, and the decisions in it."""
    unsettled = _unsettled(world, matches)
    if all(match.transfers is None for match in matches.values()):
        return world, replace(decide(world, matches), unsettled=unsettled)
    world, decisions, required = _possible_transfers(world, matches, decide)
    ordered = [_ready(decisions.drafts[root], earlier) for root, earlier in required.items()]
    return world, replace(decisions.changed(ordered), unsettled=unsettled)


def _ready(draft: Draft, required: tuple[Address, ...]) -> Draft:
    """The draft with what must happen before its transfer; unchanged where it is blocked and is not transferred."""
    return replace(draft, purpose=replace(draft.purpose, waits_for=required)) if isinstance(draft.purpose, Transfer) else draft


def _possible_transfers(before: World, matches: Matches, decide: Decide) -> tuple[World, Decisions, Mapping[Address, tuple[Address, ...]]]:
    """Decide as if everything were transferred, then without what cannot be, until nothing prevents the rest. The last result: by root,
    what comes before its transfer.

    What one round leaves out can block an object that another transfer needs out of its way, so the next round may leave out more; each
    round leaves out at least one more address and none is added again, so the rounds end.
    """
    prevented: dict[Address, Blocked] = {}
    while True:
        possible = _without(matches, prevented)
        world = _after_transfers(before, possible)
        decisions = decide(world, possible)
        obstacles = _Obstacles(world, decisions, before.actual)
        new = {address: blocked for address, blocked in obstacles.prevented.items() if address not in prevented}
        if not new:
            return world, decisions, obstacles.required
        prevented |= new


def _after_transfers(before: World, matches: Matches) -> World:
    """The world in which everything has been transferred that these matches transfer."""
    together = transferred_together(before.actual, before.contents, matches)
    return replace(before, actual=together.actual, transferred=together, batches=_batches(before.kinds, matches, together))


def _without(matches: Matches, prevented: Mapping[Address, Blocked]) -> Matches:
    """The matches without what is not transferred now, as if its object were unknown."""
    if not prevented:
        return matches
    unknown = {
        address: matches[address]._replace(id=None, transfers=None, blocked=replace(reason, address=address))
        for address, reason in prevented.items()
    }
    return matches.with_(unknown)


def _unsettled(world: World, matches: Matches) -> frozenset[Address]:
    """The tracked addresses that do not change before a transfer has succeeded: also where it is not known yet whether one is needed."""
    former = matches.former
    undecided = {*matches.where(lambda match: match.blocked is not None or match.unknown is not None)}
    stuck = [new for new in former.today.values() if new in undecided and former.origin(new) is not None]
    stuck_batches = [*each_once(_after_transfers(world, matches).batches), *batches(former.today, stuck, {}, {})]
    return frozenset(old for batch in stuck_batches for old in batch.moves)


def _batches(kinds: Kinds, matches: Matches, together: TransferredTogether) -> dict[Address, Batch]:
    """By today's address: the addresses that the state changes together with it."""
    roots = {(kinds.of(root).name, matches.ids[root]): root for root in together.roots}
    inner = {root: {roots[key] for key in inside if key in roots} for root, inside in together.roots.items()}
    result = batches(matches.former.today, list(together.roots), together.root_of, inner)
    return {address: batch for batch in result for address in batch.moves.values()}


def shown_where(world: World, drafts: Mapping[Address, Draft], before: Actual) -> frozenset[tuple[str, str]]:
    """The objects for which a reading must find out what shows them, because they are to be transferred away from it."""
    sought = {reading.by for kind in world.kinds.values() for reading in kind.lookups}
    roots = {root: inside for root, inside in world.transferred.roots.items() if root in drafts}
    transferred = {key for inside in roots.values() for key in inside} | {(drafts[root].kind.name, str(drafts[root].id)) for root in roots}
    return frozenset(key for key in transferred if key[0] in sought and before.find(*key) is not None)


def positions_before_transfer(world: World, decisions: Decisions, before: Actual, names: Names) -> dict[Address, Position]:
    """Where the objects are that this run transfers, by their new addresses: among their siblings in the container that they leave."""
    drafts = [draft for draft in decisions.drafts.values() if isinstance(draft.purpose, Transfer)]
    if not drafts:
        return {}
    former: dict[Address, UnmanagedSibling] = {}
    for draft in drafts:
        assert isinstance(draft.purpose, Transfer)
        observed, old = before.find(draft.kind.name, str(draft.id)), world.state.renamed[draft.address]
        if observed is not None:
            # The address that it has in the container that it leaves, as that is called today.
            address = old.renamed(old.root, draft.purpose.source)
            former[draft.address] = UnmanagedSibling(address, draft.kind, observed, draft.binding)
    others = [draft for draft in decisions.drafts.values() if not isinstance(draft.purpose, Transfer)]
    everyone: list[Sibling] = [*others, *decisions.removals.values(), *former.values()]
    places = current_positions(everyone, unmanaged_siblings(world.kinds, before, names), names)
    return {address: places[sibling.address] for address, sibling in former.items() if sibling.address in places}
