"""The journal entries of a run, combined by address: created, deleted, changed; and what reverting them results in. Pure.

What a run transferred, transferred back: to its former container, under its former address. Pure.

In: what the run did, the state, and what exists now. Out: the former address by today's, the other changes of state, and what cannot be
transferred back; and a Desired that declares all of it in its former location, with the lines of `moved` for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.undo.objects import NOWHERE
from reconciler.model import Actual, Desired, JournalEntry, Moved, Position, State, StateChange, What
from reconciler.resource import Kind, Kinds

SEEN: Final = ("create", "transfer")
"""The verbs for which a reading shows that nothing was done: there is no object, or it was not moved."""


@dataclass(frozen=True, order=True)
class Cannot:
    """Something that cannot be reverted: a sentence without its subject, the address."""

    address: Address
    reason: str


@dataclass
class RunEffect:
    """What one run did to one address."""

    address: Address
    kind: Kind
    # The object that it changed.
    id: str | None = None
    # The object that it created, or restored where `restored` says so; None where it did neither, or deleted it again.
    created: str | None = None
    restored: bool = False
    # The object that it deleted.
    deleted: str | None = None
    # Whether it was deleted with another object, without a request of its own.
    cascaded: bool = False
    # The object that `created` replaced.
    replaces: str | None = None
    # Values before the run, in the request form; UNSET where there was none.
    fields: dict[str, Any] = field(default_factory=dict)
    # Values that were seen after it.
    after: dict[str, Any] = field(default_factory=dict)
    # The position among its siblings before the run; None where it was not moved.
    position: Position | None = None
    # Those of `fields` that were not managed before.
    unmanaged: set[str] = field(default_factory=set)
    # Verbs whose outcome is unknown.
    doubts: list[str] = field(default_factory=list)
    # The addresses that a transfer renamed, former one to new one.
    carried: dict[Address, Address] = field(default_factory=dict)
    # The container that a transferred object left.
    left: str | None = None

    @property
    def participle(self) -> str:
        """How its object came to exist, as a participle."""
        return "restored" if self.restored else "created"


def run_effects(kinds: Kinds, entries: Iterable[JournalEntry]) -> dict[Address, RunEffect]:
    """What the run of these entries did, by address; entries of kinds that are no longer known are left out."""
    changes: dict[Address, RunEffect] = {}

    def of(address: Address) -> RunEffect:
        return changes.setdefault(address, RunEffect(address, kinds.of(address)))

    for entry in entries:
        intent = entry.intent
        if intent.kind not in kinds:
            continue
        change = of(intent.address)
        if not entry.done:
            # A create that nothing shows was not done. Of an update that was called not sent by a recovery, nobody knows: the
            # value may have been the same before.
            if entry.status == "in-doubt" or (entry.status == "not-sent" and intent.verb not in SEEN):
                change.doubts.append(intent.verb)
            continue
        _done(change, entry)
        for address, id in entry.bound.items():
            if address != intent.address and not intent.before.renames:  # a transfer creates nothing
                of(address).created = id
        for address in entry.forgotten:
            if address != intent.address:
                of(address).cascaded = True
        for address, seen in entry.after.items():
            of(address).after |= {name: value for name, value in seen.items() if name not in of(address).fields}
        change.after |= {name: value for name, value in entry.after.get(intent.address, {}).items() if name in intent.writes}
    # The delete of what was replaced belongs to the replacement, which reports it.
    replaced = {change.replaces for change in changes.values()} - {None}
    return {address: change for address, change in changes.items() if change.deleted not in replaced}


def _done(change: RunEffect, entry: JournalEntry) -> None:
    intent = entry.intent
    match intent.verb:
        case "create":
            change.created, change.replaces = entry.bound.get(intent.address), intent.before.replaces
        # A restored object is like a created one: undone, it is deleted again.
        case "restore":
            change.created, change.restored = intent.target, True
        case "delete":
            change.deleted, change.created = intent.target, None
            change.fields, change.position = dict(intent.before.values), intent.before.position
        case _:
            change.id = intent.target
            change.unmanaged |= {name for name in intent.before.unmanaged if name not in change.fields}
            owner = change.kind.transferable.name if change.kind.transferable is not None else None
            for name, value in intent.before.values.items():
                if name == owner:
                    change.left, change.carried = value, {**change.carried, **intent.before.renames}
                else:
                    # The first of several writes has the value from before the run.
                    change.fields.setdefault(name, value)
            change.position = change.position or intent.before.position


def further_ids(done: Mapping[Address, RunEffect], state_changes: Iterable[StateChange]) -> dict[Address, str]:
    """The ids to read in addition to tracked ones: of what the run deleted, created, changed or stopped tracking."""
    forgotten = {state_change.address: state_change.id for state_change in state_changes if state_change.what is What.FORGET}
    for address, change in done.items():
        id = change.deleted or change.created or change.id
        if id is not None:
            forgotten[address] = id
    return forgotten


@dataclass(frozen=True)
class Inverse:
    """`desired`: everything as it is, except for what is reverted. `only`: the addresses to which the plan is limited.

    `state_changes`: the changes of bindings once the plan is carried out. `unmanaged`: by address, the fields that are no longer
    managed then.
    """

    desired: Desired
    only: frozenset[Address]
    cannot: tuple[Cannot, ...]
    state_changes: tuple[StateChange, ...] = ()
    unmanaged: Mapping[Address, frozenset[str]] = field(default_factory=dict)


def transferred_back(
    kinds: Kinds, done: Mapping[Address, RunEffect], state_changes: Collection[StateChange], state: State, actual: Actual
) -> tuple[dict[Address, Address], tuple[StateChange, ...], list[Cannot]]:
    """(former address by today's, of what can be transferred back; the changes of state that no transfer reverts; what cannot be
    transferred back)."""
    cannot: list[Cannot] = []
    roots = {
        state_change.old: state_change.address
        for state_change in state_changes
        if state_change.old is not None and state_change.old.container is None
    }
    across = {
        state_change
        for state_change in state_changes
        if state_change.old is not None and roots.get(state_change.old.root, state_change.old.root) != state_change.address.root
    }
    back: dict[Address, Address] = {}
    for change in done.values():
        if change.left is None:
            continue
        if _is_back(change, state, actual, state.addresses):
            continue
        reason = _why_not(kinds, change, state, actual, state.addresses)
        if reason is None:
            back |= {new: old for old, new in change.carried.items() if new in state.bindings}
        else:
            cannot.append(Cannot(change.address, f"was transferred, and {reason}; it was not transferred back"))
    today = {old: new for new, old in back.items()}
    taken = [new for new, old in back.items() if old in state.bindings and old not in back]
    while taken:
        new = taken.pop()
        cannot.append(Cannot(new, f"was {back.pop(new)}, where something else is tracked now; it was not transferred back"))
        taken += [today[new]] if new in today else []  # the object with that address now keeps it
    for state_change in sorted(across, key=lambda state_change: state_change.address):
        if state_change.address not in back and state_change.address not in done and state_change.address in state.bindings:
            cannot.append(
                Cannot(state_change.address, f"was {state_change.old}, and was not transferred by this run; it keeps its address")
            )
    given = {(old, new) for new, old in back.items()}  # also what was renamed within a container for a transfer
    return (
        back,
        tuple(
            state_change
            for state_change in state_changes
            if state_change not in across and (state_change.old, state_change.address) not in given
        ),
        cannot,
    )


Holders = Mapping[tuple[str, str], Address]
"""The address at which an object is tracked today, by its kind and id."""


def _tracked(change: RunEffect, holders: Holders) -> Address | None:
    return holders.get((change.kind.name, str(change.id)))


def _within(change: RunEffect, actual: Actual) -> str | None:
    """The id of the object's container now."""
    now, owner = actual.find(change.kind.name, change.id or ""), change.kind.transferable
    return now.within.get(str(owner.to)) if now is not None and owner is not None else None


