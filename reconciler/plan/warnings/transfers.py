"""Who gains and who loses access by a transfer. Pure.

The API does not say which people and teams have access to what, so every transfer is an exposure: the people of the new organization get
it by their roles, whatever the levels say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.address import Address
from reconciler.model import Exposure
from reconciler.plan.decisions import Draft, Transfer
from reconciler.plan.warnings.consents import canonical, consent_to
from reconciler.plan.world import World


def given_away(world: World, mine: Mapping[Address, Draft]) -> Iterator[Exposure]:
    """One exposure for each request that transfers something, with all that comes along."""
    for root, inside in world.carried.roots.items():
        draft = mine.get(root)
        if draft is None or not draft.active or not isinstance(draft.intent, Transfer) or draft.kind.transferable is None:
            continue
        along = sorted(address for address, by in world.carried.along.items() if by == root)
        more = f" and to the {len(inside)} in it" if inside else ""
        was, then = draft.intent.source, root.root
        says = f"people in {then} get access to it{more}, by their roles there; people in {was} lose it"
        yield Exposure(
            root,
            draft.kind.name,
            draft.kind.transferable.name,
            str(was),
            str(then),
            says,
            draft.declared.source,
            readers=(f"people in {then}",),
            reaches=tuple(along),
            consents=(consent_to(root, draft.kind.transferable.name, canonical(str(then))),),
        )
