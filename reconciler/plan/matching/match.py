"""Which object is which resource: by tracked id, by `id`, by natural key. Pure.

In: Desired, State, Actual. Out: the ids that are known, and for every address without one why. Nothing is tracked here; adoptions are part
of the plan. May be called while Actual is still growing: it then knows fewer ids.

Each method returns what it finds out about one address (`Match`); `match` alone adds that to what is known.

    tracked?  the object with the id that the state has     exists | was deleted | was deleted and created again | unknown
    id?       the object with the id that the YAML has       exists | no such object, or in another container: people decide
    else      what an earlier run deleted here, and can be restored; or the one unmanaged object with the same natural key

`identify` matches until no line renames an address whose object can never have the new one, because its natural key differs and no request
can change that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.address import Address, bare
from reconciler.model import Actual, Binding, Blocked, Declared, Desired, Origin, State
from reconciler.model.codec import holder, wanted, why_unreadable
from reconciler.plan.matching.claims import Projects, wrong_ids
from reconciler.plan.matching.differences import Correction, FieldDifference, correction_of, differences
from reconciler.plan.matching.matches import NOTHING, Match, Matches
from reconciler.plan.matching.missing import deleted_before, is_in_place, late, match_deleted, may_lag
from reconciler.plan.matching.natural_keys import Natural, by_reference, listed, waits, why
from reconciler.plan.matching.renames import Former, follow
from reconciler.resource import Kind, Kinds
from reconciler.text.names import a

REACHED: Final = 5  # ids that a message lists


def match(
    kinds: Kinds,
    desired: Desired,
    state: State,
    actual: Actual,
    *,
    former: Former | None = None,
    order: Sequence[Declared] | None = None,
) -> Matches:
    """Find the object of every declared resource, each after its container and after what its natural key refers to.

    `former`: the state's addresses after renames; `order`: everything declared, `by_reference`; None where they are not known yet.
    """
    former = follow(kinds, desired, state) if former is None else former
    state = former.state
    # What has an address already, so that no other address is matched to it. What an undeclared root no longer manages is free.
    taken = {binding.key for address, binding in state.bindings.items() if address.root in desired.resources}
    wrong = wrong_ids(kinds, desired, state, actual)
    taken |= {
        (resource.kind, resource.id) for address, resource in desired.resources.items() if resource.id is not None and address not in wrong
    }
    lost = late(kinds, state, actual, taken)
    taken.update(lost)
    matches = Matches(former, late=lost)
    matching = _Matching(state, actual, matches, Natural(kinds, state, actual, matches, taken, Projects(desired, state)))
    free = {address: id for (_, id), address in sorted(lost.items(), reverse=True)}
    for declared in order if order is not None else by_reference(kinds, desired):
        kind, blocked = kinds[declared.kind], wrong.get(declared.address)
        matched = matching.match(kind, declared, free.get(declared.address), blocked)
        matches.add(declared.address, matched)
        if matched.id is not None:
            taken.add((kind.name, matched.id))
    matches.update(_undeclared(kinds, desired, state, actual, matches))
    return matches


@dataclass(frozen=True)
class _Matching:
    """Matches one resource after the other. `state`: under today's addresses."""

    state: State
    actual: Actual
    known: Matches
    natural: Natural

    def match(self, kind: Kind, declared: Declared, late_id: str | None, wrong: Blocked | None) -> Match:
        """What is known of one resource. `late_id`: what a request that was considered lost created for it. `wrong`: why its id is
        wrong."""
        address, binding = declared.address, self.state.bindings.get(declared.address)
        if binding is not None:
            tracked = self._tracked(kind, declared, binding)
            return self._created_again(kind, declared, binding, tracked) if tracked.gone else tracked
        if wrong is not None:
            return Match(blocked=wrong)
        if declared.id is not None:
            return self._by_id(kind, declared)
        container = address.container
        if container is not None and container not in self.known.ids:
            # The contents of what does not exist do not exist either.
            return waits(address, container, self.known) or NOTHING
        if is_in_place(kind, declared, late_id, self.actual, self.known.ids):
            return Match(id=late_id, adopted=True)
        return self._untracked(kind, declared)

    def _untracked(self, kind: Kind, declared: Declared) -> Match:
        """Restore what an earlier run deleted at the address, unless people created another in its place; else match by natural key."""
        id = deleted_before(kind, declared, self.state)
        usable = id is not None and (kind.name, id) not in self.natural.taken
        restored = match_deleted(kind, declared, id, self.actual, self.known.ids) if id is not None and usable else None
        if restored is None:
            return self.natural.find(kind, declared)
        if restored.id is None:
            return restored
        binding = Binding(declared.address, kind.name, restored.id, Origin.CREATED)
        return restored.then(self.natural.beside(kind, declared, binding))

    def _tracked(self, kind: Kind, declared: Declared, binding: Binding) -> Match:
        """Where the object of a tracked address is."""
        address, known, actual = declared.address, self.known, self.actual
        if declared.id is not None and declared.id != binding.id:
            blocked = Blocked(
                address,
                f"tracks {binding.id}, but the YAML says id {declared.id}",
                f"write the tracked id, or stop managing that object: reconciler state forget {address:sh}",
                declared.source,
                id="RC-another-id-declared",
            )
            return Match(blocked=blocked)
        container = address.container
        if container is not None and container not in known.ids:
            return waits(address, container, known) or Match(gone=True)
        now = actual.find(kind.name, binding.id)
        at = now.within.get(kind.within or "") if now is not None else actual.elsewhere.get((kind.name, binding.id))
        if container is not None and at is not None and at != known.ids[container]:
            origin = known.former.origin(address) if kind.transferable is not None and now is not None else None
            if origin is not None and known.ids.get(origin) == at:
                matched = Match(id=binding.id, transfers=at)
                return matched if now is None or now.deleted_at is None else matched.then(self.natural.beside(kind, declared, binding))
            waiting = waits(address, origin, known) if origin is not None and origin not in known.ids else None
            return waiting or Match(gone=True, transferred=at)
        if now is not None and now.unreadable:
            return Match(unknown=why_unreadable(now))
        if now is not None:
            alive = Match(id=binding.id)
            return alive if now.deleted_at is None else alive.then(self.natural.beside(kind, declared, binding))
        absent = (kind.name, binding.id) in actual.absent
        if not absent and not self._unlisted(kind, declared, binding):
            return Match(unknown=why(kind, known.ids.get(container) if container else None, binding.id, actual))
        if may_lag(self.state, binding.address, actual):
            return Match(unknown=f"it was written a moment ago, and the {'service' if absent else 'list'} may not show it yet")
        return Match(gone=True)

    def _unlisted(self, kind: Kind, declared: Declared, binding: Binding) -> bool:
        """Whether a complete listing that would show the object of a resource did not show it."""
        container, shown = declared.address.container, holder(kind, declared, binding, self.known.ids)
        if isinstance(shown, Address):
            # The container of the listing does not exist, and so nothing is in it.
            return self.known[shown].unknown is None and self.known[shown].blocked is None
        scope = shown if shown is not None else (self.known.ids[container] if container is not None else "")
        return (listed(kind) or shown is not None) and (kind.name, scope) in self.actual.complete

    def _created_again(self, kind: Kind, declared: Declared, binding: Binding, tracked: Match) -> Match:
        """Where a tracked object certainly no longer exists, look for the object that people created in its place."""
        address, container = declared.address, declared.address.container
        if declared.implied or (container is not None and container not in self.known.ids):
            return tracked
        matched = tracked.then(self.natural.again(kind, declared, binding))
        if matched.transferred is None or matched.id is not None or matched.blocked is not None:
            return matched
        root = next((at for at, id in self.known.ids.items() if at.container is None and id == matched.transferred), None)
        new = address.renamed(address.root, root) if root is not None and kind.transferable is not None else None
        line = f" as {new}, with {moved_line(address, new)}" if new is not None else ""
        blocked = Blocked(
            address,
            f"{binding.id} belongs to another {kind.within} now ({matched.transferred})",
            f"declare it there{line}, or stop managing it: reconciler state forget {address:sh}",
            declared.source,
            id="RC-in-another-container",
        )
        return matched._replace(blocked=blocked)

    def _by_id(self, kind: Kind, declared: Declared) -> Match:
        """Match the object with the declared id."""
        address, container, known, actual = declared.address, declared.address.container, self.known, self.actual
        assert declared.id is not None
        scope = known.ids.get(container) if container is not None else ""
        waiting = waits(address, container, known) if container is not None and scope is None else None
        if waiting is not None:
            return waiting
        if (kind.name, declared.id) in self.state.foreign and container is not None:
            return Match(blocked=self.natural.projects.theirs(declared, declared.id, "or remove the id", known.ids))
        now = actual.find(kind.name, declared.id)
        if now is not None and kind.within is not None and now.within.get(kind.within, scope) != scope:
            blocked = Blocked(
                address,
                f"{declared.id} is not in {container}",
                "correct the id, or declare it in its container",
                declared.source,
                id="RC-in-another-container",
            )
            return Match(blocked=blocked)
        if now is not None:
            return Match(unknown=why_unreadable(now)) if now.unreadable else Match(id=declared.id, adopted=True)
        if (kind.name, declared.id) in actual.absent or (scope is not None and listed(kind) and (kind.name, scope) in actual.complete):
            blocked = Blocked(
                address,
                f"no {kind.name} has the id {declared.id}" + (f" in {container}" if container else ""),
                _other_id(kind, actual),
                declared.source,
                id="RC-no-such-object",
            )
            return Match(blocked=blocked)
        return Match(unknown=why(kind, scope or None, declared.id, actual))


