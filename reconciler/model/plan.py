"""What will happen: changes, the requests they need, and what people must know before they approve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from reconciler.address import Address
from reconciler.model.actual import Unknown
from reconciler.model.consent import Consent
from reconciler.model.desired import Rules
from reconciler.model.source import Source
from reconciler.model.state import Before, Binding, Position
from reconciler.model.violation import Violation
from reconciler.resource import UNSET


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
    TRANSFER = "transfer"


class Cause(StrEnum):
    """Why a field differs: the YAML changed, the service changed, or both."""

    YOURS = "yours"
    DRIFT = "drift"
    BOTH = "both"


@dataclass(frozen=True)
class Delta:
    """One field of a change, in the shown form; `before` is UNSET where nothing was known. `sensitive` values are never shown.

    `note`: why it is shown although nothing is sent ("cannot be set: …", "no longer managed"); None for an ordinary one. `last`: what was
    seen after our last write, UNSET where nothing was. `container`: the field names what contains the object.
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
class Change:
    """One address and what happens to it. `id`: the object's, None before it is created. `reason`: one sentence, "" where it is obvious.

    `before` and `after`: its positions, where it moves. `until`: when the deleted object in the reason can no longer be restored; None
    where the reason names none. `deleted_by_us`: what is restored was deleted by an earlier run, and not outside Reconciler.
    """

    address: Address
    kind: str
    actions: tuple[Action, ...]
    fields: tuple[Delta, ...] = ()
    before: Position | None = None
    after: Position | None = None
    reason: str = ""
    source: Source | None = None
    id: str | None = None
    title: str | None = None
    until: datetime | None = None
    deleted_by_us: bool = False


@dataclass(frozen=True)
class Step:
    """One request. In `path` and `body` an `Address` represents the id of an object that does not exist yet.

    `writes`: the request form of the fields it carries. `target`: the object acted on (id or address), None for a create. `create_like`:
    sending it twice would create two objects. `identity`: of a create, the natural key (request form). `source`: of a copy, what is copied.
    `brings`: the children its answer shows: (kind, key of the answer, address). `takes`: what is deleted with the object of a delete.
    `before`: what undoing it needs. `renames`: the addresses, former one to new, that the state changes with the outcome of a transfer.
    `gates`: the objects (kind, id) that decide who can read what it opens. `relies`: those that must still be as they were read: the admins
    who remain, the provider that exists. `needs` must have succeeded, `after` must have ended, before it is sent.
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
    before: Before = field(default_factory=Before)
    renames: Mapping[Address, Address] = field(default_factory=dict)
    gates: tuple[tuple[str, str], ...] = ()
    relies: tuple[tuple[str, str], ...] = ()
    needs: frozenset[int] = frozenset()
    after: frozenset[int] = frozenset()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields it carries."""
        return tuple(self.writes)


@dataclass(frozen=True)
class Blocked:
    """A declaration that cannot be applied; the rest can.

    `cause`: the address that is blocked for a reason of its own, where this one only waits for it; None where the reason is its own.
    `id`: of the cause.
    """

    address: Address
    reason: str
    remedy: str
    source: Source | None = None
    cause: Address | None = None
    id: str = field(kw_only=True)


def waiting(address: Address, outer: Blocked, source: Source | None = None, *, reason: str | None = None) -> Blocked:
    """The `Blocked` of what waits for something blocked, directly or indirectly: it is unblocked with the cause."""
    remedy = outer.remedy if outer.cause is not None else f"unblock {outer.address} first: {outer.remedy}"
    says = reason or f"waits for {outer.address}, which is blocked"
    return Blocked(address, says, remedy, source, outer.cause or outer.address, id="RC-waits")


@dataclass(frozen=True)
class Exposure:
    """What becomes public, or loses its protection, by a change of the plan, or by a looser rule of the project.

    A rule's `address` is its word at the top of the project file, its `kind` is `project`. `field`: the field that does it, "" where no
    field of the object does. `before`, `after`: its values in the shown form, UNSET where there is none. `says`: the consequence, as the
    end of a sentence. `asked`: it needs consent; False where somebody consented for the run that this one continues. `readers`: who can
    read more, () where it adds no readers. `path`: how they reach the object, from it to what admits them, and `admits`: the address of
    that. `cause`: what was changed or created; None where that is the object. `reaches`: what else they can read by the same cause.
    `window`: for how many requests it lasts; 0 where it is permanent. `consents`: what is consented to with it. `id`: of the cause.
    """

    address: Address
    kind: str
    field: str
    before: Any
    after: Any
    says: str
    source: Source | None = None
    asked: bool = True
    readers: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    cause: Address | None = None
    admits: Address | None = None
    reaches: tuple[Address, ...] = ()
    window: int = 0
    consents: tuple[Consent, ...] = ()
    _: KW_ONLY
    id: str

    @property
    def names(self) -> tuple[Address, ...]:
        """The addresses by which it can be allowed: the object's, that of what causes it, and that of what admits its readers."""
        return tuple(dict.fromkeys(address for address in (self.address, self.cause, self.admits) if address is not None))


