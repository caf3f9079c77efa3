"""The seam between the state and the tables of features: whoever has the state reads and writes these with functions of their feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from reconciler.state.connection import Connection

T = TypeVar("T")


class StoredTables(Protocol):
    """What can be asked for a part of the state: a store, the journal of a run, or a run that opens its store for each question."""

    def stored(self, work: Callable[[Connection, int], T]) -> T | None:
        """What `work` reads, given a connection inside a transaction and the number of the state; None where there is no state yet."""
