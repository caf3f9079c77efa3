"""What happens to each declared address: nothing, adopt, create, update, move, restore, replace, or blocked. Pure.

In: Desired, State, Actual and what was matched. Out: one `Draft` an address. Requests and their order come later (`steps`, `arrange`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from reconciler.address import Address, bare
from reconciler.model import Action, Actual, Binding, Blocked, Cause, Declared, Desired, Observed, State, waiting
from reconciler.model.codec import unborn, wanted
from reconciler.plan.drafts.diff import Difference, differences
from reconciler.plan.drafts.replacement import carried_over
from reconciler.plan.drafts.restoration import last_moment, left_over, span, window
from reconciler.plan.drafts.verdict import Fate, explained, fate
from reconciler.plan.matching.ambiguous import block_ambiguous
from reconciler.plan.matching.identity import is_other, other
from reconciler.plan.matching.match import Matches
from reconciler.plan.matching.outsiders import outsider
from reconciler.resource import UNSET, Field, Kind, Kinds, Role


@dataclass
class Draft:
    """One declared address on its way into the plan.

    `wants`: every declared field in the request form. `found`: what differs. `id`: of the object it is now, None where it must be made.
    `differing`: the same and what no request can mend, noted. `born`: it is made in this run. `brought_by`: the address whose create makes
    it. `old`: the object it replaces. `blocked`: why nothing can be done for it; `partly`: the fields that cannot be had, and why.
    `deferred`: why it waits for a second run. `behind`: what must be created before it. `settles`: where the service moves it in this run.
    `until`: when the deleted object that the reason is about can no longer be restored.
    """

    address: Address
    kind: Kind
    declared: Declared
    wants: dict[str, Any]
    binding: Binding | None = None
    observed: Observed | None = None
    id: str | None = None
    found: tuple[Difference, ...] = ()
    differing: tuple[Difference, ...] = ()
    actions: set[Action] = field(default_factory=set)
    born: bool = False
    restore: bool = False
    brought_by: Address | None = None
    old: Observed | None = None
    reason: str = ""
    until: datetime | None = None
    blocked: Blocked | None = None
    partly: list[tuple[str, Blocked]] = field(default_factory=list)
    deferred: str | None = None
    behind: tuple[Address, ...] = ()
    settles: Address | None = None

    @property
    def active(self) -> bool:
        """Whether its requests may be sent in this run."""
        return self.blocked is None and self.deferred is None

    @property
    def sendable(self) -> tuple[Difference, ...]:
        """The differences that a request can mend."""
        return tuple(one for one in self.found if one.note is None)


def drafts(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    found: Matches,
    *,
    may_replace: Callable[[Address], bool],
    settled: Mapping[Address, str] = {},
) -> dict[Address, Draft]:
    """One draft a declared address, in the order of Desired. `settled`: what the service itself moves where it is declared, and why."""
    doubtful = {intent.address for intent in state.intents}
    chosen = choices(kinds, actual)
    made: dict[Address, Draft] = {}
    tracked = {address: old.id for address in found.unknown if (old := found.binding(address)) is not None}
    known = {**tracked, **found.ids}  # what could not be read is compared by the id it is tracked under
    failed = {(reading.kind, reading.scope): reading.reason for reading in actual.unknown if reading.id is None}
    for address, declared in desired.resources.items():
        kind = kinds[declared.kind]
        binding = None if address in found.recreated else found.binding(address)  # what is bound is another object, and gone
        draft = Draft(address, kind, declared, wanted(kind, declared, known), binding=binding)
        made[address] = draft
        hindered = found.former.hindered(address, parents(desired, declared))
        if hindered is not None:
            draft.blocked = replace(hindered, address=address, source=hindered.source or declared.source)
        elif address in found.blocked:
            draft.blocked = found.blocked[address]
        elif address in doubtful:
            draft.blocked = _block(draft, "a request of an earlier run is in doubt", "reconciler apply reads what became of it")
        elif address in found.unknown:
            outer = made.get(address.container) if address.container in found.unknown else None
            if outer is not None and outer.blocked is not None:
                draft.blocked = waiting(address, outer.blocked, draft.declared.source)
            else:
                reason = f"it is not known what is there: {found.unknown[address]}"
                draft.blocked = _block(draft, reason, "run again when the service answers")
        elif address in found.replaced:
            _replace(draft, actual, found.replaced[address])
        elif address in found.ids:
            _existing(draft, found, actual, chosen, may_replace, settled.get(address), failed)
        else:
            _missing(draft, address in found.gone, may_replace)
        if draft.born and (kind.name, address.container) in state.held:
            draft.blocked = _block(
                draft, f"another {kind.name} is in doubt there, and what is there could not be read", "run again when the service answers"
            )
        refuse_outsiders(kinds, draft, actual, found)
        block_ambiguous(draft, found.former)
    _bring(made)
    return made


def parents(desired: Desired, declared: Declared) -> Iterator[Address]:
    """What a resource is declared in, the nearest first."""
    parent = declared.parent
    while parent is not None:
        yield parent
        parent = desired.resources[parent].parent if parent in desired.resources else parent.container


def replaced(made: Mapping[Address, Draft], found: Matches) -> bool:
    """Take what will be made anew out of the known ids; whether there was any, so that references to it must be looked at again."""
    again = [draft for draft in made.values() if draft.old is not None and draft.address in found.ids]
    for draft in again:
        found.replaced[draft.address] = found.ids.pop(draft.address)
    return bool(again)


def _block(draft: Draft, reason: str, remedy: str) -> Blocked:
    return Blocked(draft.address, reason, remedy, draft.declared.source)


def choices(kinds: Kinds, actual: Actual) -> dict[tuple[str, str], dict[str, str]]:
    """Which child carries the flag now: (parent's kind, parent's id) -> choice field -> child's id."""
    found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for child in kinds.values():
        for flag, holders in kinds.flags(child.name).items():
            by_kind = {parent.name: field for parent, field in holders}
            for one in actual.objects.get(child.name, {}).values():
                if not one.flags.get(flag):
                    continue
                stands = one.values.get(child.inside.name) if child.inside else None
                if stands and child.inside and child.inside.to in by_kind:
                    found[(child.inside.to, stands)][by_kind[child.inside.to].name] = one.id
                elif child.within in by_kind and not (stands and child.inside and child.inside.to in by_kind):
                    found[(child.within, one.within[child.within])][by_kind[child.within].name] = one.id
    return found


