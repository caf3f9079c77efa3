"""What an object that was read says of a request whose answer is not known. Pure.

In: intents, objects as they are now, what is bound. Out: which objects such a request may have made, and whether it has taken effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.model import Binding, Intent, Observed
from reconciler.model.codec import moment
from reconciler.resource import UNSET, Kind

COPY_SLACK: Final = timedelta(seconds=60)  # clocks differ; a copy may seem older than the request that made it


@dataclass(frozen=True)
class Sight:
    """What a reading that did not fail showed of one object; None where it is not there."""

    observed: Observed | None


def made_by(kind: Kind, intent: Intent, objects: Sequence[Observed], bound: frozenset[tuple[str, str]]) -> list[Observed]:
    """The objects that a create may have made: new since it was about to be sent, of its natural key, and nobody's yet."""
    names = [field.name for field in kind.keys if field.name in intent.writes]
    return [
        observed
        for observed in objects
        if (observed.id not in intent.known or kind.api["create"].upsert)
        and (kind.name, observed.id) not in bound
        and all(observed.values.get(name, UNSET) == intent.writes[name] for name in names)
    ]


def could_be(kind: Kind, intents: Sequence[Intent], objects: Sequence[Observed], bound: frozenset[tuple[str, str]]) -> list[Observed]:
    """The objects that copies of one source may have made, oldest first; their title and place are the service's choice."""
    known = frozenset[str]().union(*(intent.known for intent in intents))
    dates = [intent.date for intent in intents if intent.date is not None]
    earliest = min(dates) - COPY_SLACK if dates else None
    candidates = []
    for observed in objects:
        created_at = moment(observed.raw.get("createdAt"))
        recent = earliest is None or created_at is None or created_at >= earliest
        if observed.id not in known and (kind.name, observed.id) not in bound and recent and observed.deleted_at is None:
            candidates.append(observed)
    return sorted(candidates, key=lambda observed: (str(observed.raw.get("createdAt", "")), observed.id))


def source_of(copy: str, titles: Mapping[str, str]) -> str | None:
    """The source, by its id, whose title a copy's title holds, the longest of several; None where that tells nothing."""
    matching = sorted((source for source, text in titles.items() if text and text in copy), key=lambda source: len(titles[source]))
    return None if not matching or [titles[source] for source in matching].count(titles[matching[-1]]) > 1 else matching[-1]


def effect(kind: Kind, intent: Intent, now: Observed | None) -> bool:
    """Whether a write to an existing object is seen to have been done. Order cannot be told by one object, so a move never is."""
    if intent.verb == "delete":
        return now is None or now.deleted_at is not None
    if now is None or intent.verb == "move":
        return False
    if intent.verb == "restore":
        return now.deleted_at is None
    if intent.verb == "transfer":
        return kind.transferable is not None and kind.transferable.seen(now.raw) == intent.writes.get(kind.transferable.name)
    return bool(intent.writes) and all(now.values.get(name, UNSET) == value for name, value in intent.writes.items())


def updated_binding(kind: Kind, old: Binding, intent: Intent, now: Observed) -> Binding:
    """The binding once the write is known to have been done."""
    seen = {name: now.values[name] for name in intent.writes if now.values.get(name, UNSET) is not UNSET}
    return replace(old, sent={**old.sent, **kind.remembered(intent.writes, old.id)}, seen={**old.seen, **kind.remembered(seen, old.id)})


def parts(raw: Mapping[str, Any], at: str) -> list[Any]:
    """The objects that stand in another one under a key; none where there is no list."""
    items = raw.get(at)
    return items if isinstance(items, list) else []


def outline(tree: Any) -> Any:
    """Titles, slugs and order of a page tree: what a copy shares with its source."""
    match tree:
        case Mapping():
            return [tree.get("title"), tree.get("slug"), outline(tree.get("pages"))]
        case list():
            return [outline(page) for page in tree]
        case _:
            return []
