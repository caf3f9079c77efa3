"""How one request of the journal ended, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from reconciler.address import Address
from reconciler.model import Binding


@dataclass(frozen=True)
class IntentEnding:
    """How an intent ended, and what is recorded in the same transaction: whole bindings, forgotten addresses, fields seen.

    `in-doubt` leaves the intent open; every other status closes it. `error` is a sentence, None where it is done. `after`: for the history,
    what was seen by field; the caller leaves out sensitive values. `rename`: tracked addresses that change, with their new ones; `bind`
    uses the new ones.
    """

    intent: int
    status: Literal["done", "failed", "in-doubt", "not-sent", "recovered"]
    error: str | None = None
    bind: tuple[Binding, ...] = ()
    forget: tuple[Address, ...] = ()
    seen: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    after: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    rename: Mapping[Address, Address] = field(default_factory=dict)
