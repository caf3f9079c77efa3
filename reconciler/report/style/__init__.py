"""The style sheets of pages: `product.css` is part of every page, and each page adds what only it has."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
PRODUCT: Final = FOLDER / "product.css"


@cache
def style(*names: str) -> str:
    """The style sheet of a page: that of the product, then the files `names` of this folder."""
    return "".join((FOLDER / f"{name}.css").read_text(encoding="utf-8") for name in ("product", *names))
