"""What the state records: bindings, requests without an outcome, and values before requests.

What a run was allowed to open.

What earlier runs did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Literal

from reconciler.address import Address
from reconciler.model.desired import Rules

ENDS_WORK: Final = "openWork"
"""The field of a consent to end work of people."""


@dataclass(frozen=True, order=True)
class Consent:
    """One exposure that the plan of a run showed and somebody consented to. It holds for that run, continued or not, and for no other.

    `field`: that opens it; ENDS_WORK where work of people ends; "" where readers are given or the object is deleted. `principal`, `level`:
    who can then do what, "" where no readers are given. `cause`: what admits these readers. `value`: canonical JSON of what is sent, with
    addresses for known ids, "" for readers; of a sensitive field its keyed digest.
    """

    address: str
    field: str
    principal: str
    level: str
    cause: str
    value: str


class Origin(StrEnum):
    """How an object came to be tracked."""

    CREATED = "created"
    ADOPTED = "adopted"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Position:
    """Where a sibling is among its siblings."""

    # Its parent; None at the root.
    parent: Address | None
    # From 0, among the siblings that were counted; 0 too where only the neighbour matters, as in a move that is shown.
    index: int = 0
    # The sibling right before it, None for the first. An unmanaged one has its id as key: `acme/space/spc_1`.
    previous: Address | None = None


@dataclass(frozen=True)
class Binding:
    """One tracked object: which resource it is, and what this program knows about it."""

    # Of the resource.
    address: Address
    # The kind of both.
    kind: str
    # Of the object, as the service names it.
    id: str
    # How it came to be tracked.
    origin: Origin
    # By field, what was last sent (request form, ids). Only what is managed is here.
    sent: Mapping[str, Any] = field(default_factory=dict)
    # By field, what the service showed after that. A difference from `sent` is what the service makes of a value.
    seen: Mapping[str, Any] = field(default_factory=dict)
    # Whether it must not be deleted, also when it is no longer declared.
    protected: bool = False
    # Where it was last placed among the managed siblings; None where it never was.
    place: Position | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The kind and id of the object."""
        return self.kind, self.id


@dataclass(frozen=True)
class Before:
    """What a request is about to change, recorded so that it can be undone."""

    # By field, what would be sent to restore it (request form); UNSET where there was no value. Sensitive values are left out.
    values: Mapping[str, Any] = field(default_factory=dict)
    # Its position among the siblings that were seen, where the request changes it.
    position: Position | None = None
    # The id of the object that a create replaces.
    replaces: str | None = None
    # What is deleted with the object of a delete.
    takes: tuple[Address, ...] = ()
    # The addresses, former one to new, that the state changes with the outcome of a transfer.
    renames: Mapping[Address, Address] = field(default_factory=dict)
    # The fields among `values` that were not managed before: undoing stops managing them.
    unmanaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Intent:
    """One request that was about to be sent and has no outcome yet."""

    # Its number in the journal of the state; 0 until it is recorded.
    id: int
    # The run that sent it; "" until it is recorded.
    run: str
    # The number of the step in the plan of that run.
    step: int
    # What it is about.
    address: Address
    kind: str
    # What happens to it: create, update, delete and so on.
    verb: str
    # The request line.
    method: str
    path: str
    # The id of the object acted on or copied; None for a create.
    target: str | None
    # The request form by field, the natural key of a create included. Sensitive values are left out.
    writes: Mapping[str, Any]
    # The ids in the list when it was read: an object with another id may be the one that this request created.
    known: frozenset[str]
    # The service's clock when the list was read; None where the service showed none.
    date: datetime | None
    # When the request can no longer take effect (service's clock, settle time not included); None where that is unknown.
    deadline: datetime | None
    # The addresses of the children that a create creates, by their key in the response.
    brings: Mapping[str, str] = field(default_factory=dict)
    # The paths to read to find its object.
    lookup: tuple[str, ...] = ()
    # What undoing it needs.
    before: Before = Before()


@dataclass(frozen=True)
class IntentEnding:
    """How an intent ended, and everything that is recorded in the same transaction."""

    # The number of the intent.
    intent: int
    # `in-doubt` leaves the intent open; every other status closes it.
    status: Literal["done", "failed", "in-doubt", "not-sent", "recovered"]
    # A sentence about what went wrong; None where it is done.
    error: str | None = None
    # Whole bindings, which replace those of their addresses.
    bind: tuple[Binding, ...] = ()
    # Addresses that are no longer tracked.
    forget: tuple[Address, ...] = ()
    # Fields that were seen of other bindings, by address.
    seen: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    # For the history, what was seen by field after it. The caller leaves out sensitive values.
    after: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    # Tracked addresses that change, with their new ones. `bind` uses the new ones.
    rename: Mapping[Address, Address] = field(default_factory=dict)


@dataclass(frozen=True)
class StateScope:
    """The scope of a state. Ids of different scopes never mix."""

    # Its name in the YAML.
    project: str
    # None where the project has no environments, or is used without one.
    environment: str | None
    # The normalised base URL, or `sandbox:<uuid>`: two sandboxes are two services.
    service: str

    def __post_init__(self) -> None:
        if self.environment == "":
            raise ValueError("an environment has a name, or is None")

    @property
    def named(self) -> str:
        """The project, with its environment if it has one: `docs in staging`."""
        return self.project if self.environment is None else f"{self.project} in {self.environment}"

    @property
    def columns(self) -> dict[str, str]:
        """The scope as columns of its row."""
        return {"project": self.project, "environment": self.environment or "", "service": self.service}


