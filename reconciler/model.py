"""The nouns of a run as frozen data, no logic: Desired, Actual, State, Plan, Outcome and what they are made of.

Values appear in three forms. *Written*: as the YAML has them after validation, references being `Address` or `Foreign`. *Request*: what is
sent, and the only form that is compared; references are ids, or still an `Address` where the object is not born yet. *Shown*: for people.
`UNSET` is absence everywhere; `None` is a value (`null`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from reconciler.address import Address
from reconciler.resource import UNSET

# -- Desired ----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Source:
    """Where something stands in the YAML; line and column count from 1, the file is relative to the project."""

    file: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class Declared:
    """One resource of the YAML.

    `values`: the written form by field name, containers, choices and first children included. `parent`: the resource in whose map or
    list it stands (None for a root); `section`: the name of that map or list; `index`: its place there, from 0. `implied`: it is only
    referenced, not declared (a member); nothing of it is managed. `previously`: addresses it had before. `protect`: None where not written.
    """

    address: Address
    kind: str
    values: Mapping[str, Any]
    source: Source
    parent: Address | None
    section: str
    index: int
    positions: Mapping[str, Source] = field(default_factory=dict)
    id: str | None = None
    previously: tuple[Address, ...] = ()
    protect: bool | None = None
    adopt: bool = True
    implied: bool = False


@dataclass(frozen=True)
class Moved:
    """`moved: [{from, to}]`: an address and everything below it was renamed."""

    old: Address
    new: Address
    source: Source


@dataclass(frozen=True)
class Removed:
    """`removed: [{address, action}]`: what shall happen to one address that is no longer declared."""

    address: Address
    action: Literal["forget", "delete"]
    source: Source


@dataclass(frozen=True)
class Guards:
    """Limits of a run: at most `percent` of the managed objects may be deleted, but `at_least` always may."""

    max_delete_percent: float = 20.0  # of managed objects; octoDNS uses 30
    max_delete_at_least: int = 3
    min_admins: int = 1


@dataclass(frozen=True)
class Desired:
    """What the project declares: every resource, containers before what they contain, siblings in the order of the YAML.

    `written`: the sections and lists that stand in the YAML, as (container, kind): only there may `prune: all` delete the unmanaged.
    `prune` and `protect` hold every kind. `lister`: the member (address) who reaches everything. `digest`: of the evaluated configuration.
    """

    project: str
    environment: str | None
    resources: Mapping[Address, Declared]
    prune: Mapping[str, Literal["owned", "all", "none"]]
    protect: frozenset[str]
    moved: tuple[Moved, ...] = ()
    removed: Mapping[Address, Removed] = field(default_factory=dict)
    written: frozenset[tuple[Address, str]] = frozenset()
    guards: Guards = Guards()
    lister: Address | None = None
    digest: str = ""


# -- Actual -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Observed:
    """One object as the service showed it.

    `values`: the request form by field name, UNSET where nothing was said. `flags`: the booleans that a parent's choice sets. `within`: the
    ids of its fixed containers by kind. `rank`: its place in an ordered listing, None where none showed it; comparable only between
    siblings. `deleted_at`: set while it can still be restored. `raw`: the object itself.
    """

    kind: str
    id: str
    values: Mapping[str, Any]
    within: Mapping[str, str]
    raw: Mapping[str, Any]
    flags: Mapping[str, bool] = field(default_factory=dict)
    rank: int | None = None
    deleted_at: datetime | None = None


@dataclass(frozen=True)
class Unknown:
    """A reading that failed: of this kind, below this object (id; None for everything), nothing is known to be absent."""

    kind: str
    scope: str | None
    reason: str


@dataclass(frozen=True)
class Actual:
    """What the service last reported.

    `complete`: the (kind, id of container or `each` object) whose listing ended, so that absence there is proven. `absent`: (kind, id)
    proven gone by id. `date`: the service's clock at the newest reading; None where it sends none.
    """

    objects: Mapping[str, Mapping[str, Observed]] = field(default_factory=dict)
    complete: frozenset[tuple[str, str]] = frozenset()
    absent: frozenset[tuple[str, str]] = frozenset()
    unknown: tuple[Unknown, ...] = ()
    date: datetime | None = None

    def find(self, kind: str, id: str) -> Observed | None:
        """The object, or None where it was not seen."""
        return self.objects.get(kind, {}).get(id)


# -- State ------------------------------------------------------------------------------------------------------------------------


class Origin(StrEnum):
    """How an object came to be bound."""

    CREATED = "created"
    ADOPTED = "adopted"
    RECOVERED = "recovered"


@dataclass(frozen=True)
class Place:
    """Where a sibling was last put: `parent` is the address it stood under, `index` its place among the managed siblings, from 0."""

    parent: str
    index: int


@dataclass(frozen=True)
class Binding:
    """What we remember of one object: its id, and per field what was *sent* and what was *seen* after it (request form, ids)."""

    address: Address
    kind: str
    id: str
    origin: Origin
    sent: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)
    protected: bool = False
    place: Place | None = None


@dataclass(frozen=True)
class Intent:
    """One request that was about to be sent and has no outcome yet.

    `known`: the ids that stood in the list when it was read. `target`: the id of the object acted on or copied, None for a create.
    `writes`: the request form by field, the natural key of a create included, sensitive values left out. `date`: the service's clock when
    the list was read; `deadline`: when the request can no longer take effect (service's clock, settle time not included). `brings`:
    addresses of the children the create makes, by the key of the answer they stand under. `lookup`: the paths to read for finding it.
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


@dataclass(frozen=True)
class State:
    """The bindings by address and the intents in doubt. `lineage` never changes for a state; `serial` grows with every run that writes.

    `foreign`: (kind, id) of what other projects and environments in the same database bind on the same service.
    """

    lineage: str
    serial: int
    bindings: Mapping[Address, Binding] = field(default_factory=dict)
    intents: tuple[Intent, ...] = ()
    foreign: frozenset[tuple[str, str]] = frozenset()


# -- Plan -------------------------------------------------------------------------------------------------------------------------


class Action(StrEnum):
    """What happens to one address; the value is the word users see."""

    CREATE = "create"
    UPDATE = "update"
    MOVE = "move"
    REPLACE = "replace"
    DELETE = "delete"
    ADOPT = "adopt"
    FORGET = "forget"
    RESTORE = "restore"


class Cause(StrEnum):
    """Why a field differs: the YAML changed, the service changed, or both."""

    YOURS = "yours"
    DRIFT = "drift"
    BOTH = "both"


@dataclass(frozen=True)
class Delta:
    """One field of a change, in the shown form; `before` is UNSET where nothing was known. `sensitive` values are never shown.

    `note`: why it is shown although nothing is sent ("cannot be set: …", "no longer managed"); None for an ordinary one. `last`: what was
    seen after our last write, UNSET where nothing was. `container`: the field says what the object stands in.
    """

    name: str
    before: Any
    after: Any
    cause: Cause
    sensitive: bool = False
    note: str | None = None
    source: Source | None = None
    last: Any = UNSET
    container: bool = False


@dataclass(frozen=True)
class Spot:
    """A place among siblings: the parent's address (None at the root) and the previous managed sibling's (None for the first)."""

    parent: Address | None
    previous: Address | None


@dataclass(frozen=True)
class Change:
    """One address and what happens to it. `id`: the object's, None before it is born. `reason`: one sentence, "" where it is plain.

    `before` and `after`: its places, where it moves.
    """

    address: Address
    kind: str
    actions: tuple[Action, ...]
    fields: tuple[Delta, ...] = ()
    before: Spot | None = None
    after: Spot | None = None
    reason: str = ""
    source: Source | None = None
    id: str | None = None
    title: str | None = None


@dataclass(frozen=True)
class Step:
    """One request. In `path` and `body` an `Address` stands for the id of what is not born yet.

    `writes`: the request form of the fields it carries. `target`: the object acted on (id or address), None for a create. `create_like`:
    sending it twice would make two. `identity`: of a create, the natural key (request form). `source`: of a copy, what is copied.
    `brings`: the children its answer shows: (kind, key of the answer, address). `takes`: what goes along with a delete.
    `needs` must have succeeded, `after` must have ended,
    before it is sent.
    """

    id: int
    address: Address
    kind: str
    verb: str
    method: str
    path: tuple[str | Address, ...]
    body: Any = None
    writes: Mapping[str, Any] = field(default_factory=dict)
    target: str | Address | None = None
    create_like: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)
    source: str | Address | None = None
    brings: tuple[tuple[str, str, Address], ...] = ()
    takes: tuple[Address, ...] = ()
    needs: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields it carries."""
        return tuple(self.writes)


@dataclass(frozen=True)
class Blocked:
    """A desire that cannot be met; the rest goes on. `refused`: a guard or protection said no, rather than the service's ways."""

    address: Address
    reason: str
    remedy: str
    source: Source | None = None


