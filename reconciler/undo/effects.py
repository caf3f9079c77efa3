"""The journal entries of a run, combined by address: created, deleted, changed; and what reverting them results in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Desired, JournalEntry, Position, StateChange, What
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
