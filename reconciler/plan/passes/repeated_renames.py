"""Renames that had their effect already and now mean something else: exchanged once, and to be exchanged again. Pure.

In: the state's addresses after renames, and the drafts. Out: the same drafts, some of them blocked. A line of the YAML renames once. Where
it is left in place and the titles are exchanged again, ignoring it would give the content of one object the title of another.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.address import Address
from reconciler.plan.decisions import Draft
from reconciler.plan.passes.renames import NAMES
from reconciler.plan.world import Decisions, World
from reconciler.resource import UNSET


def repeated_renames(world: World, decisions: Decisions) -> Decisions:
    """Block both resources of a rename that was carried out before, where one would get the title that the other has now.

    Not where an interrupted run exchanged the keys: the titles are still to be written.
    """
    former, drafts = decisions.matches.former, dict(decisions.drafts)
    carried_out = {*former.state.fulfilled} - {*former.followed.values()}
    for old, new in former.renames.items():
        if old not in carried_out or former.state.fulfilled[old] != new or old not in drafts or new not in drafts:
            continue
        taker, giver = drafts[new], drafts[old]
        if (taker.kind.name, taker.id) in former.before.readdressed:
            continue
        if taker.active and giver.active and any(_would_take(taker, giver, name) for name in NAMES):
            drafts |= {draft.address: _blocked(draft, old, new) for draft in (taker, giver)}
    return replace(decisions, drafts=drafts)


def _would_take(taker: Draft, giver: Draft, name: str) -> bool:
    """Whether a name is to be written that the other object has now."""
    if taker.observed is None or giver.observed is None:
        return False
    wanted = taker.wants.get(name, UNSET)
    return wanted is not UNSET and wanted == giver.observed.values.get(name, UNSET) != taker.observed.values.get(name, UNSET)


def _blocked(draft: Draft, old: Address, new: Address) -> Draft:
    again = (
        f"use reconciler state mv: {new} to a free address, {old} to {new}, and that address to {old}"
        if old.root == new.root
        else f"declare both with new keys, with lines in moved from {new} and {old} to these"
    )
    return draft.block(
        f"{new} was renamed from {old} by an earlier run, so its object would now only get the title of the object at {old}",
        f"if only the titles change, remove the former keys of both; to swap the objects again, {again}",
        id="RC-repeated-rename",
    )
