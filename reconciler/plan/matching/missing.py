"""What no longer exists, and what earlier runs left. Pure.

In: State, Actual, and the matches of a reading that looked for every missing object twice. Out: what is missing, or a refusal where it is
so large a part that the reading itself is in doubt; objects of requests that were considered lost, which are ours by their mark; deleted
objects that a resource which is declared again gets back instead of an empty one, with how long that is possible.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.model import Actual, Binding, Declared, Desired, State
from reconciler.plan.matching.matches import Match, Matches
from reconciler.plan.matching.natural_keys import unread
from reconciler.resource import Kind, Kinds
from reconciler.text.names import span

# -- created ---------------------------------------------------------------------------------------------------------------------


def late(kinds: Kinds, state: State, actual: Actual, taken: Collection[tuple[str, str]]) -> dict[tuple[str, str], Address]:
    """The unclaimed objects with a marker that this project wrote, each with the address for which it was created."""
    late_objects = {}
    for name in {name for name, _ in state.marks}:
        marker = kinds[name].api["create"].marker if name in kinds else None
        if marker is None:
            continue
        for observed in actual.objects.get(name, {}).values():
            address = state.marks.get((name, str(observed.values.get(marker, ""))))
            if (
                address is not None
                and (name, observed.id) not in taken
                and (name, observed.id) not in state.foreign
                and observed.deleted_at is None
            ):
                late_objects[(name, observed.id)] = address
    return late_objects


def is_in_place(kind: Kind, declared: Declared, id: str | None, actual: Actual, ids: Mapping[Address, str]) -> bool:
    """Whether the late object is in the location where the resource is declared."""
    observed = actual.find(kind.name, id) if id is not None else None
    container = declared.address.container
    return observed is not None and container is not None and observed.within.get(kind.within or "") == ids.get(container)


def may_lag(state: State, address: Address, actual: Actual) -> bool:
    """Whether the address was written so recently that a list may not show its object yet."""
    until = state.recent.get(address)
    return until is not None and (actual.date is None or actual.date < until)


# -- deleted ---------------------------------------------------------------------------------------------------------------------


def deleted_before(kind: Kind, declared: Declared, state: State) -> str | None:
    """The id of the object that an earlier run deleted at the address of a resource and that may be restored; None where there is none."""
    name, id = state.deleted.get(declared.address, ("", ""))
    usable = name == kind.name and kind.restore_days > 0 and (name, id) not in state.foreign
    return id if usable and declared.adopt and declared.id is None and not declared.implied else None


def match_deleted(kind: Kind, declared: Declared, id: str, actual: Actual, ids: Mapping[Address, str]) -> Match | None:
    """The deleted object, where it can be restored, or why it is not known; None where neither is known. `ids`: of its containers."""
    container = declared.address.container
    scope = ids.get(container) if container is not None else None
    now = actual.find(kind.name, id)
    if now is None:
        reason = None if (kind.name, id) in actual.absent else unread(kind, (), id, actual)
        return Match(unknown=reason) if reason is not None else None
    belongs = scope is None or now.within.get(kind.within or "") == scope
    if not belongs or (now.deleted_at is not None and window(kind, now.deleted_at, actual)[1] <= timedelta(0)):
        return None
    return Match(id=id, adopted=True)


def window(kind: Kind, deleted_at: datetime, actual: Actual) -> tuple[timedelta, timedelta]:
    """How long ago an object was deleted, and how long it can still be restored (zero or less: no longer), by the service's clock."""
    ago = max((actual.date or deleted_at) - deleted_at, timedelta(0))
    return ago, timedelta(days=kind.restore_days) - ago


def last_moment(kind: Kind, deleted_at: datetime) -> datetime:
    """When an object that was deleted then can no longer be restored."""
    return deleted_at + timedelta(days=kind.restore_days)


def left_over(delta: timedelta) -> str:
    """How much time is left, in days rounded up: 7 days right after the delete; hours and minutes on the last day."""
    day = timedelta(days=1)
    return span((ceil(delta / day) * day if delta > day else delta).total_seconds())


# -- How many may be missing at once -------------------------------------------------------------------------------------------------

AT_LEAST: Final = 3  # objects that may always be missing
SHARE: Final = 0.1  # of the tracked objects, that may be missing at once


def missing(matches: Matches) -> dict[Address, Binding]:
    """The bindings of tracked objects that no longer exist, without those that were deleted with their containers."""
    gone = sorted(matches.where(lambda match: match.gone))
    absent = {at: matches.binding(at) for at in gone if at.container is None or not matches[at.container].gone}
    return {address: binding for address, binding in absent.items() if binding is not None}


def believable(matches: Matches, desired: Desired, *, accept: int | None) -> None:
    """Raise `Refused` where so many objects are missing at once that an outage or a change of permissions is likelier.

    `accept`: how many may be missing; None: the limit. Not counted: undeclared objects after an interrupted run, which may have deleted
    them, and the objects of a delete without an outcome.
    """
    state = matches.former.state
    # Where another object was created in its place, or it was moved, the reading showed that: no outage looks like it.
    seen = {*matches.where(lambda match: match.recreated is not None or match.transferred is not None)}
    seen |= {at for intent in state.intents if intent.verb == "delete" for at in (intent.address, *intent.before.takes)}  # announced
    gone = [address for address in missing(matches) if address not in seen and (address in desired.resources or not state.unfinished)]
    limit = max(AT_LEAST, int(SHARE * len(state.bindings)))
    left = any(address.container is not None and not matches[address].gone for address in state.bindings)
    if len(gone) <= (accept if accept is not None else limit if left else 1):
        return
    names = ", ".join(str(address) for address in gone[:5]) + (f" and {len(gone) - 5} more" if len(gone) > 5 else "")
    many = f"{len(gone)} of {len(state.bindings)} tracked objects no longer exist"
    over = (
        f"{accept} were accepted" if accept is not None else f"at most {limit} are accepted" if left else "no other tracked object answers"
    )
    wrong = f"{many}, and {over}; this looks like an outage or a change of the token's permissions: {names}"
    raise Refused(wrong, id="RC-many-missing", hint=f"if they were deleted: --accept-gone {len(gone)}")
