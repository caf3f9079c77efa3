"""The words and symbols of reports: one for each action, and numbers with their nouns."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from reconciler.address import bare
from reconciler.model import Action, Severity, StepStatus
from reconciler.report.layout import Style


class Level(StrEnum):
    """The severity of a check; `SKIPPED`: it could not be run."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    PROBLEM = "problem"


SYMBOLS: Final = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.MOVE: ">",
    Action.REPLACE: "-/+",
    Action.DELETE: "-",
    Action.ADOPT: "=",
    Action.FORGET: ".",
    Action.RESTORE: "↑",
    Action.TRANSFER: "»",
}

STYLES: Final = {
    Action.CREATE: Style.CREATE,
    Action.UPDATE: Style.UPDATE,
    Action.MOVE: Style.MOVE,
    Action.REPLACE: Style.DELETE,
    Action.DELETE: Style.DELETE,
    Action.ADOPT: Style.CREATE,
    Action.FORGET: Style.UPDATE,
    Action.RESTORE: Style.CREATE,
    Action.TRANSFER: Style.MOVE,
}

# Destructive ones last: the end of a sentence is read best.
SUMMARY_ORDER: Final = (
    Action.CREATE, Action.UPDATE, Action.MOVE, Action.TRANSFER, Action.RESTORE, Action.ADOPT, Action.FORGET, Action.REPLACE, Action.DELETE,
)  # fmt: skip

RULES: Final = {Severity.ERROR: (Style.BLOCKED, "violation"), Severity.WARNING: (Style.UPDATE, "warning")}

# Every way to end but `done`, in the order of summaries.
ENDINGS: Final = {
    StepStatus.FAILED: ("!", "failed"),
    StepStatus.IN_DOUBT: ("?", "in doubt"),
    StepStatus.STALE: ("≠", "stale"),
    StepStatus.SKIPPED: (".", "skipped"),
}

# A status is its own cause only where the step does not name a better one.
CAUSES: Final = {
    StepStatus.FAILED: "RC-request-refused",
    StepStatus.IN_DOUBT: "RC-outcome-unknown",
    StepStatus.STALE: "RC-changed-since-plan",
    StepStatus.SKIPPED: "RC-skipped",
}


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 request`, `3 requests`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def id_and_title(id: str | None, title: str | None) -> str:
    """`team_1 "Writers"`: an object of the service; its id alone if it has no title of its own."""
    own = bare(id) if id else ""
    return " ".join(part for part in (own, f'"{title}"' if title and title != own else "") if part)


def listed(names: list[str], most: int) -> str:
    """`a, b and c`, or `a, b and 7 more`."""
    if len(names) > most:
        return ", ".join(names[: most - 1]) + f" and {len(names) - most + 1:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
