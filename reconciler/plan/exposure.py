"""What becomes public or loses its protection by what the drafts and removals do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reconciler.address import Address
from reconciler.model import Desired, Exposure, Origin, State
from reconciler.plan.drafts import Draft
from reconciler.plan.memory import is_protected
from reconciler.plan.names import Names, named
from reconciler.plan.removal import Removal
from reconciler.resource import UNSET, Field

UNGUARDED = "it is deleted without being asked when its line goes"


def exposures(
    desired: Desired,
    state: State,
    mine: Mapping[Address, Draft],
    gone: Mapping[Address, Removal],
    names: Names,
    *,
    freed: Collection[str],
) -> tuple[Exposure, ...]:
    """One for each field that opens something, each protection that is let go, and each delete that takes one away.

    `freed`: kinds that are no longer protected, of which a line of its own tells already.
    """
    found = []
    for draft in mine.values():
        if draft.active:
            found += _opened(draft, state, mine, names)
            if draft.declared.protect is not None or draft.kind.name not in freed:
                found += _unguarded(desired, draft)
    for removal in gone.values():
        if removal.active and removal.delete and removal.replaces is None and removal.kind.loses:
            found.append(Exposure(removal.address, removal.kind.name, "", UNSET, UNSET, removal.kind.loses))
    return tuple(found)


def _opened(draft: Draft, state: State, mine: Mapping[Address, Draft], names: Names) -> list[Exposure]:
    found = []
    fresh = draft.born and draft.old is None
    for one in draft.sendable:
        word = one.field.exposes
        if word is None or (fresh and not (word.born and _within_what_exists(draft, mine))):
            continue
        before = draft.old.values.get(one.field.name, UNSET) if draft.old is not None else one.before
        if word.opened(before, one.after):
            was, then = _shown(one.field, before, names, draft.address), _shown(one.field, one.after, names, draft.address)
            source = draft.declared.positions.get(one.field.name, draft.declared.source)
            found.append(
                Exposure(
                    draft.address,
                    draft.kind.name,
                    one.field.name,
                    was,
                    then,
                    word.says,
                    source,
                    not (state.unfinished and _going_on(draft, mine, one.field)),
                )
            )
    return found


def _going_on(draft: Draft, mine: Mapping[Address, Draft], field: Field) -> bool:
    """Whether the run that was cut off may have made the object, or its container, and not come to this: it was agreed to already."""
    container = mine.get(draft.address.container) if draft.address.container is not None else None
    held = draft.binding or (container.binding if container is not None else None)
    return held is not None and held.origin is not Origin.ADOPTED and (draft.binding is None or field.name not in held.sent)


def _within_what_exists(draft: Draft, mine: Mapping[Address, Draft]) -> bool:
    container = mine.get(draft.address.container) if draft.address.container is not None else None
    return container is None or not container.born


def _shown(field: Field, value: Any, names: Names, where: Address) -> Any:
    return UNSET if value is UNSET or field.sensitive else named(field.shown(value), names, where)


def _unguarded(desired: Desired, draft: Draft) -> list[Exposure]:
    """The protection that is kept in the state and let go of by the YAML."""
    held = draft.binding is not None and draft.observed is not None and draft.binding.protected
    if not held or is_protected(desired, draft):
        return []
    return [Exposure(draft.address, draft.kind.name, "protect", True, False, UNGUARDED, draft.declared.source)]
