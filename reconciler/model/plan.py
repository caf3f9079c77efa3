"""What will happen: changes, the requests they need, and what people must know before they approve.

What an apply did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from reconciler.address import Address
from reconciler.model.actual import Unknown
from reconciler.model.desired import Rules
from reconciler.model.features import FeatureKey, FeatureValues, T
from reconciler.model.findings import Source, Violation
from reconciler.model.left_alone import Blocked, HeldPart
from reconciler.model.state import Before, Binding, Consent, Position
from reconciler.model.variants import SiteUrls
from reconciler.resource import UNSET
from reconciler.text.redact import UNSHOWN


class Action(StrEnum):
    """What happens to one address; the value is the word users see."""

    CREATE = "create"
    UPDATE = "update"
    MOVE = "move"
    REPLACE = "replace"
    DELETE = "delete"
    ADOPT = "adopt"
    RENAME = "rename"
    FORGET = "forget"
    RESTORE = "restore"
    TRANSFER = "transfer"


_DESTRUCTIVE = frozenset({Action.DELETE, Action.REPLACE})


class Cause(StrEnum):
    """Why a field differs: the YAML changed, the service changed, or both."""

    YOURS = "yours"
    DRIFT = "drift"
    BOTH = "both"


@dataclass(frozen=True)
class Delta:
    """One field of a change, as people read it: addresses for ids, and no value of a secret."""

    name: str
    # UNSET where nothing was known.
    before: Any
    after: Any
    cause: Cause
    # Its values are never shown.
    sensitive: bool = False
    # Why it is shown although nothing is sent ("cannot be set: …", "no longer managed"); None for an ordinary one.
    note: str | None = None
    source: Source | None = None
    # What was seen after our last write, UNSET where nothing was.
    last: Any = UNSET
    # The field names what contains the object.
    container: bool = False
    # The declared value is that of the project's `defaults`.
    from_defaults: bool = False


@dataclass(frozen=True)
class Change:
    """One address and what happens to it."""

    address: Address
    kind: str
    # What happens, in the order in which people read it.
    actions: tuple[Action, ...]
    # What differs, in the order of the declaration.
    fields: tuple[Delta, ...] = ()
    # Its position among its siblings now, where it moves.
    before: Position | None = None
    # Its position when all is done, where it moves.
    after: Position | None = None
    # One sentence; "" where it is obvious.
    reason: str = ""
    # The lines of the YAML that declare it.
    source: Source | None = None
    # The id of the object; None before it is created.
    id: str | None = None
    # What people call the object now.
    title: str | None = None
    # When the deleted object in the reason can no longer be restored; None where the reason names none.
    until: datetime | None = None
    # What is restored was deleted by an earlier run, and not outside Reconciler.
    deleted_by_us: bool = False

    @property
    def action(self) -> str:
        """What happens, in words: `update, move`."""
        return ", ".join(action.value for action in self.actions)

    @property
    def destructive(self) -> bool:
        """Whether an object is deleted by it, also if another one takes its place."""
        return not _DESTRUCTIVE.isdisjoint(self.actions)


@dataclass(frozen=True)
class Step:
    """One request. In `path` and `body` an `Address` represents the id of an object that does not exist yet."""

    # The number of the step in the plan; every step comes after those that it waits for.
    id: int
    address: Address
    kind: str
    # The name of the request in the declaration of the kind.
    verb: str
    method: str
    path: tuple[str | Address, ...]
    body: Any = None
    # The fields that it carries, in the request form.
    writes: Mapping[str, Any] = field(default_factory=dict)
    # The object acted on (id or address); None for a create.
    target: str | Address | None = None
    # Sending it twice would create two objects.
    create_like: bool = False
    # Of a create: the natural key of the object (request form), by which it is recognized where the answer was lost.
    identity: Mapping[str, Any] = field(default_factory=dict)
    # Of a copy: what is copied.
    source: str | Address | None = None
    # The children that its answer shows: (kind, key of the answer, address).
    brings: tuple[tuple[str, str, Address], ...] = ()
    # Of a delete: what is deleted with the object.
    takes: tuple[Address, ...] = ()
    # What undoing it needs.
    before: Before = field(default_factory=Before)
    # Of a transfer: the addresses, former one to new, that the state changes with its outcome.
    renames: Mapping[Address, Address] = field(default_factory=dict)
    # The objects (kind, id) that decide who can read what it opens; they are read again before it is sent.
    gates: tuple[tuple[str, str], ...] = ()
    # The objects (kind, id) that must still be as they were read: the admins who remain, the provider that exists.
    relies: tuple[tuple[str, str], ...] = ()
    # The steps that must have succeeded before it is sent.
    needs: frozenset[int] = frozenset()
    # The steps that must have ended, in whatever way.
    after: frozenset[int] = frozenset()

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields it carries."""
        return tuple(self.writes)


