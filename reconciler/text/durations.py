"""Durations in texts for people."""

from __future__ import annotations

SECONDS_MAX = 120  # what is longer is said in minutes


def duration(seconds: float) -> str:
    """`40 s`, `8 min`, `1 h 20 min`."""
    if seconds < SECONDS_MAX:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
