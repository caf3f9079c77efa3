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
that it follows in the YAML. In: the drafts. Out: one `SiblingRow` for each list of the YAML.

The current order, where no listing shows it, is the one that was last applied; where nothing is known, the order in which objects are
given.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from reconciler.address import Address, bare
from reconciler.model import ORDER, Actual, Binding, Observed, Origin, Position
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.siblings.moves import SiblingMove, moves, replay
from reconciler.resource import FieldRole, Kind, Kinds, narrow_kinds

# -- The current order ---------------------------------------------------------------------------------------------------------------


class Sibling(Protocol):
    """What must be known of an object to find its position."""

    @property
    def address(self) -> Address: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def binding(self) -> Binding | None: ...
    @property
    def observed(self) -> Observed | None: ...


S = TypeVar("S", bound=Sibling)


def current_order(present: Sequence[S], parent: Address | None) -> list[S]:
    """The siblings below `parent`, in their current order."""
    places = {sibling.address: index for sibling in present if (index := last_index(sibling, parent)) is not None}
    sorted_ones = iter(sorted((sibling for sibling in present if sibling.address in places), key=lambda sibling: places[sibling.address]))
    base = [next(sorted_ones) if sibling.address in places else sibling for sibling in present]
    shown: dict[str, list[S]] = defaultdict(list)
    for sibling in base:
        shown[sibling.kind.name].append(sibling)
    for some in shown.values():
        ranks = {
            sibling.address: sibling.observed.rank for sibling in some if sibling.observed is not None and sibling.observed.rank is not None
        }
        if len(ranks) == len(some):
            base = _ranked(base, ranks)
    return base


def _ranked(row: Sequence[S], ranks: Mapping[Address, int]) -> list[S]:
    """A row with the siblings that a listing shows in its order. Each that people moved is behind the one that it follows in the listing;
    all others, and what no listing shows, keep their places."""
    then = [sibling.address for sibling in row if sibling.address in ranks]
    now = sorted(then, key=ranks.__getitem__)
    moved = {move.item for move in moves(then, now)}
    if not moved:
        return list(row)
    by_address = {sibling.address: sibling for sibling in row}
    behind: dict[Address | None, list[S]] = defaultdict(list)
    previous: Address | None = None
    for address in now:
        if address in moved:
            behind[previous].append(by_address[address])
        else:
            previous = address
    first = next(address for address in now if address not in moved)
    order: list[S] = []
    for sibling in row:
        order += behind[None] if sibling.address == first else []
        order += [] if sibling.address in moved else [sibling, *behind[sibling.address]]
    return order


def last_index(sibling: Sibling, parent: Address | None) -> int | None:
    """Its index below that parent when it was last placed there; None where it never was."""
    place = sibling.binding.place if sibling.binding is not None else None
    return place.index if place is not None and place.parent == parent else None


def parent_of(sibling: Sibling, names: Mapping[str, Address]) -> Address | None:
    """The address of its parent: the node it is in, else its fixed container; None where that is not managed. `names`: by id."""
    inside = sibling.kind.inside
    held = sibling.observed.values.get(inside.name) if sibling.observed is not None and inside is not None else None
    return names.get(str(held)) if held else sibling.address.container


def by_parent(everyone: Iterable[S], names: Mapping[str, Address]) -> dict[Address, list[S]]:
    """The existing, ordered objects below each parent now, in their order."""
    rows: dict[Address, list[S]] = defaultdict(list)
    for sibling in everyone:
        if sibling.kind.ordered and sibling.observed is not None and sibling.observed.deleted_at is None:
            parent = parent_of(sibling, names)
            if parent is not None:
                rows[parent].append(sibling)
    return {parent: current_order(some, parent) for parent, some in rows.items()}


@dataclass(frozen=True)
class UnmanagedSibling:
    """An object that nobody manages, in a list whose order a listing shows; its id is the key of its address."""

    address: Address
    kind: Kind
    observed: Observed
    binding: Binding | None = None


def unmanaged_siblings(kinds: Kinds, actual: Actual, names: Mapping[str, Address]) -> list[UnmanagedSibling]:
    """The unmanaged objects in managed containers. `names`: the addresses of managed objects, by id."""
    siblings = []
    for kind in kinds.values():
        for observed in actual.objects.get(kind.name, {}).values():
            container = names.get(observed.within.get(kind.within or "", ""))
            if (
                kind.ordered
                and observed.rank is not None
                and observed.id not in names
                and observed.deleted_at is None
                and container is not None
            ):
                siblings.append(UnmanagedSibling(container.child(kind.name, bare(observed.id)), kind, observed))
    return sorted(siblings, key=lambda sibling: (sibling.observed.rank or 0, sibling.address))


def with_unmanaged(
    rows: Mapping[Address, Sequence[Sibling]], unmanaged: Sequence[Sibling], names: Mapping[str, Address]
) -> dict[Address, list[Sibling]]:
    """The rows with unmanaged siblings: each after the sibling of its kind that is shown before it, else before the first of its kind."""
    result: dict[Address, list[Sibling]] = {parent: list(row) for parent, row in rows.items()}
    inserted: dict[Address, list[Sibling]] = defaultdict(list)
    for sibling in unmanaged:
        if (parent := parent_of(sibling, names)) is not None:
            inserted[parent].append(sibling)
    return result | {parent: _row_with_unmanaged(result.get(parent, []), some) for parent, some in inserted.items()}


