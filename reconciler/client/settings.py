"""The service, and the limits of requests to it.

In: values of the command line or the environment. Out: `ClientSettings`, checked, with a normalized base URL.
Forbidden: I/O, reading the environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from reconciler.client.pacing import Clock, SharedBudget
from reconciler.errors import UsageError
from reconciler.text.service_url import TOKEN_VARIABLE, normalise

BODY_MAX: Final = 64 * 1024 * 1024  # decoded bytes; the largest page measured, 1,000 members, is under 2 MB
_TOKEN = re.compile(r"[!-~]+", re.ASCII)  # visible ASCII: what a header can carry without being split or re-encoded

_MACHINE: Final = Clock()


@dataclass(frozen=True)
class ClientSettings:
    """A service, its token and the limits of requests to it. The repr does not contain the token.

    `timeout`: seconds for one exchange, from connecting to the last byte of the answer.
    `max_rps`: requests a second that are never exceeded; None: only the service limits the rate.
    `max_body`: bytes of one decoded body. `secrets`: texts masked in the service's messages, besides the token.
    `budget`: what this process shares with others that use the same token; None if it is alone. `clock`: what waiting is measured with.
    """

    base_url: str
    token: str = field(repr=False)
    timeout: float = 30.0
    max_concurrency: int = 64
    max_rps: float | None = None
    max_body: int = BODY_MAX
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    budget: SharedBudget | None = field(default=None, repr=False)
    clock: Clock = field(default=_MACHINE, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", normalise(self.base_url))
        if not self.token:
            raise UsageError("there is no token for the service", id="RC-no-token", hint=f"Set {TOKEN_VARIABLE}.")
        if _TOKEN.fullmatch(self.token) is None:
            wrong = "the token contains white space or non-ASCII characters"
            raise UsageError(wrong, id="RC-token-characters", hint=f"Check {TOKEN_VARIABLE} for a line break.")
        for name in ("timeout", "max_concurrency", "max_rps", "max_body"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} is {value}, and must be more than 0", id="RC-option-value")
