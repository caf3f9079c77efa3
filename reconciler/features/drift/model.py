"""What was changed outside Reconciler, as data; `plan.drift` finds it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum

from reconciler import exits
from reconciler.address import Address, Glob
from reconciler.model.actual import Unknown
from reconciler.model.findings import Source, Violation
from reconciler.model.plan import Delta, Exposure, Unmanaged
from reconciler.model.state import Position
from reconciler.report.sheet import Share
from reconciler.text.names import minute


class DriftWord(StrEnum):
    """What happened to an object after our last write; the value is the word that users see."""

    CHANGED = "changed"
    MOVED = "moved"
    DELETED = "deleted"


class DriftClass(StrEnum):
    """What a change outside Reconciler means, the worst first; the value is the word that users see and type.

    EXPOSING: somebody can read or do more. ACCESS: an unmanaged object gives people access. DELETING: content no longer exists.
    LOCKING_OUT: somebody can read or do less. BREAKING_URLS: a published URL stops working. LOOSENING_RULES: a rule for how people work
    requires less. COSMETIC: none of these.
    """

    EXPOSING = "exposing"
    ACCESS = "access"
    DELETING = "deleting"
    LOCKING_OUT = "locking-out"
    BREAKING_URLS = "breaking-urls"
    LOOSENING_RULES = "loosening-rules"
    COSMETIC = "cosmetic"

    @property
    def rank(self) -> int:
        """Its place among the classes, 0 for the worst."""
        return list(DriftClass).index(self)


@dataclass(frozen=True)
class Drifted:
    """One object that differs from its state after our last write.

    `fields`: what differs (`last`: last applied, `before`: now, `after`: declared; a `note` says why it cannot be set back). `place`: the
    position it was given and its position now, where only that changed. `deleted_at` and `left`: for a deleted object that the service
    still shows, when it was deleted and how long it can be restored; None where it no longer exists. `until`: when that ends.
    """

    address: Address
    kind: str
    status: DriftWord
    fields: tuple[Delta, ...] = ()
    place: tuple[Position, Position] | None = None
    deleted_at: datetime | None = None
    left: timedelta | None = None
    until: datetime | None = None
    id: str | None = None
    title: str | None = None
    source: Source | None = None

    @property
    def cannot_be_set(self) -> bool:
        """Whether a request cannot reset some of its fields."""
        return any(delta.note is not None for delta in self.fields)


@dataclass(frozen=True)
class KnownDrift:
    """Drift that is known and ignored: for matching addresses, the named field (None: any difference), until the end of a day."""

    addresses: Glob
    field: str | None
    reason: str
    until: date

    def covers(self, address: Address, name: str | None) -> bool:
        """Whether it covers a field, or (None) a position or a deletion."""
        return self.addresses.matches(address) and self.field in (None, name)

    def __str__(self) -> str:
        return f"{self.addresses}" + (f".{self.field}" if self.field else "")


@dataclass(frozen=True)
class IgnoredDifference:
    """One difference that a baseline ignores; `field` is None for a position or a deletion."""

    address: Address
    field: str | None
    known: KnownDrift


@dataclass(frozen=True)
class Unread:
    """A tracked resource about which nothing is known, and why."""

    address: Address
    kind: str
    reason: str


@dataclass(frozen=True)
class DriftedReaders:
    """Readers that gain or lose objects. `who`: the class of readers, in words. `gains`: False if they lose them."""

    who: str
    gains: bool
    addresses: tuple[Address, ...]


@dataclass(frozen=True)
class EndedUrl:
    """A published URL that stopped working, and everything below it. `after`: where the same content answers now, None for nowhere."""

    before: str
    after: str | None


@dataclass(frozen=True)
class DriftBounds:
    """When something happened: after one moment and not after another; None where no reading says it."""

    after: datetime | None = None
    before: datetime | None = None

    def text(self, zone: tzinfo | None) -> str:
        """`between 26 Nov 2026, 02:10 CET and 26 Nov 2026, 02:20 CET`; "" where nothing is known."""
        after, before = (None if moment is None else minute(moment, zone) for moment in (self.after, self.before))
        if after is None or after == before:
            return "" if before is None else f"{'at' if after == before else 'before'} {before}"
        day = after.rpartition(",")[0]
        start = after.rpartition(" ")[0]
        if before is None:
            return f"after {after}"
        return f"between {start} and {before[len(day) + 2 :]}" if before.startswith(f"{day}, ") else f"between {after} and {before}"


@dataclass(frozen=True)
class DriftGroup:
    """Changes that people read and decide on as one: of one object, of what was deleted with it, or of siblings that were changed alike.

    `id`: of what differs; the same in each run as long as that is the same. `resources`: the changes, in the order of the project;
    `unmanaged`: instead of these, an unmanaged object. `addresses`: of all of them. `effects`: what somebody may do now, or no
    longer, as ends of sentences. `urls`: the published URLs that stopped working. `drift_class`: the worst of what the changes mean, and
    `also`: what else they mean; reports do not keep it.
    """

    id: str
    drift_class: DriftClass
    addresses: tuple[Address, ...]
    resources: tuple[Drifted, ...] = ()
    unmanaged: Unmanaged | None = None
    effects: tuple[str, ...] = ()
    readers: tuple[DriftedReaders, ...] = ()
    urls: tuple[EndedUrl, ...] = ()
    between: DriftBounds = DriftBounds()
    also: frozenset[DriftClass] = frozenset()


@dataclass(frozen=True)
class Drift:
    """Everything that was changed outside Reconciler, in the order of the project.

    `unread`: tracked resources about which nothing is known. `coverage`: by kind, of what was read. `whole`: everything was read.
    `ignored`: what a baseline ignores; it is not among `resources`. `notes`: sentences for the reader. `unjudged`: declared addresses
    whose objects the state does not track, so that their last-applied values are unknown. `judged`: how many it does track. `managed`:
    declared and tracked. `violations`: assertions of the project (`expect`, `access`) about tracked resources that are not met today,
    regardless of who changed them. `undecided`: tracked resources for which it is unknown whether a test is met. `left_alone`: what
    the YAML says to leave alone (`ignoreChanges`). `exposures`: what the changes made public, or no longer protected. `groups`: the
    resources by what happened, and unmanaged access, the worst class first.
    """

    project: str
    environment: str | None
    resources: tuple[Drifted, ...] = ()
    unmanaged: tuple[Unmanaged, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    unread: tuple[Unread, ...] = ()
    managed: int = 0
    coverage: Mapping[str, Share] = field(default_factory=dict)
    whole: bool = False
    ignored: tuple[IgnoredDifference, ...] = ()
    notes: tuple[str, ...] = ()
    unjudged: tuple[Address, ...] = ()
    judged: int = 0
    violations: tuple[Violation, ...] = ()
    undecided: tuple[Unread, ...] = ()
    left_alone: Mapping[Address, tuple[Delta, ...]] = field(default_factory=dict)
    exposures: tuple[Exposure, ...] = ()
    groups: tuple[DriftGroup, ...] = ()

    @property
    def left_alone_count(self) -> int:
        """How many differences the YAML says to leave alone."""
        return sum(map(len, self.left_alone.values()))

    @property
    def blind(self) -> bool:
        """Whether resources are declared but none can be judged: the state tracks none of them, or none could be read."""
        return bool(self.unjudged or self.unread) and self.judged == len(self.unread)

    def count(self, status: DriftWord) -> int:
        """How many objects have this status."""
        return sum(resource.status is status for resource in self.resources)


def exit_code(drift: Drift, *, fail_on: Collection[DriftClass] = ()) -> int:
    """The exit code of drift: a failed assertion counts as drift. Unmanaged objects alone are not drift; a state that tracks none of the
    selected resources cannot exclude drift. `fail_on`: only these classes count, whatever else differs, also where a change means something
    worse too."""
    codes = [exits.DONE]
    if any({group.drift_class, *group.also} & {*fail_on} for group in drift.groups) if fail_on else drift.resources or drift.violations:
        codes.append(exits.PENDING)
    if drift.unknown or drift.unread or drift.undecided or drift.blind:
        codes.append(exits.PARTLY)
    return exits.strongest(codes)
