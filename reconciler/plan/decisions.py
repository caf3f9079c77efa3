"""What happens to each address: its purpose, and what prevents it. Frozen data. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise
from typing import Any

from reconciler.address import Address
from reconciler.model import Action, Actual, Binding, Blocked, Declared, Observed
from reconciler.model.codec import ids_in
from reconciler.plan.containment import Key
from reconciler.plan.matching.differences import FieldDifference
from reconciler.resource import UNSET, Kind

# -- what happens to an address -----------------------------------------------------------------------------------------------------


class Purpose(Enum):
    """What happens to an object where nothing else needs to be said about it."""

    KEEP = auto()  # nothing, or only its differences are corrected
    CREATE = auto()  # there is no object yet
    ADOPT = auto()  # the object exists, and the state does not track it yet
    RENAME = auto()  # the state tracks the object under another address than before
    RESTORE = auto()  # the object was deleted and the service still has it
    RESTORE_AND_RENAME = auto()  # the same, and the state tracks it under another address than before
    DELETE = auto()
    FORGET = auto()  # the state stops tracking the object, which is left unchanged


@dataclass(frozen=True)
class Replace:
    """The object `old` is deleted, and another one is created in its place."""

    old: Observed


@dataclass(frozen=True)
class Transfer:
    """The object is in another container, which transfers it to this one with everything it contains.

    `source`: the container's address, `source_id` its id. `left`: the id of the node that it is in there; None at the top level.
    `waits_for`: what must leave the object, or stop showing it, before.
    """

    source: Address
    source_id: str
    left: str | None = None
    waits_for: tuple[Address, ...] = ()


@dataclass(frozen=True)
class DeletedWith:
    """The object is deleted by the delete of another one, and sends nothing itself."""

    address: Address


@dataclass(frozen=True)
class Prerequisite:
    """What must have succeeded, or must still be so, before a request is sent. `field`: the request writes it; "" for a removal's delete.

    `address`: whose requests must have succeeded; `writes`: those that write this field, "" for all of them. `remains`: an object that must
    still exist as it was read; one of the two is given.
    """

    field: str
    address: Address | None = None
    writes: str = ""
    remains: tuple[str, str] | None = None


DraftPurpose = Purpose | Replace | Transfer
"""What a draft is for, before its differences and its obstacles."""

RemovalPurpose = Purpose | DeletedWith
"""What a removal is for, before its obstacles."""


@dataclass(frozen=True)
class Draft:
    """What is decided about one declared address so far. Each pass returns changed copies."""

    address: Address
    kind: Kind
    declared: Declared
    # Every declared field in the request form.
    wants: Mapping[str, Any]
    # What it is for, before its differences and its obstacles.
    purpose: DraftPurpose = Purpose.KEEP
    # What the state knows of the object; None where it does not track the address, or tracks another object.
    binding: Binding | None = None
    # The object as it was read.
    observed: Observed | None = None
    # The id of the object; None where it is to be created.
    id: str | None = None
    # What differs, and what a created object gets.
    differences: tuple[FieldDifference, ...] = ()
    # All differences, with a note where no request can correct one; drift is found in these.
    deviations: tuple[FieldDifference, ...] = ()
    # The address whose create creates it too.
    created_with: Address | None = None
    # One sentence for people; "" where it is obvious why something happens.
    reason: str = ""
    # When the deleted object in the reason can no longer be restored.
    until: datetime | None = None
    # Why nothing can be done for the address.
    blocked: Blocked | None = None
    # The fields that cannot be set, and why; the others are.
    blocked_fields: tuple[tuple[str, Blocked], ...] = ()
    # Why it waits for a second run.
    deferred: str | None = None
    # What must be created before it.
    created_after: tuple[Address, ...] = ()
    # Where the service itself moves it in this run.
    moves_into: Address | None = None
    # The transfers before which nothing is done here; the state gets this address with the last of them.
    batch: Batch | None = None
    # What must have succeeded, or must still be so, before some of its requests.
    prerequisites: tuple[Prerequisite, ...] = ()
    # The differences that are left alone, because the YAML says so (`ignoreChanges`) or because they came from Git.
    ignored: tuple[FieldDifference, ...] = ()
    # The Git repository that governs the list that it is in; "" if none does.
    git: str = ""

    @property
    def unchanged(self) -> bool:
        """Whether nothing happens to it in this run."""
        return self.purpose is Purpose.KEEP and not self.sendable

    @property
    def active(self) -> bool:
        """Whether its requests may be sent in this run."""
        return self.blocked is None and self.deferred is None

    @property
    def is_new(self) -> bool:
        """Whether an object is to be created for it."""
        return self.purpose is Purpose.CREATE or isinstance(self.purpose, Replace)

    @property
    def is_restored(self) -> bool:
        return self.purpose in (Purpose.RESTORE, Purpose.RESTORE_AND_RENAME)

    @property
    def is_transferred(self) -> bool:
        """Whether it has a transfer of its own, and is not part of another object's."""
        return isinstance(self.purpose, Transfer)

    @property
    def last_transfer(self) -> Address | None:
        """The last of the transfers before which nothing is done here."""
        return self.batch.roots[-1] if self.batch is not None else None

    @property
    def after_transfer(self) -> Address | None:
        """The address of its batch that is transferred before this one."""
        return self.batch.before.get(self.address) if self.batch is not None else None

    @property
    def old(self) -> Observed | None:
        """The object that is replaced."""
        return self.purpose.old if isinstance(self.purpose, Replace) else None

    @property
    def sendable(self) -> tuple[FieldDifference, ...]:
        """The differences that a request can correct."""
        return tuple(difference for difference in self.differences if difference.note is None) if self.differences else ()

    @property
    def released(self) -> Iterator[str]:
        """The ids that the object refers to now, and no longer does afterwards."""
        for difference in self.sendable:
            if difference.before is not UNSET:
                yield from ids_in(difference.before)

    def block(self, reason: str, remedy: str, *, id: str) -> Draft:
        """The same draft, blocked. `id`: of the cause."""
        return replace(self, blocked=Blocked(self.address, reason, remedy, self.declared.source, id=id))

    def without(self, difference: FieldDifference, blocked: Blocked) -> Draft:
        """The same draft without one of its differences. `blocked`: why it is not sent."""
        left = tuple(other for other in self.differences if other is not difference)
        return replace(self, differences=left, blocked_fields=(*self.blocked_fields, (difference.field.name, blocked)))