def _undeclared(kinds: Kinds, desired: Desired, state: State, actual: Actual, matches: Matches) -> dict[Address, Match]:
    """The matches of what is tracked and no longer declared. An object deleted with its container counts as deleted."""
    leaving, gone, inner = dict[Address, str](), set(matches.where(lambda match: match.gone)), dict[Address, Address]()
    for address in sorted(state.bindings):
        binding = state.bindings[address]
        kind = kinds.get(binding.kind)
        if kind is None or address in desired.resources:
            continue
        container = address.container
        scope = matches.ids.get(container, leaving.get(container)) if container is not None else None
        now = actual.find(kind.name, binding.id)
        if now is not None and (scope is None or now.within.get(kind.within or "", scope) == scope):
            leaving[address] = binding.id
            continue
        if now is not None:
            # It is in another container now, whose project may manage it.
            gone.add(address)
            continue
        unlisted = scope is not None and listed(kind) and (kind.name, scope) in actual.complete
        missing = (unlisted or (kind.name, binding.id) in actual.absent) and not may_lag(state, address, actual)
        if missing or container in gone:
            gone.add(address)
        elif kind.inside is not None and kind.inside.cascade and binding.place is not None and binding.place.parent is not None:
            inner[address] = binding.place.parent
    while contained := {address for address, parent in inner.items() if parent in gone} - gone:
        gone |= contained
    absent = {address: Match(gone=True) for address in gone if address not in desired.resources}
    return {**absent, **{address: Match(id=id, leaving=True) for address, id in leaving.items()}}


