"""The plans in the book are as they were reviewed, and the plan of every page, in the book or not, does what it promises.

The planner's passes: a pass changes nothing that it is given, and passes that are independent may be exchanged."""

from __future__ import annotations

from typing import Final

import pytest

from reconciler.address import Address
from reconciler.kinds import load as kinds
from reconciler.plan import planner
from reconciler.plan.drafts.undeclared import undeclared
from reconciler.plan.passes.contents import contents
from reconciler.plan.passes.prerequisites import last_admin, required_kinds
from reconciler.plan.passes.renames import probable_renames, repeated_renames
from reconciler.plan.planner import PASSES
from reconciler.plan.prove import prove
from reconciler.plan.world import Decisions, Pass, Worklist, World
from tests.plan.book import BOOK, SHOWN, page_text, pages_of, scene
from tests.plan.edits import Page
from tests.plan.pages import PAGES
from tests.proofs import costly, sampled, spread, stride, tries

KEPT = pages_of(BOOK.read_text(encoding="utf-8"))


@costly
@pytest.mark.parametrize("page", [page for page in PAGES if page.name in SHOWN], ids=lambda page: page.name)
def test_the_plan_is_as_in_the_book(page: Page) -> None:
    assert page_text(page) == KEPT[page.name]


def test_the_book_has_these_pages_and_no_others() -> None:
    assert list(KEPT) == [page.name for page in PAGES if page.name in SHOWN]
    assert len(KEPT) == len(SHOWN)


@costly
@pytest.mark.parametrize("page", spread(PAGES, 60), ids=lambda page: page.name)
def test_after_a_plan_nothing_is_left_to_send_but_what_it_says(page: Page) -> None:
    """Carried out on a model of the service, a plan leaves only what it reports as blocked, deferred or in doubt."""
    made = scene(page)
    prove(World(kinds(), made.desired, made.state, made.actual, made.selection), made.plan)


INDEPENDENT: Final = ((repeated_renames, probable_renames), (last_admin, required_kinds))


def exchanged(first: Pass, second: Pass) -> tuple[Pass, ...]:
    other = {first: second, second: first}
    return tuple(other.get(pass_, pass_) for pass_ in PASSES)


@costly
@sampled
@pytest.mark.parametrize("pair", INDEPENDENT, ids=lambda pair: " and ".join(pass_.__name__ for pass_ in pair))
def test_independent_passes_may_be_exchanged(pair: tuple[Pass, Pass], monkeypatch: pytest.MonkeyPatch) -> None:
    pages = PAGES[:: stride(12)]
    before = [page_text(page) for page in pages]
    monkeypatch.setattr(planner, "PASSES", exchanged(*pair))
    assert [page_text(page) for page in pages] == before


def test_passes_that_depend_on_each_other_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    page = next(page for page in PAGES if page.name == "a collection goes, one in it is protected")
    before = page_text(page)
    monkeypatch.setattr(planner, "PASSES", exchanged(undeclared, contents))
    assert page_text(page) != before


@sampled
def test_a_pass_returns_its_decisions_and_changes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run twice on the same decisions it decides the same, and what it was given is as it was."""
    wrong: list[str] = []

    def watched(pass_: Pass) -> Pass:
        def run(world: World, decisions: Decisions) -> Decisions:
            drafts, removals = dict(decisions.drafts), dict(decisions.removals)
            first, second = pass_(world, decisions), pass_(world, decisions)
            if (first.drafts, first.removals, first.notes) != (second.drafts, second.removals, second.notes):
                wrong.append(f"{pass_.__name__} decides another time")
            if (drafts, removals) != (dict(decisions.drafts), dict(decisions.removals)):
                wrong.append(f"{pass_.__name__} changed what it was given")
            return first

        return run

    monkeypatch.setattr(planner, "PASSES", tuple(watched(pass_) for pass_ in PASSES))
    for page in some_pages():
        page_text(page)
    assert wrong == []


def some_pages() -> list[Page]:
    """Some of those in the book, and others spread over all."""
    return [*[page for page in PAGES if page.name in SHOWN][:: tries(8, 20)], *PAGES[:: stride(40)]]


# -- what a pass looks at again ----------------------------------------------------------------------------------------------------


def looked_at(order: str, again: dict[str, str]) -> str:
    """The keys in the order in which they are looked at. `again`: what each adds when it is looked at first."""
    worklist, seen, left = Worklist(Address((key,)) for key in order), "", dict(again)
    for address in worklist:
        seen += str(address)
        for key in left.pop(str(address), ""):
            worklist.add(Address((key,)))
    return seen


def test_what_is_still_to_come_is_looked_at_once() -> None:
    assert looked_at("abc", {"a": "bc"}) == "abc"


def test_what_is_over_comes_again_in_the_next_round_in_the_same_order() -> None:
    assert looked_at("abcd", {"c": "b", "d": "a"}) == "abcdab"


def test_what_is_added_twice_in_a_round_comes_again_once() -> None:
    assert looked_at("abc", {"b": "a", "c": "a"}) == "abca"
