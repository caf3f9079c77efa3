"""The journal entries of a run, combined by address: created, deleted, changed; and what reverting them results in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.address import Address
from reconciler.model import Desired, JournalEntry, SiblingPosition, StateChange, What
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
    """What one run did to one address.

    `id`: of the object it changed. `created`: the id of what it created, or restored where `restored` says so. `deleted`: the id of what it
    deleted; `cascaded`: it was deleted with another object, without a request of its own. `replaces`: the id of the object that `created`
    replaced. `fields`: values before it (request form, UNSET where there was none), `after`: values seen after it, `position`: the position
    before it. `unmanaged`: those of `fields` that were not managed. `doubts`: verbs whose outcome is unknown. `carried`: the addresses that
    a transfer renamed, former one to new, and `left`: the id of the container that the object left.
    """

    address: Address
    kind: Kind
    id: str | None = None
    created: str | None = None
    restored: bool = False
    deleted: str | None = None
    cascaded: bool = False
    replaces: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    position: SiblingPosition | None = None
    unmanaged: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    carried: dict[Address, Address] = field(default_factory=dict)
    left: str | None = None

    @property
    def born(self) -> str:
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
    replaced = {change.replaces for change in changes.values()} - {None}
    return {address: change for address, change in changes.items() if change.deleted not in replaced}


def _done(change: RunEffect, entry: JournalEntry) -> None:
    intent = entry.intent
    match intent.verb:
        case "create":
            change.created, change.replaces = entry.bound.get(intent.address), intent.before.replaces
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
                    change.fields.setdefault(name, value)
            change.position = change.position or intent.before.position


def further_ids(done: Mapping[Address, RunEffect], turns: Iterable[StateChange]) -> dict[Address, str]:
    """The ids to read in addition to tracked ones: of what the run deleted, created, changed or stopped tracking."""
    forgotten = {turn.address: turn.id for turn in turns if turn.what is What.FORGET}
    for address, change in done.items():
        id = change.deleted or change.created or change.id
        if id is not None:
            forgotten[address] = id
    return forgotten


@dataclass(frozen=True)
class Inverse:
    """`desired`: everything as it is, except for what is reverted. `only`: the addresses to which the plan is limited.

    `turns`: the changes of bindings once the plan is carried out. `unmanaged`: by address, the fields that are no longer managed then.
    """

    desired: Desired
    only: frozenset[Address]
    cannot: tuple[Cannot, ...]
    turns: tuple[StateChange, ...] = ()
    unmanaged: Mapping[Address, frozenset[str]] = field(default_factory=dict)
