"""Exit codes, and which one wins if several apply. Forbidden: slow imports; `codes` derives them from plans and outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DONE: Final = 0
FAILED: Final = 1
PENDING: Final = 2
WRONG: Final = 3
REFUSED: Final = 4
PARTLY: Final = 5
LOCKED: Final = 6
INTERRUPTED: Final = 130  # 128 + SIGINT
TERMINATED: Final = 143  # 128 + SIGTERM

MEANINGS: Final = {
    DONE: "done, or nothing to do",
    FAILED: "failed; nothing of what was asked was done",
    PENDING: "changes are pending (`plan --detailed-exitcode`), drift, or an assertion that is not met (`drift`)",
    WRONG: "the configuration or the command line is wrong",
    REFUSED: "refused by a guard, a policy or a protection, or everything is blocked",
    PARTLY: "done, or possible, only in part; the report lists what is left",
    LOCKED: "another run holds the state, or the saved plan is stale",
    INTERRUPTED: "interrupted (Ctrl-C, SIGINT)",
    TERMINATED: "terminated (SIGTERM)",
}
"""The meaning of each code, for the docs."""

ALWAYS: Final = (DONE, FAILED, WRONG, INTERRUPTED, TERMINATED)
"""The codes with which any command can end."""

# A run can end with several: interrupted, with something done and something failed. The one that asks for the most attention wins.
PRECEDENCE: Final = (INTERRUPTED, TERMINATED, WRONG, LOCKED, FAILED, REFUSED, PARTLY, PENDING, DONE)


def strongest(codes: Iterable[int]) -> int:
    """The exit code if several apply."""
    return min(codes, key=PRECEDENCE.index, default=DONE)