# Not "when the service answers": it did answer if it refused the request, and waiting does not help then.
WHEN_READ: Final = "run again when it can be read"
"""What to do about something that could not be read; the reason beside it says why."""


@dataclass(frozen=True)
class Exposure:
    """What becomes public, or loses its protection, by a change of the plan, or by a looser rule of the project."""

    # Of a rule: its word at the top of the project file.
    address: Address
    # Of a rule: `project`.
    kind: str
    # The field that does it, "" where no field of the object does.
    field: str
    # The values of the field in the shown form, UNSET where there is none.
    before: Any
    after: Any
    # The consequence, as the end of a sentence.
    says: str
    source: Source | None = None
    # It needs consent; False where somebody consented for the run that this one continues.
    asked: bool = True
    # Who can read more, () where it adds no readers.
    readers: tuple[str, ...] = ()
    # How they reach the object, from it to what admits them.
    path: tuple[str, ...] = ()
    # What was changed or created; None where that is the object.
    cause: Address | None = None
    # The address of what admits the readers.
    admits: Address | None = None
    # What else they can read by the same cause.
    reaches: tuple[Address, ...] = ()
    # For how many requests it lasts; 0 where it is permanent.
    window: int = 0
    # What is consented to with it.
    consents: tuple[Consent, ...] = ()
    _: KW_ONLY
    # Of the cause, for the page that explains it.
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
    """What apply writes to the state without a request, before any step runs."""

    # Whole bindings, under the new addresses.
    bind: Mapping[Address, Binding] = field(default_factory=dict)
    # Under the new addresses too.
    forget: frozenset[Address] = frozenset()
    # Every tracked address that changes, with its new address.
    rename: Mapping[Address, Address] = field(default_factory=dict)
    # The renames of the YAML that have had their effect by then; None where the state has them already.
    fulfilled: Mapping[Address, Address] | None = None
    # The rules to record after a successful run; None where the state has them already.
    rules: Rules | None = None
    # The bindings that the state gets with the outcomes of transfers.
    carried: Mapping[Address, Binding] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """All changes and their steps. Empty rather than None."""

    project: str
    # None where the project has no environments.
    environment: str | None
    # One for each address to which something happens.
    changes: tuple[Change, ...] = ()
    # In an order that could be run one by one.
    steps: tuple[Step, ...] = ()
    # Objects that exist and are not declared.
    unmanaged: tuple[Unmanaged, ...] = ()
    # What could not be read.
    unknown: tuple[Unknown, ...] = ()
    # Addresses of requests whose outcome is unknown.
    in_doubt: tuple[Address, ...] = ()
    # Declarations that cannot be applied; the rest can.
    blocked: tuple[Blocked, ...] = ()
    # Addresses that wait for a second run, with the reason.
    deferred: Mapping[Address, str] = field(default_factory=dict)
    # The final positions of siblings.
    places: Mapping[Address, Position] = field(default_factory=dict)
    # The changes of the state that need no request.
    state_update: StateUpdate = StateUpdate()
    # What becomes public or is no longer protected.
    exposures: tuple[Exposure, ...] = ()
    # What a run of the plan may open once somebody consented to it, asked or not.
    consents: tuple[Consent, ...] = ()
    # Published URLs that stop working.
    broken: tuple[BrokenUrl, ...] = ()
    # Objects that remain, each with the classes of readers that can no longer read it.
    lost_readers: Mapping[Address, tuple[str, ...]] = field(default_factory=dict)
    # Requests that the token may not send.
    forbidden: tuple[ForbiddenRequest, ...] = ()
    # Sentences for the reader.
    notes: tuple[str, ...] = ()
    # How many declared objects are managed; and before it, also those that this run leaves alone: a limit of deletions is a share of them.
    managed: int = 0
    managed_before: int = 0
    # How many addresses that this run leaves alone have something pending; None where it is about all of them.
    outside: int | None = None
    # By address: every field of an existing object that is not as declared, including those for which nothing can be sent (`note`: why).
    differing: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)
    # Siblings that were moved since they were last placed: the position they were given, and their position now.
    moved_outside: Mapping[Address, tuple[Position, Position]] = field(default_factory=dict)
    # Objects (kind, id) whose readers must be read before the plan is complete.
    questions: frozenset[tuple[str, str]] = frozenset()
    # What shows pages before and after.
    site_urls: SiteUrls = field(default_factory=SiteUrls, metadata=UNSHOWN)
    # Lists (kind, id of what contains them) that must be read before it is complete, and objects whose pages must be.
    lists: frozenset[tuple[str, str]] = frozenset()
    trees: frozenset[tuple[str, str]] = frozenset()
    # The rules of the project that the plan violates, warnings included.
    violations: tuple[Violation, ...] = ()
    # It compares two versions of the files; nothing is known of the service.
    files_only: bool = False
    # Where the project has policies: each declared address of this run, with the id of its object, None where that does not exist yet.
    objects: Mapping[Address, str | None] = field(default_factory=dict)
    # The differences that the YAML says to leave alone (`ignoreChanges`).
    ignored: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)
    # What features say of it.
    features: FeatureValues = field(default_factory=dict)
    # What is refused and left alone, so that the rest can be applied.
    held: HeldPart = field(default_factory=HeldPart)

    def feature(self, key: FeatureKey[T]) -> T:
        """What one feature says of it."""
        return key.of(self.features)

    def with_feature(self, key: FeatureKey[T], value: T) -> Plan:
        """The same, with what one feature says of it."""
        return replace(self, features={**self.features, key: value})

    @property
    def ignored_count(self) -> int:
        """How many differences the YAML says to leave alone."""
        return sum(map(len, self.ignored.values()))

    @property
    def pending(self) -> bool:
        """Whether there is anything to approve; a looser rule, or a file of redirects alone is enough."""
        return bool(self.changes or self.steps or self.exposures) or any(key.pending(value) for key, value in self.features.items())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing that could not be done."""
        return not (self.pending or self.blocked or self.deferred or self.held)


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


class StepStatus(StrEnum):
    """How a step ended; `stale`: not sent, somebody changed its object meanwhile; `asked`: answered as if done, and not done."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STALE = "stale"
    IN_DOUBT = "in-doubt"
    ASKED = "asked"


