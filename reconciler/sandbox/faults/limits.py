"""Rate limits: a fixed window or a bucket of tokens, by the service's clock. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

Kept = tuple[float, float]  # of a window: its beginning and what was used; of a bucket: when it was looked at and what is in it


@dataclass(frozen=True)
class Verdict:
    """Whether a request may pass. `reset` is in seconds since 1970, `wait` in seconds from now."""

    allowed: bool
    limit: int
    remaining: int
    reset: int
    wait: int

    def headers(self) -> dict[str, str]:
        return {"X-RateLimit-Limit": str(self.limit), "X-RateLimit-Remaining": str(self.remaining), "X-RateLimit-Reset": str(self.reset)}


def window(limit: int, length: float, kept: Kept | None, now: float) -> tuple[Verdict, Kept]:
    """So many requests between two full windows of the clock."""
    start = math.floor(now / length) * length
    used = kept[1] if kept is not None and kept[0] == start else 0.0
    allowed = used < limit
    used += allowed
    return _verdict(allowed, limit, int(limit - used), start + length, now), (start, used)


def bucket(limit: int, length: float, kept: Kept | None, now: float) -> tuple[Verdict, Kept]:
    """So many tokens, of which a request takes one; an empty bucket is full again after `length` seconds."""
    at, tokens = kept if kept is not None else (now, float(limit))
    tokens = min(float(limit), tokens + max(0.0, now - at) * limit / length)
    allowed = tokens >= 1 - 1e-9
    tokens -= allowed
    missing = max(0.0, 1 - tokens) if limit else 0.0
    ready = now + (missing * length / limit if limit else length)
    return _verdict(allowed, limit, max(0, math.floor(tokens + 1e-9)), ready, now), (now, tokens)


def _verdict(allowed: bool, limit: int, remaining: int, reset: float, now: float) -> Verdict:
    return Verdict(allowed, limit, remaining, math.ceil(reset - 1e-6), max(0, math.ceil(reset - now - 1e-6)))
