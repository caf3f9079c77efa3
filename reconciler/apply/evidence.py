"""What the objects that were read show about a request whose response is unknown. Pure.

In: intents, objects as they are now, what is tracked. Out: which objects such a request may have created, and whether it took effect.
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

COPY_SLACK: Final = timedelta(seconds=60)  # clocks differ; a copy may seem older than the request that created it


@dataclass(frozen=True)
class Sight:
    """What a successful reading showed of one object; None where it does not exist."""

    observed: Observed | None


def made_by(kind: Kind, intent: Intent, objects: Sequence[Observed], bound: frozenset[tuple[str, str]]) -> list[Observed]:
    """The objects that a create may have created: new since it was about to be sent, with its natural key, and untracked."""
    names = [field.name for field in kind.keys if field.name in intent.writes]
    return [
        observed
        for observed in objects
        if (observed.id not in intent.known or kind.api["create"].upsert)
        and (kind.name, observed.id) not in bound
        and all(observed.values.get(name, UNSET) == intent.writes[name] for name in names)
    ]


def could_be(kind: Kind, intents: Sequence[Intent], objects: Sequence[Observed], bound: frozenset[tuple[str, str]]) -> list[Observed]:
    """The objects that copies of one source may have created, oldest first; the service chooses their titles and locations."""
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
    """The id of the source whose title a copy's title contains, the longest of several; None where there is none."""
    matching = sorted((source for source, text in titles.items() if text and text in copy), key=lambda source: len(titles[source]))
    return None if not matching or [titles[source] for source in matching].count(titles[matching[-1]]) > 1 else matching[-1]


def effect(kind: Kind, intent: Intent, now: Observed | None) -> bool:
    """Whether the object shows that a write to it was done; always False for a move, because one object does not show its order."""
    if intent.verb == "delete":
        return now is None or now.deleted_at is not None
    if now is None or intent.verb == "move":
        return False
    if intent.verb == "restore":
        return now.deleted_at is None
    if intent.verb == "transfer":
        return kind.transferable is not None and kind.transferable.value_in(now.raw) == intent.writes.get(kind.transferable.name)
    shown = [(kind.fields.get(name), now.values.get(name, UNSET), value) for name, value in intent.writes.items()]
    return bool(shown) and all(field is not None and field.same(seen, value, value) for field, seen, value in shown)


def updated_binding(kind: Kind, old: Binding, intent: Intent, now: Observed) -> Binding:
    """The binding after a write that is known to have been done."""
    seen = {name: now.values[name] for name in intent.writes if now.values.get(name, UNSET) is not UNSET}
    return replace(old, sent={**old.sent, **kind.stored(intent.writes, old.id)}, seen={**old.seen, **kind.stored(seen, old.id)})


def parts(raw: Mapping[str, Any], at: str) -> list[Any]:
    """The objects in the list under a key of another one; empty where there is no list."""
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