def _existing(
    draft: Draft,
    found: Matches,
    actual: Actual,
    chosen: Mapping[tuple[str, str], Mapping[str, str]],
    may_replace: Callable[[Address], bool],
    settled: str | None,
    unread: Mapping[tuple[str, str | None], str],
) -> None:
    kind, address = draft.kind, draft.address
    draft.deferred = settled
    draft.id = found.ids[address]
    now = actual.find(kind.name, draft.id)
    assert now is not None
    if now.deleted_at is not None:
        ago, left = window(kind, now.deleted_at, actual)
        if left <= timedelta(0):
            draft.id = None
            _missing(draft, True, may_replace)
            return
        draft.restore = True
        draft.actions.add(Action.RESTORE)
        draft.reason, draft.until = f"deleted {span(ago)} ago, {left_over(left)} left", last_moment(kind, now.deleted_at)
    draft.observed = now
    if draft.declared.implied:
        return
    if address in found.adopted and not draft.restore:
        draft.actions.add(Action.ADOPT)
        came_late = (kind.name, draft.id) in found.late
        draft.reason = (
            draft.reason
            or _again(draft, found, actual)
            or ("made by an earlier run, whose request came late" if came_late else "exists and is unmanaged")
        )
    elif address in found.renamed:
        draft.actions.add(Action.ADOPT)
        draft.reason = draft.reason or f"was {found.renamed[address]}"
    compared = differences(kind, draft.wants, now, draft.binding, chosen.get((kind.name, draft.id), {}))
    differing = [one for one in compared if _comparable(draft, one, found, actual, unread)]
    draft.differing = tuple(explained(kind, one) for one in differing if fate(one) is not Fate.NOTHING)
    kept: list[Difference] = []
    for one in differing:
        if is_other(one):
            draft.blocked = _block(draft, *other(kind, one, draft.id, draft.declared.id is not None, address))
            draft.actions = set()
            return
        verdict = one if settled is not None and one.field is kind.inside else _verdict(draft, one)
        if verdict == "replace":
            if not may_replace(address):
                draft.blocked = _block(
                    draft,
                    f"{one.field.name} cannot be changed on an existing {kind.name}; it would be replaced",
                    f"to delete it and make it anew: --allow-replace {address}",
                )
                return
            _replace(draft, actual, draft.id)
            return
        if isinstance(verdict, Difference):
            kept.append(verdict)
    draft.found = tuple(kept)
    for one in draft.sendable:
        draft.actions.add(Action.MOVE if one.field.container else Action.UPDATE)


