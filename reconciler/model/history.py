"""What earlier runs did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from reconciler.address import Address
from reconciler.model.state import Intent


class RunStatus(StrEnum):
    """The status of a run. `KILLED`: it never recorded its end, and no longer holds the state."""

    ENDED = "ended"
    RUNNING = "running"
    KILLED = "killed"


class What(StrEnum):
    """What happened to a binding without a request."""

    ADOPT = "adopt"
    FORGET = "forget"
    RENAME = "rename"
    PROTECT = "protect"
    UNPROTECT = "unprotect"


@dataclass(frozen=True)
class StateChange:
    """One change of the state without a request. `address`: where the object is tracked after it, or was before a forget; `id`: the
    object's.

    `old`: the address it had before a rename, None otherwise.
    """

    what: What
    address: Address
    kind: str
    id: str
    old: Address | None = None


@dataclass(frozen=True)
class RecordedRun:
    """One run that held the lease. `ended` and `exit_code` are None where it is running or was killed. `did`: requests done, by verb.

    `undone`: requests that failed or are in doubt, by how they ended. `turned`: changes of the state without a request, by what they were.
    """

    id: str
    who: str
    command: str
    started: datetime
    ended: datetime | None
    exit_code: int | None
    did: Mapping[str, int] = field(default_factory=dict)
    undone: Mapping[str, int] = field(default_factory=dict)
    turned: Mapping[str, int] = field(default_factory=dict)
    running: bool = False  # it holds the state now

    @property
    def status(self) -> RunStatus:
        """Whether it ended, is running, or was killed."""
        if self.exit_code is not None:
            return RunStatus.ENDED
        return RunStatus.RUNNING if self.running else RunStatus.KILLED

    @property
    def anything(self) -> bool:
        """Whether it sent anything or changed the state."""
        return bool(self.did or self.undone or self.turned)


@dataclass(frozen=True)
class JournalEntry:
    """One request of the journal and how it ended.

    `status`: done, failed, in-doubt, not-sent or recovered. `bound`: the ids tracked by its outcome, by address; `forgotten`: addresses no
    longer tracked. `after`: per address the request form of the fields as they were seen after it, without sensitive ones.
    """

    intent: Intent
    at: datetime
    status: str
    error: str | None = None
    bound: Mapping[Address, str] = field(default_factory=dict)
    forgotten: tuple[Address, ...] = ()
    after: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether the service did it."""
        return self.status in ("done", "recovered")
