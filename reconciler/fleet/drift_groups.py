"""Groups of drift of one project over time: since when each exists, and when people are notified of it. Pure.

The last reading that did not have a group, and the first one that did, are its bounds. The project's row keeps them with the group, so that
a later run, or another worker, knows what was there before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from reconciler.model.drift import DriftBounds, DriftClass
from reconciler.report.drift_groups import bounds_text
from reconciler.report.words import listed
from reconciler.text.names import utc_text

KEPT_MAX: Final = 100  # groups kept of one reading
NAMED: Final = 3  # addresses in a sentence
NOW: Final = "now"
NEVER: Final = "never"
ZONE: Final = "zone"
MORNING: Final = "08:00"
DEFAULT: Final[Mapping[str, str]] = {DriftClass.COSMETIC.value: MORNING}
"""When people are notified of a class: `now`, a time of day, or `never`; `now` for what is not here."""
URGENT: Final = (DriftClass.EXPOSING, DriftClass.ACCESS)


@dataclass(frozen=True)
class FleetDriftGroup:
    """A group of a reading. `says`: what happened; `means`: what it means for readers and URLs, as sentences. `after`, `before`: its
    bounds in ISO 8601, None where nothing is known."""

    id: str
    drift_class: str
    says: str
    addresses: tuple[str, ...]
    means: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    unmanaged: bool = False

    def since(self, zone: str = "UTC") -> str:
        """`between 26 Nov 2026, 02:10 and 02:20 CET`; "" where nothing is known."""
        after, before = (None if text is None else datetime.fromisoformat(text) for text in (self.after, self.before))
        return bounds_text(DriftBounds(after, before), ZoneInfo(zone))


def of_document(drift: Mapping[str, Any]) -> tuple[FleetDriftGroup, ...]:
    """The groups in the document of a drift, the worst first."""
    return tuple(map(_group, drift.get("groups", ())))[:KEPT_MAX]


def _group(entry: Mapping[str, Any]) -> FleetDriftGroup:
    means = [
        f"{'new access' if change['gains'] else 'access ends'} for {change['who']}: {listed(change['addresses'], NAMED)}"
        for change in entry["readers"]
    ]
    means += [f"{url['before']} -> {url['after'] or 'nothing'}" for url in entry["urls"]]
    return FleetDriftGroup(
        entry["id"], entry["class"], entry["says"], tuple(entry["addresses"]), tuple(means), entry["between"]["after"],
        entry["between"]["before"], "unmanaged" in entry,
    )  # fmt: skip


def bounded(
    groups: Iterable[FleetDriftGroup], known: Iterable[FleetDriftGroup], *, read_at: datetime | None
) -> tuple[FleetDriftGroup, ...]:  # fmt: skip
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
    return tuple(FleetDriftGroup(**{**entry, "addresses": tuple(entry["addresses"]), "means": tuple(entry["means"])}) for entry in data)


def as_data(groups: Sequence[FleetDriftGroup]) -> list[dict[str, Any]]:
    """The JSON form, in the database."""
    return [{**vars(group), "addresses": list(group.addresses), "means": list(group.means)} for group in groups]
