"""Several things that a text or a collection must contain."""

from __future__ import annotations

from collections.abc import Container
from typing import Any


def assert_contains(whole: Container[Any], *parts: Any) -> None:
    """Fails with what is missing, and the whole."""
    __tracebackhide__ = True
    missing = [part for part in parts if part not in whole]
    assert not missing, "\n".join(["missing:", *(f"    {part!r}" for part in missing), "in:", str(whole)])
