"""What features say of a plan or a project: values under typed keys, which the kernel carries and does not look into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class FeatureKey(Generic[T]):
    """The key of what one feature says. `absent`: its value where nothing was said. `pending`: whether a value alone is something to
    approve."""

    # Not a dataclass: whatever hides secrets goes through those, and would make another key.
    def __init__(self, name: str, absent: T, *, pending: Callable[[T], bool] = lambda value: False) -> None:
        self.name, self.absent, self.pending = name, absent, pending

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def of(self, values: Mapping[Any, Any]) -> T:
        """Its value among those of all features."""
        value: T = values.get(self, self.absent)
        return value


FeatureValues = Mapping[FeatureKey[Any], Any]
"""What features say, by their keys."""
