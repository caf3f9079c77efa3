"""A Desired of the current organization: everything tracked is declared as it is, so that nothing differs. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from reconciler.address import Address
from reconciler.features.undo.effects import RunEffect, further_ids
from reconciler.features.undo.objects import NOWHERE, ObservedObject, sibling_rows, tracked_objects
from reconciler.model import Actual, Declared, Desired, State, StateChange
from reconciler.resource import UNSET, Foreign, Kinds


def desired_for_reading(
    kinds: Kinds, project: Desired, state: State, done: Mapping[Address, RunEffect], state_changes: Iterable[StateChange]
) -> Desired:
    """What to read before a run is reverted: everything tracked, what the run changed, and the containers from which it moved objects."""
    nothing = Actual()
    known = tracked_objects(kinds, state, nothing)
    known |= {
        address: _unbound(kinds, address, id, nothing) for address, id in further_ids(done, state_changes).items() if address not in known
    }
    former: dict[Address, dict[str, Any]] = {}
    for address, change in done.items():
        inside, parent = change.kind.inside, change.position.parent if change.position is not None else None
        if inside is not None and parent in known and inside.to == kinds.of(parent).name:
            former[address] = {inside.name: parent}
    staying = {address: tracked for address, tracked in known.items() if address not in done or done[address].created is None}
    return arranged(kinds, project, staying, sibling_rows(staying), former)  # so that a created object is read before it is deleted


def _unbound(kinds: Kinds, address: Address, id: str, actual: Actual) -> ObservedObject:
    kind = kinds.of(address)
    return ObservedObject(address, kind, id, None, actual.find(kind.name, id))


def arranged(
    kinds: Kinds,
    project: Desired,
    known: Mapping[Address, ObservedObject],
    rows: Mapping[Address, list[Address]],
    values: Mapping[Address, Mapping[str, Any]],
) -> Desired:
    """A Desired of these objects in these rows (by parent). `values`: the desired values of some of them; all other fields are set
    aside."""
    names = {owner.id: address for address, owner in known.items()}
    parents: dict[Address, Address | None] = {address: parent for parent, row in rows.items() for address in row}
    below: dict[Address | None, list[Address]] = defaultdict(list)
    for parent, row in rows.items():
        below[parent] += row
    for address in sorted(known):
        if address not in parents:
            parents[address] = _remembered_parent(known[address], known, names)
            below[parents[address]].append(address)
    resources: dict[Address, Declared] = {}
    for address in _walk(below):
        tracked = known[address]
        wanted = {**_named_in_paths(tracked), **_container(tracked, parents[address], kinds, names), **values.get(address, {})}
        resources[address] = _declared(kinds, project, tracked, parents[address], wanted)
    lister = project.resources.get(project.lister) if project.lister is not None else None
    if lister is not None and lister.address not in resources and lister.address.container in resources:
        resources[lister.address] = replace(lister, implied=True)
    return replace(project, resources=resources, moved=(), removed={}, written=frozenset())


def _walk(below: Mapping[Address | None, list[Address]]) -> Iterable[Address]:
    """Parents before their children, siblings in order; objects in a cycle are left out."""
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        address = waiting.pop()
        yield address
        waiting += reversed(below.get(address, []))


def _remembered_parent(tracked: ObservedObject, known: Collection[Address], names: Mapping[str, Address]) -> Address | None:
    """The parent of an object without an order, or that no reading has shown yet."""
    inside, binding = tracked.kind.inside, tracked.binding
    if inside is not None:
        seen = tracked.observed.values if tracked.observed is not None else binding.seen if binding is not None else {}
        held = seen.get(inside.name)
        if isinstance(held, str) and held in names:
            return names[held]
        if tracked.observed is None and binding is not None and binding.place is not None and binding.place.parent in known:
            return binding.place.parent
    return tracked.address.container


def _container(tracked: ObservedObject, parent: Address | None, kinds: Kinds, names: Mapping[str, Address]) -> dict[str, Any]:
    """The field that names what contains the object, as written; empty where its kind has none."""
    inside = tracked.kind.inside
    if inside is None:
        return {}
    if parent is not None and parent != tracked.address.container and kinds.of(parent).name == inside.to:
        return {inside.name: parent}
    held = tracked.observed.values.get(inside.name) if tracked.observed is not None else None
    return {inside.name: Foreign(held, str(inside.to)) if isinstance(held, str) and held not in names else None}


def _named_in_paths(tracked: ObservedObject) -> dict[str, Any]:
    """The key fields that are part of the paths of its requests, and what an object that is to be tracked is recognized by."""
    names = {hole for verb in tracked.kind.api.values() for hole in verb.placeholders}
    if tracked.binding is None:
        names |= {tracked.kind.place.key_is or "", tracked.kind.listed_by.name if tracked.kind.listed_by is not None else ""}
    shown = tracked.observed.values if tracked.observed is not None else {}
    return {name: value for name, value in shown.items() if name in names and tracked.kind.fields[name].key}


def _never_shown(tracked: ObservedObject, line: Declared | None) -> dict[str, Any]:
    """The values that a request replacing the whole object needs and no reading shows: the last sent ones; for secrets, the declared
    ones."""
    names = {
        field.name for verb in tracked.kind.api.values() if verb.whole for field in tracked.kind.sent_by(verb.name) if not field.readable
    }
    sent = tracked.binding.sent if tracked.binding is not None else {}
    known = {name: sent[name] for name in names if name in sent and not tracked.kind.fields[name].hides(sent[name])}
    declared = {name: line.values[name] for name in names if name in line.values} if line is not None else {}
    return {**declared, **known}


def _declared(kinds: Kinds, project: Desired, tracked: ObservedObject, parent: Address | None, values: Mapping[str, Any]) -> Declared:
    line, binding = project.resources.get(tracked.address), tracked.binding
    host = kinds.of(parent).name if parent is not None else None
    values = {**_never_shown(tracked, line), **values} if values else values
    managed = {*binding.sent, *binding.seen} if binding is not None else set()
    return Declared(
        address=tracked.address,
        kind=tracked.kind.name,
        values={name: value for name, value in values.items() if value is not UNSET},
        source=line.source if line is not None else NOWHERE,
        parent=parent,
        section=tracked.kind.place.section_in(host),
        index=0,
        id=tracked.id if binding is None or parent is None else None,
        protect=binding.protected if binding is not None else line.protect if line is not None else None,
        aside=frozenset(managed - set(values)),
    )
