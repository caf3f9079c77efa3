"""What is stored between runs: bindings, the journal and the lease, in SQL.

In: values of `reconciler.model`. Out: the same values, durably. Forbidden: HTTP, knowledge of any kind, deciding what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.deferred import deferred

if TYPE_CHECKING:
    from reconciler.state.ending import IntentEnding
    from reconciler.state.group import CommitGroup, grouped
    from reconciler.state.journal import Journal
    from reconciler.state.lease import LEASE_SECONDS, SEND_SECONDS_MAX
    from reconciler.state.store import StateScope, Store

__all__ = ["LEASE_SECONDS", "SEND_SECONDS_MAX", "CommitGroup", "IntentEnding", "Journal", "StateScope", "Store", "grouped"]

if not TYPE_CHECKING:
    __getattr__ = deferred(
        __name__,
        {
            "ending": "IntentEnding",
            "group": "CommitGroup grouped",
            "journal": "Journal",
            "lease": "LEASE_SECONDS SEND_SECONDS_MAX",
            "store": "StateScope Store",
        },
    )
