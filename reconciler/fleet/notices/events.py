"""The messages after the end of a run, and when nothing was read for too long. Pure; times are arguments.

Nothing is repeated while it lasts: announcements are stored per project, and only new facts become messages. Unknown must last a while, and
a run must fail twice; a message that everything is well is sent once, after everything announced has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from reconciler.features.drift.model import DriftClass
from reconciler.fleet import drift_groups
from reconciler.fleet.approvals import LACKING
from reconciler.fleet.drift_groups import FleetDriftGroup
from reconciler.fleet.health import HealthWord, ProjectHealth, sentence_of
from reconciler.fleet.model import Event
from reconciler.fleet.status import ProjectStatus, Reading, StatusWord, unsaid
from reconciler.text.escape import chat

HOLD: Final = timedelta(minutes=10)  # for which a project must be Unknown
FAILURES: Final = 2  # consecutive runs that must fail; the first one is repeated soon
LINES_MAX: Final = 10
TEXT_MAX: Final = 4_000  # characters
CAUSES: Final = ("ahead", "drift", "both", "unmanaged")
Severity = Literal["failure", "warning", "success", "info"]
GROUP: Final = "group:"
"""The subjects that are groups of drift begin so; their ids follow."""
LASTING: Final = (Event.OUT_OF_SYNC, Event.UNKNOWN, Event.FAILED, Event.UNHEALTHY)
"""The events that end with a message about recovery."""


@dataclass(frozen=True)
class Seen:
    """A project now. `applied`: a run has just applied its commit; `read`: the facts come from a run that has just ended. `digest`: of the
    waiting plan. `page`: the URL of its page, "" if the fleet file does not say where the dashboard is.
    `groups`: the drift that nobody ignores; `notify`: when people are notified of each class."""

    name: str
    status: ProjectStatus
    health: ProjectHealth
    reading: Reading | None = None
    error: str | None = None
    failures: int = 0
    waits: str | None = None
    digest: str | None = None
    applied: bool = False
    read: bool = True
    page: str = ""
    groups: tuple[FleetDriftGroup, ...] = ()
    notify: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Announced:
    """Announcements that have not ended: the subjects of each event. `unknown_since`: since when the project is Unknown."""

    open: Mapping[Event, frozenset[str]] = field(default_factory=dict)
    unknown_since: datetime | None = None


@dataclass(frozen=True)
class Message:
    """`severity`: how services that know several show it: `failure`, `warning`, `success` or `info`."""

    event: Event
    title: str
    text: str
    severity: Severity


def messages(announced: Announced, seen: Seen, now: datetime) -> tuple[list[Message], Announced]:
    """The messages about a project now, and the announcements after them."""
    unknown = seen.status.word is StatusWord.UNKNOWN
    since = (announced.unknown_since or now) if unknown else None
    current = dict(_current(seen, now, held=since is not None and now - since >= HOLD))
    due, still = [], {}
    for event in Event:
        before, about = announced.open.get(event, frozenset()), current.get(event, frozenset())
        new = about - before
        if any(not subject.startswith(GROUP) for subject in new):
            due.append(_message(event, seen, before, now))
        due += _about_groups(event, seen, [group for group in seen.groups if f"{GROUP}{group.id}" in new])
        if kept := about | (before if _may_continue(event, seen) else frozenset()):
            still[event] = kept
    if seen.applied:
        due.append(_message(Event.APPLIED, seen, frozenset(), now))
    ended = any(event in announced.open for event in LASTING) and not any(event in still for event in LASTING)
    if ended and seen.status.word is StatusWord.SYNCED:
        text = _text([f"It is Synced and {seen.health.word}."], seen.page)
        due.append(Message(Event.RECOVERED, f"{seen.name} has recovered", text, "success"))
    return due, Announced(still, since)


def _current(seen: Seen, now: datetime, *, held: bool) -> Iterator[tuple[Event, frozenset[str]]]:
    """The present events, and their subjects."""
    if seen.reading is not None and not seen.applied:
        about = {f"{GROUP}{group.id}" for group in drift_groups.due(seen.groups, seen.notify, now)}
        if seen.status.word is StatusWord.OUT_OF_SYNC:
            about |= {name for name in CAUSES if getattr(seen.reading, name) and not _is_told(name, seen)}
        if about:
            yield Event.OUT_OF_SYNC, frozenset(about)
    if held:
        yield Event.UNKNOWN, frozenset({"unknown"})
    if seen.error is not None and (seen.failures >= FAILURES or seen.read):  # a failure after a reading was a failed apply
        yield Event.FAILED, frozenset({_cause(seen.error)})
    if seen.waits is not None and seen.waits.startswith(LACKING):
        yield Event.NEEDS_APPROVAL, frozenset({seen.digest or seen.waits})
    yield Event.UNHEALTHY, frozenset(_concerns(seen.health))


def _is_told(cause: str, seen: Seen) -> bool:
    """Whether the messages about groups say it: all drift is in groups, and of what is unmanaged the access."""
    assert seen.reading is not None
    if cause == "drift":
        return bool(seen.reading.groups)
    return cause == "unmanaged" and seen.reading.unmanaged <= sum(group.unmanaged for group in seen.reading.groups)


def _about_groups(event: Event, seen: Seen, groups: Sequence[FleetDriftGroup]) -> Iterator[Message]:
    """A message about each group; one about many of the same class."""
    by_class: dict[str, list[FleetDriftGroup]] = {}
    for group in groups:
        by_class.setdefault(group.drift_class, []).append(group)
    for name, some in by_class.items():
        drift_class = DriftClass(name)
        severity: Severity = "info" if drift_class is DriftClass.COSMETIC else "warning"
        severity = "failure" if drift_class in drift_groups.URGENT else severity
        decide = seen.page or f"reconciler fleet drift {seen.name}"
        if len(some) > LINES_MAX:
            text = _text([group.says for group in some], decide)
            yield Message(event, f"{seen.name}: {len(some)} {name} changes", text, severity)
            continue
        for group in some:
            lines = [group.says, *([group.since(seen.notify.get(drift_groups.ZONE, "UTC"))] if group.since() else []), *group.means]
            # The commands are there: a chat would get them with a space in each URL, so that nothing becomes a link.
            yield Message(event, f"{seen.name}: {name} change", _text(lines, decide), severity)


def _may_continue(event: Event, seen: Seen) -> bool:
    """Whether an announced event may continue although the present facts do not show it."""
    if event is Event.OUT_OF_SYNC:
        return seen.status.word is StatusWord.UNKNOWN or seen.applied
    if event is Event.UNHEALTHY:
        return seen.health.word is HealthWord.UNKNOWN
    if event is Event.NEEDS_APPROVAL:
        return seen.waits is None and not seen.applied and seen.status.word is not StatusWord.SYNCED
    return False


def _concerns(health: ProjectHealth) -> Iterator[str]:
    for concern in (*health.broken, *health.ending):
        yield f"{concern.sort} {concern.address}" + (f" {concern.until}" if concern.until is not None else "")


def _cause(error: str) -> str:
    """A digest of an error, which stays the same if only the numbers in it change."""
    _, begin, rest = error.rpartition("[RC-")
    return f"RC-{rest.partition(']')[0]}" if begin else "error"


def _message(event: Event, seen: Seen, before: frozenset[str], now: datetime) -> Message:
    name, page = seen.name, seen.page
    look = page or f"reconciler fleet status {name}"
    match event:
        case Event.OUT_OF_SYNC:
            waits = unsaid(seen.waits, seen.status.causes)
            causes = [*seen.status.causes, *([waits] if waits is not None else [])]
            drifted = seen.reading is not None and bool(seen.reading.drift or seen.reading.both)
            decide = page or f"reconciler fleet drift {name}"
            return Message(event, f"{name} is OutOfSync", _text(causes, decide if drifted else look), "warning")
        case Event.UNKNOWN:
            return Message(event, f"{name} is Unknown", _text(seen.status.causes, look), "warning")
        case Event.FAILED:
            return Message(event, f"{name}: a run failed", _text([seen.error or ""], look), "failure")
        case Event.NEEDS_APPROVAL:
            return Message(
                event, f"{name} needs approvals", _text([seen.waits or ""], page or f"reconciler fleet approve {name}"), "warning"
            )
        case Event.APPLIED:
            commit = seen.reading.commit if seen.reading is not None else ""
            return Message(event, f"{name} was applied", _text([f"commit {commit}"] if commit else [], page), "info")
        case _:
            severity: Severity = "failure" if seen.health.word is HealthWord.BROKEN else "warning"
            return Message(event, f"{name} is {seen.health.word}", _text(_new_concerns(seen.health, before, now), look), severity)


def _new_concerns(health: ProjectHealth, before: frozenset[str], now: datetime) -> Sequence[str]:
    """The sentences about concerns that were not announced before."""
    concerns = zip((*health.broken, *health.ending), _concerns(health), strict=True)
    return [sentence_of(concern, now.date()) for concern, key in concerns if key not in before]


def _text(lines: Sequence[str], look: str) -> str:
    """The lines, and at the end where to go on: the URL of a page or a command, "" for none. Lines may contain titles of the service."""
    shown = [chat(line) for line in lines if line]
    more = [f"and {len(shown) - LINES_MAX} more"] if len(shown) > LINES_MAX else []
    says = "\n".join([*shown[:LINES_MAX], *more])
    return "\n".join(filter(None, [says[: TEXT_MAX - len(look) - 1], look]))


def as_data(announced: Announced) -> dict[str, Any]:
    since = announced.unknown_since.isoformat() if announced.unknown_since is not None else None
    return {"open": {event.value: sorted(about) for event, about in announced.open.items()}, "unknownSince": since}


def of_data(data: Mapping[str, Any] | None) -> Announced:
    if data is None:
        return Announced()
    since = datetime.fromisoformat(data["unknownSince"]) if data["unknownSince"] is not None else None
    known = {event.value for event in Event}  # a newer version may have written others
    return Announced({Event(event): frozenset(about) for event, about in data["open"].items() if event in known}, since)
