"""The order of siblings: which of them move, next to whom, and in which sequence. Pure.

The premise: the service has no request "this is the order". A create, a join and a transfer put an object at the end of its list, and a
move puts one object beside another one. So the order of the YAML is reached in three stages, and each move is computed on what the list
looks like after the requests before it:

    YAML                a  n  b  m          (n and m are new, b was moved in front of a by somebody)
    the service         b  a
    1. appended         b  a  n             what is new and has an old sibling behind it
    2. moves            a  n  b             the fewest that bring these into order (`moves`): here one, of b
    3. tail             a  n  b  m          newcomers with nothing behind them are at their place as soon as they are created

Newcomers of the tail are created last, and one after the other: then they need no move at all. Those of the *head*, everything before the
tail, are created first. Some objects are put in place by a move in any case (`must`): what is restored, because nobody knows where
the service puts it; what was never placed, because a run was interrupted; what a move brings from another list.

A row is computed for the whole list, also where a run is about some of its siblings (`_partly`): then only those move, each behind the one
that it follows in the YAML. In: the drafts, and the current order, which `order` finds. Out: one `SiblingRow` for each list of the YAML.
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
from reconciler.plan.siblings.moves import SiblingMove, moves, replay
from reconciler.plan.siblings.order import current_order, is_ranked, last_index
from reconciler.resource import FieldRole, narrow_kinds


@dataclass(frozen=True)
class SiblingRow:
    """One list of siblings, and what is sent for its order, in this sequence: `appended`, `moves`, `tail`.

    A transfer waits for no move of the row: what moves may be transferred with it.
    """

    # What the list belongs to; None at the root.
    parent: Address | None
    # The managed siblings that will be in the list, in the order of the YAML.
    wanted: tuple[Address, ...]
    # Those in the list before any move, including those that are appended first.
    current: tuple[Address, ...]
    # What a create, a join or a transfer puts at the end of the list before anything is moved.
    appended: tuple[Address, ...]
    # The moves of the head, in their sequence.
    moves: tuple[SiblingMove[Address], ...]
    # The newcomers at the end of the list, each by its own move or (an address) by its create or join.
    tail: tuple[SiblingMove[Address] | Address, ...] = ()
    # Those that a listing shows elsewhere than they were put, each with the sibling of its kind that it was put after and the one before it
    # now: people moved them.
    moved_outside: tuple[tuple[Address, Address | None, Address | None], ...] = ()
    # The order that the state remembers when all is done; None: that of `wanted`.
    remembered: tuple[Address, ...] | None = None

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
        """The position of each sibling when all is done, as the state remembers it."""
        order = self.wanted if self.remembered is None else self.remembered
        return {address: Position(self.parent, index) for index, address in enumerate(order)}


def arrange(drafts: Mapping[Address, Draft], chosen: Collection[Address]) -> tuple[SiblingRow, ...]:
    """One row for each list with ordered siblings of which any is `chosen`, in the order of the drafts; other lists are not changed."""
    members, rows, sequence = frozenset(chosen), [], _sequence_of_transfers(drafts)
    for (parent, _), everyone in _lists(drafts).items():
        siblings = [draft for draft in everyone if not keeps_position(draft)]
        kept = [draft for draft in everyone if keeps_position(draft)]
        movable = {draft.address for draft in siblings if draft.address in members}
        if movable and any(_is_unlisted(draft) for draft in everyone):
            # What the list shows is not known, so nothing in it is moved, and nothing of it is remembered.
            rows.append(replace(_at_the_end(parent, siblings, movable, sequence, kept), remembered=()))
        elif movable and len(movable) == len(siblings):
            row = _row(parent, siblings, movable, sequence, kept)
            rows.append(replace(row, remembered=_remembered(row.wanted, kept, parent)) if kept else row)
        elif movable:
            rows.append(_partly(parent, siblings, movable, sequence, kept))
    return tuple(rows)


def _lists(drafts: Mapping[Address, Draft]) -> dict[tuple[Address | None, str], list[Draft]]:
    """The ordered siblings of each list of the YAML."""
    lists: dict[tuple[Address | None, str], list[Draft]] = defaultdict(list)
    for draft in drafts.values():
        if draft.kind.ordered and not draft.declared.implied and not _is_elsewhere(draft, drafts):
            lists[(draft.declared.parent, draft.declared.section)].append(draft)
    return lists


def _is_elsewhere(draft: Draft, drafts: Mapping[Address, Draft]) -> bool:
    """Whether an object is in another list than its own, and no request of this plan brings it back: what its own belongs to could not be
    read."""
    inside, observed, parent = draft.kind.inside, draft.observed, draft.declared.parent
    tracked = drafts[parent].binding if parent is not None and parent in drafts else None
    if inside is None or observed is None or tracked is None or not _exists_here(draft):
        return False
    node = observed.values.get(inside.name)
    return isinstance(node, str) and drafts[tracked.address].id is None and node != tracked.id


def keeps_position(draft: Draft) -> bool:
    """Whether the position of an object among its siblings is left alone, because the YAML says so or Git governs it.

    The others are in the order of the YAML among each other then, wherever it is between them.
    """
    return (ORDER in draft.declared.ignores or bool(draft.git)) and _exists_here(draft) and not _never_placed(draft)


def ignored_positions(drafts: Mapping[Address, Draft], chosen: Collection[Address]) -> tuple[Address, ...]:
    """The `chosen` siblings that would be moved if the YAML did not say to leave their positions alone."""
    positions: list[Address] = []
    for (parent, _), siblings in _lists(drafts).items():
        kept = {draft.address for draft in siblings if keeps_position(draft)}
        if kept:
            present = [draft for draft in siblings if draft.active and _exists_here(draft)]
            now, then = ([draft.address for draft in row] for row in (current_order(present, parent), present))
            before_now, before_then = (_preceding(row, kept) for row in (now, then))
            displaced = [address for address in then if address in kept and before_now[address] != before_then[address]]
            moved = moves(now, then, must=displaced)
            positions += [move.item for move in moved if move.item in kept and move.item in chosen]
    return tuple(positions)


def _preceding(row: Sequence[Address], kept: Collection[Address]) -> dict[Address, int]:
    """How many siblings that are in the order of the YAML are before each in a row."""
    number, before = 0, {}
    for address in row:
        before[address] = number
        number += address not in kept
    return before


def _sequence_of_transfers(drafts: Mapping[Address, Draft]) -> dict[Address, int]:
    """The place of each transfer in one sequence for all lists: behind the transfers that it waits for, else as in the YAML."""
    # One sequence, because a list appends its transfers one after the other: of two lists with sequences of their own, each could wait for
    # a transfer of the other.
    transfers = {
        draft.address: (draft, draft.purpose.waits_for) for draft in drafts.values() if draft.active and isinstance(draft.purpose, Transfer)
    }
    sequence: dict[Address, int] = {}
    started: set[Address] = set()
    ahead = [(address, False) for address in reversed(transfers)]
    while ahead:
        address, last = ahead.pop()
        if last:
            sequence[address] = len(sequence)
        elif address not in started:
            started.add(address)
            draft, behind = transfers[address]
            previous = draft.after_transfer
            while previous is not None and previous not in transfers:
                previous = drafts[previous].after_transfer
            earlier = behind if previous is None else (previous, *behind)
            ahead += [(address, True), *((other, False) for other in reversed(earlier) if other in transfers)]
    return sequence


def _partly(
    parent: Address | None, siblings: Sequence[Draft], movable: Collection[Address], sequence: Mapping[Address, int], kept: Sequence[Draft]
) -> SiblingRow:
    """A row of which only some siblings are selected: each of those is placed after the one it follows in the YAML, unless it already is.

    Where that would move one that is not selected (only some kinds can be named as neighbours), none is moved, and newcomers are added
    last.
    """
    # The order of what is not selected is what the service shows, whatever the YAML says of it.
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
    # With the fewest moves, the one that moves may be a sibling that is not selected. Then every selected one is moved, which may be more
    # requests, but about the right objects.
    for forced in (frozenset[Address](), frozenset(movable)):
        row = _row(parent, order, movable, sequence, kept, forced)
        if {move.item for move in row.moving()} <= set(movable):
            return replace(row, remembered=_remembered(row.wanted, [*fixed, *kept], parent))
    row = _at_the_end(parent, siblings, movable, sequence, kept)
    return replace(row, remembered=_remembered(row.wanted, [*fixed, *kept], parent))


def _at_the_end(
    parent: Address | None, siblings: Sequence[Draft], movable: Collection[Address], sequence: Mapping[Address, int], kept: Sequence[Draft]
) -> SiblingRow:
    """A row of which nothing is moved that is in the list now; newcomers are added last."""
    shown = [draft for draft in siblings if draft.active or draft.address not in movable]
    stay = current_order([draft for draft in shown if _exists_here(draft)], parent)
    staying = {draft.address for draft in stay}
    newcomers = [draft for draft in shown if draft.address not in staying and draft.address in movable]
    return _row(parent, [*stay, *newcomers], {draft.address for draft in newcomers}, sequence, kept)


def _is_unlisted(draft: Draft) -> bool:
    """Whether a listing would show the position of the object among its siblings, and none could be read."""
    observed = draft.observed
    return observed is not None and observed.rank is None and _exists_here(draft) and is_ranked(draft.kind, observed)


def _remembered(wanted: Sequence[Address], fixed: Sequence[Draft], parent: Address | None) -> tuple[Address, ...]:
    """`wanted`, with those that are not selected in the order in which they were last placed: if people moved them, that stays a
    difference, because this run does not decide about it."""
    last = {draft.address: index for draft in fixed if (index := last_index(draft, parent)) is not None}
    kept = sorted((address for address in wanted if address in last), key=last.__getitem__)
    if kept == [address for address in wanted if address in last]:
        return tuple(wanted)
    behind: dict[Address | None, list[Address]] = defaultdict(list)
    previous: Address | None = None
    for address in wanted:
        if address in last:
            previous = address
        else:
            behind[previous].append(address)
    return (*behind[None], *(address for first in kept for address in (first, *behind[first])))


def _row(
    parent: Address | None,
    siblings: Sequence[Draft],
    movable: Collection[Address],
    sequence: Mapping[Address, int],
    kept: Sequence[Draft] = (),
    forced: Collection[Address] = frozenset(),
) -> SiblingRow:
    """The row with the fewest moves. `movable`: those that this run may move; `forced`: those of them that it moves in any case.

    `sequence`: the transfers in their sequence. `kept`: siblings beside them, in the list now, that are no part of its order.
    """
    # Every sibling is in the list now, arrives in it by itself, or must be put there by a move; some of the first must be moved too.
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
    order_now = current_order([*present, *(draft for draft in kept if draft.active)], parent)
    wanted = tuple(draft.address for draft in siblings if draft.active)
    kinds = {draft.address: draft.kind for draft in siblings if draft.active}
    narrow_names = narrow_kinds(kinds.values())
    narrow = {address for address, kind in kinds.items() if kind.name in narrow_names}
    placing = {draft.address for draft in must}
    # The tail begins behind the last sibling that is in the list already. A transfer is not in it: it waits for no move.
    tailing = {draft.address for draft in arriving if not draft.is_transferred}
    split = _split(wanted, tailing, placing - narrow)
    if wanted and not split and wanted[0] in placing and not kinds[wanted[0]].moves_to_end:
        # Nothing stays, and a move of this kind must name a neighbour: the first one is not moved, and the others are put behind it.
        placing.discard(wanted[0])
        split = _split(wanted, tailing, placing - narrow)
    head, tail = wanted[:split], wanted[split:]
    placing |= {draft.address for draft in arriving if draft.address in forced} & {*head}
    # A narrow sibling can be put beside narrow ones only, so one of them has to stay (see `moves`).
    narrow_in_head = [address for address in head if address in narrow]
    if narrow_in_head and placing.issuperset(narrow_in_head):
        placing.discard(narrow_in_head[0])
    # Transfers keep the places that arriving siblings have, in the one sequence of all transfers.
    comes = [draft.address for draft in arriving if draft.address in frozenset(head)]
    following = iter(sorted((address for address in comes if address in sequence), key=sequence.__getitem__))
    appended = tuple(next(following) if address in sequence else address for address in comes)
    current = (*(draft.address for draft in order_now), *appended)
    sibling_moves = moves(current, head, must=[address for address in head if address in placing], narrow=narrow.__contains__)
    last = tuple(
        SiblingMove(address, after=wanted[index - 1] if index else None) if address in placing else address
        for index, address in enumerate(tail, start=split)
    )
    # Where nothing has to be moved, what people moved is as the YAML has it.
    moved_outside = _moved_outside(present, parent) if sibling_moves else ()
    if kept:
        wanted = _with_kept(current, sibling_moves, last)
    return SiblingRow(parent, wanted, current, appended, tuple(sibling_moves), last, moved_outside)


def _with_kept(
    current: Sequence[Address], placed: Sequence[SiblingMove[Address]], tail: Sequence[SiblingMove[Address] | Address]
) -> tuple[Address, ...]:
    """The order after the requests of a row, with the siblings that are no part of its order where these requests leave them."""
    order = replay(current, placed)
    for entry in tail:
        order = replay(order, [entry]) if isinstance(entry, SiblingMove) else (*order, entry)
    return order


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
    # Kind by kind, because a listing shows the siblings of one kind: how those of two kinds are mixed is remembered, and not seen.
    moved = []
    for some in alike.values():
        now = [draft.address for draft in sorted(some, key=lambda draft: (draft.observed and draft.observed.rank) or 0)]
        then = [draft.address for draft in sorted(some, key=lambda draft: last_index(draft, parent) or 0)]
        behind_now, behind_then = (dict(zip(row, (None, *row), strict=False)) for row in (now, then))
        moved += [(move.item, behind_then[move.item], behind_now[move.item]) for move in moves(now, then)]
    return tuple(moved)


def _never_placed(draft: Draft) -> bool:
    """Whether nothing shows its position, and no run that created it, or transferred it from another root, completed its row."""
    shown = draft.observed is not None and draft.observed.rank is not None
    if shown or draft.binding is None:
        return False
    place = draft.binding.place
    # An adopted object stands where people put it; one that a run created and did not place is wherever the service appended it.
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
