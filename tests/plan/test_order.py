"""Sibling order: right by replay, and with as few moves as a search over all moves finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import pytest
from hypothesis import example, given, settings, strategies as st

from reconciler.plan.siblings.moves import SiblingMove, moves, replay
from tests.effort import within
from tests.proofs import costly

UNMANAGED = 100  # items from here on are not wanted


@dataclass(frozen=True)
class Case:
    current: tuple[int, ...]
    wanted: tuple[int, ...]
    must: frozenset[int] = frozenset()
    narrow: frozenset[int] = frozenset()

    def beside(self, item: int, anchor: int) -> bool:
        """Whether the item can be put beside that one."""
        return item not in self.narrow or anchor in self.narrow

    def answer(self) -> tuple[SiblingMove[int], ...]:
        return moves(self.current, self.wanted, must=self.must, narrow=self.narrow.__contains__)


@st.composite
def cases(draw: st.DrawFn, *, size: int, mixed: bool) -> Case:
    wanted = tuple(range(draw(st.integers(0, size))))
    some = st.frozensets(st.sampled_from(wanted)) if wanted else st.just(frozenset[int]())
    must = draw(some)
    arriving = must & draw(some)
    here = [item for item in wanted if item not in arriving] + [UNMANAGED + index for index in range(draw(st.integers(0, 2)))]
    narrow = draw(some) if mixed else frozenset[int]()
    if narrow and narrow <= must:
        must -= {min(narrow)}
        here += [item for item in wanted if item in arriving and item not in must]
    return Case(tuple(draw(st.permutations(here))), wanted, must, narrow)


def fewest(case: Case, *, borrow: bool) -> int:
    """The length of the shortest sequence of moves that will do, by trying all of them.

    Without `borrow`, no item is moved twice or after another was anchored on it.
    """
    state = (case.current, frozenset[int](), frozenset[int]())
    seen, level, count = {state}, [state], 0
    while True:
        deeper = []
        for siblings, moved, used in level:
            if case.must <= moved and tuple(item for item in siblings if item < UNMANAGED) == case.wanted:
                return count
            for item in case.wanted:
                if not borrow and item in moved | used:
                    continue
                rest = tuple(other for other in siblings if other != item)
                result = [] if item in case.narrow else [((*rest, item), used)]
                for index, anchor in enumerate(rest):
                    if anchor < UNMANAGED and case.beside(item, anchor):
                        now_used = used if borrow else used | {anchor}
                        result += [((*rest[:at], item, *rest[at:]), now_used) for at in (index, index + 1)]
                for order, now_used in result:
                    after = (order, moved | ({item} & case.must if borrow else {item}), now_used)
                    if after not in seen:
                        seen.add(after)
                        deeper.append(after)
        level, count = deeper, count + 1


def rising(numbers: Sequence[int]) -> bool:
    return list(numbers) == sorted(numbers)


@given(st.one_of(cases(size=30, mixed=False), cases(size=30, mixed=True)))
def test_the_moves_lead_to_the_wanted_order(case: Case) -> None:
    assert tuple(item for item in replay(case.current, case.answer()) if item < UNMANAGED) == case.wanted


@given(st.one_of(cases(size=30, mixed=False), cases(size=30, mixed=True)))
def test_unmanaged_siblings_stay_put_and_are_never_anchors(case: Case) -> None:
    answer = case.answer()
    assert all(value is None or value < UNMANAGED for move in answer for value in (move.item, move.before, move.after))
    unmanaged = [item for item in case.current if item >= UNMANAGED]
    assert [item for item in replay(case.current, answer) if item >= UNMANAGED] == unmanaged


@given(cases(size=30, mixed=True))
def test_only_anchors_that_stand_for_good_are_used(case: Case) -> None:
    answer = case.answer()
    later = [move.item for move in answer]
    for move in answer:
        later.pop(0)
        anchor = move.after if move.before is None else move.before
        assert anchor is None or (case.beside(move.item, anchor) and anchor not in later)


@given(cases(size=30, mixed=True))
def test_only_the_first_move_of_a_list_where_nothing_stays_has_no_anchor(case: Case) -> None:
    plain = [move for move in case.answer() if move.before is None and move.after is None]
    assert plain == ([SiblingMove(case.wanted[0])] if case.wanted and case.must == set(case.wanted) else [])


@given(cases(size=30, mixed=True))
def test_what_must_move_moves_and_nothing_moves_twice(case: Case) -> None:
    items = [move.item for move in case.answer()]
    assert case.must <= set(items)
    assert len(items) == len(set(items))


@given(cases(size=8, mixed=False))
def test_where_nothing_is_narrow_everything_but_the_longest_rising_run_moves(case: Case) -> None:
    free = [item for item in case.current if item in case.wanted and item not in case.must]
    longest = max(size for size in range(len(free) + 1) if any(rising(some) for some in combinations(free, size)))
    assert len(case.answer()) == len(case.wanted) - longest


@costly
@settings(max_examples=40)
@given(cases(size=6, mixed=False))
def test_where_nothing_is_narrow_no_sequence_of_moves_is_shorter(case: Case) -> None:
    assert len(case.answer()) == fewest(case, borrow=True)


@settings(max_examples=40)
@given(cases(size=5, mixed=True))
@example(Case((4, 3, 1, 2, 0), (0, 1, 2, 3, 4), narrow=frozenset({0, 1, 2, 3})))
def test_where_some_are_narrow_no_sequence_that_moves_each_once_is_shorter(case: Case) -> None:
    assert len(case.answer()) == fewest(case, borrow=False)


def one_item_out_of_place(size: int) -> list[Case]:
    wanted = tuple(range(size))
    result = []
    for item, bits in product(wanted, product((False, True), repeat=size)):
        narrow = frozenset(other for other, bit in zip(wanted, bits, strict=True) if bit)
        rest = [other for other in wanted if other != item]
        if narrow != {item}:
            result.append(Case(tuple(rest), wanted, frozenset({item}), narrow))
        result += [Case((*rest[:at], item, *rest[at:]), wanted, narrow=narrow) for at in range(size)]
    return result


def test_one_new_or_displaced_item_takes_the_fewest_moves_that_move_each_item_once() -> None:
    for case in one_item_out_of_place(4):
        assert len(case.answer()) == fewest(case, borrow=False), case


@given(cases(size=7, mixed=True))
def test_of_equally_small_answers_the_earliest_items_stay(case: Case) -> None:
    def sufficient(kept: tuple[int, ...]) -> bool:
        """Whether the kept items can stay, by the rules in the module's docstring."""
        if not rising([case.current.index(item) for item in kept]):
            return False
        for index, item in enumerate(kept):
            before = kept[index - 1] if index else -1
            if (set(case.wanted[before + 1 : item]) & case.narrow) and item not in case.narrow and before not in case.narrow:
                return False
        return not (set(case.wanted[kept[-1] + 1 :]) & case.narrow if kept else case.narrow) or bool(kept and kept[-1] in case.narrow)

    answer = case.answer()
    free = [item for item in case.wanted if item not in case.must]
    kept = tuple(item for item in case.wanted if item not in {move.item for move in answer})
    assert kept == min([some for some in combinations(free, len(kept)) if sufficient(some)])


