"""`python -m tests.plan`: write the book again; read the difference before it is committed."""

from __future__ import annotations

from tests.plan.book import BOOK, written

BOOK.write_text(written(), encoding="utf-8")
