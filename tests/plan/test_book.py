"""The plans in the book are as they were reviewed, and the plan of every page, in the book or not, does what it promises."""

from __future__ import annotations

import pytest

from reconciler.kinds import load as kinds
from reconciler.plan.prove import prove
from tests.plan.book import BOOK, SHOWN, page_text, pages_of, scene
from tests.plan.edits import Page
from tests.plan.pages import PAGES
from tests.proofs import spread

KEPT = pages_of(BOOK.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name in SHOWN], ids=lambda page: page.name)
def test_the_plan_is_as_in_the_book(page: Page) -> None:
    assert page_text(page) == KEPT[page.name]


def test_the_book_has_these_pages_and_no_others() -> None:
    assert list(KEPT) == [page.name for page in PAGES if page.name in SHOWN]
    assert len(KEPT) == len(SHOWN)


@pytest.mark.parametrize("page", spread(PAGES, 60), ids=lambda page: page.name)
def test_after_a_plan_nothing_is_left_to_send_but_what_it_says(page: Page) -> None:
    """Carried out on a model of the service, a plan leaves only what it reports as blocked, deferred or in doubt."""
    made = scene(page)
    prove(kinds(), made.desired, made.state, made.actual, made.plan, selection=made.selection)
