"""What is stored between runs: bindings, the journal and the lease, in SQL.

In: values of `reconciler.model`. Out: the same values, durably. Forbidden: HTTP, knowledge of any kind, deciding what to do.
"""

from __future__ import annotations

from reconciler.model.state import IntentEnding as IntentEnding
from reconciler.state.commit_group import CommitGroup as CommitGroup, grouped as grouped
from reconciler.state.journal import Journal as Journal
from reconciler.state.lease import LEASE_SECONDS as LEASE_SECONDS, SEND_SECONDS_MAX as SEND_SECONDS_MAX
from reconciler.state.store import StateScope as StateScope, Store as Store
