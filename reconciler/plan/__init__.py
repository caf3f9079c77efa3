"""The planner: Desired, State and Actual in, a Plan out. Pure, total, deterministic; the one algorithm behind plan, apply and drift.

match     which object is which resource
drafts    what happens to each declared address
removal   what happens to what is no longer declared
arrange   the order of siblings
steps     the requests and what each waits for
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address, Glob
from reconciler.diff import Difference
from reconciler.model import (
    Action,
    Actual,
    Binding,
    Blocked,
    Cause,
    Change,
    Delta,
    Desired,
    Memory,
    Origin,
    Place,
    Plan,
    Spot,
    State,
    Unmanaged,
)
from reconciler.plan.arrange import Row, arrange
from reconciler.plan.drafts import Draft, drafts
from reconciler.plan.match import Matches, match
from reconciler.plan.removal import Removal, removals
from reconciler.plan.reshape import reshape
from reconciler.plan.select import Selection, block_what_waits, select
from reconciler.plan.steps import requests
from reconciler.reading import title
from reconciler.resource import UNSET, Kinds, Role

__all__ = ["Matches", "Selection", "match", "plan"]


def plan(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    *,
    selection: Selection | None = None,
    allow_replace: Collection[str] = (),
) -> Plan:
    """What has to happen so that Actual becomes Desired.

    `allow_replace`: patterns over the addresses that may be deleted and made anew. The same inputs give the same plan, to the byte.
    """
    permitted = [Glob.parse(text) for text in allow_replace]
    found = match(kinds, desired, state, actual)
    every = drafts(
        kinds, desired, state, actual, found, may_replace=lambda address: any(glob.matches(address) for glob in permitted)
    )  # fmt: skip
    leaving = removals(kinds, desired, state, actual, found, every)
    reshape(kinds, actual, found, every, leaving)
    mine, gone, along = select(selection or Selection(), every, leaving)
    block_what_waits(mine)
    gone = {address: removal for address, removal in gone.items() if removal.replaces is None or mine[removal.replaces].active}
    rows = arrange(mine)
    steps = requests(kinds, mine, rows, gone, found.ids)
    names = {id: address for address, id in found.ids.items()} | {
        binding.id: address for address, binding in state.bindings.items() if address not in desired.resources
    }
    changes = [*_changes(desired, mine, rows, names), *_leaving(gone)]
    return Plan(
        project=desired.project,
        environment=desired.environment,
        changes=tuple(changes),
        steps=steps,
        unmanaged=_unmanaged(kinds, desired, state, actual, found),
        unknown=actual.unknown,
        in_doubt=tuple(sorted({intent.address for intent in state.intents})),
        blocked=_blocked(mine, gone),
        deferred={
            **{draft.address: draft.deferred for draft in mine.values() if draft.deferred is not None},
            **{removal.address: removal.deferred for removal in gone.values() if removal.deferred is not None},
        },
        places=_places(rows),
        memory=_memory(desired, state, found, mine, gone),
        notes=tuple(f"{address} comes along: a target needs it" for address in along),
        managed=sum(1 for declared in desired.resources.values() if not declared.implied),
    )


def _places(rows: Collection[Row]) -> dict[Address, Place]:
    return {address: place for row in rows for address, place in row.places().items()}


# -- changes ----------------------------------------------------------------------------------------------------------------------


def _changes(desired: Desired, mine: Mapping[Address, Draft], rows: Collection[Row], names: Mapping[str, Address]) -> list[Change]:
    moved = {move.item: row for row in rows for move in row.moving()}
    found = []
    for draft in mine.values():
        if not draft.active:
            continue
        row = moved.get(draft.address)
        deltas = [*(_delta(draft, one, names) for one in draft.found), *_state_deltas(desired, draft, names)]
        actions = set(draft.actions)
        if row is not None and not draft.born:
            actions.add(Action.MOVE)
        if any(delta.note is not None for delta in deltas) and not actions & {Action.CREATE, Action.REPLACE}:
            actions.add(Action.UPDATE)
        if not actions:
            continue
        before, after = _spots(draft, row, names) if Action.MOVE in actions else (None, None)
        found.append(
            Change(
                address=draft.address,
                kind=draft.kind.name,
                actions=tuple(action for action in Action if action in actions),
                fields=tuple(deltas),
                before=before,
                after=after,
                reason=draft.reason,
                source=draft.declared.source,
                id=draft.id,
                title=title(draft.observed) if draft.observed is not None else None,
            )
        )
    return found


def _named(value: Any, names: Mapping[str, Address]) -> Any:
    """A request form for people: ids that are known become addresses."""
    match value:
        case Address():
            return str(value)
        case str():
            return str(names[value]) if value in names else value
        case Mapping():
            return {key: _named(part, names) for key, part in value.items()}
        case list() | tuple():
            return [_named(part, names) for part in value]
        case _:
            return value


def _delta(draft: Draft, one: Difference, names: Mapping[str, Address]) -> Delta:
    def shown(value: Any) -> Any:
        return UNSET if value is UNSET else _named(one.field.shown(value), names)

    hidden = one.field.sensitive
    return Delta(
        name=one.field.name,
        before=UNSET if hidden else shown(one.before),
        after=UNSET if hidden else shown(one.after),
        cause=one.cause,
        sensitive=hidden,
        note=one.note,
        source=draft.declared.positions.get(one.field.name),
    )


def _dropped(draft: Draft) -> list[str]:
    """Fields that were managed and are no longer written."""
    if draft.binding is None or draft.born:
        return []
    return [name for name in draft.binding.sent if name in draft.kind.fields and draft.declared.values.get(name, UNSET) is UNSET]


def _state_deltas(desired: Desired, draft: Draft, names: Mapping[str, Address]) -> list[Delta]:
    """Changes of what we remember that need no request."""
    found = []
    for name in _dropped(draft):
        field = draft.kind.fields[name]
        if field.role is Role.SEED or draft.observed is None:
            continue
        now = draft.observed.values.get(name, UNSET)
        shown = UNSET if field.sensitive or now is UNSET else _named(field.shown(now), names)
        found.append(Delta(name, shown, shown, Cause.YOURS, field.sensitive, "no longer managed; it stays as it is"))
    if draft.binding is not None and draft.observed is not None and draft.binding.protected != _protected(desired, draft):
        found.append(Delta("protect", draft.binding.protected, _protected(desired, draft), Cause.YOURS, False, "kept in the state"))
    return found


def _protected(desired: Desired, draft: Draft) -> bool:
    return draft.declared.protect if draft.declared.protect is not None else draft.kind.name in desired.protect


def _spots(draft: Draft, row: Row | None, names: Mapping[str, Address]) -> tuple[Spot | None, Spot | None]:
    inside = draft.kind.inside
    held = draft.observed.values.get(inside.name) if draft.observed is not None and inside is not None else None
    here = names.get(held) if held else draft.address.container
    after = Spot(draft.declared.parent, _previous(draft.address, row.wanted if row else ()))
    if draft.observed is None:
        return None, after
    return Spot(here, _previous(draft.address, row.current if row else ())), after


def _previous(address: Address, siblings: Collection[Address]) -> Address | None:
    last = None
    for sibling in siblings:
        if sibling == address:
            return last
        last = sibling
    return None


def _leaving(gone: Mapping[Address, Removal]) -> list[Change]:
    found = []
    for removal in gone.values():
        if not removal.active or removal.replaces is not None:
            continue
        reason = removal.reason
        if removal.covered_by is not None:
            reason = f"goes along with {removal.covered_by}"
        found.append(
            Change(
                address=removal.address,
                kind=removal.kind.name,
                actions=(Action.DELETE if removal.delete else Action.FORGET,),
                reason=reason,
                id=removal.id,
                title=title(removal.observed) if removal.observed is not None else None,
            )
        )
    return sorted(found, key=lambda change: (change.actions, change.address))


def _blocked(mine: Mapping[Address, Draft], gone: Mapping[Address, Removal]) -> tuple[Blocked, ...]:
    found = [draft.blocked for draft in mine.values() if draft.blocked is not None]
    found += [one for draft in mine.values() if draft.blocked is None for _, one in draft.partly]
    found += [removal.blocked for removal in gone.values() if removal.blocked is not None]
    return tuple(found)


def _unmanaged(kinds: Kinds, desired: Desired, state: State, actual: Actual, found: Matches) -> tuple[Unmanaged, ...]:
    held = {(desired.resources[address].kind, id) for address, id in found.ids.items()}
    held |= {(binding.kind, binding.id) for binding in state.bindings.values()}
    return tuple(
        Unmanaged(name, one.id, title(one))
        for name in kinds
        for one in sorted(actual.objects.get(name, {}).values(), key=lambda each: each.id)
        if (name, one.id) not in held and one.deleted_at is None
    )


# -- memory -----------------------------------------------------------------------------------------------------------------------


def _memory(
    desired: Desired, state: State, found: Matches, mine: Mapping[Address, Draft], gone: Mapping[Address, Removal]
) -> Memory:  # fmt: skip
    """What the state shall hold before the first request: adoptions, renames, protection, and readings that agree."""
    bind: dict[Address, Binding] = {}
    forget: set[Address] = set()
    for draft in mine.values():
        if draft.blocked is not None or draft.declared.implied:
            continue
        if draft.observed is not None and draft.id is not None:
            binding = _remembered(desired, draft)
            if binding != state.bindings.get(draft.address):
                bind[draft.address] = binding
        if draft.address in found.renamed:
            forget.add(found.renamed[draft.address])
    for removal in gone.values():
        if removal.replaces is not None and removal.blocked is None and removal.binding is not None:
            bind[removal.address] = replace(removal.binding, address=removal.address, protected=False, place=None)
        elif removal.active and not removal.delete:
            forget.add(removal.address)
    return Memory(bind, frozenset(forget))


def _remembered(desired: Desired, draft: Draft) -> Binding:
    """The binding of an object that exists: *sent* and *seen* where now agrees with the YAML, else what they were."""
    assert draft.observed is not None
    assert draft.id is not None
    old = draft.binding
    sent = {name: value for name, value in (old.sent if old else {}).items() if name in draft.declared.values}
    seen = {name: value for name, value in (old.seen if old else {}).items() if name in draft.declared.values}
    differing = {one.field.name for one in draft.found} | {name for name, _ in draft.partly}
    for name, want in draft.wants.items():
        field = draft.kind.fields[name]
        if not field.compared or not field.readable or field.role is Role.CHOICE:
            continue
        now = draft.observed.values.get(name, UNSET)
        if old is None and now is not UNSET:
            seen[name] = now
        if name not in differing and want is not UNSET:
            sent[name] = want
            if now is not UNSET:
                seen[name] = now
    for name, want in draft.wants.items():
        if draft.kind.fields[name].role is Role.CHOICE and name not in differing:
            sent[name] = seen[name] = want
    return Binding(
        address=draft.address,
        kind=draft.kind.name,
        id=draft.id,
        origin=old.origin if old else Origin.ADOPTED,
        sent=sent,
        seen=seen,
        protected=_protected(desired, draft),
        place=old.place if old else None,
    )
