"""Groups of drift of one project over time: since when each exists, what people decide on, and when they are notified of it. Pure.

The last reading that did not have a group, and the first one that did, are its bounds. The project's row keeps them with the group, so that
a later run, or another worker, knows what was there before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from reconciler.features.drift.model import DriftBounds, DriftClass
from reconciler.report.words import listed
from reconciler.text.names import utc_text

KEPT_MAX: Final = 100  # groups and differences kept of one reading; the others are counted, and follow when these are decided on
MOST_ADDRESSES: Final = 3  # addresses in a sentence
NOW: Final = "now"
NEVER: Final = "never"
ZONE: Final = "zone"
MORNING: Final = "08:00"
DEFAULT: Final[Mapping[str, str]] = {DriftClass.COSMETIC.value: MORNING}
"""When people are notified of a class: `now`, a time of day, or `never`; `now` for what is not here."""
URGENT: Final = (DriftClass.EXPOSING, DriftClass.ACCESS)


PREFIX: Final = "drift:"
"""The digests of drift begin so; those of plans do not."""


class FleetDifference(NamedTuple):
    """What differs in one resource of a group. `word`: changed, moved or deleted. `digest`: of exactly this difference."""

    address: str
    word: str
    digest: str


@dataclass(frozen=True)
class FleetDriftGroup:
    """A group of a reading. `says`: what happened; `means`: what it means for readers and URLs, as sentences. `after`, `before`: its
    bounds in ISO 8601, None where nothing is known. `differences`: what people decide on; none of an unmanaged object. `revert`, `accept`:
    the commands that put it back, or take it into the files, and nothing else, in a clone of the repository; "" where none does."""

    id: str
    drift_class: str
    says: str
    addresses: tuple[str, ...]
    means: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    unmanaged: bool = False
    differences: tuple[FleetDifference, ...] = ()
    revert: str = ""
    accept: str = ""

    @property
    def exposes(self) -> bool:
        """Whether somebody can read or do more because of it."""
        return self.drift_class == DriftClass.EXPOSING

    def since(self, zone: str = "UTC") -> str:
        """`between 26 Nov 2026, 02:10 and 02:20 CET`; "" where nothing is known."""
        after, before = (None if text is None else datetime.fromisoformat(text) for text in (self.after, self.before))
        return DriftBounds(after, before).text(ZoneInfo(zone))


def of_document(drift: Mapping[str, Any]) -> tuple[FleetDriftGroup, ...]:
    """The groups in the document of a drift, the worst first."""
    resources = {entry["address"]: entry for entry in drift["resources"]}
    return tuple(_group(entry, resources) for entry in drift.get("groups", ()))


def kept(groups: Iterable[FleetDriftGroup]) -> Iterator[FleetDriftGroup]:
    """The groups that a reading keeps, with at most as many differences."""
    left = KEPT_MAX
    for group in tuple(groups)[:KEPT_MAX]:
        yield replace(group, differences=group.differences[:left])
        left -= len(group.differences[:left])


def differences(groups: Iterable[FleetDriftGroup]) -> Iterator[FleetDifference]:
    """What people decide on."""
    return (difference for group in groups for difference in group.differences)


def _difference(entry: Mapping[str, Any]) -> FleetDifference:
    """What differs in a resource of the document of a drift."""
    now = entry["place"]["now"] if entry["place"] is not None else None
    fields = sorted(([field["name"], field["now"]] for field in entry["fields"]), key=lambda pair: str(pair[0]))
    text = json.dumps([entry["address"], entry["status"], fields, now], sort_keys=True, ensure_ascii=True)
    return FleetDifference(entry["address"], entry["status"], f"{PREFIX}{hashlib.sha256(text.encode()).hexdigest()}")


def _group(entry: Mapping[str, Any], resources: Mapping[str, Mapping[str, Any]]) -> FleetDriftGroup:
    means = [
        f"{'new access' if change['gains'] else 'access ends'} for {change['who']}: {listed(change['addresses'], MOST_ADDRESSES)}"
        for change in entry["readers"]
    ]
    means += [f"{url['before']} -> {url['after'] or 'nothing'}" for url in entry["urls"]]
    return FleetDriftGroup(
        entry["id"],
        entry["class"],
        entry["says"],
        tuple(entry["addresses"]),
        tuple(means),
        entry["between"]["after"],
        entry["between"]["before"],
        "unmanaged" in entry,
        tuple(_difference(resources[address]) for address in entry["addresses"] if address in resources),
        entry.get("revert", ""),
        entry.get("accept", ""),
    )


def bounded(
    groups: Iterable[FleetDriftGroup], known: Iterable[FleetDriftGroup], *, read_at: datetime | None
) -> tuple[FleetDriftGroup, ...]:
    """The groups with their bounds. `known`: those of the reading before; `read_at`: when that was, None if it did not read everything."""
    earlier = {group.id: group for group in known}
    result = []
    for group in groups:
        before = earlier.get(group.id)
        is_exact = group.after is not None and group.after == group.before
        if before is not None:
            group = replace(group, after=before.after, before=before.before)
        elif read_at is not None and not is_exact:
            group = replace(group, after=utc_text(read_at))
        result.append(group)
    return tuple(result)


def without_ignored(groups: Iterable[FleetDriftGroup], ignored: Collection[str]) -> tuple[FleetDriftGroup, ...]:
    """The groups of which somebody ignores not everything. `ignored`: addresses."""
    return tuple(group for group in groups if not set(group.addresses) <= set(ignored))


def due(groups: Iterable[FleetDriftGroup], notify: Mapping[str, str], now: datetime) -> list[FleetDriftGroup]:
    """The groups of which people are notified by now. `notify`: as in the fleet file."""
    return [group for group in groups if (moment := _moment(group, notify)) is not None and moment <= now]


def _moment(group: FleetDriftGroup, notify: Mapping[str, str]) -> datetime | None:
    """When people are notified of a group: at once, or at the first such time of day after it was found; None for never."""
    when = {**DEFAULT, **notify}.get(group.drift_class, NOW)
    if when == NEVER:
        return None
    if when == NOW or group.before is None:
        return datetime.min.replace(tzinfo=ZoneInfo("UTC"))
    found = datetime.fromisoformat(group.before).astimezone(ZoneInfo(notify.get(ZONE, "UTC")))
    morning = datetime.combine(found.date(), time.fromisoformat(when), found.tzinfo)
    if morning < found:
        morning = datetime.combine(found.date() + timedelta(days=1), time.fromisoformat(when), found.tzinfo)
    return morning


def of_data(data: Iterable[Mapping[str, Any]]) -> tuple[FleetDriftGroup, ...]:
    return tuple(_of_data(**entry) for entry in data)


def _of_data(*, addresses: Sequence[str], means: Sequence[str], differences: Sequence[Sequence[str]] = (), **data: Any) -> FleetDriftGroup:
    known = tuple(FleetDifference(*difference) for difference in differences)  # none where an older version wrote it
    return FleetDriftGroup(addresses=tuple(addresses), means=tuple(means), differences=known, **data)


def as_data(groups: Sequence[FleetDriftGroup]) -> list[dict[str, Any]]:
    """The JSON form, in the database."""
    return list(map(vars, groups))