def _comparable(draft: Draft, one: Difference, found: Matches, actual: Actual, unread: Mapping[tuple[str, str | None], str]) -> bool:
    """Whether what a field refers to could be read; where not, nothing is known of the field, which is noted on the draft."""
    referred = [other for other in unborn(draft.declared.values.get(one.field.name)) if other in found.unknown]
    what = f"{referred[0]} is not known: {found.unknown[referred[0]]}" if referred else None
    to, within = one.field.to or "", draft.observed.within.values() if draft.observed is not None else ()
    if what is None and one.field.container and isinstance(one.before, str) and actual.find(to, one.before) is None:
        reasons = (unread[to, scope] for scope in (None, *within) if (to, scope) in unread)
        what = next((f"the {to}s are not known: {reason}" for reason in reasons), None)
    if what is not None:
        reason = f"{one.field.name} cannot be compared, {what}"
        draft.partly.append((one.field.name, _block(draft, reason, "run again when the service answers")))
    return what is None


def _again(draft: Draft, found: Matches, actual: Actual) -> str:
    """That people created the object in place of the tracked one, and until when that can be restored; "" where they did not."""
    if draft.address not in found.recreated:
        return ""
    old, rest = actual.find(draft.kind.name, found.recreated[draft.address]), ""
    if old is not None and old.deleted_at is not None:
        left = window(draft.kind, old.deleted_at, actual)[1]
        if left > timedelta(0):
            rest = f"; the deleted one ({bare(found.recreated[draft.address])}) can be restored for another {left_over(left)}"
            draft.until = last_moment(draft.kind, old.deleted_at)
    return f"was deleted and created again outside Reconciler{rest}"


def _verdict(draft: Draft, one: Difference) -> Difference | str | None:
    """The difference as it goes on, "replace", or None where it is blocked (noted on the draft)."""
    field, kind, end = one.field, draft.kind, fate(one)
    if end is Fate.SEND:
        return one
    if end is Fate.REPLACE:
        return "replace"
    if end is Fate.BACK:
        remedy = f"write {field.name}: true, or remove the line"
        draft.partly.append((field.name, _block(draft, f"{field.name} cannot be taken back by the service's API", remedy)))
    if end is Fate.REFUSE:
        shown = f"{field.shown(one.before)} -> {field.shown(one.after)}" if not field.sensitive else "its value"
        remedy = f"write {field.name}: {field.shown(one.before)}, or remove the line" if not field.sensitive else "remove the line"
        draft.partly.append((field.name, _block(draft, f"{field.name} cannot be changed on an existing {kind.name} ({shown})", remedy)))
    return None