def moved_line(old: Address, new: Address) -> str:
    """The line of the YAML that moves an object from one address to another."""
    return f"moved: [{{from: {old:yaml}, to: {new:yaml}}}]"


def _other_id(kind: Kind, actual: Actual) -> str:
    """What to do about an id that no object has."""
    if "create" in kind.api:
        return "correct the id, or remove it"
    within_reach = actual.within_reach.get(kind.name)
    if within_reach is None:
        return "correct the id"
    if not within_reach:
        return f"correct the id, or use another token: this one has access to no {kind.name}"
    more = f" and {len(within_reach) - REACHED:,} more" if len(within_reach) > REACHED else ""
    return f"correct the id: the token has access to {', '.join(within_reach[:REACHED])}{more}"


# -- Renames that natural keys do not allow ------------------------------------------------------------------------------------------


def identify(kinds: Kinds, desired: Desired, state: State, actual: Actual) -> Matches:
    """The matches, once the renames that natural keys do not allow are refused."""
    impossible: dict[Address, Blocked] = {}
    order = tuple(by_reference(kinds, desired))
    while True:
        former = follow(kinds, desired, state, impossible=impossible)
        matches = match(kinds, desired, former.state, actual, former=former, order=order)
        wrong = _wrong(kinds, desired, matches, actual)
        if not wrong:
            return matches
        impossible |= wrong


def _wrong(kinds: Kinds, desired: Desired, matches: Matches, actual: Actual) -> dict[Address, Blocked]:
    """Tracked addresses that a line renames although their objects can never have the new address."""
    wrong: dict[Address, Blocked] = {}
    for old in matches.former.followed:
        new = matches.former.moves.get(old)
        declared = desired.resources.get(new) if new is not None else None
        now = actual.find(declared.kind, matches.ids.get(declared.address, "")) if declared is not None else None
        if declared is None or now is None or declared.implied:
            continue
        kind = kinds[declared.kind]
        for difference in differences(kind, wanted(kind, declared, matches.ids), now, None, {}):
            if is_other(difference):
                reason = f"{old} cannot become {declared.address}: {_fixed(kind, difference, now.id)}"
                wrong[old] = Blocked(
                    old,
                    reason,
                    f"remove {old.key} from previously (or its line from moved): they are two {kind.name}s",
                    id="RC-rename-of-another-object",
                )
    return wrong


def is_other(difference: FieldDifference) -> bool:
    """Whether the object is another one: a part of its natural key that nothing can change differs."""
    return difference.field.key and correction_of(difference) is Correction.REFUSE


def other(kind: Kind, difference: FieldDifference, id: str, by_id: bool, address: Address) -> tuple[str, str]:
    """Why an object cannot be the one that is declared, and what to do."""
    reason = f"is another {kind.name}: {_fixed(kind, difference, id)}"
    if by_id:
        return reason, f"correct the id, or remove it to match the {kind.name} by its {difference.field.name}"
    now = difference.field.shown(difference.before)
    keyed = kind.place.key_is == difference.field.name
    way = f"write {now} as its key, with previously: [{address.key}]" if keyed else f"write {difference.field.name}: {now}"
    return reason, f"if it is the same {kind.name}, {way}; if not, stop managing it: reconciler state forget {address:sh}"


def _fixed(kind: Kind, difference: FieldDifference, id: str) -> str:
    field = difference.field
    return f"the {field.name} of {bare(id)} is {field.shown(difference.before)}, and the {field.name} of {a(kind.name)} cannot be changed"
