"""The status Synced, OutOfSync or Unknown, and why. Pure: it follows from the last reading, its age and its coverage.

Missing information is Unknown, never "no change".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from reconciler.fleet import drift_groups
from reconciler.fleet.drift_groups import FleetDriftGroup
from reconciler.fleet.health import PASSING, HealthWord, ProjectHealth
from reconciler.fleet.schedule import AHEAD_MAX, stale_after

BLOCKED_MAX: Final = 3  # sentences
SECOND_RUN: Final = "RC-second-run"
"""The id of what only waits for the next run."""


class StatusWord(StrEnum):
    """The status as displayed; the worst first."""

    UNKNOWN = "Unknown"
    OUT_OF_SYNC = "OutOfSync"
    SYNCED = "Synced"


@dataclass(frozen=True)
class Reading:
    """What a run read of a project at a commit.

    `ahead`: addresses that the commit changes, `drift`: those changed outside Reconciler, `both`: those changed by both. `unmanaged`:
    objects. `unreadable`: what could not be read, with the reason; `in_doubt`: requests of earlier runs without an outcome. `coverage`: the
    managed share of all objects that were read, None if none were. `new_state`: why nothing is known where the state has never seen the
    project, and `first_apply`, the command that changes that. `ignored`: resources whose drift somebody ignores for now; they are in
    none of the other numbers. `groups`: what was changed outside Reconciler, ignored or not, and unmanaged access, the worst first, as far
    as a reading keeps it. `blocked`: what the commit changes and cannot be applied,
    with the reason and the way past it, at most `BLOCKED_MAX` and the number of the others.
    """

    commit: str
    ahead: int = 0
    drift: int = 0
    both: int = 0
    unmanaged: int = 0
    managed: int = 0
    unreadable: tuple[str, ...] = ()
    in_doubt: int = 0
    new_state: str = ""
    coverage: float | None = None
    refused: str = ""
    first_apply: str = ""
    ignored: int = 0
    groups: tuple[FleetDriftGroup, ...] = ()
    blocked: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not self.unreadable and not self.in_doubt and not self.new_state


def of_documents(
    commit: str,
    plan: Mapping[str, Any],
    drift: Mapping[str, Any],
    *,
    new_state: str = "",
    first_apply: str = "",
    refused: str = "",
    ignored: Collection[str] = (),
) -> Reading:
    """The reading in its documents. `ignored`: addresses whose drift somebody ignores for now, unless the commit changes them too."""
    drifted = {entry["address"] for entry in drift["resources"]}
    both = {entry["address"] for entry in drift["resources"] if any(field["cause"] == "both" for field in entry["fields"])} | {
        entry["address"]
        for entry in plan["changes"]
        if entry["address"] in drifted and any(field["cause"] == "yours" for field in entry["fields"])
    }
    changed = {entry["address"] for entry in plan["changes"]} | {entry["address"] for entry in plan["blocked"] if entry["cause"] is None}
    listed = {entry["address"] for entry in plan["changes"]}
    changed |= {
        entry["address"] for entry in plan["exposures"] if not entry["window"] and listed.isdisjoint((entry["address"], entry["cause"]))
    }
    # What is in doubt is not unread: it has a number and a sentence of its own.
    doubtful = tuple(f"{address}: " for address in plan["inDoubt"])
    unknown = {
        f"{entry['kind']}: {entry['reason']}"
        for document in (plan, drift)
        for entry in document["unknown"]
        if not (doubtful and entry["reason"].startswith(doubtful))
    }
    left_alone = (drifted & set(ignored)) - both
    managed, unmanaged = drift["summary"]["managed"], drift["summary"]["unmanaged"]
    seen = managed + unmanaged
    return Reading(
        commit=commit,
        ahead=len(changed - drifted),
        drift=len(drifted - both - left_alone),
        both=len(both),
        unmanaged=unmanaged,
        managed=managed,
        unreadable=tuple(sorted(unknown)),
        in_doubt=len(plan["inDoubt"]),
        new_state=new_state,
        coverage=round(managed / seen, 4) if seen else None,
        refused=refused,
        first_apply=first_apply,
        ignored=len(left_alone),
        groups=tuple(drift_groups.kept(drift_groups.of_document(drift))),
        blocked=tuple(_blocked([entry for entry in plan["blocked"] if entry["cause"] is None and entry.get("id") != SECOND_RUN])),
    )


def _blocked(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for entry in entries[:BLOCKED_MAX]:
        yield f"blocked: {entry['address']}: {entry['reason']}: {entry['remedy']}"
    if len(entries) > BLOCKED_MAX:
        yield f"and {len(entries) - BLOCKED_MAX} more are blocked"


def as_data(reading: Reading) -> dict[str, Any]:
    groups = drift_groups.as_data(reading.groups)
    texts = {"unreadable": list(reading.unreadable), "blocked": list(reading.blocked)}
    return {**vars(reading), **texts, "groups": groups}


def of_data(data: Mapping[str, Any]) -> Reading:
    groups = drift_groups.of_data(data.get("groups", ()))  # none where an older version wrote it
    texts = {"unreadable": tuple(data["unreadable"]), "blocked": tuple(data.get("blocked", ()))}
    known = {name: value for name, value in data.items() if name != "drifted"}  # of an older version
    return Reading(**{**known, **texts, "groups": groups})


@dataclass(frozen=True)
class ProjectStatus:
    """A word, and the sentences that explain it. `age`: of the reading."""

    word: StatusWord
    causes: tuple[str, ...]
    age: timedelta | None
    coverage: float | None


@dataclass(frozen=True)
class ProjectFacts:
    """The stored facts about a project. `every`: seconds from one run to the next; `error`: why the last run returned no reading, None if
    it did."""

    every: int
    reading: Reading | None = None
    read_at: datetime | None = None
    error: str | None = None


def status(facts: ProjectFacts, now: datetime) -> ProjectStatus:
    """The status of a project at a time."""
    reading, failed = facts.reading, (f"the last run failed: {facts.error}",) if facts.error else ()
    if reading is None or facts.read_at is None:
        return ProjectStatus(StatusWord.UNKNOWN, failed or ("it was never read",), None, None)
    if facts.read_at - now > AHEAD_MAX:
        return ProjectStatus(
            StatusWord.UNKNOWN,
            (f"the last reading is {lasting(facts.read_at - now)} in the future: the database's clock was set back", *failed),
            None,
            reading.coverage,
        )
    age = max(timedelta(), now - facts.read_at)
    if age > stale_after(facts.every):
        return ProjectStatus(StatusWord.UNKNOWN, (f"the last reading is {lasting(age)} old", *failed), age, reading.coverage)
    if not reading.is_whole:
        return ProjectStatus(StatusWord.UNKNOWN, (*_unknown(reading), *failed), age, reading.coverage)
    different = tuple(_different(reading))
    word = StatusWord.OUT_OF_SYNC if different else StatusWord.SYNCED
    refused = (f"the plan is refused: {reading.refused}",) if reading.refused else ()
    are = "is" if reading.ignored == 1 else "are"
    ignored = (f"{_count(reading.ignored, 'resource')} changed outside Reconciler {are} ignored for now",) if reading.ignored else ()
    return ProjectStatus(word, (*different, *reading.blocked, *ignored, *refused, *failed), age, reading.coverage)


def unsaid(waits: str | None, causes: Sequence[str]) -> str | None:
    """Why changes are not applied; None if none wait, or if a cause of the status says the same."""
    return waits if waits and not any(waits in cause for cause in causes) else None


def _unknown(reading: Reading) -> Sequence[str]:
    if reading.new_state:
        return [reading.new_state]
    causes = [f"unreadable: {reason}" for reason in reading.unreadable[:3]]
    if len(reading.unreadable) > 3:
        causes.append(f"and {len(reading.unreadable) - 3} more could not be read")
    if reading.in_doubt:
        causes.append(f"{_count(reading.in_doubt, 'request')} of an earlier run in doubt")
    return causes


def _different(reading: Reading) -> Sequence[str]:
    causes = []
    if reading.ahead:
        causes.append(f"the commit is ahead by {_count(reading.ahead, 'resource')}")
    if reading.drift:
        causes.append(f"drift: {_count(reading.drift, 'resource')} changed outside Reconciler")
    if reading.both:
        causes.append(f"both: {_count(reading.both, 'resource')} changed by the commit and outside Reconciler")
    if reading.unmanaged:
        causes.append(f"{_count(reading.unmanaged, 'object')} unmanaged")
    return causes


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def lasting(age: timedelta) -> str:
    """`40 s`, `5 min`, `3 h`, `2 d`."""
    seconds = int(age.total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


@dataclass(frozen=True)
class Sample:
    """The worst values of the readings in an interval: resources and objects. `at`: its beginning."""

    at: datetime
    status: StatusWord
    ahead: int
    drift: int
    unmanaged: int
    coverage: float | None = None


class Cell(NamedTuple):
    """A project in the picture of the fleet. `age` and `every`: seconds; `age` is None if it was never read."""

    name: str
    tenant: str
    wave: int
    status: StatusWord
    age: int | None
    every: int
    orphaned: bool = False
    paused: bool = False
    health: HealthWord = HealthWord.UNKNOWN


@dataclass(frozen=True)
class Follower:
    """A project as the waves compare it. `well_since`: since when it is Synced and healthy."""

    name: str
    wave: int
    word: StatusWord
    health: ProjectHealth
    commit: str | None
    well_since: datetime | None


def wave_before(wave: int, commit: str, others: Sequence[Follower], soak: timedelta, now: datetime) -> str | None:
    """Why a wave must wait for earlier ones; None if it need not. `others` contains only projects of the same repository."""
    for other in sorted(others, key=lambda other: (other.wave, other.name)):
        if other.wave >= wave:
            continue
        if other.word is not StatusWord.SYNCED:
            return f"wave {other.wave} is not Synced: {other.name} is {other.word}"
        if other.commit != commit:
            return f"wave {other.wave} is not at this commit yet: {other.name}"
        if other.health.word not in PASSING:
            why = next(iter(other.health.sentences), "")
            return f"wave {other.wave} is not healthy: {other.name} is {other.health.word}{f' ({why})' if why else ''}"
        if other.well_since is None or now - other.well_since < soak:
            return f"wave {other.wave} is Synced and healthy for less than {lasting(soak)}: {other.name}"
    return None
