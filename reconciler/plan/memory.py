"""What the state shall hold before the first request: adoptions, renames, protection, and readings that agree. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.model import Binding, Desired, Memory, Origin, State
from reconciler.plan.drafts import Draft
from reconciler.plan.match import Matches
from reconciler.plan.removal import Removal
from reconciler.resource import UNSET, Role


def memory(
    desired: Desired, state: State, found: Matches, mine: Mapping[Address, Draft], gone: Mapping[Address, Removal]
) -> Memory:  # fmt: skip
    """What the state shall hold before the first request: adoptions, renames, protection, and readings that agree."""
    bind: dict[Address, Binding] = {}
    forget: set[Address] = set()
    for draft in mine.values():
        if draft.blocked is not None or (draft.declared.implied and draft.binding is None):
            continue
        if draft.observed is not None and draft.id is not None:
            binding = _remembered(desired, draft, Origin.RECOVERED if (draft.kind.name, draft.id) in found.late else Origin.ADOPTED)
            if binding != state.bindings.get(draft.address):
                bind[draft.address] = binding
        if draft.address in found.renamed:
            forget.add(found.renamed[draft.address])
    for removal in gone.values():
        if removal.replaces is not None and removal.blocked is None and removal.binding is not None:
            forget.add(removal.replaces)
            bind[removal.address] = replace(removal.binding, address=removal.address, protected=False, place=None)
        elif removal.active and not removal.delete:
            forget.add(removal.address)
    return Memory(bind, frozenset(forget))


def _remembered(desired: Desired, draft: Draft, origin: Origin) -> Binding:
    """The binding of an object that exists: *sent* and *seen* where now agrees with the YAML, else what they were."""
    assert draft.observed is not None
    assert draft.id is not None
    old = draft.binding
    kept = {*draft.declared.values, *draft.declared.aside}
    sent = {name: value for name, value in (old.sent if old else {}).items() if name in kept}
    seen = {name: value for name, value in (old.seen if old else {}).items() if name in kept}
    differing = {one.field.name for one in draft.found} | {name for name, _ in draft.partly}
    for name, want in draft.wants.items():
        field = draft.kind.fields[name]
        if field.role is Role.LOCAL and want is not UNSET:
            sent[name] = want
        if not field.compared or not field.readable or field.role is Role.CHOICE:
            continue
        now = field.remembered(draft.observed.values.get(name, UNSET), draft.id)
        if old is None and now is not UNSET:
            seen[name] = now
        if name not in differing and want is not UNSET:
            sent[name] = field.remembered(want, draft.id)
            if now is not UNSET:
                seen[name] = now
    for name, want in draft.wants.items():
        if draft.kind.fields[name].role is Role.CHOICE and name not in differing:
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
    """Whether the YAML protects it, by its own line or by its kind."""
    return draft.declared.protect if draft.declared.protect is not None else draft.kind.name in desired.protect
