"""The changes that people read: one for each address, in the terms of the YAML; and what the state
records before the first request: adoptions, renames, protection, and readings that agree. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import (
    ORDER,
    Action,
    Actual,
    Binding,
    Blocked,
    Cause,
    Change,
    Delta,
    Desired,
    Origin,
    Position,
    State,
    StateUpdate,
    Unmanaged,
)
from reconciler.model.codec import title
from reconciler.plan.containment import Key, groups, service_copies
from reconciler.plan.decisions import Draft, Purpose, Removal, actions
from reconciler.plan.derived import Derivation
from reconciler.plan.drafts.declared import parents
from reconciler.plan.matching.differences import FieldDifference
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.renames import Former, address_after_moves
from reconciler.plan.siblings.rows import SiblingRow
from reconciler.plan.world import Rearrangement, World
from reconciler.resource import UNSET, FieldRole, Kinds

# -- addresses in place of ids ---------------------------------------------------------------------------------------------------


class Names(dict[str, Address]):
    """Addresses by id, as the engine calls the objects."""

    def near(self, id: str, where: Address) -> Address | None:
        """The address of a service id in a value of the resource at `where`; None where it is not known."""
        at: Address | None = where
        address = self.get(id)
        while address is None and at is not None:
            address, at = self._local.get((at, id)), at.container
        return address

    @cached_property
    def _local(self) -> dict[tuple[Address | None, str], Address]:
        """What has an id that is unique only within its container."""
        return {(address.container, bare(id)): address for id, address in self.items() if bare(id) != id}


def named(value: Any, names: Names, where: Address) -> Any:
    """A value in the request form, of the resource at `where`, with known ids replaced by addresses."""
    match value:
        case Address():
            return str(value)
        case str():
            return str(names.near(value, where) or value)
        case Mapping():
            return {key: named(part, names, where) for key, part in value.items()}
        case list() | tuple():
            return [named(part, names, where) for part in value]
        case _:
            return value


# -- changes -----------------------------------------------------------------------------------------------------------------------


def changes(
    desired: Desired,
    drafts: Mapping[Address, Draft],
    rows: Collection[SiblingRow],
    names: Names,
    former: Mapping[Address, Address] = {},
    derived: Mapping[Address, Derivation] = {},
) -> Iterator[Change]:
    """One for each address to which something happens, in the order of the YAML. `former`: what was renamed, by its address of today."""
    moved = {move.item: row for row in rows for move in row.moving()}
    inside = {draft.address for draft in drafts.values() if draft.address in former and _renamed_with_container(draft, drafts, former)}
    contents = Counter(next(above for above in address.containers if above not in inside) for address in inside)
    referring = {draft.address: of for draft in drafts.values() if (of := _renamed_with_reference(draft, drafts, former)) is not None}
    namesakes = Counter(referring.values())
    followers = inside | referring.keys()
    for draft in drafts.values():
        if not draft.active:
            continue
        row = moved.get(draft.address)
        deltas = [
            *(_delta(draft, difference, names) for difference in draft.sendable),
            *_seed_delta(draft, names),
            *_derived_deltas(draft, derived),
            *_state_deltas(desired, draft, names),
        ]
        happening = set(actions(draft))
        if draft.address in followers:
            happening.discard(Action.RENAME)
        if row is not None and not draft.is_new:
            happening.add(Action.MOVE)
        if any(delta.note is not None for delta in deltas) and not happening & {Action.CREATE, Action.REPLACE}:
            happening.add(Action.UPDATE)
        if not happening:
            continue
        before, after = _spots(draft, row, names) if Action.MOVE in happening else (None, None)
        yield Change(
            address=draft.address,
            kind=draft.kind.name,
            actions=tuple(action for action in Action if action in happening),
            fields=tuple(deltas),
            before=before,
            after=after,
            reason=_reason(draft, contents[draft.address], namesakes[draft.address], follows=draft.address in followers),
            until=draft.until,
            deleted_by_us=Action.RESTORE in happening and draft.binding is None,
            source=draft.declared.source,
            id=draft.id,
            title=title(draft.observed) if draft.observed is not None else None,
        )


def _renamed_with_container(draft: Draft, drafts: Mapping[Address, Draft], former: Mapping[Address, Address]) -> bool:
    """Whether it only follows the rename of its container, which is reported instead."""
    container = draft.address.container
    if container is None or container not in former or container not in drafts or not drafts[container].active:
        return False
    return former[draft.address] == draft.address.renamed(container, former[container])


def _renamed_with_reference(draft: Draft, drafts: Mapping[Address, Draft], former: Mapping[Address, Address]) -> Address | None:
    """The renamed resource from whose key it has its own, before and now; that one's rename is reported instead."""
    field = draft.kind.keyed_by
    referred = draft.declared.values.get(field.name) if field is not None else None
    if not isinstance(referred, Address) or not {draft.address, referred} <= former.keys():
        return None
    keys = former[draft.address].key == former[referred].key and draft.address.key == referred.key != former[referred].key
    return referred if keys and referred in drafts and drafts[referred].active else None


