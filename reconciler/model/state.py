"""What the state records: bindings, requests without an outcome, and values before requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from reconciler.address import Address
from reconciler.model.consent import Consent
from reconciler.model.desired import Rules


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
    """The tracked id of one object, and per field what was *sent* and what was *seen* after it (request form, ids)."""

    address: Address
    kind: str
    id: str
    origin: Origin
    sent: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)
    protected: bool = False
    place: Position | None = None


@dataclass(frozen=True)
class Before:
    """What a request is about to change, recorded so that it can be undone.

    `values`: the request form by field as it would be sent again, UNSET where there was no value; without sensitive values. `position`: its
    position, where the request changes that. `replaces`: the id of the object that a create replaces. `takes`: what is deleted with the
    object of a delete. `renames`: the addresses, former one to new, that the state changes with the outcome of a transfer. `unmanaged`: the
    fields among `values` that were not managed before.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    position: Position | None = None
    replaces: str | None = None
    takes: tuple[Address, ...] = ()
    renames: Mapping[Address, Address] = field(default_factory=dict)
    unmanaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Intent:
    """One request that was about to be sent and has no outcome yet.

    `known`: the ids in the list when it was read. `target`: the id of the object acted on or copied, None for a create. `writes`: the
    request form by field, the natural key of a create included, sensitive values left out. `date`: the service's clock when the list was
    read; `deadline`: when the request can no longer take effect (service's clock, settle time not included). `brings`: addresses of the
    children that the create creates, by their key in the response. `lookup`: the paths to read to find it. `before`: what undoing it needs.
    """

    id: int
    run: str
    step: int
    address: Address
    kind: str
    verb: str
    method: str
    path: str
    target: str | None
    writes: Mapping[str, Any]
    known: frozenset[str]
    date: datetime | None
    deadline: datetime | None
    brings: Mapping[str, str] = field(default_factory=dict)
    lookup: tuple[str, ...] = ()
    before: Before = Before()


@dataclass(frozen=True)
class IntentEnding:
    """How an intent ended, and what is recorded in the same transaction: whole bindings, forgotten addresses, fields seen.

    `in-doubt` leaves the intent open; every other status closes it. `error` is a sentence, None where it is done. `after`: for the history,
    what was seen by field; the caller leaves out sensitive values. `rename`: tracked addresses that change, with their new ones; `bind`
    uses the new ones.
    """

    intent: int
    status: Literal["done", "failed", "in-doubt", "not-sent", "recovered"]
    error: str | None = None
    bind: tuple[Binding, ...] = ()
    forget: tuple[Address, ...] = ()
    seen: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    after: Mapping[Address, Mapping[str, Any]] = field(default_factory=dict)
    rename: Mapping[Address, Address] = field(default_factory=dict)


@dataclass(frozen=True)
class StateScope:
    """The scope of a state; `service` is the normalised base URL, or `sandbox:<uuid>`. Ids of different scopes never mix."""

    project: str
    environment: str | None
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
    """The bindings by address, and the intents in doubt. `lineage` never changes for a state; `serial` grows with every run that writes.

    `foreign`: (kind, id) of what other projects and environments in the same database track on the same service. `former`: those among them
    of a project in the same environment that tracks all that this one tracks, with its name: this project may have had that name.
    `unfinished`: the last run that was not refused was interrupted or failed. `rules`: those of the project's last successful run; None
    where there is none, or none since states record them. `held`: (kind, container) of the lists in which this run creates nothing, because
    what an earlier run created there could not be read. `marks`: (kind, mark) of creates that were closed as not done, or not as this
    object, with their addresses: an object with such a mark as its name is ours, and late. `recent`: what was written recently, with the
    time (service's clock) until which a list may not show it although it exists. `consents`: what the last run was allowed to open, where
    it is unfinished; else none. `fulfilled`: the renames of the YAML, former address to new, that earlier runs carried out or had nothing
    to do for. `readdressed`: (kind, id) of objects that the unfinished runs gave another address. `deleted`: kind and id of what a run
    deleted recently, by an address that is free now. `renamed`: addresses that the YAML renames now, with those that the database still
    has. `projects`: what each other project in the same environment tracks on the same service, with its id.
    """

    lineage: str
    serial: int
    bindings: Mapping[Address, Binding] = field(default_factory=dict)
    intents: tuple[Intent, ...] = ()
    foreign: frozenset[tuple[str, str]] = frozenset()
    unfinished: bool = False
    rules: Rules | None = None
    held: frozenset[tuple[str, Address | None]] = frozenset()
    marks: Mapping[tuple[str, str], Address] = field(default_factory=dict)
    recent: Mapping[Address, datetime] = field(default_factory=dict)
    consents: frozenset[Consent] = frozenset()
    fulfilled: Mapping[Address, Address] = field(default_factory=dict)
    readdressed: frozenset[tuple[str, str]] = frozenset()
    renamed: Mapping[Address, Address] = field(default_factory=dict)
    former: Mapping[tuple[str, str], str] = field(default_factory=dict)
    deleted: Mapping[Address, tuple[str, str]] = field(default_factory=dict)
    projects: Mapping[str, Mapping[Address, str]] = field(default_factory=dict)
