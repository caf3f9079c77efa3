"""What the state records before the first request: adoptions, renames, protection, and readings that agree. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Binding, Desired, Origin, StateUpdate
from reconciler.plan.containment import groups
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.drafts.declared import parents
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import Former, address_after_moves
from reconciler.resource import UNSET, FieldRole


def state_update(
    desired: Desired,
    matches: Matches,
    drafts: Mapping[Address, Draft],
    removals: Mapping[Address, Removal],
    *,
    is_complete: bool,
    waiting: Collection[Address] = (),
) -> StateUpdate:
    """What the state records before the first request: adoptions, renames, protection, and readings that agree.

    `is_complete`: the run is about everything, so that what the YAML no longer says is forgotten. `waiting`: tracked addresses that change
    with the outcome of a request, if at all.
    """
    bind: dict[Address, Binding] = {}
    carried_later: dict[Address, Binding] = {}
    forget: set[Address] = set()
    later = {matches.former.moves[old] for old in waiting if old in matches.former.moves}
    for draft in drafts.values():
        if draft.blocked is not None or (draft.declared.implied and draft.binding is None):
            continue
        if draft.observed is not None and draft.id is not None:
            binding = _updated_binding(desired, draft, Origin.RECOVERED if (draft.kind.name, draft.id) in matches.late else Origin.ADOPTED)
            if draft.address in later:
                carried_later[draft.address] = binding
            elif binding != matches.binding(draft.address):
                bind[draft.address] = binding
    for removal in removals.values():
        if removal.replaces is not None and removal.blocked is None and removal.binding is not None:
            forget.add(removal.replaces)
            bind[removal.address] = replace(removal.binding, address=removal.address, protected=False, place=None)
        elif removal.forgets:
            forget.add(removal.address)
    rename = matches.former.moves if is_complete else _touched(desired, matches.former, drafts, removals)
    rename = {old: new for old, new in rename.items() if old not in waiting} if waiting else rename
    fulfilled = _fulfilled(matches, rename, drafts, is_complete=is_complete, waiting=waiting)
    return StateUpdate(
        bind, frozenset(forget), rename, None if fulfilled == matches.former.before.fulfilled else fulfilled, carried=carried_later
    )


def journal_changes(state_update: StateUpdate) -> dict[str, Any]:
    """The arguments for the journal. A journal forgets before it renames, so it needs the former addresses of what is forgotten."""
    before = {new: old for old, new in state_update.rename.items()}
    forget = [before.get(address, address) for address in state_update.forget if address in before or address not in state_update.rename]
    return {"bind": state_update.bind.values(), "forget": forget, "rename": state_update.rename, "fulfilled": state_update.fulfilled}


def _touched(
    desired: Desired, former: Former, drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]
) -> dict[Address, Address]:  # fmt: skip
    """The renames of a run that is limited to some addresses: those of its own addresses, with all renames that depend on them."""
    if not former.moves:
        return {}
    about = {*drafts, *removals}
    for address in (*drafts, *removals):
        about.update(parents(desired, drafts[address].declared) if address in drafts else address.containers)
    # A rename belongs with that of its container, and with that of whatever has the address now.
    outer = [(old, next((container for container in old.containers if container in former.moves), None)) for old in former.moves]
    leader = groups(former.moves, [*outer, *former.moves.items()])
    wanted = {leader[old] for old, new in former.moves.items() if new in about}
    return {old: new for old, new in former.moves.items() if leader[old] in wanted}


def _fulfilled(
    matches: Matches, rename: Mapping[Address, Address], drafts: Mapping[Address, Draft], *, is_complete: bool, waiting: Collection[Address]
) -> Mapping[Address, Address]:  # fmt: skip
    """The renames of the YAML that are done after these.

    A done rename of a blocked resource is kept even if its line was removed: with the former files, it must not take effect again.
    """
    former = matches.former
    done = {address_after_moves(old, rename): address_after_moves(new, rename) for old, new in former.before.fulfilled.items()}
    if is_complete:
        pending = {former.followed[old] for old in waiting if old in former.followed}
        blocked = {
            *matches.where(lambda match: match.blocked is not None),
            *(address for address, draft in drafts.items() if draft.blocked is not None),
        }
        tracked = former.before.bindings.keys() | former.state.bindings.keys() if blocked and done else ()
        kept = {old: new for old, new in done.items() if not blocked.isdisjoint((old, new)) and new in tracked}
        return {**kept, **{line: new for line, new in former.renames.items() if line not in pending}}
    undone = {line for old, line in former.followed.items() if old in former.moves and old not in rename}
    followed = {line for old, line in former.followed.items() if old in rename}
    return done | {line: new for line, new in former.renames.items() if line in followed or (new in drafts and line not in undone)}


def _updated_binding(desired: Desired, draft: Draft, origin: Origin) -> Binding:
    """The binding of an existing object: *sent* and *seen* are its values now where these agree with the YAML, else they are unchanged."""
    assert draft.observed is not None
    assert draft.id is not None
    old = draft.binding
    kept = {*draft.declared.values, *draft.declared.aside}
    sent = {name: value for name, value in (old.sent if old else {}).items() if name in kept}
    seen = {name: value for name, value in (old.seen if old else {}).items() if name in kept}
    differing = {difference.field.name for difference in draft.differences} | {name for name, _ in draft.blocked_fields}
    for name, want in draft.wants.items():
        field = draft.kind.fields[name]
        if field.role is FieldRole.LOCAL and want is not UNSET:
            sent[name] = want
        if not field.compared or not field.readable or field.role is FieldRole.CHOICE:
            continue
        now = field.stored(draft.observed.values.get(name, UNSET), draft.id)
        if old is None and now is not UNSET:
            seen[name] = now
        if name not in differing and want is not UNSET:
            sent[name] = field.stored(want, draft.id)
            if now is not UNSET:
                seen[name] = now
    if old is None:
        for name in draft.declared.aside & draft.declared.ignores:
            now = draft.kind.fields[name].stored(draft.observed.values.get(name, UNSET), draft.id)
            seen |= {name: now} if now is not UNSET else {}
    for name, want in draft.wants.items():
        if draft.kind.fields[name].role is FieldRole.CHOICE and name not in differing:
            sent[name] = seen[name] = want
    return Binding(
        address=draft.address,
        kind=draft.kind.name,
        id=draft.id,
        origin=old.origin if old else origin,
        sent=sent,
        seen=seen,
        protected=is_protected(desired, draft),
        place=old.place if old else None,
    )


def is_protected(desired: Desired, draft: Draft) -> bool:
    """Whether the YAML protects the object, by its own line or by its kind."""
    return draft.declared.protect if draft.declared.protect is not None else draft.kind.name in desired.protect
