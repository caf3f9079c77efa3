"""What is decided about transfers, and what a plan must know of them. Pure.

In: the world and what was matched. Out: the decisions on a service in which everything has been transferred that can be; what cannot be
keeps its container and its address, and whatever needs it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Actual, Blocked, Position
from reconciler.plan.decisions import Batch, Draft, Transfer, TransferredTogether
from reconciler.plan.matching.matches import Matches
from reconciler.plan.names import Names
from reconciler.plan.siblings.positions import Sibling, UnmanagedSibling, current_positions, unmanaged_siblings
from reconciler.plan.transfers.obstacles import TransferObstacles, transfer_obstacles
from reconciler.plan.transfers.together import batches, each_once, transferred_together
from reconciler.plan.world import Decisions, World
from reconciler.resource import Kinds

Decide = Callable[[World, Matches], Decisions]


def decide_with_transfers(world: World, matches: Matches, decide: Decide) -> tuple[World, Decisions]:
    """The world after the possible transfers, and the decisions in it."""
    unsettled = _unsettled(world, matches)
    if all(match.transfers is None for match in matches.values()):
        return world, replace(decide(world, matches), unsettled=unsettled)
    world, decisions, obstacles = _possible_transfers(world, matches, decide)
    ordered = [_ready(decisions.drafts[root], required) for root, required in obstacles.required.items()]
    return world, replace(decisions.changed(ordered), unsettled=unsettled)


def _ready(draft: Draft, required: tuple[Address, ...]) -> Draft:
    """The draft with what must happen before its transfer; unchanged where it is blocked and is not transferred."""
    return replace(draft, purpose=replace(draft.purpose, waits_for=required)) if isinstance(draft.purpose, Transfer) else draft


def _possible_transfers(before: World, matches: Matches, decide: Decide) -> tuple[World, Decisions, TransferObstacles]:
    """Decide as if everything were transferred, then without what cannot be, until nothing prevents the rest.

    What one round leaves out can block an object that another transfer needs out of its way, so the next round may leave out more; each
    round leaves out at least one more address and none is added again, so the rounds end.
    """
    prevented: dict[Address, Blocked] = {}
    while True:
        possible = _without(matches, prevented)
        world = _after_transfers(before, possible)
        decisions = decide(world, possible)
        obstacles = transfer_obstacles(world, decisions, before.actual)
        new = {address: blocked for address, blocked in obstacles.prevented.items() if address not in prevented}
        if not new:
            return world, decisions, obstacles
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
