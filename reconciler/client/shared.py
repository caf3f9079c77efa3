"""A budget that this process shares with others that use the same token.

Whoever embeds the program installs one before anything is sent; by default there is none. Forbidden: knowing what is behind it.
"""

from __future__ import annotations

from typing import Protocol

from reconciler.client.hints import Hints


class Shared(Protocol):
    """Asked before each request, in addition to the gate of this process."""

    async def take(self, method: str, seconds: float) -> int:
        """Leave to send one request now; raises TimeoutError where it would take longer than `seconds`."""

    def report(self, ticket: int, status: int | None, hints: Hints | None) -> None:
        """What became of a request: called once for each ticket. `status`: None where no answer came."""


_INSTALLED: list[Shared] = []


def install(shared: Shared) -> None:
    """Use a budget for every request of this process from now on."""
    _INSTALLED[:] = [shared]


def installed() -> Shared | None:
    return _INSTALLED[0] if _INSTALLED else None
