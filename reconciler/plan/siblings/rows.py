"""The order of siblings: which of them move, next to whom, and in which sequence. Pure.

In: the drafts. Out: one `SiblingRow` for each list of the YAML, with the fewest moves from the current order of the siblings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from reconciler.address import Address
from reconciler.model import ORDER, Origin, Position
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.siblings.moves import SiblingMove, moves
from reconciler.plan.siblings.positions import current_order, last_index
from reconciler.resource import FieldRole, narrow_kinds


@dataclass(frozen=True)
class SiblingRow:
    """One list of siblings.

    `wanted`: the managed siblings that will be in the list, in the order of the YAML. `current`: those in the list before any move,
    including those that are appended first. What happens, in sequence: `appended` are added by a create, a join or a transfer; then
    `moves`; then `tail`, the newcomers at the end of the list, each by its own move or (an address) by its create or join. A transfer waits
    for no move of the row: what moves may be transferred with it. `moved_outside`: those that a listing shows in another position than they
    were given, each with the sibling of its kind that it was placed after and the one that precedes it now.
    """

    parent: Address | None
    wanted: tuple[Address, ...]
    current: tuple[Address, ...]
    appended: tuple[Address, ...]
    moves: tuple[SiblingMove[Address], ...]
    tail: tuple[SiblingMove[Address] | Address, ...] = ()
    moved_outside: tuple[tuple[Address, Address | None, Address | None], ...] = ()

    def moving(self) -> tuple[SiblingMove[Address], ...]:
        """Every move of the row."""
        return (*self.moves, *(move for move in self.tail if isinstance(move, SiblingMove)))

    @cached_property
    def present(self) -> frozenset[Address]:
        """The siblings in the list before any move."""
        return frozenset(self.current)

    @cached_property
    def behind_now(self) -> Mapping[Address, Address]:
        """The sibling before each of them in the current order; the first has none."""
        return {second: first for first, second in pairwise(self.current)}

    @cached_property
    def behind_then(self) -> Mapping[Address, Address]:
        """The sibling before each of them in the wanted order; the first has none."""
        return {second: first for first, second in pairwise(self.wanted)}

    def places(self) -> dict[Address, Position]:
        """The position of each sibling when all is done."""
        return {address: Position(self.parent, index) for index, address in enumerate(self.wanted)}


def arrange(drafts: Mapping[Address, Draft], chosen: Collection[Address]) -> tuple[SiblingRow, ...]:
    """One row for each list with ordered siblings of which any is `chosen`, in the order of the drafts; other lists are not changed."""
    lists: dict[tuple[Address | None, str], list[Draft]] = defaultdict(list)
    for draft in drafts.values():
        if draft.kind.ordered and not draft.declared.implied:
            lists[(draft.declared.parent, draft.declared.section)].append(draft)
    members, rows, turns = frozenset(chosen), [], _turns(drafts)
    for (parent, _), siblings in lists.items():
        movable = {draft.address for draft in siblings if draft.address in members and not keeps_position(draft)}
        if len(movable) == len(siblings):
            rows.append(_row(parent, siblings, movable, turns))
        elif movable:
            rows.append(_partly(parent, siblings, movable, turns))
    return tuple(rows)


def keeps_position(draft: Draft) -> bool:
    """Whether the YAML says to leave the position of an object among its siblings alone."""
    return ORDER in draft.declared.ignores and _exists_here(draft) and not _never_placed(draft)


def ignored_positions(drafts: Mapping[Address, Draft], chosen: Collection[Address]) -> tuple[Address, ...]:
    """The `chosen` siblings that would be moved if the YAML did not say to leave their positions alone."""
    kept = {address for address in chosen if keeps_position(drafts[address])}
    if not kept:
        return ()
    plain = {
        address: replace(draft, declared=replace(draft.declared, ignores=frozenset())) if address in kept else draft
        for address, draft in drafts.items()
    }
    return tuple(move.item for row in arrange(plain, chosen) for move in row.moving() if move.item in kept)


def _turns(drafts: Mapping[Address, Draft]) -> dict[Address, int]:
    """The place of each transfer in one sequence for all lists: behind the transfers that it waits for, else as in the YAML.

    Lists with sequences of their own could wait for each other.
    """
    going = {
        draft.address: (draft, draft.purpose.waits_for) for draft in drafts.values() if draft.active and isinstance(draft.purpose, Transfer)
    }
    turns: dict[Address, int] = {}
    started: set[Address] = set()
    ahead = [(address, False) for address in reversed(going)]
    while ahead:
        address, last = ahead.pop()
        if last:
            turns[address] = len(turns)
        elif address not in started:
            started.add(address)
            draft, behind = going[address]
            previous = draft.after_transfer
            while previous is not None and previous not in going:
                previous = drafts[previous].after_transfer
            earlier = behind if previous is None else (previous, *behind)
            ahead += [(address, True), *((other, False) for other in reversed(earlier) if other in going)]
    return turns


def _partly(parent: Address | None, siblings: Sequence[Draft], movable: Collection[Address], turns: Mapping[Address, int]) -> SiblingRow:
    """A row of which only some siblings are selected: each of those is placed after the one it follows in the YAML, unless it already is.

    Where that would move one that is not selected (only some kinds can be named as neighbours), none is moved, and newcomers are added
    last.
    """
    fixed = [draft for draft in siblings if draft.address not in movable and _exists_here(draft)]
    fixed_addresses = {draft.address for draft in fixed}
    behind: dict[Address | None, list[Draft]] = defaultdict(list)
    previous: Address | None = None
    for draft in siblings:
        if draft.address in fixed_addresses:
            previous = draft.address
        elif draft.address in movable and draft.active:
            behind[previous].append(draft)
    fixed_order = current_order(fixed, parent)
    order = [*behind[None], *(draft for sibling in fixed_order for draft in (sibling, *behind[sibling.address]))]
    for forced in (frozenset[Address](), frozenset(movable)):
        row = _row(parent, order, movable, turns, forced)
        if {move.item for move in row.moving()} <= set(movable):
            return row
    shown = [draft for draft in siblings if draft.active or draft.address not in movable]
    stay = current_order([draft for draft in shown if _exists_here(draft)], parent)
    staying = {draft.address for draft in stay}
    return _row(parent, [*stay, *(draft for draft in shown if draft.address not in staying and draft.address in movable)], movable, turns)


def _row(
    parent: Address | None,
    siblings: Sequence[Draft],
    movable: Collection[Address],
    turns: Mapping[Address, int],
    forced: Collection[Address] = frozenset(),
) -> SiblingRow:
    """The row with the fewest moves. `movable`: those that this run may move; `forced`: those of them that it moves in any case.

    `turns`: the transfers in their sequence.
    """
    present: list[Draft] = []
    arriving: list[Draft] = []
    must: list[Draft] = []
    for draft in siblings:
        if not draft.active:
            continue
        if draft.is_restored:
            must.append(draft)
        elif draft.is_transferred and not _arrives(draft):
            arriving.append(draft)
        elif draft.id is not None and not _arrives(draft):
            present.append(draft)
            if draft.address in forced or (draft.address in movable and _never_placed(draft)):
                must.append(draft)
        elif _by_move(draft):
            must.append(draft)
        else:
            arriving.append(draft)
    order_now = current_order(present, parent)
    wanted = tuple(draft.address for draft in siblings if draft.active)
    kinds = {draft.address: draft.kind for draft in siblings if draft.active}
    few = narrow_kinds(kinds.values())
    narrow = {address for address, kind in kinds.items() if kind.name in few}
    placing = {draft.address for draft in must}
    tailing = {draft.address for draft in arriving if not draft.is_transferred}
    split = _split(wanted, tailing, placing - narrow)
    if wanted and not split and wanted[0] in placing and not kinds[wanted[0]].moves_to_end:
        placing.discard(wanted[0])  # it stays, and the others are put behind it
        split = _split(wanted, tailing, placing - narrow)
    head, tail = wanted[:split], wanted[split:]
    placing |= {draft.address for draft in arriving if draft.address in forced} & {*head}
    narrow_in_head = [address for address in head if address in narrow]
    if narrow_in_head and placing.issuperset(narrow_in_head):
        placing.discard(narrow_in_head[0])
    ahead = frozenset(head)
    appended = _in_turn([draft.address for draft in arriving if draft.address in ahead], turns)
    current = (*(draft.address for draft in order_now), *appended)
    sibling_moves = moves(current, head, must=[address for address in head if address in placing], narrow=narrow.__contains__)
    last = tuple(
        SiblingMove(address, after=wanted[index - 1] if index else None) if address in placing else address
        for index, address in enumerate(tail, start=split)
    )
    moved_outside = _moved_outside(order_now, parent) if sibling_moves else ()
    return SiblingRow(parent, wanted, current, appended, tuple(sibling_moves), last, moved_outside)


def _in_turn(comes: Sequence[Address], turns: Mapping[Address, int]) -> tuple[Address, ...]:
    """What is appended, with the transfers among them in their sequence."""
    following = iter(sorted((address for address in comes if address in turns), key=turns.__getitem__))
    return tuple(next(following) if address in turns else address for address in comes)


def _split(wanted: Sequence[Address], arriving: Collection[Address], placing: Collection[Address]) -> int:
    """The index at which the newcomers at the end of a list begin."""
    split = len(wanted)
    while split and (wanted[split - 1] in arriving or wanted[split - 1] in placing):
        split -= 1
    return split


def _moved_outside(present: Sequence[Draft], parent: Address | None) -> tuple[tuple[Address, Address | None, Address | None], ...]:
    """The fewest siblings by which the order that a listing shows differs from the order they were last placed in, kind by kind."""
    alike: dict[str, list[Draft]] = defaultdict(list)
    for draft in present:
        if draft.observed is not None and draft.observed.rank is not None and last_index(draft, parent) is not None:
            alike[draft.kind.name].append(draft)
    moved, drafts = [], {draft.address: draft for draft in present}
    for some in alike.values():
        now = [draft.address for draft in sorted(some, key=lambda draft: (draft.observed and draft.observed.rank) or 0)]
        then = [draft.address for draft in sorted(some, key=lambda draft: last_index(draft, parent) or 0)]
        behind_now, behind_then = (dict(zip(row, (None, *row), strict=False)) for row in (now, then))
        moved += [
            (move.item, behind_then[move.item], behind_now[move.item])
            for move in moves(now, then)
            if ORDER not in drafts[move.item].declared.ignores
        ]
    return tuple(moved)


def _never_placed(draft: Draft) -> bool:
    """Whether nothing shows its position, and no run that created it, or transferred it from another root, completed its row."""
    shown = draft.observed is not None and draft.observed.rank is not None
    if shown or draft.binding is None:
        return False
    place = draft.binding.place
    if place is None:
        return draft.binding.origin is not Origin.ADOPTED
    return place.parent is not None and place.parent.root != draft.address.root


def _exists_here(draft: Draft) -> bool:
    """Whether the object is among its siblings before this run."""
    return draft.id is not None and not draft.is_restored and not draft.is_transferred and not _arrives(draft)


def _arrives(draft: Draft) -> bool:
    """Whether an existing object comes from another container."""
    return any(difference.field.container for difference in draft.sendable)


def _by_move(draft: Draft) -> bool:
    """Whether it is placed by its own move, which names its position; a create or a join puts it at the end."""
    inside = draft.kind.inside
    if inside is None or inside.role is not FieldRole.INSIDE or "move" not in inside.on:
        return False
    return draft.id is not None or "create" not in inside.on
