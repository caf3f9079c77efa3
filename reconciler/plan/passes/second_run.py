"""What the service rearranges by itself when the first object of a kind is created or the last one is deleted. Pure.

The premise: sections divide a site. As long as a site has none, its site spaces are at its top. The service lets no site space be outside a
section once there is one, so it moves them by itself, and no request prevents that:

    the first section is created                         the last section is deleted

    site docs                 site docs                  site docs                 site docs
      space a                   section s                  section s                 space a
      space b       ==>           space a                    space a     ==>         space b
                                  space b                    space b

    its top moves into it                                the contents of the *last* one return to the top;
                                                         those of every other one are deleted with it

Such a site is a *rearrangement*, and the section that is created first, or deleted last, its *trigger*. Three things follow.

1. Which section is the trigger is a choice: the first one declared; of the ones that are deleted, the one with most of what is declared at
   the top, so that the least is deleted and created again.
2. What the service moves has its place only when all requests are done. A request that moves it in the same run would meet it either here
   or there. So it waits for a *second run*, which finds it where the service put it, and mostly where it is declared (`settled`).
3. Nothing may be created at the top of a site that still has sections, because it would disappear into one (`beside_others`).

In: what was matched, drafts and removals. Out: which containers change their form in this run, and what waits for a second run because of
that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import WHEN_READ, Declared, Observed, waiting
from reconciler.model.codec import title
from reconciler.plan.decisions import DeletedWith, Draft, Removal
from reconciler.plan.world import Decisions, Rearrangement, World
from reconciler.resource import Field, FieldRole, Kind

Rearranged = tuple[Declared, Kind, Observed | None]
"""A declared resource of a kind that the service rearranges, that kind, and the object that has its address now."""


def rearrangements(world: World, decisions: Decisions) -> Decisions:
    """Find every container that changes its form in this run. Drafts and removals do not take this into account yet and may still be
    blocked."""
    actual, changing = world.actual, list[Rearrangement]()
    for kind in world.kinds.values():
        names = kind.reshapes
        if not names:
            continue
        declared, inner = _by_container(world, decisions, kind)
        leaving = _leaving(world, decisions, kind)
        for container in sorted({*declared, *leaving}):
            scope = _staying(world, decisions, container)
            # Where the list was not read, nobody knows which one is the first or the last.
            if scope is None or (kind.name, scope) not in actual.complete:
                continue
            present = _directly_in(world, kind, scope)
            moved = any(_directly_in(world, world.kinds[name], scope) for name in names)
            if not present and moved and container in declared:
                changing.append(_first(kind, container, declared[container], inner.get(container, [])))
            elif present and container not in declared and all(observed.id in leaving[container] for observed in present):
                changing.append(_last(kind, container, present, leaving[container], inner.get(container, [])))
    return replace(decisions, rearrangements=tuple(changing))


def _staying(world: World, decisions: Decisions, container: Address) -> str | None:
    """The id of a container that exists and that this run does not delete."""
    removal = decisions.removals.get(container)
    if removal is None or (removal.deletes and _selected(world, decisions, container)):
        return decisions.matches.ids.get(container)
    return removal.id


def _directly_in(world: World, kind: Kind, container: str) -> list[Observed]:
    """The objects of a kind in the fixed container with this id."""
    return list(world.contents.inside(kind.name, str(kind.within), container))


def _selected(world: World, decisions: Decisions, address: Address) -> bool:
    """Whether the run is about an address, as far as it is known."""
    return world.selection.takes(address) or address in decisions.required


def _by_container(world: World, decisions: Decisions, kind: Kind) -> tuple[dict[Address, list[Address]], dict[Address, list[Rearranged]]]:
    """By container: the declared resources of the kind that exist or that this run creates, and the declared ones of the kinds it
    rearranges."""
    matches = decisions.matches
    declared: dict[Address, list[Address]] = defaultdict(list)
    inner: dict[Address, list[Rearranged]] = defaultdict(list)
    for address, resource in world.desired.resources.items():
        if address.container is None:
            continue
        if resource.kind == kind.name:
            if address in matches.ids or _selected(world, decisions, address):
                declared[address.container].append(address)
        elif resource.kind in kind.reshapes:
            id, other = matches.ids.get(address), world.kinds[resource.kind]
            inner[address.container].append((resource, other, world.actual.find(other.name, id) if id is not None else None))
    return declared, inner


def _leaving(world: World, decisions: Decisions, kind: Kind) -> dict[Address, dict[str, Address]]:
    """The objects of a kind that this run deletes: by container, the addresses by id."""
    leaving: dict[Address, dict[str, Address]] = defaultdict(dict)
    for removal in decisions.removals.values():
        deletes = removal.kind is kind and removal.deletes and _selected(world, decisions, removal.address)
        if deletes and removal.address.container is not None:
            leaving[removal.address.container][removal.id] = removal.address
    return leaving


def _first(kind: Kind, container: Address, declared: Sequence[Address], inner: Sequence[Rearranged]) -> Rearrangement:
    """The first that is declared is created first; what is declared in it and is at the top already is moved into it by the service."""
    trigger = declared[0]
    mine = [(resource, its_kind, observed) for resource, its_kind, observed in inner if resource.parent == trigger]
    # A section cannot be created empty: its create brings the first child, which is therefore not moved but created again.
    created_with = kind.api["create"].brings
    first = {its_kind.name: resource.address for resource, its_kind, _ in reversed(mine) if its_kind.name in created_with}
    settled = {resource.address for resource, _, observed in mine if observed is not None} - {*first.values()}
    return Rearrangement(kind, kind.reshapes, container, trigger, None, settled=frozenset(settled))


def _last(
    kind: Kind, container: Address, present: Sequence[Observed], leaving: Mapping[str, Address], inner: Sequence[Rearranged]
) -> Rearrangement:
    """The one that contains most of what is declared at the top is deleted last, so that the least is deleted and created again."""
    kept: dict[str, list[Address]] = defaultdict(list)
    for resource, its_kind, observed in inner:
        node = where(observed, its_kind)
        if isinstance(node, str) and resource.parent == container:
            kept[node].append(resource.address)
    trigger = min(present, key=lambda observed: (-len(kept.get(observed.id, [])), observed.rank or 0, observed.id))
    settled = frozenset(kept.get(trigger.id, []))
    top = any(resource.parent == container for resource, _, _ in inner)
    addresses = tuple(leaving.values())
    return Rearrangement(kind, kind.reshapes, container, leaving[trigger.id], trigger.id, addresses, top, settled)


def where(observed: Observed | None, kind: Kind) -> Any:
    """The id of the node in which an object is; None at the top of its container."""
    return observed.values.get(kind.inside.name) if observed is not None and kind.inside is not None else None


def second_run(world: World, decisions: Decisions) -> Decisions:
    """Defer to a second run what the service rearranges in this one, and count what is deleted meanwhile."""
    entries = _Entries(decisions)
    for change in decisions.rearrangements:
        if change.trigger_id is None:
            _after_first(change, entries)
        else:
            _after_last(change, entries)
    for address in decisions.drafts:
        draft = entries.drafts[address]
        waits = [difference.field.name for difference in draft.sendable if _chosen_later(draft, difference.field, entries.drafts)]
        if waits and draft.active:
            entries.put(replace(draft, deferred=f"{' and '.join(waits)} waits for what the service rearranges"))
    return replace(decisions, drafts=entries.drafts, removals=entries.removals)


class _Entries:
    """The drafts and the removals of this pass, and which of them are in a container."""

    def __init__(self, decisions: Decisions) -> None:
        self.drafts, self.removals = dict(decisions.drafts), dict(decisions.removals)
        self.containers: dict[Address, list[Address]] = defaultdict(list)
        self._removals: dict[Address, list[Address]] = defaultdict(list)
        for addresses, entries in ((self.containers, self.drafts), (self._removals, self.removals)):
            for address in entries:
                if address.container is not None:
                    addresses[address.container].append(address)

    def put(self, entry: Draft | Removal) -> None:
        if isinstance(entry, Draft):
            self.drafts[entry.address] = entry
        else:
            self.removals[entry.address] = entry

    def drafts_in(self, container: Address) -> list[Draft]:
        return [self.drafts[address] for address in self.containers.get(container, ())]

    def removals_in(self, container: Address) -> list[Removal]:
        return [self.removals[address] for address in self._removals.get(container, ()) if address in self.removals]


def _chosen_later(draft: Draft, field: Field, drafts: Mapping[Address, Draft]) -> bool:
    """Whether the field chooses one of the objects that wait.

    Not where the object's own create moves that one into it: the field is sent after the create. The first section would wait for itself.
    """
    chosen = draft.declared.values.get(field.name)
    if field.role is not FieldRole.CHOICE or not isinstance(chosen, Address) or chosen not in drafts:
        return False
    return drafts[chosen].deferred is not None and not (draft.is_new and drafts[chosen].moves_into == draft.address)


def _after_first(change: Rearrangement, entries: _Entries) -> None:
    """The first object of a kind takes in what is at the top of the container."""
    trigger = entries.drafts[change.trigger]
    for removal in entries.removals_in(change.container):
        if removal.kind.name in change.names and where(removal.observed, removal.kind) is None:
            entries.put(replace(removal, moves_into=trigger.address))
    for draft in entries.drafts_in(change.container):
        if draft.kind is change.kind and draft.address != trigger.address:
            draft = replace(draft, created_after=(trigger.address,))
            # If the trigger cannot be created, another one would be the first, and take in what belongs in the trigger.
            if draft.is_new and draft.active and trigger.blocked is not None:
                draft = replace(draft, blocked=waiting(draft.address, trigger.blocked, draft.declared.source))
        if draft.kind.name in change.names:
            if where(draft.old or draft.observed, draft.kind) is None:
                draft = replace(draft, moves_into=trigger.address)
            if draft.deferred == change.reason and trigger.blocked is not None:
                draft = replace(draft, deferred=None, blocked=waiting(draft.address, trigger.blocked, draft.declared.source))
        entries.put(draft)


def _after_last(change: Rearrangement, entries: _Entries) -> None:
    """When the last object of a kind is deleted, its contents move to the top of the container; those of the others are deleted with
    them."""
    leaving = [entries.removals[address] for address in change.leaving]
    stopped = next((removal.blocked for removal in leaving if removal.blocked is not None), None)
    others = {removal.id: removal.address for removal in leaving if removal.address != change.trigger}
    if stopped is None:
        entries.put(replace(entries.removals[change.trigger], deleted_after=tuple(others.values())))
        if change.top:
            # What the service moves to the top cannot be deleted in this run: it is in a section when the plan is made, and at the top when
            # its delete would be sent.
            for removal in entries.removals_in(change.container):
                kept = removal.kind.name in change.names and where(removal.observed, removal.kind) not in others
                if kept and removal.active and removal.replaces is None:
                    entries.put(replace(removal, deferred=change.reason))
    for draft in entries.drafts_in(change.container):
        if draft.kind.name not in change.names or draft.blocked is not None or not (draft.is_new or draft.sendable):
            continue
        if stopped is not None:
            entries.put(replace(draft, deferred=None, blocked=waiting(draft.address, stopped, draft.declared.source)))
            continue
        entries.put(replace(draft, deferred=change.reason))
        # What was to be replaced, in a section that is deleted, is deleted with it anyway: the second run creates it.
        section = others.get(where(draft.old, draft.kind))
        if draft.old is not None and section is not None:
            entries.removals.pop(change.container.child(draft.kind.name, bare(draft.old.id)), None)
            reason = f"deleted with {section}; a second run creates it again"
            entries.put(Removal(draft.address, draft.kind, draft.old.id, DeletedWith(section), reason, draft.old, draft.binding))


def beside_others(world: World, decisions: Decisions) -> Decisions:
    """Block creates at the top of a container in which there are objects that would take them in."""
    return decisions.changed(_beside_others(world, decisions, _Entries(decisions)))


def _beside_others(world: World, decisions: Decisions, entries: _Entries) -> Iterator[Draft]:
    moving = {(change.kind.name, change.container) for change in decisions.rearrangements}
    for kind in world.kinds.values():
        if not kind.reshapes:
            continue
        unread = {failed.scope: failed.reason for failed in world.actual.unknown if failed.kind == kind.name and failed.id is None}
        for container in entries.containers:
            scope = decisions.matches.ids.get(container, "")
            present = _directly_in(world, kind, scope)
            if not (present or scope in unread) or (kind.name, container) in moving:
                continue
            for draft in entries.drafts_in(container):
                if draft.kind.name in kind.reshapes and draft.declared.parent == container and draft.active and draft.is_new:
                    yield _blocked_by(draft, kind, container, present, unread.get(scope))


def _blocked_by(draft: Draft, kind: Kind, container: Address, present: Sequence[Observed], unread: str | None) -> Draft:
    """A create at the top of a container, blocked by the objects there, or because they could not be read (`unread`: why)."""
    if unread is not None:
        reason = f"would be created outside any {kind.name}, but the {kind.name}s of {container} could not be read: {unread}"
        return draft.block(reason, WHEN_READ, id="RC-unread")
    names = ", ".join(repr(title(observed)) for observed in present[:5]) + (f" and {len(present) - 5} more" if present[5:] else "")
    reason = f"would be created outside any {kind.name}, but {container} still has the {kind.name}s {names}"
    return draft.block(reason, f"delete these {kind.name}s first, or declare it in one of them", id="RC-beside-others")
