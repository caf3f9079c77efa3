"""Which addresses a run is about: `--target`, `--exclude`, what these require, and what waits for something blocked. Pure.

The premise: a selection is an input of the passes, not a filter behind them. To plan everything and then send some of it would count and
protect what is not sent, and would send requests without those that they need. So what a run leaves alone is blocked for every pass after
`targets`, and each protection, guard and count is decided on what is really sent:

    selected  ->  with all that it requires  ->  the rest is blocked  ->  contents, last_admin, ... decide as ever

What is required is what the plan itself waits for, and what would otherwise change or vanish without a line:

    --target acme/site/docs/section/api
        references    space/api, which does not exist yet                       it is created first
        a value       section/old, which has the path that this one gets        it gives the path up first
        nesting       a section that is in this one, and into which it moves    it leaves first
        contents      what is in an object that is deleted                      it would be deleted too
        mentions      what still shows an object that is deleted                it stops showing it first
        successors    the section created beside the last one that is deleted   it comes first
        rearranged    what the service moves when the first section appears     it would be moved anyway

Whatever is required is looked at in turn, until nothing is added. If something required is excluded, what requires it is blocked instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from reconciler.address import Address, Selection
from reconciler.model import Blocked, Observed, waiting
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.containment import Key, parent
from reconciler.plan.decisions import Draft, Removal, Transfer
from reconciler.plan.derived import Namespace, namespace, pending_sources
from reconciler.plan.drafts.declared import needed
from reconciler.plan.world import Decisions, Rearrangement, Worklist, World
from reconciler.resource import Kind


class Requirement(NamedTuple):
    """An address that something in the run requires. `blocks`: whether that is blocked where the address is excluded; `why`: its reason,
    with the address for `{}`."""

    address: Address
    blocks: bool = True
    why: str = "waits for {}, which is not part of this run"


def targets(world: World, decisions: Decisions) -> Decisions:
    """Limit the run to what is selected, with what that requires; what requires something excluded is blocked, and so is the rest."""
    if world.selection == Selection():
        return decisions
    run = _Selected(world, decisions)
    run.include_required()
    left = {address: entry for address, entry in run.entries.items() if address not in run.included}
    # For every other address, what would change and is left alone is as good as blocked; what is unchanged can be relied on.
    idle = [
        entry.block("is not part of this run", f"include {entry.address}", id="RC-outside-selection")
        for entry in left.values()
        if entry.active and not (isinstance(entry, Draft) and entry.unchanged)
    ]
    return replace(
        decisions.changed([*run.blocked.values(), *idle]),
        left_alone=left,
        required=frozenset(address for address in run.included if not run.selects(run.entries[address])),
    )


class _Selected:
    """What a run is about. `included`: the addresses so far; `blocked`: the entries of those that require something excluded."""

    def __init__(self, world: World, decisions: Decisions) -> None:
        self.world, self.selection, self.decisions = world, world.selection, decisions
        self.drafts, self.removals = decisions.drafts, decisions.removals
        self.entries: Mapping[Address, Draft | Removal] = {**self.removals, **self.drafts}
        self.included = {address for address, entry in self.entries.items() if self.selects(entry)}
        self.blocked: dict[Address, Draft | Removal] = {}
        # Of transfers that go together, by the last of them: those that are excluded.
        self._refused: dict[Address, set[Address]] = {}
        self._pending = [address for address in self.entries if address in self.included]

    def selects(self, entry: Draft | Removal) -> bool:
        """Whether people selected it: what is deleted for a replacement, with what replaces it."""
        return self.selection.takes(_selected_as(entry))

    def include_required(self) -> None:
        """Include everything that something included requires, and block what requires something excluded."""
        while self._pending:
            entry = self.entries[self._pending.pop()]
            # What is unchanged or blocked sends nothing, and so requires nothing.
            if entry.active and not (isinstance(entry, Draft) and entry.unchanged):
                for requirement in self._requirements(entry):
                    self._require(entry, requirement)

    def _require(self, entry: Draft | Removal, requirement: Requirement) -> None:
        other = self.entries.get(requirement.address)
        if other is None or requirement.address in self.included:
            return
        excluded = _selected_as(other)
        if not self.selection.refuses(excluded):
            self.included.add(requirement.address)
            self._pending.append(requirement.address)
        elif requirement.blocks and entry.address not in self.blocked:
            way = f"include {excluded}, or exclude {entry.address} too"
            self.blocked[entry.address] = entry.block(requirement.why.format(excluded), way, id="RC-outside-selection")
            # The create of its parent would create it on the way.
            outer = self.drafts.get(entry.created_with) if isinstance(entry, Draft) and entry.created_with is not None else None
            blocked = self.blocked[entry.address].blocked
            if outer is not None and outer.active and outer.address not in self.blocked and blocked is not None:
                self.blocked[outer.address] = replace(outer, blocked=waiting(outer.address, blocked, outer.declared.source))

    # -- what is required ------------------------------------------------------------------------------------------------------------

    def _requirements(self, entry: Draft | Removal) -> Iterator[Requirement]:
        if isinstance(entry, Draft):
            yield from self._by_references(entry)
            yield from self._by_values(entry)
            yield from self._by_nesting(entry)
            if entry.old is not None:
                yield from self._by_contents(entry, (entry.kind.name, entry.old.id))
        elif entry.deletes:
            yield from self._by_contents(entry, (entry.kind.name, entry.id))
            yield from map(Requirement, self._mentions.get(entry.id, ()))
            yield from self._by_successors(entry)
        for rearrangement in self._rearranged.get(entry.address, ()):
            yield from self._by_rearrangement(rearrangement)

    def _by_references(self, draft: Draft) -> Iterator[Requirement]:
        """What must exist before a request can name it, and the transfers that go together."""
        sources, child = set(pending_sources(self.drafts, draft)), self._first_children.get(draft.address)
        wanted = needed(draft.declared) | sources | ({child} if child is not None else set())
        for batch in [self.drafts[address].batch for address in (draft.address, *wanted) if address in self.drafts]:
            if batch is not None and batch.roots[-1] in self._refused:
                wanted |= self._refused[batch.roots[-1]]
            elif batch is not None:
                wanted |= set(batch.roots)
                self._refused[batch.roots[-1]] = {root for root in batch.roots if self.selection.refuses(root)}
        for address in sorted(wanted):
            other = self.drafts.get(address)
            if other is not None and (other.is_new or other.is_restored or other.is_transferred or address in sources):
                yield Requirement(address, address == child or address in _used(draft, address))

    def _by_values(self, draft: Draft) -> Iterator[Requirement]:
        """What gives up a value that must be unique and that this one gets."""
        for difference in draft.sendable:
            if difference.field.unique:
                holder = self._holders.get((namespace(draft, now=False), difference.field.name, repr(difference.after)))
                if holder is not None and holder != draft.address:
                    yield Requirement(holder)

    def _by_nesting(self, draft: Draft) -> Iterator[Requirement]:
        """What must leave this one before it can be moved into that, or into something in that."""
        if not any(difference.field.container for difference in draft.sendable) or draft.id is None:
            return
        at, path = draft.declared.parent, dict[Address, Draft]()
        while at is not None and at not in path and at != draft.address and (outer := self.drafts.get(at)) is not None:
            path[at] = outer
            # What the object is in now.
            key = parent(outer.kind, outer.observed) if outer.observed is not None else None
            at = next((address for address in self._of.get(key, ()) if address in self.drafts), None) if key is not None else None
        if at == draft.address:
            yield from (Requirement(address) for address, outer in path.items() if self._moves(outer))

    def _by_contents(self, entry: Draft | Removal, key: Key) -> Iterator[Requirement]:
        """What leaves an object that is deleted, and what is deleted in it or with it."""
        for kind in self.world.kinds.values():
            for observed in self.world.contents.inside(kind.name, *key):
                for address in self._of.get((kind.name, observed.id), ()):
                    inner = self.entries[address]
                    if isinstance(inner, Removal):
                        yield Requirement(address, why="would also delete {}, which is not part of this run")
                    elif self._moves(inner):
                        yield Requirement(address, why="would also delete {}, whose move is not part of this run")

    def _by_successors(self, removal: Removal) -> Iterator[Requirement]:
        """What is created beside a deleted object, where without it the service would rearrange or empty what contains both."""
        where = namespace(removal, now=True)
        if not _shapes(removal.kind) or any(other.id != removal.id and self._stays(other) for other in self._siblings.get(where, ())):
            return
        for draft in self._newcomers.get(where, ()):
            yield Requirement(draft.address)

    def _by_rearrangement(self, rearrangement: Rearrangement) -> Iterator[Requirement]:
        """What the service rearranges when this is created or deleted."""
        for address in self._inside[rearrangement.container]:
            entry = self.entries[address]
            if entry.kind.name in rearrangement.names and entry.observed is not None and not entry.observed.deleted_at:
                yield Requirement(address, why="would also rearrange {}, which is not part of this run")

    # -- the entries by what is looked for -------------------------------------------------------------------------------------------

    def _moves(self, draft: Draft) -> bool:
        """Whether the object of a draft leaves what contains it."""
        return draft.old is not None or draft.is_transferred or any(difference.field.container for difference in draft.sendable)

    def _stays(self, observed: Observed) -> bool:
        """Whether an object is not deleted by this run, as far as it is known."""
        removals = [entry for address in self._of.get(observed.key, ()) if isinstance(entry := self.entries[address], Removal)]
        return observed.deleted_at is None and not any(removal.deletes and removal.address in self.included for removal in removals)

    @cached_property
    def _of(self) -> Mapping[Key, list[Address]]:
        """By object: what is decided about it."""
        of: dict[Key, list[Address]] = defaultdict(list)
        for entry in self.entries.values():
            for id in {entry.id, entry.old.id if isinstance(entry, Draft) and entry.old is not None else None} - {None}:
                of[entry.kind.name, str(id)].append(entry.address)
        return of

    @cached_property
    def _first_children(self) -> Mapping[Address, Address]:
        """By what is created: the child that its create creates."""
        return {draft.created_with: address for address, draft in self.drafts.items() if draft.created_with is not None}

    @cached_property
    def _mentions(self) -> Mapping[str, list[Address]]:
        """By id: what refers to it now, and no longer does afterwards."""
        mentions: dict[str, list[Address]] = defaultdict(list)
        for address, draft in self.drafts.items():
            for id in draft.released:
                mentions[id].append(address)
            if isinstance(draft.purpose, Transfer) and draft.purpose.left is not None:
                mentions[draft.purpose.left].append(address)
        return mentions

    @cached_property
    def _holders(self) -> Mapping[tuple[Namespace, str, str], Address]:
        """By a unique value, where it is in use now: what has it and is about to give it up."""
        holders: dict[tuple[Namespace, str, str], Address] = {}
        for entry in self.entries.values():
            observed = entry.old if isinstance(entry, Draft) and entry.old is not None else entry.observed
            if observed is None:
                continue
            for field in entry.kind.fields.values():
                if not field.unique:
                    continue
                # It gives the value up: it is deleted or replaced, goes elsewhere, or gets another value.
                if (
                    isinstance(entry, Removal)
                    or entry.old is not None
                    or any(change.field is field or change.field.container for change in entry.sendable)
                ):
                    holders[namespace(entry, now=True), field.name, repr(observed.values.get(field.name))] = entry.address
        return holders

    @cached_property
    def _siblings(self) -> Mapping[Namespace, list[Observed]]:
        """By namespace: the objects in it."""
        siblings: dict[Namespace, list[Observed]] = defaultdict(list)
        for entry in self.entries.values():
            if entry.observed is not None and _shapes(entry.kind) and not (isinstance(entry, Draft) and self._moves(entry)):
                siblings[namespace(entry, now=True)].append(entry.observed)
        return siblings

    @cached_property
    def _newcomers(self) -> Mapping[Namespace, list[Draft]]:
        """By namespace: what is created or moved there."""
        newcomers: dict[Namespace, list[Draft]] = defaultdict(list)
        for draft in self.drafts.values():
            if _shapes(draft.kind) and (draft.is_new or self._moves(draft)):
                newcomers[namespace(draft, now=False)].append(draft)
        return newcomers

    @cached_property
    def _inside(self) -> Mapping[Address, list[Address]]:
        """By address: those directly below it."""
        inside: dict[Address, list[Address]] = defaultdict(list)
        for address in self.entries:
            if address.container is not None:
                inside[address.container].append(address)
        return inside

    @cached_property
    def _rearranged(self) -> Mapping[Address, list[Rearrangement]]:
        """By what is created or deleted: what the service rearranges with it."""
        rearranged: dict[Address, list[Rearrangement]] = defaultdict(list)
        for rearrangement in self.decisions.rearrangements:
            for address in (rearrangement.trigger, *rearrangement.leaving):
                rearranged[address].append(rearrangement)
        return rearranged


def _selected_as(entry: Draft | Removal) -> Address:
    """The address by which people select it."""
    return entry.replaces if isinstance(entry, Removal) and entry.replaces is not None else entry.address


def _shapes(kind: Kind) -> bool:
    """Whether the last object of a kind means something for what contains it."""
    return bool(kind.reshapes) or (kind.inside is not None and kind.inside.cascade)


def waits(world: World, decisions: Decisions) -> Decisions:
    """Block every draft that needs an object which cannot be created in this run, and keep what was to be replaced by it."""
    drafts, _ = decisions.of_this_run()
    dependents: dict[Address, list[Address]] = defaultdict(list)
    changing = [draft for draft in drafts.values() if draft.active and (draft.is_new or draft.sendable)]
    for draft in changing:
        for address in needed(draft.declared):
            dependents[address].append(draft.address)
    pending = Worklist(draft.address for draft in changing)
    for address in pending:
        waiting_draft = _waiting(drafts, drafts[address])
        if waiting_draft is not None:
            drafts[address] = waiting_draft
            for dependent in dependents[address]:
                pending.add(dependent)
    # The old object of a replacement stays where the new one cannot be created.
    removals = {
        address: removal
        for address, removal in decisions.removals.items()
        if removal.replaces is None or removal.replaces not in drafts or drafts[removal.replaces].active
    }
    return replace(decisions, drafts={**decisions.drafts, **drafts}, removals=removals)


def _waiting(drafts: Mapping[Address, Draft], draft: Draft) -> Draft | None:
    """The draft, blocked or deferred, where it needs an object that this run does not create; else None."""
    if not draft.active:
        return None
    for address in sorted(needed(draft.declared)):
        other = drafts.get(address)
        if other is None or other.active or other.id is not None or address not in _used(draft, address):
            continue
        if other.deferred is not None:
            return replace(draft, deferred=f"waits for {address}")
        outer = other.blocked or Blocked(address, "it cannot be created in this run", f"see {address}", id="RC-waits")
        return replace(draft, blocked=waiting(draft.address, outer, draft.declared.source))
    return None


def _used(draft: Draft, address: Address) -> set[Address]:
    """The needed addresses that this run's requests for the draft would really name."""
    if draft.is_new:
        return {address}
    return set(unresolved_addresses([difference.after for difference in draft.sendable]))
