"""What features say of a plan or a project: values under typed keys, which the kernel carries and does not look into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from reconciler.seams import fill

T = TypeVar("T")


class FeatureKey(Generic[T]):
    """The key of what one feature says. `name`: unique. `absent`: its value where nothing was said. `pending`: whether a value alone is
    something to approve."""

    # Not a dataclass: whatever hides secrets goes through those, and would make another key.
    def __init__(self, name: str, absent: T, *, pending: Callable[[T], bool] = lambda value: False) -> None:
        self.name, self.absent, self.pending = name, absent, pending
        assert name not in _KEYS, f"two features have the key {name}"
        _KEYS[name] = self

    def __reduce__(self) -> tuple[Callable[[str], FeatureKey[Any]], tuple[str]]:
        # A key that is sent to another process is the same there: values are found by the key itself.
        return key_named, (self.name,)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def of(self, values: Mapping[Any, Any]) -> T:
        """Its value among those of all features."""
        value: T = values.get(self, self.absent)
        return value


_KEYS: Final[dict[str, FeatureKey[Any]]] = {}


def key_named(name: str) -> FeatureKey[Any]:
    """The key with this name, which is unique."""
    if name not in _KEYS:
        fill()  # imports the features
    return _KEYS[name]


FeatureValues = Mapping[FeatureKey[Any], Any]
"""What features say, by their keys."""
