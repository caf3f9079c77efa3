"""The secrets of a run, and texts and data without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from reconciler.text.redact import Mask

T = TypeVar("T")


class Masks:
    """The values that are masked in everything that leaves the program."""

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._mask: Mask | None = None

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values from now on, in any form in which they are written."""
        new = {value for value in values if value} - self._values
        if new:
            self._values |= new
            self._mask = None  # a mask is one large expression over all values: it is compiled when a text needs it next

    @property
    def values(self) -> frozenset[str]:
        """The masked values."""
        return frozenset(self._values)

    def _current(self) -> Mask:
        self._mask = self._mask or Mask(self._values)
        return self._mask

    def text(self, text: str) -> str:
        """The text with secrets masked."""
        return self._current().text(text)

    def data(self, value: T) -> T:
        """The same data with its texts masked; done before layout, because a line break inside a secret would prevent the masking."""
        masked: T = self._current().data(value)
        return masked
