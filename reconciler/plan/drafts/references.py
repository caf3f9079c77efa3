"""References that must not be sent: to objects of another organization, and to addresses that two objects claim. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Blocked, waiting
from reconciler.model.codec import unresolved_addresses
from reconciler.plan.decisions import Draft
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.outsiders import outsider
from reconciler.plan.matching.renames import Former
from reconciler.plan.world import World


def refuse_outsiders(world: World, matches: Matches, draft: Draft) -> Draft:
    """Send no reference to an object that is not known to belong to the declared organization."""
    fields = draft.kind.fields

    def wrong(name: str) -> Blocked | None:
        return outsider(world.kinds, draft.declared, fields[name], draft.declared.values.get(name), world.actual, matches)

    return _refused(draft, wrong, lambda name, blocked: blocked)


def refuse_ambiguous(draft: Draft, former: Former) -> Draft:
    """Send no reference to an address that two objects claim: the user may have meant either of them."""
    if not former.refused:
        return draft

    def wrong(name: str) -> Blocked | None:
        claimed = _claimed(draft.declared.values.get(name), former)
        if claimed is None:
            return None
        return waiting(
            draft.address, former.refused[claimed], draft.declared.source, reason=f"waits for {claimed}, whose rename is blocked"
        )

    def of_field(name: str, blocked: Blocked) -> Blocked:
        source = draft.declared.positions.get(name, draft.declared.source)
        return replace(blocked, reason=f"{name} {blocked.reason}", source=source)

    return _refused(draft, wrong, of_field)


def _refused(draft: Draft, wrong: Callable[[str], Blocked | None], of_field: Callable[[str, Blocked], Blocked]) -> Draft:
    """Block a resource to create that has a wrong reference; for an existing one, block only the fields that would send it."""
    if not draft.active or not (draft.is_new or draft.differences):
        return draft
    if draft.is_new:
        blocked = next((reason for name in draft.declared.values if (reason := wrong(name)) is not None), None)
        return draft if blocked is None else replace(draft, blocked=blocked)
    for difference in draft.sendable:
        blocked = wrong(difference.field.name)
        if blocked is not None:
            draft = draft.without(difference, of_field(difference.field.name, blocked))
    return draft


def _claimed(value: object, former: Former) -> Address | None:
    return next((address for address in unresolved_addresses(value) if address in former.refused), None)