@dataclass(frozen=True)
class Removal:
    """What is decided about one object that is no longer declared, or that nobody manages."""

    address: Address
    kind: Kind
    id: str
    # What it is for, before its obstacles.
    purpose: RemovalPurpose
    # One sentence for people.
    reason: str
    observed: Observed | None = None
    binding: Binding | None = None
    # The address whose old object it is, where that is created again.
    replaces: Address | None = None
    # Why nothing is done.
    blocked: Blocked | None = None
    # Why it waits for a second run.
    deferred: str | None = None
    # What must be deleted before it.
    deleted_after: tuple[Address, ...] = ()
    # Where the service itself moves it in this run, before it is deleted.
    moves_into: Address | None = None
    # It is unmanaged, and `prune: all` deletes it.
    pruned: bool = False
    # What must have succeeded, or must still be so, before it is deleted.
    prerequisites: tuple[Prerequisite, ...] = ()
    # The removal of the nearest object that contains it, at any depth.
    inside: Address | None = None
    # Everything in it is deleted too, managed or not (`action: delete-all`).
    with_contents: bool = False

    @property
    def active(self) -> bool:
        return self.blocked is None and self.deferred is None

    @property
    def deletes(self) -> bool:
        """Whether the object is deleted in this run, by a request of its own or by that of another object."""
        return self.active and self.purpose is not Purpose.FORGET

    @property
    def forgets(self) -> bool:
        """Whether the state only stops tracking the object in this run."""
        return self.active and self.purpose is Purpose.FORGET

    @property
    def deleted_with(self) -> Address | None:
        """The address whose delete deletes the object as well."""
        return self.purpose.address if isinstance(self.purpose, DeletedWith) else None

    def alone(self) -> Removal:
        """The same removal, by a request of its own if it deletes the object."""
        return replace(self, purpose=Purpose.DELETE) if isinstance(self.purpose, DeletedWith) else self

    def block(self, reason: str, remedy: str, *, id: str) -> Removal:
        """The same removal, blocked. `id`: of the cause."""
        return replace(self, blocked=Blocked(self.address, reason, remedy, id=id))


def actions(entry: Draft | Removal) -> frozenset[Action]:
    """The actions that users read for it; none where nothing happens."""
    if not entry.active:
        return frozenset()
    if isinstance(entry, Removal):
        return frozenset({Action.FORGET if entry.forgets else Action.DELETE})
    corrected = {Action.MOVE if difference.field.container else Action.UPDATE for difference in entry.sendable}
    match entry.purpose:
        case Purpose.CREATE:
            return frozenset({Action.CREATE})
        case Replace():
            return frozenset({Action.REPLACE})
        case Purpose.RESTORE:
            return frozenset({Action.RESTORE, *corrected})
        case Purpose.RESTORE_AND_RENAME:
            return frozenset({Action.RESTORE, Action.RENAME, *corrected})
        case Purpose.ADOPT:
            return frozenset({Action.ADOPT, *corrected})
        case Purpose.RENAME:
            return frozenset({Action.RENAME, *corrected})
        case Transfer():
            return frozenset({Action.TRANSFER, *corrected})
    return frozenset(corrected)


# -- what is transferred together --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TransferredTogether:
    """`roots`: the addresses that need a request of their own, with the keys of everything in them, at any depth.

    `root_of`: the addresses that such a request includes, each with its root. `actual`: the reading as if all were transferred.
    """

    actual: Actual
    roots: Mapping[Address, tuple[Key, ...]] = field(default_factory=dict)
    root_of: Mapping[Address, Address] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """`roots`: today's addresses of what is transferred, in the order of the requests. `moves`: all addresses, former one to today's."""

    roots: tuple[Address, ...]
    moves: Mapping[Address, Address]

    @cached_property
    def before(self) -> Mapping[Address, Address]:
        """The root that is transferred before each; the first has none."""
        return {second: first for first, second in pairwise(self.roots)}