@dataclass(frozen=True)
class StepResult:
    """One step's end; `error` is a sentence, None where it is done. `id`: of the cause, where that is not the status alone."""

    step: Step
    status: StepStatus
    error: str | None = None
    id: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Edited:
    """What somebody else changed during the run: one field of one object (shown form), or the whole of it (`field` None).

    `before`: what was seen after this run's write, or for the plan where the run wrote nothing; `after`: the value at the end. `says`: what
    happened to the whole object, "" for a field. `sensitive` values are never shown.
    """

    address: Address
    field: str | None
    before: Any = None
    after: Any = None
    says: str = ""
    sensitive: bool = False


@dataclass(frozen=True)
class SavedPlanCheck:
    """What the check of a saved plan against a new plan found. `refused`: addresses of the saved one that are not applied, with the reason;
    `new`: addresses that only the new one has. `origin`: who created the file, from which commit, as it says. `same`: whether it was
    created from the same evaluated configuration."""

    refused: Mapping[str, str]
    new: tuple[str, ...] = ()
    origin: Mapping[str, Any] | None = None
    same: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What an apply did: results in the order of the steps' ids, and what the reading afterwards found.

    `leftover`: what is still not as declared although nobody else is known to have changed it. `edited`: the drift of this run.
    `unverified`: what was written and could not be read again. `not_visible`: what was written and is shown in its previous state.
    `not_applied`: None without a saved plan. `next_step`: what to do next, where that does not follow from the rest.
    """

    run: str
    plan: Plan
    results: tuple[StepResult, ...] = ()
    requests: int = 0
    leftover: tuple[Address, ...] = ()
    notes: tuple[str, ...] = ()
    stopped: str | None = None
    edited: tuple[Edited, ...] = ()
    unverified: tuple[Address, ...] = ()
    not_visible: tuple[Address, ...] = ()
    next_step: str | None = None
    not_applied: SavedPlanCheck | None = None

    @property
    def went_through(self) -> bool:
        """Whether every step was done and nothing stopped the run."""
        return self.stopped is None and self.count(StepStatus.DONE) == len(self.results)

    def count(self, status: StepStatus) -> int:
        return [result.status for result in self.results].count(status)

    @property
    def actions(self) -> dict[str, int]:
        """How often each action of the plan was done: all requests for its address were, or none was needed."""
        undone = {
            address
            for result in self.results
            if result.status is not StepStatus.DONE
            for address in (result.step.address, *result.step.takes, *(child for *_, child in result.step.brings))
        }
        done = Counter(
            action
            for change in self.plan.changes
            if undone.isdisjoint((change.address, *(change.address.containers if change.destructive else ())))
            for action in change.actions
        )
        return {action.value: done[action] for action in Action if done[action]}

    @property
    def summary(self) -> dict[str, Any]:
        """What the state records of the run: how many steps ended in which way, and `actions`."""
        return {status.value: self.count(status) for status in StepStatus} | {"actions": self.actions}
