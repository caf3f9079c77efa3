"""The fewest moves that bring siblings into a wanted order.

In: siblings in their current and in their wanted order. Out: moves, to be sent one after the other, and `replay`, the model of what the
service does with them. Forbidden: knowledge of any kind, I/O; an item is anything that hashes.

The premise: to choose what moves is to choose what stays. Items that stay are chosen first, as many as possible; every other item is then
placed beside one that stays or was placed before it. Where every item can be put beside every other, those that stay are a longest
increasing subsequence of their current positions:

    wanted            a   b   c   d   e
    current position  3   0   1   4   2         longest increasing: 0 1 4 (b c d) or 0 1 2 (b c e)
    stay                  b   c   d             of equally long ones, the one with the earliest items
    moves             a before b,  e after d    two of five

Some items are *narrow*: the service puts sections beside sections only, and groups beside both. A narrow item that moves therefore needs a
narrow item that stays, or that was placed before it, at one side of its gap. So two others stay one behind the other only where no narrow
item comes between them, and first or last only where none comes before or behind them:

    wanted            G   s   t   H             G, H: groups (wide); s, t: sections (narrow)
    if G and H stay   G  [s   t]  H             s has no section beside it: no request can put it there
    so                    s                     a section stays, and G, t and H are put around it, if not in order already

`_staying` finds the most that can stay under that rule, `_placements` puts the rest in place; `tests/plan/test_order.py` compares both with
a search over all sequences of moves.

Own code, because libraries compute which items stay (difflib, increasing subsequences), but know neither anchors nor narrow items.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class SiblingMove(Generic[T]):
    """Take `item` out and put it directly before or directly after an anchor; to the end where neither is given."""

    item: T
    before: T | None = None
    after: T | None = None

    def __post_init__(self) -> None:
        if self.before is not None and self.after is not None:
            raise ValueError(f"a move of {self.item!r} has two anchors: before {self.before!r} and after {self.after!r}")


def _no_item(_: object) -> bool:
    return False


def moves(
    current: Sequence[T], wanted: Sequence[T], *, must: Collection[T] = (), narrow: Callable[[T], bool] = _no_item
) -> tuple[SiblingMove[T], ...]:
    """The moves after which the items of `wanted` are in that order among each other; empty where they already are.

    `current` may contain items that are not wanted: they are not moved and are never anchors. It may lack wanted items that are in `must`:
    they are anchors only once their own move has brought them. `must` names wanted items that are moved in any case. `narrow`: the items
    that can be put only beside items of which the same holds.

    Only where nothing stays has a move no anchor: the first one, of the first item. No item is moved twice, and an anchor either stays or
    has had its own move, so that a run that breaks off leaves no item beside one that was about to go. Under these two rules the moves are
    as few as can be; where no item is narrow, they would be no fewer without them. Of equally short answers it is the one that keeps the
    earliest wanted items in place. Takes O(n log n). Raises ValueError on duplicates, on an item of `must` that is not wanted, on a wanted
    one that is neither in `current` nor in `must`, and where some wanted items are narrow and all of those are in `must`.
    """
    positions = {item: position for position, item in enumerate(current)}
    moving = frozenset(must)
    _check(current, wanted, positions, moving)
    if not moving and all(positions[item] < positions[following] for item, following in pairwise(wanted)):
        return ()
    places = [None if item in moving else positions[item] for item in wanted]
    is_narrow = [narrow(item) for item in wanted]
    staying = _staying(places, is_narrow, len(current))
    if any(is_narrow) and not any(staying):
        raise ValueError("no narrow item can stay, so the others like it have nothing to be put beside")
    sibling_moves = tuple(_placements(wanted, is_narrow, staying))
    members = frozenset(wanted)
    assert [item for item in replay(current, sibling_moves) if item in members] == list(wanted), (
        "moves that do not lead to the wanted order"
    )
    return sibling_moves


def replay(current: Sequence[T], moves: Iterable[SiblingMove[T]]) -> tuple[T, ...]:
    """The siblings after `moves`, as the service would leave them; O(1) a move.

    An item that is not in `current` arrives by its first move. Raises ValueError on duplicates, and where an anchor is
    not among the siblings or is the moved item itself.
    """
    number = {item: index for index, item in enumerate(current, start=1)}  # 0 is the list itself: it closes the ring
    if len(number) != len(current):
        raise ValueError("siblings are listed twice")
    items = list(current)
    following = [*range(1, len(items) + 1), 0]
    preceding = [len(items), *range(len(items))]
    for move in moves:
        anchor = move.after if move.before is None else move.before
        if anchor is not None and (anchor == move.item or anchor not in number):
            raise ValueError(
                f"{move.item!r} cannot be put beside {anchor!r}: {'that is itself' if anchor == move.item else 'not a sibling'}"
            )
        moved = number.get(move.item)
        if moved is None:
            items.append(move.item)
            moved = number[move.item] = len(items)
            following.append(moved)
            preceding.append(moved)
        else:
            following[preceding[moved]], preceding[following[moved]] = following[moved], preceding[moved]
        if move.before is not None:
            right = number[move.before]
        elif move.after is not None:
            right = following[number[move.after]]
        else:
            right = 0
        left = preceding[right]
        following[left] = preceding[right] = moved
        preceding[moved], following[moved] = left, right
    order: list[T] = []
    index = following[0]
    while index:
        order.append(items[index - 1])
        index = following[index]
    return tuple(order)


def _check(current: Sequence[T], wanted: Sequence[T], positions: Collection[T], moving: Collection[T]) -> None:
    members = frozenset(wanted)
    if len(positions) != len(current) or len(members) != len(wanted):
        raise ValueError("siblings are listed twice")
    if strays := sorted(repr(item) for item in moving if item not in members):
        raise ValueError(f"{strays[0]} must be moved but has no place in the wanted order")
    for item in wanted:
        if item not in positions and item not in moving:
            raise ValueError(f"{item!r} is wanted but neither there nor about to arrive")


class _LongestBehind:
    """For each position of a list the longest chain that begins behind it; a Fenwick tree of maxima."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tree: dict[int, int] = {}

    def add(self, position: int, length: int) -> None:
        index = self._size - position
        while index <= self._size:
            self._tree[index] = max(self._tree.get(index, 0), length)
            index += index & -index

    def behind(self, position: int) -> int:
        index, longest = self._size - position - 1, 0
        while index:
            longest = max(longest, self._tree.get(index, 0))
            index -= index & -index
        return longest