def _reason(draft: Draft, contents: int, namesakes: int, *, follows: bool) -> str:
    """Why something happens. `contents`, `namesakes`: how many objects in it, and named after it, are renamed with it.

    `follows`: it is renamed with another one itself, which says so.
    """
    if follows and draft.purpose is Purpose.RENAME:
        return ""
    others = f", with {the_objects(contents)} in it" if contents else ""
    others += f"{' and' if contents else ', with'} {the_objects(namesakes)} named after it" if namesakes else ""
    return f"{draft.reason}{others}"


def the_objects(number: int) -> str:
    """`the 12 objects`."""
    return "the object" if number == 1 else f"the {number:,} objects"


def remarks(drafts: Mapping[Address, Draft]) -> tuple[str, ...]:
    """One sentence for each difference that no request can correct; it does not count as pending."""
    return tuple(
        f"{draft.address}: {difference.field.name} {difference.note}"
        for draft in drafts.values()
        for difference in draft.differences
        if draft.active and difference.note is not None
    )


def differing(drafts: Mapping[Address, Draft], names: Names) -> dict[Address, tuple[Delta, ...]]:
    """Every field of an existing object that is not as declared, whether or not a request corrects it."""
    return {
        draft.address: tuple(_delta(draft, deviation, names) for deviation in draft.deviations)
        for draft in drafts.values()
        if draft.deviations and not draft.is_restored
    }


def ignored(drafts: Mapping[Address, Draft], positions: Collection[Address], names: Names) -> dict[Address, tuple[Delta, ...]]:
    """The differences that the YAML says to leave alone. `positions`: of those with another position among their siblings."""
    deltas = {draft.address: tuple(_delta(draft, difference, names) for difference in draft.ignored) for draft in drafts.values()}
    for address in positions:
        deltas[address] = (*deltas[address], Delta(ORDER, UNSET, UNSET, Cause.DRIFT))
    return {address: some for address, some in deltas.items() if some}


def moved_outside(rows: Collection[SiblingRow]) -> dict[Address, tuple[Position, Position]]:
    """Siblings that were moved since they were placed: the position they were given, and their position now."""
    return {
        address: (Position(row.parent, previous=then), Position(row.parent, previous=now))
        for row in rows
        for address, then, now in row.moved_outside
    }


def _delta(draft: Draft, difference: FieldDifference, names: Names) -> Delta:
    def shown(value: Any) -> Any:
        return UNSET if value is UNSET else named(difference.field.shown(value), names, draft.address)

    field, seen = difference.field, draft.binding.seen.get(difference.field.name, UNSET) if draft.binding is not None else UNSET
    if seen is UNSET and field.gathered and draft.binding is not None:
        seen = draft.binding.sent.get(field.name, UNSET)  # answers to what was sent never show it
    hidden = field.sensitive or any(field.is_secret(value) for value in (difference.before, difference.after, seen))
    return Delta(
        name=difference.field.name,
        before=UNSET if hidden else shown(difference.before),
        after=UNSET if hidden else shown(difference.after),
        cause=difference.cause,
        sensitive=hidden,
        note=difference.note,
        source=draft.declared.positions.get(difference.field.name),
        last=UNSET if hidden else shown(seen),
        container=difference.field.container,
        from_defaults=difference.field.name in draft.declared.from_defaults,
    )


def _seed_delta(draft: Draft, names: Names) -> Iterator[Delta]:
    """What the object is created from, which is never compared."""
    field = draft.kind.seed
    value = draft.wants.get(field.name, UNSET) if field is not None and draft.is_new else UNSET
    if field is not None and value is not UNSET:
        shown = named(field.shown(value), names, draft.address)
        yield Delta(field.name, UNSET, shown, Cause.YOURS, source=draft.declared.positions.get(field.name))


def _derived_deltas(draft: Draft, derived: Mapping[Address, Derivation]) -> Iterator[Delta]:
    """What the service derives when it creates the object, where no request sets it."""
    derivation = derived.get(draft.address)
    if derivation is not None and derivation.shown:
        value = derivation.value if derivation.value is not None else UNSET
        yield Delta(derivation.field.name, UNSET, value, Cause.YOURS, note=derivation.note)