@dataclass(frozen=True)
class BrokenUrl:
    """A published URL that stops working by a change of the plan.

    `before`: the URL, None where it is secret. `after`: the new URL, None where there is none or only the service knows it. `reason`: one
    sentence.
    """

    address: Address
    kind: str
    before: str | None
    after: str | None
    reason: str
    source: Source | None = None

    @property
    def id(self) -> str:
        """Of the cause."""
        return "RC-broken-url"


@dataclass(frozen=True)
class ForbiddenRequest:
    """A request that the service will refuse: the token's permission `flag` on the object `of` is false."""

    address: Address
    verb: str
    flag: str
    of: Address

    @property
    def id(self) -> str:
        """Of the cause: that of the error with which the service would refuse it."""
        return "RC-not-permitted"


@dataclass(frozen=True)
class Unmanaged:
    """An object that exists and is not declared."""

    kind: str
    id: str
    title: str


@dataclass(frozen=True)
class StateUpdate:
    """What apply writes to the state without a request, before any step runs. `bind`: whole bindings.

    `rename`: every tracked address that changes, with its new address; `bind` and `forget` use the new ones. `fulfilled`: the renames of
    the YAML that have had their effect by then; None where the state has them already. `rules`: those to record after a successful run;
    None where the state has them already. `carried`: the bindings that the state gets with the outcomes of transfers.
    """

    bind: Mapping[Address, Binding] = field(default_factory=dict)
    forget: frozenset[Address] = frozenset()
    rename: Mapping[Address, Address] = field(default_factory=dict)
    fulfilled: Mapping[Address, Address] | None = None
    rules: Rules | None = None
    carried: Mapping[Address, Binding] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """All changes and their steps. Empty rather than None; `steps` in an order that could be run one by one.

    `deferred`: addresses that wait for a second run, with the reason. `places`: the final positions of siblings. `state_update`: the
    changes of state that need no request. `exposures`, `broken`, `forbidden`: what people must know before they approve. `notes`: sentences
    for the reader. `differing`: by address every field of an existing object that is not as declared, including those for which nothing can
    be sent (`note` says why). `moved_outside`: siblings that were moved since they were last placed, with the position they were given and
    their position now. `questions`: objects (kind, id) whose readers must be read before the plan is complete. `lists`: (kind, id of what
    contains them) of lists that must be read before then. `outside`: how many addresses that this run leaves alone have something pending;
    None where it is about all of them. `consents`: what a run of it is allowed to open once somebody consented to it, asked or not.
    `violations`: the rules of the project that it violates, warnings included. `files_only`: it compares two versions of the files; nothing
    is known of the service. `objects`: where the project has policies, each declared address that the run is about, with the id of its
    object; None where that does not exist yet. `ignored`: the differences that the YAML says to leave alone (`ignoreChanges`).
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
    places: Mapping[Address, Position] = field(default_factory=dict)
    state_update: StateUpdate = StateUpdate()
    exposures: tuple[Exposure, ...] = ()
    consents: tuple[Consent, ...] = ()
    broken: tuple[BrokenUrl, ...] = ()
    forbidden: tuple[ForbiddenRequest, ...] = ()
    notes: tuple[str, ...] = ()
    managed: int = 0
    outside: int | None = None
    differing: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)
    moved_outside: Mapping[Address, tuple[Position, Position]] = field(default_factory=dict)
    questions: frozenset[tuple[str, str]] = frozenset()
    lists: frozenset[tuple[str, str]] = frozenset()
    violations: tuple[Violation, ...] = ()
    files_only: bool = False
    objects: Mapping[Address, str | None] = field(default_factory=dict)
    ignored: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)

    @property
    def ignored_count(self) -> int:
        """How many differences the YAML says to leave alone."""
        return sum(map(len, self.ignored.values()))

    @property
    def pending(self) -> bool:
        """Whether there is anything to approve; a looser rule alone is enough."""
        return bool(self.changes or self.steps or self.exposures)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing that could not be done."""
        return not (self.pending or self.blocked or self.deferred)


@dataclass(frozen=True)
class PlanCost:
    """What a plan took: requests that read, the seconds until they were answered, and the seconds of the planning after them."""

    reads: int
    reading: float
    planning: float


@dataclass(frozen=True)
class Forecast:
    """What applying a plan will take: the number of writes, the approximate number of reads, and the approximate seconds.

    `held`: seconds of these that are spent waiting for the service's rate limit.
    """

    writes: int
    reads: int
    seconds: float
    held: float = 0.0