def _root(state: State, address: Address | None) -> str | None:
    binding = state.bindings.get(address.root) if address is not None else None
    return binding.id if binding is not None else None


def _is_back(change: RunEffect, state: State, actual: Actual, holders: Holders) -> bool:
    """Whether another undo transferred it back, with its address."""
    at = _tracked(change, holders)
    return at is not None and at != change.address and change.left == _root(state, at) == _within(change, actual)


def _why_not(kinds: Kinds, change: RunEffect, state: State, actual: Actual, holders: Holders) -> str | None:
    """Why an object cannot be transferred back; None where it can."""
    binding, owner = state.bindings.get(change.address), change.kind.transferable
    now = actual.find(change.kind.name, change.id or "")
    if now is None or now.deleted_at is not None:
        return "no longer exists"
    if binding is None or binding.id != change.id:
        at = _tracked(change, holders)
        if change.left == _root(state, at):
            return f"is still tracked as {at}, because the run ended between two transfers: run reconciler apply first, then undo that run"
        return "is no longer tracked"
    if owner is None or _within(change, actual) not in (_root(state, change.address), change.left):
        return f"belongs to another {change.kind.within} now"
    former = holders.get((str(owner.to), str(change.left)))
    if former is None or former.container is not None:
        return f"{change.left}, which it was in, is no longer tracked"
    return None


def append_to_roots(rows: dict[Address, list[Address]], back: Mapping[Address, Address]) -> None:
    """Put what is transferred back, and has no position in its former root, at the end of that."""
    for parent in [*rows]:
        root = back.get(parent, parent).root
        leaving = dict.fromkeys(address for address in rows[parent] if address in back and back[address].root != root)
        rows[parent] = [address for address in rows[parent] if address not in leaving]
        for address in leaving:
            rows.setdefault(back[address].root, []).append(address)


def under_former_addresses(desired: Desired, back: Mapping[Address, Address]) -> Desired:
    """The same with these declared under their former addresses, and lines of `moved` for them that apply even if done before."""
    if not back:
        return desired

    def called(value: Any) -> Any:
        match value:
            case Address():
                return back.get(value, value)
            case Mapping():
                return {key: called(part) for key, part in value.items()}
            case list() | tuple():
                return type(value)(called(part) for part in value)
            case _:
                return value

    resources = {}
    for address, declared in desired.resources.items():
        today = back.get(address, address)
        resources[today] = replace(declared, address=today, values=called(declared.values), parent=called(declared.parent))
    moved = tuple(Moved(new, old, NOWHERE, again=True) for new, old in back.items())
    return replace(desired, resources=resources, moved=(*desired.moved, *moved))
