"""The exit codes that plans and outcomes end with."""

from __future__ import annotations

from reconciler import exits
from reconciler.model import Outcome, Plan, StepStatus


def of_plan(plan: Plan, *, detailed: bool) -> int:
    """The exit code of a plan. `detailed`: pending changes have a code of their own."""
    codes = [exits.DONE]
    asked = plan.pending
    if plan.blocked:
        codes.append(exits.PARTLY if asked or plan.deferred else exits.REFUSED)
    if plan.held:
        codes.append(exits.PARTLY if asked or plan.deferred else exits.REFUSED)
    if plan.unknown or plan.in_doubt:
        codes.append(exits.PARTLY)
    if plan.unknown and not asked and len({blocked.address for blocked in plan.blocked}) >= plan.managed:
        codes.append(exits.FAILED)  # no resource could be checked
    if detailed and (asked or plan.deferred):
        codes.append(exits.PENDING)
    return exits.strongest(codes)


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
            not any(outcome.count(status) for status in (StepStatus.DONE, StepStatus.ASKED, StepStatus.IN_DOUBT, StepStatus.STALE))
            and not plan.state_update.bind
            and not plan.state_update.forget
            and not plan.state_update.rename
        )
        codes.append(exits.FAILED if untouched else exits.PARTLY)
    if plan.deferred or outcome.leftover or outcome.edited or outcome.unverified or outcome.not_visible:
        codes.append(exits.PARTLY)
    return exits.strongest(codes)