@dataclass(frozen=True)
class State:
    """What earlier runs of a project recorded about one service."""

    # Never changes for a state, and no other state has it; "" where there is none yet.
    lineage: str
    # Grows with every run that writes.
    serial: int
    # What is tracked.
    bindings: Mapping[Address, Binding] = field(default_factory=dict)
    # The requests in doubt, oldest first.
    intents: tuple[Intent, ...] = ()
    # (kind, id) of what other projects and environments in the same database track on the same service.
    foreign: frozenset[tuple[str, str]] = frozenset()
    # Whether the last run that was not refused was interrupted or failed.
    unfinished: bool = False
    # The rules of the last successful run; None where there is none, or none since states record them.
    rules: Rules | None = None
    # (kind, container) of the lists in which this run creates nothing: what an earlier run created there could not be read.
    held: frozenset[tuple[str, Address | None]] = frozenset()
    # By (kind, mark), the addresses of creates that were closed as not done, or not as this object. An object with such a mark as its name
    # is ours, and late.
    marks: Mapping[tuple[str, str], Address] = field(default_factory=dict)
    # What was written recently, with the time (service's clock) until which a list may not show it although it exists.
    recent: Mapping[Address, datetime] = field(default_factory=dict)
    # What the last run was allowed to open, where it is unfinished; else none.
    consents: frozenset[Consent] = frozenset()
    # The renames of the YAML, former address to new, that earlier runs carried out or had nothing to do for.
    fulfilled: Mapping[Address, Address] = field(default_factory=dict)
    # (kind, id) of objects that the unfinished runs gave another address.
    readdressed: frozenset[tuple[str, str]] = frozenset()
    # Addresses that the YAML renames now, with those that the database still has.
    renamed: Mapping[Address, Address] = field(default_factory=dict)
    # Of `foreign`, what a project in the same environment tracks that tracks all that this one does, with its name: it may be this
    # project's former name.
    former: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # Kind and id of what a run deleted recently, by an address that is free now.
    deleted: Mapping[Address, tuple[str, str]] = field(default_factory=dict)
    # What each other project in the same environment tracks on the same service, with its id.
    projects: Mapping[str, Mapping[Address, str]] = field(default_factory=dict)

    @cached_property
    def addresses(self) -> Mapping[tuple[str, str], Address]:
        """The addresses of the tracked objects, by kind and id."""
        return {binding.key: address for address, binding in self.bindings.items()}


class RunStatus(StrEnum):
    """The status of a run. `KILLED`: it never recorded its end, and no longer holds the state."""

    ENDED = "ended"
    RUNNING = "running"
    KILLED = "killed"


class What(StrEnum):
    """What happened to a binding without a request."""

    ADOPT = "adopt"
    FORGET = "forget"
    RENAME = "rename"
    PROTECT = "protect"
    UNPROTECT = "unprotect"


@dataclass(frozen=True)
class StateChange:
    """One change of the state without a request. `address`: where the object is tracked after it, or was before a forget; `id`: the
    object's.

    `old`: the address it had before a rename, None otherwise.
    """

    what: What
    address: Address
    kind: str
    id: str
    old: Address | None = None


@dataclass(frozen=True)
class SiteRun:
    """A run that changed a site or saw its URLs change. `changed`: requests about the site and what is in it, by verb. `begun`, `ended`:
    URLs. `live`: URLs that answer after it. `commit`: of its files, None where nobody knows it."""

    run: str
    at: datetime
    who: str
    command: str
    commit: str | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    begun: int = 0
    ended: int = 0
    live: int = 0


def renamed_with_containers(renames: Mapping[Address, Address]) -> dict[Address, Address]:
    """Of renames (former address to new), those that only follow the rename of a container, each with the outermost of these."""
    followers: dict[Address, Address] = {}
    for old, new in renames.items():
        outer = [above for above in old.containers if above in renames and old.renamed(above, renames[above]) == new]
        if outer:
            followers[old] = outer[-1]
    return followers


@dataclass(frozen=True)
class RecordedRun:
    """One run that held the lease. `ended` and `exit_code` are None where it is running or was killed. `did`: requests done, by verb.

    `undone`: requests that failed or are in doubt, by how they ended. `turned`: changes of the state without a request, by what they were.
    `changed`: how many objects it changed, by the word of the plan; of a killed run, as far as its requests show.
    """

    id: str
    who: str
    command: str
    started: datetime
    ended: datetime | None
    exit_code: int | None
    did: Mapping[str, int] = field(default_factory=dict)
    undone: Mapping[str, int] = field(default_factory=dict)
    turned: Mapping[str, int] = field(default_factory=dict)
    running: bool = False  # it holds the state now
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def status(self) -> RunStatus:
        """Whether it ended, is running, or was killed."""
        if self.exit_code is not None:
            return RunStatus.ENDED
        return RunStatus.RUNNING if self.running else RunStatus.KILLED

    @property
    def anything(self) -> bool:
        """Whether it sent anything or changed the state."""
        return bool(self.did or self.undone or self.turned)


@dataclass(frozen=True)
class JournalEntry:
    """One request of the journal and how it ended.

    `status`: done, failed, in-doubt, not-sent or recovered. `bound`: the ids tracked by its outcome, by address; `forgotten`: addresses no
    longer tracked. `after`: per address the request form of the fields as they were seen after it, without sensitive ones.
    """

    intent: Intent
    at: datetime
    status: str
    error: str | None = None
    bound: Mapping[Address, str] = field(default_factory=dict)
    forgotten: tuple[Address, ...] = ()
    after: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether the service did it."""
        return self.status in ("done", "recovered")