@pytest.mark.parametrize(
    ("current", "wanted", "expected", "why"),
    [
        ("abc", "abc", [], "nothing to do"),
        ("", "", [], "nothing at all"),
        ("bca", "abc", [SiblingMove("a", before="b")], "the first has no previous sibling"),
        ("acb", "abc", [SiblingMove("c", after="b")], "of two equal answers the earlier item b stays"),
        ("cab", "abc", [SiblingMove("c", after="b")], "the last one is named, not the end of the list"),
        ("cabd", "abcd", [SiblingMove("c", after="b")], "the previous sibling is preferred to the next"),
        ("abzcd", "acbd", [SiblingMove("b", after="c")], "z is unmanaged"),
        (
            "aefd",
            "abcdef",
            [SiblingMove("b", after="a"), SiblingMove("c", after="b"), SiblingMove("d", after="c")],
            "b and c arrive from elsewhere",
        ),
        ("", "ab", [SiblingMove("a"), SiblingMove("b", after="a")], "both arrive in an empty list"),
        ("caB", "aBc", [SiblingMove("c", after="a"), SiblingMove("B", after="a")], "c is narrow, and so is a: B makes room"),
        ("BaCd", "adBC", [SiblingMove("B", after="d"), SiblingMove("C", after="B")], "the narrow ones stay, since they come first"),
        ("aBC", "BCa", [SiblingMove("B", before="a"), SiblingMove("C", after="B")], "a is narrow and has nothing to be put beside"),
    ],
)
def test_moves_are_anchored_on_the_nearest_placed_sibling(current: str, wanted: str, expected: list[SiblingMove[str]], why: str) -> None:
    """Small letters are narrow where there are capitals among them."""
    must = [item for item in wanted if item not in current]
    mixed = wanted.lower() != wanted
    assert list(moves(current, wanted, must=must, narrow=lambda item: mixed and item.islower())) == expected, why


@pytest.mark.parametrize(
    ("current", "wanted", "must", "says"),
    [
        ("aa", "a", "", "twice"),
        ("a", "aa", "", "twice"),
        ("a", "ab", "", "'b' is wanted"),
        ("ab", "a", "b", "'b' must be moved"),
        ("aB", "aB", "a", "nothing to be put beside"),
    ],
)
def test_contradicting_siblings_are_refused(current: str, wanted: str, must: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        moves(current, wanted, must=must, narrow=lambda item: "B" in wanted and item.islower())


@pytest.mark.parametrize("anchor", ["x", "a"])
def test_replay_refuses_an_anchor_that_is_missing_or_the_item_itself(anchor: str) -> None:
    with pytest.raises(ValueError, match="cannot be put beside"):
        replay("abc", [SiblingMove("a", after=anchor)])


def test_a_move_has_one_anchor_at_most() -> None:
    with pytest.raises(ValueError, match="two anchors"):
        SiblingMove("a", before="b", after="c")


def plainly(current: Sequence[int], some: Sequence[SiblingMove[int]]) -> tuple[int, ...]:
    """The definition of replay, on a list."""
    siblings = list(current)
    for move in some:
        siblings = [item for item in siblings if item != move.item]
        at = len(siblings)
        if move.before is not None:
            at = siblings.index(move.before)
        elif move.after is not None:
            at = siblings.index(move.after) + 1
        siblings.insert(at, move.item)
    return tuple(siblings)


@given(st.permutations(range(6)), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5), st.sampled_from(["before", "after", "end"]))))
def test_replay_agrees_with_its_definition(current: list[int], drawn: list[tuple[int, int, str]]) -> None:
    some = [
        SiblingMove(item, before=anchor if side == "before" else None, after=anchor if side == "after" else None)
        for item, anchor, side in drawn
        if item != anchor
    ]
    assert replay(current, some) == plainly(current, some)


@pytest.mark.parametrize("narrow", [lambda _: True, lambda item: item % 2 == 0, lambda _: False])
def test_reversing_a_thousand_siblings_takes_less_than_half_a_second(narrow: Callable[[int], bool]) -> None:
    assert len(within(0.5, lambda: moves(range(999, -1, -1), range(1000), narrow=narrow))) == 999
