"""What earlier runs did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reconciler.address import Address
from reconciler.model.state import Intent


@dataclass(frozen=True)
class Run:
    """One run that held the lease. `ended` and `exit_code` are None where it was killed or is under way. `did`: requests done, by verb.

    `undone`: requests that failed or are in doubt, by how they ended.
    """

    id: str
    who: str
    command: str
    started: datetime
    ended: datetime | None
    exit_code: int | None
    did: Mapping[str, int] = field(default_factory=dict)
    undone: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One request of the journal and how it ended.

    `status`: done, failed, in-doubt, not-sent or recovered. `bound`: the ids its answer bound, by address; `forgotten`: addresses let go.
    `after`: per address the request form of the fields as they were seen after it, sensitive ones left out.
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
