"""Limits on a whole plan: a run that would delete or expose more than it may is refused before its first request. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.address import Glob
from reconciler.errors import Refused
from reconciler.model import Action, Change, Desired, Plan

DESTRUCTIVE = frozenset({Action.DELETE, Action.REPLACE})


def deletes(plan: Plan) -> tuple[Change, ...]:
    """The changes that delete something, cascaded children and replacements included."""
    return tuple(change for change in plan.changes if DESTRUCTIVE & set(change.actions))


def guard(plan: Plan, desired: Desired, *, allow_delete: int | None) -> Plan:
    """The plan as it came. Raises `Refused` with the way past it. `allow_delete`: how many it may delete; None: the project's limit."""
    found = deletes(plan)
    limits = desired.guards
    managed = plan.managed + sum(1 for change in found if Action.DELETE in change.actions)
    share = int(managed * limits.max_delete_percent / 100)
    limit = allow_delete if allow_delete is not None else max(limits.max_delete_at_least, share)
    if len(found) <= limit:
        return plan
    names = ", ".join(str(change.address) for change in found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")
    allows = f"maxDelete ({limits.max_delete_percent:g} % of {managed}, at least {limits.max_delete_at_least}) allows"
    what = "this run may delete" if allow_delete is not None else allows
    raise Refused(
        f"the plan deletes {len(found)} object{'s' if len(found) != 1 else ''}, and {what} {limit}: {names}",
        hint=f"if that is meant: --allow-delete {len(found)}",
    )


def consent(plan: Plan, allowed: Sequence[Glob]) -> Plan:
    """The plan as it came. Raises `Refused` where it exposes something that nobody agreed to. `allowed`: patterns over addresses."""
    found = [one for one in plan.exposures if one.asked and not any(glob.matches(one.address) for glob in allowed)]
    if not found:
        return plan
    told = [f"{one.address} ({one.field or 'deleted'}): {one.says}" for one in found]
    names = "; ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    way = " ".join(f"--allow-exposure {address}" for address in list(dict.fromkeys(str(one.address) for one in found))[:5])
    raise Refused(
        f"the plan makes something public or takes a protection away, and nobody agreed to it: {names}", hint=f"if that is meant: {way}"
    )
