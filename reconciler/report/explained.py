"""The words that features explain themselves in `reconciler explain`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from reconciler.report.layout import Span
from reconciler.seams import Seam


class Explained(NamedTuple):
    """Words that a feature explains itself. `page`: of one of them, at a width."""

    words: Collection[str]
    page: Callable[[str, int], list[Span]]


EXPLAINED: Final[Seam[Explained]] = Seam("explained", "words that features explain")
