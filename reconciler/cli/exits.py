"""Exit codes, and which one wins if several apply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reconciler.model import Outcome, Plan, StepStatus
from reconciler.plan.drift import Drift

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
    PARTLY: "done in part; run it again",
    LOCKED: "another run holds the state, or the saved plan is stale",
    INTERRUPTED: "interrupted (Ctrl-C, SIGINT)",
    TERMINATED: "terminated (SIGTERM)",
}
"""The meaning of each code, for the docs."""

ALWAYS: Final = (DONE, FAILED, WRONG, INTERRUPTED, TERMINATED)
"""The codes with which any command can end."""

PRECEDENCE: Final = (INTERRUPTED, TERMINATED, WRONG, LOCKED, FAILED, REFUSED, PARTLY, PENDING, DONE)


def strongest(codes: Iterable[int]) -> int:
    """The exit code if several apply."""
    return min(codes, key=PRECEDENCE.index, default=DONE)


def of_plan(plan: Plan, *, detailed: bool) -> int:
    """The exit code of a plan. `detailed`: pending changes have a code of their own."""
    codes = [DONE]
    asked = plan.pending
    if plan.blocked:
        codes.append(PARTLY if asked or plan.deferred else REFUSED)
    if plan.unknown or plan.in_doubt:
        codes.append(PARTLY)
    if plan.unknown and not asked and len({blocked.address for blocked in plan.blocked}) >= plan.managed:
        codes.append(FAILED)  # no resource could be checked
    if detailed and (asked or plan.deferred):
        codes.append(PENDING)
    return strongest(codes)


def of_drift(drift: Drift) -> int:
    """The exit code of drift: a failed assertion counts as drift. Unmanaged objects alone are not drift; a state that tracks none of the
    selected resources cannot exclude drift."""
    codes = [DONE]
    if drift.resources or drift.violations:
        codes.append(PENDING)
    if drift.unknown or drift.unread or drift.undecided or drift.blind:
        codes.append(PARTLY)
    return strongest(codes)


def of_outcome(outcome: Outcome, *, signal: int | None = None) -> int:
    """The exit code of an apply. `signal`: the number of the signal that stopped the run. A run that did anything, or may have, is never
    FAILED."""
    plan = outcome.plan
    codes = [of_plan(plan, detailed=False)]
    if signal is not None:
        codes.append(128 + signal)
    undone = [result for result in outcome.results if result.status is not StepStatus.DONE]
    if undone:
        untouched = (
            not any(outcome.count(status) for status in (StepStatus.DONE, StepStatus.IN_DOUBT, StepStatus.STALE))
            and not plan.state_update.bind
            and not plan.state_update.forget
            and not plan.state_update.rename
        )
        codes.append(FAILED if untouched else PARTLY)
    if plan.deferred or outcome.leftover or outcome.edited or outcome.unverified or outcome.not_visible:
        codes.append(PARTLY)
    return strongest(codes)