def _staying(places: Sequence[int | None], is_narrow: Sequence[bool], size: int) -> list[bool]:
    """Which wanted items stay: as many as possible, and of equally many the earliest.

    `places` are positions among `size` current items, None for what is moved in any case. A chain is a run of items that
    can stay together; it is measured from its end, so that the earliest can be picked in one pass from the front.
    """
    count = len(places)
    ahead = [0, *accumulate(is_narrow)]  # narrow items before each one in the wanted order, and before the end
    longest = [0] * count  # of a chain that begins with this item; 0 where it cannot stay
    # Of the chains that begin further behind: with any item, with a narrow one, with a wide one of the current run of wide items.
    behind_any, behind_narrow, behind_wide = _LongestBehind(size), _LongestBehind(size), _LongestBehind(size)
    for index in reversed(range(count)):
        place = places[index]
        if is_narrow[index]:
            behind_wide = _LongestBehind(size)  # of those with no narrow item in between
        if place is None:
            continue
        if is_narrow[index]:
            longest[index] = 1 + behind_any.behind(place)
            behind_narrow.add(place, longest[index])
        else:
            # A wide item is followed by a narrow one, or by a wide one without narrow ones in between. Where narrow ones are still to
            # come and none of them stays behind it, it cannot be the last that stays.
            rest = max(behind_narrow.behind(place), behind_wide.behind(place))
            if not rest and ahead[index] < ahead[count]:
                continue
            longest[index] = 1 + rest
            behind_wide.add(place, longest[index])
        behind_any.add(place, longest[index])

    staying = [False] * count
    left = max((longest[index] for index in range(count) if is_narrow[index] or not ahead[index]), default=0)
    last = -1
    # From the front: the first item from which a chain of the length that is left begins, and that may follow the last one taken.
    for index in range(count):
        place = places[index]
        if not left or longest[index] != left or place is None:
            continue
        beside_narrow = is_narrow[index] or (last >= 0 and is_narrow[last])
        if (beside_narrow or ahead[index] == ahead[max(last, 0)]) and (last < 0 or (places[last] or 0) < place):
            staying[index] = True
            last = index
            left -= 1
    return staying


def _placements(wanted: Sequence[T], is_narrow: Sequence[bool], staying: Sequence[bool]) -> Iterator[SiblingMove[T]]:
    """One move for each item that does not stay, gap by gap from the front; a gap lies between two items that stay."""
    kept = [-1, *(index for index, stays in enumerate(staying) if stays), len(wanted)]
    for left, right in pairwise(kept):
        # The narrow ones of a gap first, each beside the narrow one at its side; then all others find somebody to be put beside.
        narrow = [index for index in range(left + 1, right) if is_narrow[index]]
        for previous, index in pairwise([left, *narrow]):
            behind = previous >= 0 and is_narrow[previous]
            yield SiblingMove(wanted[index], after=wanted[previous]) if behind else SiblingMove(wanted[index], before=wanted[right])
        settled = narrow[0] if narrow else right
        for index in range(left + 1, right):
            if is_narrow[index]:
                continue
            if index > 0:
                yield SiblingMove(wanted[index], after=wanted[index - 1])
            else:
                yield SiblingMove(wanted[index], before=wanted[settled] if settled < len(wanted) else None)
