"""Which addresses a run is about: `--target`, `--exclude`, what a target needs, and what waits for something blocked. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from reconciler.address import Address, Glob
from reconciler.model import Blocked, waiting
from reconciler.model.codec import unborn
from reconciler.plan.derived import pending_sources
from reconciler.plan.drafts.drafts import Draft
from reconciler.plan.removals import Removal


@dataclass(frozen=True)
class Selection:
    """Patterns over addresses; everything is meant where no target is given. `only`: these addresses; None where it is no matter."""

    targets: tuple[Glob, ...] = ()
    excludes: tuple[Glob, ...] = ()
    only: frozenset[Address] | None = None

    def takes(self, address: Address) -> bool:
        if self.only is not None and address not in self.only:
            return False
        return (not self.targets or any(glob.matches(address) for glob in self.targets)) and not any(
            glob.matches(address) for glob in self.excludes
        )

    def refuses(self, address: Address) -> bool:
        """Whether the run must leave an address alone, also where it would go along with one that is meant."""
        return (self.only is not None and address not in self.only) or any(glob.matches(address) for glob in self.excludes)

    @property
    def partial(self) -> bool:
        """Whether people chose some of the addresses."""
        return bool(self.targets or self.excludes)


def needed(draft: Draft) -> set[Address]:
    """The addresses that must exist before the draft's requests can be sent: its container, its parent, and what it refers to."""
    found = set(unborn(list(draft.declared.values.values()))) | ({draft.declared.parent} if draft.declared.parent else set())
    if draft.address.container is not None:
        found.add(draft.address.container)
    return found - {draft.address}


def select(
    selection: Selection, drafts: dict[Address, Draft], removals: dict[Address, Removal]
) -> tuple[dict[Address, Draft], dict[Address, Removal], tuple[Address, ...]]:
    """The drafts and removals the run is about, and which came along because a target needs them made."""
    chosen = {address for address in drafts if selection.takes(address)}
    along: set[Address] = set()
    brought = {draft.brought_by: address for address, draft in drafts.items() if draft.brought_by is not None}
    waiting = [address for address in chosen if drafts[address].active and (drafts[address].actions or drafts[address].born)]
    while waiting:
        draft = drafts[waiting.pop()]
        sources, child = set(pending_sources(drafts, draft)), brought.get(draft.address)
        for address in sorted(needed(draft) | sources | ({child} if child is not None else set())):
            other = drafts.get(address)
            if other is None or address in chosen or not (other.born or other.restore or address in sources):
                continue
            if not selection.refuses(address):
                chosen.add(address)
                along.add(address)
                waiting.append(address)
            elif address == child or address in _used(draft, address):
                _block_without(drafts, draft, address)
    kept = {address: draft for address, draft in drafts.items() if address in chosen}
    gone = {
        address: removal
        for address, removal in removals.items()
        if (removal.replaces in chosen if removal.replaces is not None else selection.takes(address))
    }
    _settle_deletes(selection, removals, gone, chosen)
    return kept, {address: gone[address] for address in removals if address in gone}, tuple(sorted(along))


def _block_without(drafts: Mapping[Address, Draft], draft: Draft, missing: Address) -> None:
    """Block a draft that needs what this run must leave alone, and what would create it on the way."""
    way = f"include {missing}, or exclude {draft.address} too"
    draft.blocked = Blocked(draft.address, f"waits for {missing}, which this run leaves alone", way, draft.declared.source)
    parent = drafts.get(draft.brought_by) if draft.brought_by is not None else None
    if parent is not None and parent.active:
        parent.blocked = waiting(parent.address, draft.blocked, parent.declared.source)


def _settle_deletes(
    selection: Selection, removals: Mapping[Address, Removal], gone: dict[Address, Removal], chosen: Collection[Address]
) -> None:
    """Let a delete count what it takes along, and wait where that is excluded; what goes along with nothing sends its own request."""
    below: dict[Address, list[Removal]] = defaultdict(list)
    for removal in removals.values():
        if removal.covered_by is not None and removal.delete and removal.active:
            below[removal.covered_by].append(removal)
    for address in [address for address, removal in gone.items() if removal.covered_by is None or removal.covered_by not in gone]:
        removal = gone[address]
        removal.covered_by = None
        _settle_delete(selection, removal, below, gone, chosen)


def _settle_delete(
    selection: Selection,
    removal: Removal,
    below: Mapping[Address, list[Removal]],
    gone: dict[Address, Removal],
    chosen: Collection[Address],
) -> None:
    if not (removal.delete and removal.active):
        return
    inner = list(below.get(removal.address, []))
    waiting = list(inner)
    while waiting:
        deeper = below.get(waiting.pop().address, [])
        inner += deeper
        waiting += deeper
    left = (one.replaces if one.replaces is not None else one.address for one in inner)
    moved = {one.replaces for one in inner if one.replaces is not None and one.replaces not in chosen}
    excluded = next((address for address in left if address in moved or selection.refuses(address)), None)
    missing = next((other for other in removal.behind if other not in gone), None)
    if excluded is not None:
        way = f"include {excluded}, or exclude {removal.address} too"
        removal.blocked = Blocked(removal.address, f"would take along {excluded}, which this run leaves alone", way)
    elif missing is not None:
        way = f"include {missing}"
        removal.blocked = Blocked(removal.address, f"must be deleted after {missing}, which this run leaves alone", way)
    else:
        gone |= {one.address: one for one in inner}
        return
    for one in below.get(removal.address, []):
        if one.address in gone:
            one.covered_by = None
            _settle_delete(selection, one, below, gone, chosen)


def block_what_waits(drafts: Mapping[Address, Draft]) -> None:
    """Block every draft that needs an object which cannot be made in this run."""
    changed = True
    while changed:
        changed = False
        for draft in drafts.values():
            if not draft.active or not (draft.born or draft.sendable):
                continue
            for address in sorted(needed(draft)):
                other = drafts.get(address)
                if other is None or other.active or other.id is not None or address not in _used(draft, address):
                    continue
                if other.deferred is not None:
                    draft.deferred = f"waits for {address}"
                else:
                    outer = other.blocked or Blocked(address, "it cannot be created in this run", f"see what is said of {address}")
                    draft.blocked = waiting(draft.address, outer, draft.declared.source)
                changed = True
                break


def _used(draft: Draft, address: Address) -> set[Address]:
    """The needed addresses that this run's requests for the draft would really name."""
    if draft.born:
        return {address}
    return set(unborn([one.after for one in draft.sendable]))