def _state_deltas(desired: Desired, draft: Draft, names: Names) -> Iterator[Delta]:
    """Changes of the state that need no request: fields that are no longer managed, and protection."""
    if draft.binding is None or draft.observed is None:
        return
    for name in draft.binding.sent:
        field = draft.kind.fields.get(name)
        if draft.is_new or field is None or name in draft.declared.aside or draft.declared.values.get(name, UNSET) is not UNSET:
            continue
        # These say something about a create only, or are nothing on the service.
        if field.role in (FieldRole.SEED, FieldRole.LOCAL, FieldRole.FIRST):
            continue
        now = (draft.binding.seen if field.role is FieldRole.CHOICE else draft.observed.values).get(name, UNSET)
        shown = UNSET if field.sensitive or now is UNSET else named(field.shown(now), names, draft.address)
        if field.flag is None:
            yield Delta(name, shown, shown, Cause.YOURS, field.sensitive, "no longer managed; it is left unchanged")
        else:
            note = f"no longer managed, because no {field.to} has {field.flag}: true; it is left unchanged"
            yield Delta(field.flag, shown, shown, Cause.YOURS, note=note)
    if draft.binding.protected != is_protected(desired, draft):
        yield Delta("protect", draft.binding.protected, is_protected(desired, draft), Cause.YOURS, False, "stored in the state")


def _spots(draft: Draft, row: SiblingRow | None, names: Names) -> tuple[Position | None, Position | None]:
    inside = draft.kind.inside
    held = draft.observed.values.get(inside.name) if draft.observed is not None and inside is not None else None
    parent_now = names.get(held) if held else draft.address.container
    after = Position(draft.declared.parent, previous=row.behind_then.get(draft.address) if row else None)
    if draft.observed is None:
        return None, after
    if row is not None and draft.address not in row.present and parent_now == after.parent:
        return None, after
    return Position(parent_now, previous=row.behind_now.get(draft.address) if row else None), after


def removal_changes(removals: Mapping[Address, Removal]) -> list[Change]:
    changes = (
        Change(
            address=removal.address,
            kind=removal.kind.name,
            actions=tuple(actions(removal)),
            reason=f"deleted with {removal.deleted_with}" if removal.deleted_with is not None else removal.reason,
            id=removal.id,
            title=title(removal.observed) if removal.observed is not None else None,
        )
        for removal in removals.values()
        if removal.active and removal.replaces is None
    )
    return sorted(changes, key=lambda change: (change.actions, change.address))


def blockages(drafts: Mapping[Address, Draft], removals: Mapping[Address, Removal]) -> tuple[Blocked, ...]:
    blocked_resources = [draft.blocked for draft in drafts.values() if draft.blocked is not None]
    blocked_resources += [blocked for draft in drafts.values() if draft.blocked is None for _, blocked in draft.blocked_fields]
    blocked_resources += [removal.blocked for removal in removals.values() if removal.blocked is not None]
    return tuple(blocked_resources)


def unmanaged_cascades(world: World, removals: Mapping[Address, Removal], changing: Collection[Rearrangement]) -> list[Change]:
    """One delete for each unmanaged object that the service deletes with a managed one, at any depth."""
    deleted = {(removal.kind.name, removal.id): removal for removal in removals.values() if removal.deletes}
    if not deleted:
        return []
    kept = {(*rearrangement.trigger_key, name) for rearrangement in changing for name in rearrangement.names}
    deletions: dict[Key, Change] = {}
    waiting = [(key, removal.address) for key, removal in deleted.items() if removal.replaces is None]
    while waiting:
        outer, address = waiting.pop()
        for observed in world.contents.deleted_directly(outer):
            key = observed.key
            if observed.deleted_at is not None or key in deleted or key in deletions or (*outer, observed.kind) in kept:
                continue
            container = address if world.kinds[observed.kind].within == outer[0] else address.container
            if container is not None:
                named = world.kinds[observed.kind].address(container, bare(observed.id))
                reason = f"unmanaged; deleted with {address}"
                deletions[key] = Change(named, observed.kind, (Action.DELETE,), reason=reason, id=observed.id, title=title(observed))
                waiting.append((key, named))
    return sorted(deletions.values(), key=lambda change: change.address)


def unmanaged(kinds: Kinds, desired: Desired, state: State, actual: Actual, matches: Matches) -> tuple[Unmanaged, ...]:
    held = {(desired.resources[address].kind, id) for address, id in matches.ids.items()}
    held.update(state.addresses, state.foreign, service_copies(kinds, actual.objects))
    return tuple(
        Unmanaged(name, observed.id, title(observed))
        for name in kinds
        for observed in sorted(actual.objects.get(name, {}).values(), key=lambda observed: observed.id)
        if (name, observed.id) not in held and observed.deleted_at is None
    )


# -- What the state records ----------------------------------------------------------------------------------------------------------


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
) -> dict[Address, Address]:
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
) -> Mapping[Address, Address]:
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
            # Nearly every value is as declared: what the state stores of it is the same text.
            sent[name] = now if want == draft.observed.values.get(name, UNSET) else field.stored(want, draft.id)
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
