"""What the objects that were read show about a request whose response is unknown. Pure.

In: intents, objects as they are now, what is tracked. Out: which objects such a request may have created, and whether it took effect.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum, auto
from typing import Any, Final

from reconciler.model import Binding, Intent, Observed
from reconciler.model.codec import comparable, is_chosen_name, moment
from reconciler.resource import UNSET, Field, Kind
from reconciler.text.names import altered, canonical

COPY_SLACK: Final = timedelta(seconds=60)  # clocks differ; a copy may seem older than the request that created it


@dataclass(frozen=True)
class Sight:
    """What a successful reading showed of one object; None where it does not exist."""

    observed: Observed | None


class NameEvidence(IntEnum):
    """How well the name of an object agrees with the name that a create sent; the larger, the better."""

    NONE = auto()
    UNCERTAIN = auto()
    """One begins with the other: it may be ours, cut off or extended, or somebody else's."""
    ALTERED = auto()
    """Services make such a name of the one that was sent."""
    SAME = auto()


def made_by(
    kind: Kind, intent: Intent, objects: Sequence[Observed], bound: frozenset[tuple[str, str]], others: Sequence[Intent] = ()
) -> tuple[Sequence[Observed], bool]:
    """The objects that a create may have created: new since it was about to be sent and untracked; of them those whose natural key agrees
    best with what was sent. What is new comes first, because services alter names: they trim, cut or number them.

    `others`: the other creates of the kind without an outcome; an object with exactly the name of one of them is not this one's.
    The second result: whether the names agree so well that a single object is its own.
    """
    upsert = kind.api["create"].upsert
    ranked: dict[NameEvidence, list[Observed]] = defaultdict(list)
    for observed in objects:
        if (observed.id not in intent.known or upsert) and (kind.name, observed.id) not in bound:
            degree = _key_agreement(kind, intent, observed)
            if degree is NameEvidence.SAME or not any(_key_agreement(kind, other, observed) is NameEvidence.SAME for other in others):
                ranked[degree].append(observed)
    ranked.pop(NameEvidence.NONE, None)
    best = max(ranked, default=NameEvidence.SAME)
    return ranked.get(best, []), best is not NameEvidence.UNCERTAIN


def _key_agreement(kind: Kind, intent: Intent, observed: Observed) -> NameEvidence:
    """How well the natural key of an object agrees with the one that a create sent."""
    fields = (field for field in kind.keys if field.name in intent.writes)
    degrees = (_agreement(field, intent.writes[field.name], observed.values.get(field.name, UNSET)) for field in fields)
    return min(degrees, default=NameEvidence.SAME)


def _agreement(field: Field, sent: Any, shown: Any) -> NameEvidence:
    """How well one part of a natural key agrees. Only names that people choose can agree in part."""
    if comparable(field, sent) == comparable(field, shown):
        return NameEvidence.SAME
    if not (is_chosen_name(field) and isinstance(sent, str) and isinstance(shown, str)):
        return NameEvidence.NONE
    if altered(sent, shown):
        return NameEvidence.ALTERED
    name, other = canonical(sent, caseless=True), canonical(shown, caseless=True)
    related = bool(name and other) and (name.startswith(other) or other.startswith(name))
    return NameEvidence.UNCERTAIN if related else NameEvidence.NONE


def as_created(kind: Kind, writes: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """What a create that was done is known to have sent, of the values that the object shows: those that agree with what was sent, whatever
    the service made of a name."""
    return {
        name: value
        for name, value in writes.items()
        if shown.get(name, UNSET) == value
        or (isinstance(value, str) and _agreement(kind.fields[name], value, shown.get(name, UNSET)) > NameEvidence.UNCERTAIN)
    }


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
