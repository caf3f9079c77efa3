"""The words of the pages: one for each status, class of change and time. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from reconciler.fleet.model import Approval, ChangeClass
from reconciler.fleet.status import StatusWord, lasting
from reconciler.report.words import count
from reconciler.text.escape import as_json

WORDS: Final = (StatusWord.UNKNOWN, StatusWord.OUT_OF_SYNC, StatusWord.SYNCED)
CHANGES: Final = {
    ChangeClass.TITLES: "changes of titles only",
    ChangeClass.ORDER: "changes of order",
    ChangeClass.UPDATE: "updates",
    ChangeClass.CREATE: "new resources",
    ChangeClass.DELETE: "deletions",
    ChangeClass.REPLACE: "replacements",
    ChangeClass.EXPOSURE: "exposures",
}
RULES: Final = {
    Approval.AUTO: "nobody has to approve it",
    Approval.ONE: "one person",
    Approval.TWO: "two people, not the author of the commit",
}
ENDED: Final = {"done": "Done", "failed": "Failed", "late": "Ended after the time limit", "lost": "Lost with its worker"}
REHEARSED: Final = {
    "": "The rehearsal was deleted",
    "waiting": "A rehearsal of the plan was asked for",
    "underWay": "A rehearsal of the plan has begun",
    "failed": "The rehearsal of the plan failed",
    "done": "The rehearsal of the plan has ended",
    "outdated": "The service contains something else since the rehearsal",
}
SORTS: Final = {"end": "Ends", "exception": "Exception", "pause": "Pause"}
SAYS_MODE: Final = {
    "watch": "The fleet watches it and applies nothing.",
    "plan": "The fleet keeps its plan and applies nothing.",
    "apply": "The fleet applies what needs no approval, or has it.",
}
MODES: Final = {"watch": "Watch", "plan": "Plan", "apply": "Apply"}


def moment(at: datetime) -> str:
    """`23 Nov 2026, 14:02 UTC`."""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def day(at: datetime, days: int = 0) -> str:
    """`2026-11-23`, or some days later, for a field of a form."""
    return f"{(at.astimezone(UTC) + timedelta(days=days)):%Y-%m-%d}"


def day_name(day: date) -> str:
    """`Monday 23 November 2026`."""
    return f"{day:%A} {day.day} {day:%B %Y}"


def value(value: object) -> str:
    """A value of the audit log: a text as it is, anything else as JSON on one line."""
    return value if isinstance(value, str) else as_json(value, indent=None)


def seconds(number: float) -> str:
    return lasting(timedelta(seconds=number))


def ratio(number: float, most: float) -> str:
    """A length of 100, for a bar."""
    return f"{100 * min(number / most, 1):.1f}" if most > 0 else "0"


def machine(at: datetime) -> str:
    """For `datetime` attributes."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def ago(at: datetime, now: datetime) -> str:
    """`5 min ago`, `in 3 h`."""
    passed = now - at
    return f"{lasting(passed)} ago" if passed >= timedelta() else f"in {lasting(-passed)}"


def short(commit: str | None) -> str:
    """The beginning of a commit or a digest."""
    return commit[:12] if commit else ""


def percent(share: float | None) -> str:
    """`93 %`; a share below 1 never rounds up to 100 %."""
    return f"{int(share * 100)} %" if share is not None else ""


def people(number: int) -> str:
    return count(number, "person", "people")
