"""What was true before the last writes, kept in memory while a rule wants lists to lag."""

from __future__ import annotations

import copy
import sqlite3
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from reconciler.sandbox.faults.rules import AnyRule, ListLag
from reconciler.sandbox.store import Store

KEPT: Final = 100  # copies of the file


class Past:
    """Copies of one store, each made just before a write, the oldest first."""

    def __init__(self) -> None:
        self._of: Store | None = None
        self._copies: deque[tuple[datetime, Store]] = deque()

    def before_write(self, store: Store, rules: Sequence[AnyRule]) -> bool:
        """Keep a copy where a rule may need it, else drop all copies. Returns whether one was kept."""
        lags = [rule for rule in rules if isinstance(rule, ListLag)]
        if self._of is not store or not lags:
            self.forget()
            self._of = store
        if lags:
            memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            # the whole file is copied, not only lists: an answer joins several kinds, and they must be of one moment
            store.connection.backup(memory)
            past = copy.copy(store)
            past.connection = memory
            self._copies.append((store.now(), past))
        return bool(lags)

    def after_write(self, rules: Sequence[AnyRule], *, changed: bool) -> None:
        """Let go of the copy where nothing was written, and of those that no rule needs."""
        if not changed:
            self._copies.pop()[1].close()
            return
        lags = [rule for rule in rules if isinstance(rule, ListLag)]
        writes = max((rule.writes or 0 for rule in lags), default=0)
        oldest = self._copies[-1][0] - timedelta(seconds=max((rule.seconds or 0.0 for rule in lags), default=0.0))
        while len(self._copies) > KEPT or (len(self._copies) > max(1, writes) and self._copies[0][0] < oldest):
            self._copies.popleft()[1].close()

    def at(self, store: Store, rule: ListLag) -> Store | None:
        """The store as it was then; None where nothing was written since."""
        if self._of is not store or not self._copies:
            return None
        if rule.writes is not None:
            return self._copies[max(0, len(self._copies) - rule.writes)][1]
        then = store.now() - timedelta(seconds=rule.seconds or 0.0)
        return next((copy for moment, copy in self._copies if moment > then), None)

    def forget(self) -> None:
        while self._copies:
            self._copies.pop()[1].close()
