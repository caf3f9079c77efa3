"""What happens to each declared address: nothing, adopt, create, update, move, restore, replace, or blocked. Pure.

In: the world and what was matched. Out: one `Draft` per address. Requests and their order come later (`steps`, `siblings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Blocked, Declared, Desired, waiting
from reconciler.model.codec import choices, unresolved_addresses, wanted
from reconciler.plan.decisions import Draft
from reconciler.plan.drafts.resources import DraftFacts, draft_create, draft_existing, draft_replacement
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.outsiders import outsider
from reconciler.plan.matching.renames import Former
from reconciler.plan.world import Decisions, World

AGAIN = "run again when the service answers"


def declared(world: World, decisions: Decisions) -> Decisions:
    """Decide what happens to each declared address; what refers to a replaced object is decided again with the replacement known."""
    settled = {address: change.reason for change in decisions.rearrangements for address in change.settled}
    matches, chosen = decisions.matches, choices(world.kinds, world.actual.objects)
    drafts: dict[Address, Draft] = {}
    undecided: Collection[Address] = world.desired.resources
    while undecided:
        facts = DraftFacts.of(world, matches, chosen, settled)
        for address in undecided:
            drafts[address] = _draft(facts, world.desired.resources[address], drafts)
        replaced = [address for address in undecided if drafts[address].old is not None and address in matches.ids]
        if replaced:
            matches = matches.with_({at: matches[at]._replace(id=None, replaced=matches[at].id) for at in replaced})
        undecided = _with_referrers(world.desired, replaced)
    return replace(decisions, matches=matches, drafts=_with_first_children(drafts))


def parents(desired: Desired, declared: Declared) -> Iterator[Address]:
    """The resources that a resource is declared in, the nearest first."""
    parent = declared.parent
    while parent is not None:
        yield parent
        parent = desired.resources[parent].parent if parent in desired.resources else parent.container


def needed(declared: Declared) -> set[Address]:
    """The addresses that must exist before a resource can be created: its container, its parent, and what it refers to."""
    addresses = {*unresolved_addresses(list(declared.values.values())), declared.parent, declared.address.container}
    return {address for address in addresses if address is not None and address != declared.address}


def _with_referrers(desired: Desired, addresses: Collection[Address]) -> list[Address]:
    """These addresses and all that refer to one of them, in the order of Desired."""
    if not addresses:
        return []
    return [
        address
        for address, declared in desired.resources.items()
        if address in addresses or any(other in addresses for other in needed(declared))
    ]


def _draft(facts: DraftFacts, declared: Declared, drafts: Mapping[Address, Draft]) -> Draft:
    """One address; `drafts`: those of its container and of all before it."""
    matches, state, address = facts.matches, facts.world.state, declared.address
    kind = facts.world.kinds[declared.kind]
    match = matches[address]
    # Where people created the object again, the tracked one is another one, and no longer exists.
    binding = None if match.recreated is not None else matches.binding(address)
    blocker = matches.former.rename_blocker(address, parents(facts.world.desired, declared))
    draft = Draft(address, kind, declared, wanted(kind, declared, facts.known), binding=binding)
    if blocker is not None:
        draft = replace(draft, blocked=replace(blocker, address=address, source=blocker.source or declared.source))
    elif match.blocked is not None:
        draft = replace(draft, blocked=match.blocked)
    elif address in facts.doubtful:
        draft = draft.block("a request of an earlier run is in doubt", "reconciler apply finds out what happened to it", id="RC-in-doubt")
    elif match.unknown is not None:
        draft = _unknown(matches, draft, match.unknown, drafts)
    elif match.replaced is not None:
        draft = draft_replacement(draft, facts.world.actual, match.replaced)
    elif match.id is not None:
        draft = draft_existing(facts, draft)
    else:
        draft = draft_create(draft, gone=match.gone, may_replace=facts.world.may_replace(address))
    if draft.is_new and (kind.name, address.container) in state.held:
        draft = draft.block(f"another {kind.name} is in doubt there, and its list could not be read", AGAIN, id="RC-in-doubt-beside")
    return refuse_ambiguous(refuse_outsiders(facts.world, matches, draft), matches.former)


def _unknown(matches: Matches, draft: Draft, reason: str, drafts: Mapping[Address, Draft]) -> Draft:
    """Block a resource that could not be read; where its container could not be read either, it waits for the container."""
    container = draft.address.container
    outer = drafts.get(container) if container is not None and matches[container].unknown is not None else None
    if outer is not None and outer.blocked is not None:
        return replace(draft, blocked=waiting(draft.address, outer.blocked, draft.declared.source))
    return draft.block(f"it could not be read: {reason}", AGAIN, id="RC-unread")


def _with_first_children(drafts: Mapping[Address, Draft]) -> dict[Address, Draft]:
    """Mark the children that their parent's create creates, and block parents whose first child cannot be created."""
    children: dict[tuple[Address, str], list[Address]] = defaultdict(list)
    for draft in drafts.values():
        if draft.declared.parent is not None:
            children[draft.declared.parent, draft.kind.name].append(draft.address)
    result = dict(drafts)
    for address in drafts:
        parent, first = result[address], result[address].kind.first
        below = children.get((address, first.to or ""), []) if first is not None else []
        if not (below and parent.is_new and parent.active):
            continue
        child = result[below[0]]
        if not child.active:
            assert child.blocked is not None
            result[address] = replace(parent, blocked=waiting(address, child.blocked, parent.declared.source))
        elif child.is_new:
            result[child.address] = replace(child, created_with=address)
    return result


# -- references that must not be sent ----------------------------------------------------------------------------------------------


def refuse_outsiders(world: World, matches: Matches, draft: Draft) -> Draft:
    """Send no reference to an object that is not known to belong to the declared organization."""
    fields, values = draft.kind.fields, draft.declared.values
    return _refused(draft, lambda name: outsider(world.kinds, draft.declared, fields[name], values.get(name), world.actual, matches))


def refuse_ambiguous(draft: Draft, former: Former) -> Draft:
    """Send no reference to an address that two objects claim: the user may have meant either of them."""
    if not former.refused:
        return draft

    def wrong(name: str) -> Blocked | None:
        for address in unresolved_addresses(draft.declared.values.get(name)):
            if address in former.refused:
                source = draft.declared.source if draft.is_new else draft.declared.positions.get(name, draft.declared.source)
                reason = f"waits for {address}, whose rename is blocked"
                return waiting(draft.address, former.refused[address], source, reason=reason if draft.is_new else f"{name} {reason}")
        return None

    return _refused(draft, wrong)


def _refused(draft: Draft, wrong: Callable[[str], Blocked | None]) -> Draft:
    """Block a resource to create that has a wrong reference; for an existing one, block only the fields that would send it."""
    if not draft.active or not (draft.is_new or draft.differences):
        return draft
    if draft.is_new:
        blocked = next((reason for name in draft.declared.values if (reason := wrong(name)) is not None), None)
        return draft if blocked is None else replace(draft, blocked=blocked)
    for difference in draft.sendable:
        blocked = wrong(difference.field.name)
        if blocked is not None:
            draft = draft.without(difference, blocked)
    return draft