@dataclass(frozen=True)
class Unmanaged:
    """An object nobody declared."""

    kind: str
    id: str
    title: str


@dataclass(frozen=True)
class Memory:
    """What apply writes to the state without a request: the whole binding as it shall be, before any step runs."""

    bind: Mapping[Address, Binding] = field(default_factory=dict)
    forget: frozenset[Address] = frozenset()


@dataclass(frozen=True)
class Plan:
    """All changes and their steps. Empty rather than None; `steps` in an order that could be run one by one.

    `deferred`: addresses that wait for a second run, with the reason. `places`: where siblings stand when all is done. `memory`: the
    changes of state that need no request. `notes`: sentences for the reader. `differing`: by address every field of an existing object that
    is not as declared, those included for which nothing can be sent (`note` says why). `strayed`: siblings that were moved since they were
    last placed, with where they were put and where they stand.
    """

    project: str
    environment: str | None
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    unmanaged: tuple[Unmanaged, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    in_doubt: tuple[Address, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    deferred: Mapping[Address, str] = field(default_factory=dict)
    places: Mapping[Address, Place] = field(default_factory=dict)
    memory: Memory = Memory()
    notes: tuple[str, ...] = ()
    managed: int = 0
    differing: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)
    strayed: Mapping[Address, tuple[Spot, Spot]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing that could not be done."""
        return not (self.changes or self.steps or self.blocked or self.deferred)


# -- Outcome ----------------------------------------------------------------------------------------------------------------------


class Status(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    IN_DOUBT = "in-doubt"


@dataclass(frozen=True)
class Result:
    """One step's end; `error` is a sentence, None where it is done."""

    step: Step
    status: Status
    error: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What an apply did: results in the order of the steps' ids, and what the readings afterwards still found different."""

    run: str
    plan: Plan
    results: tuple[Result, ...] = ()
    requests: int = 0
    leftover: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()
    stopped: str | None = None

    def count(self, status: Status) -> int:
        return sum(1 for result in self.results if result.status is status)
