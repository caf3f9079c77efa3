"""References to a resource whose rename cannot happen: which object they mean is not known. Pure.

In: one draft, and what became of the state's addresses. Out: the same draft, with the fields blocked that refer to such a resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.address import Address
from reconciler.model import Action, waiting
from reconciler.model.codec import unborn
from reconciler.plan.matching.renames import Former

if TYPE_CHECKING:
    from reconciler.plan.drafts.drafts import Draft


def block_ambiguous(draft: Draft, former: Former) -> None:
    """Send no reference to an address that two objects claim: the user may have meant either of them."""
    if not draft.active or not former.refused:
        return
    if draft.born:
        claimed = _claimed(list(draft.declared.values.values()), former)
        if claimed is not None:
            refused = former.refused[claimed]
            draft.blocked = waiting(draft.address, refused, draft.declared.source, reason=_reason(claimed))
        return
    for difference in draft.sendable:
        name = difference.field.name
        claimed = _claimed(draft.declared.values.get(name), former)
        if claimed is not None:
            refused = former.refused[claimed]
            source = draft.declared.positions.get(name, draft.declared.source)
            draft.partly.append((name, waiting(draft.address, refused, source, reason=f"{name} {_reason(claimed)}")))
            draft.found = tuple(other for other in draft.found if other is not difference)
    if draft.partly and not draft.sendable:
        draft.actions -= {Action.UPDATE, Action.MOVE}


def _claimed(value: object, former: Former) -> Address | None:
    return next((address for address in unborn(value) if address in former.refused), None)


def _reason(claimed: Address) -> str:
    return f"waits for {claimed}, whose rename is blocked"
