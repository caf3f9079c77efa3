"""The plan of each page of the book is as it stands there, word for word."""

from __future__ import annotations

import pytest

from tests.plan.book import BOOK, page_text, pages_of
from tests.plan.edits import Page
from tests.plan.pages import PAGES
from tests.proofs import spread

KEPT = pages_of(BOOK.read_text(encoding="utf-8"))
FULLEST = sorted(PAGES, key=lambda page: -len(KEPT.get(page.name, "")))  # the likeliest to fail first


@pytest.mark.parametrize("page", spread(FULLEST, 60), ids=lambda page: page.name)
def test_the_plan_is_as_in_the_book(page: Page) -> None:
    assert page_text(page) == KEPT[page.name]


def test_the_book_has_these_pages_and_no_others() -> None:
    assert list(KEPT) == [page.name for page in PAGES]