def _replace(draft: Draft, actual: Actual, id: str) -> None:
    draft.old, draft.observed, draft.id = actual.find(draft.kind.name, id), None, None
    draft.born, draft.restore = True, False
    draft.actions = {Action.REPLACE}
    assert draft.old is not None
    values, lost = carried_over(draft.kind, draft.old, draft.wants, actual)
    draft.wants |= values
    draft.found = _all_fields(draft)
    parts = [f"{'keeps' if names is values else 'loses'} {', '.join(names)}" for names in (values, lost) if names]
    draft.reason = " and ".join(parts)


def _missing(draft: Draft, gone: bool, may_replace: Callable[[Address], bool]) -> None:
    kind, address, api = draft.kind, draft.address, draft.kind.api
    if "create" not in api:
        draft.blocked = _block(draft, f"is gone, and a {kind.name} cannot be made here", f"let go of it: reconciler state forget {address}")
        return
    if gone and kind.deleted_at is not None and not may_replace(address):
        draft.blocked = _block(
            draft, "was deleted outside and can no longer be restored: its content is gone", f"to make it anew: --allow-replace {address}"
        )
        return
    seed = api["create"].copies
    if seed is not None and draft.wants.get(seed, UNSET) is UNSET:
        draft.blocked = _block(
            draft,
            f"is not there, and the service makes a {kind.name} only as a copy of another",
            f"write {seed}: KEY, or the id of an existing one",
        )
        return
    first = kind.first
    if first is not None and draft.wants.get(first.name, UNSET) is UNSET:
        draft.blocked = _block(draft, f"cannot be made without a first {first.to}", f"give it one {first.to}")
        return
    draft.born = True
    draft.actions.add(Action.CREATE)
    if gone:
        draft.reason = "deleted outside"
    draft.found = _all_fields(draft)


def _all_fields(draft: Draft) -> tuple[Difference, ...]:
    """Every declared field of what is about to be made, as a difference from nothing; what needs no word is left out."""
    found = []
    for name, each in draft.kind.fields.items():
        want = draft.wants.get(name, UNSET)
        if want is UNSET or not each.compared:
            continue
        if (each.container and want is None) or (each.one_way and not want) or (not each.on and each.role is not Role.MEMBER):
            continue
        found.append(Difference(each, UNSET, want, Cause.YOURS))
    return tuple(found)


def refuse_outsiders(kinds: Kinds, draft: Draft, actual: Actual, found: Matches) -> None:
    """Block what would send a reference to an object that is not known to belong to the declared organization."""
    if not draft.active:
        return
    if draft.born:
        for name, value in draft.declared.values.items():
            wrong = outsider(kinds, draft.declared, draft.kind.fields[name], value, actual, found)
            draft.blocked = draft.blocked or wrong
        return
    for one in draft.sendable:
        name = one.field.name
        wrong = outsider(kinds, draft.declared, one.field, draft.declared.values.get(name), actual, found)
        if wrong is not None:
            draft.partly.append((name, wrong))
            draft.found = tuple(other for other in draft.found if other is not one)
    if draft.partly and not draft.sendable:
        draft.actions -= {Action.UPDATE, Action.MOVE}


def _bring(made: Mapping[Address, Draft]) -> None:
    """Mark the children that their parent's create makes, and block parents whose first child cannot be made."""
    children: dict[tuple[Address, str], Draft] = {}
    for draft in made.values():
        parent = draft.declared.parent
        if parent is not None:
            children.setdefault((parent, draft.kind.name), draft)
    for draft in list(made.values()):
        first: Field | None = draft.kind.first
        if not draft.born or first is None or first.to is None:
            continue
        child = children.get((draft.address, first.to))
        if child is None or not draft.active:
            continue
        if not child.active:
            assert child.blocked is not None
            draft.blocked = waiting(draft.address, child.blocked, draft.declared.source)
        elif child.born:
            child.brought_by = draft.address
