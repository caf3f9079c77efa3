"""Days in texts for people."""

from __future__ import annotations

import re
from typing import Final

_UNTIL: Final = re.compile(r"\buntil (\d{4}-\d{2}-\d{2})\b", re.ASCII | re.IGNORECASE)


def until(text: str) -> str | None:
    """The day after the last word `until` in a text; the day may not exist in the calendar."""
    days = _UNTIL.findall(text)
    return days[-1] if days else None
