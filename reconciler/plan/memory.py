"""What the state records before the first request: adoptions, renames, protection, and readings that agree. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Binding, Desired, Origin, StateUpdate
from reconciler.plan.decisions import Draft, Removal
from reconciler.plan.drafts.declared import parents
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import Former, carried
from reconciler.resource import UNSET, FieldRole


def memory(
    desired: Desired,
    found: Matches,
    mine: Mapping[Address, Draft],
    gone: Mapping[Address, Removal],
    *,
    whole: bool,
    waiting: Collection[Address] = (),
) -> StateUpdate:
    """What the state records before the first request: adoptions, renames, protection, and readings that agree.

    `whole`: the run is about everything, so that what the YAML no longer says is forgotten. `waiting`: tracked addresses that change with
    the outcome of a request, if at all.
    """
    bind: dict[Address, Binding] = {}
    carried_later: dict[Address, Binding] = {}
    forget: set[Address] = set()
    later = {found.former.moves[old] for old in waiting if old in found.former.moves}
    for draft in mine.values():
        if draft.blocked is not None or (draft.declared.implied and draft.binding is None):
            continue
        if draft.observed is not None and draft.id is not None:
            binding = _remembered(desired, draft, Origin.RECOVERED if (draft.kind.name, draft.id) in found.late else Origin.ADOPTED)
            if draft.address in later:
                carried_later[draft.address] = binding
            elif binding != found.binding(draft.address):
                bind[draft.address] = binding
    for removal in gone.values():
        if removal.replaces is not None and removal.blocked is None and removal.binding is not None:
            forget.add(removal.replaces)
            bind[removal.address] = replace(removal.binding, address=removal.address, protected=False, place=None)
        elif removal.active and not removal.delete:
            forget.add(removal.address)
    rename = found.former.moves if whole else _touched(desired, found.former, mine, gone)
    rename = {old: new for old, new in rename.items() if old not in waiting} if waiting else rename
    fulfilled = _fulfilled(found, rename, mine, whole=whole, waiting=waiting)
    return StateUpdate(
        bind, frozenset(forget), rename, None if fulfilled == found.former.before.fulfilled else fulfilled, carried=carried_later
    )


def remembered(memory: StateUpdate) -> dict[str, Any]:
    """The arguments for the journal. A journal forgets before it renames, so it needs the former addresses of what is forgotten."""
    before = {new: old for old, new in memory.rename.items()}
    forget = [before.get(address, address) for address in memory.forget if address in before or address not in memory.rename]
    return {"bind": memory.bind.values(), "forget": forget, "rename": memory.rename, "fulfilled": memory.fulfilled}


def _touched(
    desired: Desired, former: Former, mine: Mapping[Address, Draft], gone: Mapping[Address, Removal]
) -> dict[Address, Address]:  # fmt: skip
    """The renames of a run that is limited to some addresses: those of its own addresses, with all renames that depend on them."""
    if not former.moves:
        return {}
    about = {*mine, *gone}
    for address in (*mine, *gone):
        about.update(parents(desired, mine[address].declared) if address in mine else address.containers)
    group = {address: address for address in former.moves}

    def leader(address: Address) -> Address:
        while group[address] != address:
            address = group[address]
        return address

    def join(one: Address, other: Address | None) -> None:
        if other in group:
            group[leader(one)] = leader(other)

    for old, new in former.moves.items():
        join(old, next((container for container in old.containers if container in former.moves), None))
        join(old, new)
    wanted = {leader(old) for old, new in former.moves.items() if new in about}
    return {old: new for old, new in former.moves.items() if leader(old) in wanted}


def _fulfilled(
    found: Matches, rename: Mapping[Address, Address], mine: Mapping[Address, Draft], *, whole: bool, waiting: Collection[Address]
) -> Mapping[Address, Address]:  # fmt: skip
    """The renames of the YAML that are done after these.

    A done rename of a blocked resource is kept even if its line was removed: with the former files, it must not take effect again.
    """
    former = found.former
    done = {carried(old, rename): carried(new, rename) for old, new in former.before.fulfilled.items()}
    if whole:
        pending = {former.followed[old] for old in waiting if old in former.followed}
        blocked = {*found.blocked, *(address for address, draft in mine.items() if draft.blocked is not None)}
        tracked = former.before.bindings.keys() | former.state.bindings.keys() if blocked and done else ()
        kept = {old: new for old, new in done.items() if not blocked.isdisjoint((old, new)) and new in tracked}
        return {**kept, **{line: new for line, new in former.renames.items() if line not in pending}}
    undone = {line for old, line in former.followed.items() if old in former.moves and old not in rename}
    followed = {line for old, line in former.followed.items() if old in rename}
    return done | {line: new for line, new in former.renames.items() if line in followed or (new in mine and line not in undone)}


def _remembered(desired: Desired, draft: Draft, origin: Origin) -> Binding:
    """The binding of an existing object: *sent* and *seen* are its values now where these agree with the YAML, else they are unchanged."""
    assert draft.observed is not None
    assert draft.id is not None
    old = draft.binding
    kept = {*draft.declared.values, *draft.declared.aside}
    sent = {name: value for name, value in (old.sent if old else {}).items() if name in kept}
    seen = {name: value for name, value in (old.seen if old else {}).items() if name in kept}
    differing = {difference.field.name for difference in draft.differences} | {name for name, _ in draft.partly}
    for name, want in draft.wants.items():
        field = draft.kind.fields[name]
        if field.role is FieldRole.LOCAL and want is not UNSET:
            sent[name] = want
        if not field.compared or not field.readable or field.role is FieldRole.CHOICE:
            continue
        now = field.remembered(draft.observed.values.get(name, UNSET), draft.id)
        if old is None and now is not UNSET:
            seen[name] = now
        if name not in differing and want is not UNSET:
            sent[name] = field.remembered(want, draft.id)
            if now is not UNSET:
                seen[name] = now
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