def _row_with_unmanaged(row: Sequence[Sibling], unmanaged: Sequence[Sibling]) -> list[Sibling]:
    """One row with the unmanaged siblings in it."""
    before: dict[int, list[Sibling]] = defaultdict(list)  # who comes before each place of the row
    for name in dict.fromkeys(sibling.kind.name for sibling in unmanaged):
        alike = [index for index, other in enumerate(row) if other.kind.name == name]
        shown = deque(sorted(alike, key=lambda index: _rank(row[index]) or 0))
        place = alike[0] if alike else len(row)
        for sibling in sorted((sibling for sibling in unmanaged if sibling.kind.name == name), key=lambda sibling: _rank(sibling) or 0):
            while shown and (_rank(row[shown[0]]) or 0) < (_rank(sibling) or 0):
                place = max(place, shown.popleft() + 1)
            before[place].append(sibling)
    return [sibling for index in range(len(row) + 1) for sibling in (*before[index], *row[index : index + 1])]


def _rank(sibling: Sibling) -> int | None:
    return sibling.observed.rank if sibling.observed is not None else None


def current_positions(
    everyone: Iterable[Sibling], unmanaged: Sequence[UnmanagedSibling], names: Mapping[str, Address]
) -> dict[Address, Position]:
    """The current position of each sibling."""
    positions = {}
    for parent, some in with_unmanaged(by_parent(everyone, names), unmanaged, names).items():
        previous: Address | None = None
        for index, sibling in enumerate(some):
            positions[sibling.address] = Position(parent, index, previous)
            previous = sibling.address
    return positions


# -- a list whose order changes ----------------------------------------------------------------------------------------------------


Id = TypeVar("Id", bound=Hashable)


class Siblings(Generic[Id]):
    """Ids in their order. None represents both ends."""

    def __init__(self, ids: Iterable[Id] = ()) -> None:
        self._next: dict[Id | None, Id | None] = {None: None}
        self._previous: dict[Id | None, Id | None] = {None: None}
        for id in ids:
            self.append(id)

    def __contains__(self, id: Id) -> bool:
        return id in self._next

    def __iter__(self) -> Iterator[Id]:
        at = self._next[None]
        while at is not None:
            yield at
            at = self._next[at]

    def following(self, id: Id | None) -> Id | None:
        """The sibling after one; of None, the first."""
        return self._next[id]

    def preceding(self, id: Id | None) -> Id | None:
        """The sibling before one; of None, the last."""
        return self._previous[id]

    def append(self, id: Id) -> None:
        """Put it at the end."""
        self._between(self._previous[None], id, None)

    def insert(self, id: Id, anchor: Id | None, *, after: bool) -> None:
        """Put it beside a sibling; after None, first, and before None, last."""
        before = anchor if after else self._previous[anchor]
        self._between(before, id, self._next[before])

    def remove(self, id: Id) -> None:
        """Take it out; nothing happens where it is not in the list."""
        if id in self._next:
            before, after = self._previous.pop(id), self._next.pop(id)
            self._next[before], self._previous[after] = after, before

    def _between(self, before: Id | None, id: Id, after: Id | None) -> None:
        self._next[before] = self._previous[after] = id
        self._previous[id], self._next[id] = before, after


# -- The wanted order ----------------------------------------------------------------------------------------------------------------


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
        if movable and len(movable) == len(siblings):
            row = _row(parent, siblings, movable, sequence, kept)
            rows.append(replace(row, remembered=_remembered(row.wanted, kept, parent)) if kept else row)
        elif movable:
            rows.append(_partly(parent, siblings, movable, sequence, kept))
    return tuple(rows)


def _lists(drafts: Mapping[Address, Draft]) -> dict[tuple[Address | None, str], list[Draft]]:
    """The ordered siblings of each list of the YAML."""
    lists: dict[tuple[Address | None, str], list[Draft]] = defaultdict(list)
    for draft in drafts.values():
        if draft.kind.ordered and not draft.declared.implied:
            lists[(draft.declared.parent, draft.declared.section)].append(draft)
    return lists


def keeps_position(draft: Draft) -> bool:
    """Whether the YAML says to leave the position of an object among its siblings alone. The others are in the order of the YAML among
    each other then, wherever it is between them."""
    return ORDER in draft.declared.ignores and _exists_here(draft) and not _never_placed(draft)


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
    shown = [draft for draft in siblings if draft.active or draft.address not in movable]
    stay = current_order([draft for draft in shown if _exists_here(draft)], parent)
    staying = {draft.address for draft in stay}
    newcomers = [draft for draft in shown if draft.address not in staying and draft.address in movable]
    row = _row(parent, [*stay, *newcomers], movable, sequence, kept)
    return replace(row, remembered=_remembered(row.wanted, [*fixed, *kept], parent))


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
