"""Which addresses a run is about: `--target`, `--exclude`, what a target needs, and what waits for something blocked. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Blocked, waiting
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.decisions import Draft, Keep, Removal
from reconciler.plan.derived import pending_sources
from reconciler.plan.drafts.declared import needed
from reconciler.plan.passes.worklist import Worklist
from reconciler.plan.selection import Selection
from reconciler.plan.world import Decisions, World


def targets(world: World, decisions: Decisions) -> Decisions:
    """Limit the run to what `--target` and `--exclude` select, with what a target requires."""
    selection, drafts = world.selection, dict(decisions.drafts)
    chosen = {address for address in drafts if selection.takes(address)}
    required: set[Address] = set()
    refused: dict[Address, set[Address]] = {}  # of transfers that go together, by the last of them: those that the selection refuses
    created_children = {draft.created_with: address for address, draft in drafts.items() if draft.created_with is not None}
    pending = [address for address in chosen if drafts[address].active and not isinstance(drafts[address].decision, Keep)]
    while pending:
        draft = drafts[pending.pop()]
        sources, child = set(pending_sources(drafts, draft)), created_children.get(draft.address)
        wanted = needed(draft.declared) | sources | ({child} if child is not None else set())
        for batch in [drafts[address].batch for address in (draft.address, *wanted) if address in drafts]:
            if batch is not None and batch.roots[-1] in refused:
                wanted |= refused[batch.roots[-1]]
            elif batch is not None:
                wanted |= set(batch.roots)
                refused[batch.roots[-1]] = {root for root in batch.roots if selection.refuses(root)}
        for address in sorted(wanted):
            other = drafts.get(address)
            if other is None or address in chosen or not (_appears(other) or address in sources):
                continue
            if not selection.refuses(address):
                chosen.add(address)
                required.add(address)
                pending.append(address)
            elif address == child or address in _used(draft, address):
                drafts |= _without(drafts, draft, address)
                draft = drafts[draft.address]
    removals = {
        address: removal
        for address, removal in decisions.removals.items()
        if (removal.replaces in chosen if removal.replaces is not None else selection.takes(address))
    }
    deletes = _Deletes(selection, decisions.removals, set(removals), chosen)
    return replace(
        decisions,
        drafts=drafts,
        removals=deletes.removals,
        selected=frozenset(chosen),
        selected_removals=frozenset(deletes.selected),
        required=tuple(sorted(required)),
    )


def _appears(draft: Draft) -> bool:
    """Whether what refers to the object must wait for a request."""
    return draft.is_new or draft.is_restored or draft.is_transferred


def _without(drafts: Mapping[Address, Draft], draft: Draft, missing: Address) -> dict[Address, Draft]:
    """A draft that needs what this run must leave alone, blocked, and with it what would create it on the way."""
    way = f"include {missing}, or exclude {draft.address} too"
    draft = draft.block(f"waits for {missing}, which is not part of this run", way, id="RC-outside-selection")
    assert draft.blocked is not None
    parent = drafts.get(draft.created_with) if draft.created_with is not None else None
    if parent is None or not parent.active:
        return {draft.address: draft}
    return {draft.address: draft, parent.address: replace(parent, blocked=waiting(parent.address, draft.blocked, parent.declared.source))}


class _Deletes:
    """The removals of a run: a delete counts what it deletes too, and waits where that is excluded; what nothing covers any more sends its
    own request."""

    def __init__(
        self, selection: Selection, removals: Mapping[Address, Removal], selected: set[Address], chosen: Collection[Address]
    ) -> None:
        self.selection, self.removals, self.selected, self.chosen = selection, dict(removals), selected, chosen
        self._below: dict[Address, list[Address]] = defaultdict(list)
        for removal in removals.values():
            if removal.deleted_with is not None and removal.deletes:
                self._below[removal.deleted_with].append(removal.address)
        for address in [address for address in removals if address in selected and removals[address].deleted_with not in selected]:
            self._settle(address)

    def _settle(self, address: Address) -> None:
        """Settle a delete that no other one covers."""
        removal = self.removals[address] = self.removals[address].alone()
        if not removal.deletes:
            return
        inner = self._inside(address)
        blocked = self._excluded(removal, inner)
        if blocked is None:
            self.selected.update(inner)
            return
        self.removals[address] = blocked
        for below in self._below.get(address, ()):
            if below in self.selected:
                self._settle(below)

    def _inside(self, address: Address) -> dict[Address, Removal]:
        """All that the delete of an address deletes too."""
        inner: dict[Address, Removal] = {}
        pending = [address]
        while pending:
            below = self._below.get(pending.pop(), [])
            inner |= {other: self.removals[other] for other in below}
            pending += below
        return inner

    def _excluded(self, removal: Removal, inner: Mapping[Address, Removal]) -> Removal | None:
        """The removal, blocked, where it would delete or needs something that this run leaves alone; else None."""
        replaced = {other.replaces for other in inner.values() if other.replaces is not None}
        left = (other.replaces if other.replaces is not None else other.address for other in inner.values())
        moved = {address for address in replaced if address not in self.chosen}
        excluded = next((address for address in left if address in moved or self.selection.refuses(address)), None)
        missing = next((other for other in removal.deleted_after if other not in self.selected), None)
        if excluded is not None:
            way = f"include {excluded}, or exclude {removal.address} too"
            return removal.block(f"would also delete {excluded}, which is not part of this run", way, id="RC-outside-selection")
        if missing is not None:
            return removal.block(
                f"must be deleted after {missing}, which is not part of this run", f"include {missing}", id="RC-outside-selection"
            )
        return None


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
    abandoned = {
        address
        for address, removal in decisions.removals.items()
        if removal.replaces is not None and removal.replaces in drafts and not drafts[removal.replaces].active
    }
    selected = decisions.selected_removals if decisions.selected_removals is not None else frozenset(decisions.removals)
    return replace(decisions, drafts={**decisions.drafts, **drafts}, selected_removals=selected - abandoned)


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
