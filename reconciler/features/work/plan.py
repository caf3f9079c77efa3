"""Work in progress that a plan ends or interrupts. Pure.

    losses           a plan          -> the objects that it deletes, replaces, transfers, moves to other readers or locks
    (observe)        losses          -> what is under way in each, read from the lists that the kinds declare
    with_open_work   plan and answers -> the plan with what people must know of it

An object counts some of its work itself, so a plan without losses, or with losses that nobody works in, asks for no list of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.work.model import OPEN_WORK, OpenWork, PlannedWork, WorkEffect, WorkItem, WorkSort
from reconciler.model import Action, Actual, Change, Consent, Guards, Observed, Plan, Source
from reconciler.model.desired import BLOCK
from reconciler.model.state import ENDS_WORK
from reconciler.plan.audience.disclosure import caller
from reconciler.plan.containment import Contents, Key, containers, content_kinds
from reconciler.resource import CountedWork, Kind, Kinds
from reconciler.resource.open_work import at

ITEMS_MAX: Final = 5  # titles and authors of one sort that are read
ENDED: Final = frozenset({WorkEffect.DELETE, WorkEffect.REPLACE})
LEFT: Final = ENDED | {WorkEffect.TRANSFER}
"""What ends not only the work that an object counts: with it, what refers to it loses it."""

Answers = Mapping[Key, tuple[WorkSort, ...]]
"""What is under way, by object."""


@dataclass(frozen=True)
class Loss:
    """An object in which work may be lost. `within`: what contains it and has the same effect on it."""

    address: Address
    kind: Kind
    observed: Observed
    effect: WorkEffect
    within: tuple[Address, ...] = ()
    source: Source | None = None

    @property
    def key(self) -> Key:
        return self.kind.name, self.observed.id


# -- what loses work -----------------------------------------------------------------------------------------------------------------


def losses(kinds: Kinds, plan: Plan, actual: Actual, ids: Mapping[Address, str]) -> tuple[Loss, ...]:
    """The objects that lose work if somebody works in them. `ids`: of the declared objects."""
    direct: dict[Key, tuple[Change, list[WorkEffect]]] = {}
    for change in plan.changes:
        effects = list(_effects(kinds, change))
        observed = actual.find(change.kind, _id(plan, change) or "") if effects else None
        if observed is not None and observed.deleted_at is None:
            direct[change.kind, observed.id] = change, effects
    if not direct:
        return ()
    readers = _other_readers(plan)
    changed = {key: change.address for key, (change, _) in direct.items()}
    called = caller(kinds, {**kinds.addresses(ids), **changed}, actual.objects, actual.objects)
    all_lost: dict[Key, WorkEffect] = {}
    inner = _inside(kinds, actual, [key for key in direct if content_kinds(kinds, kinds[key[0]])])
    for key, (_, effects) in direct.items():
        for other, effect in ((other, effect) for other in (key, *inner.get(key, ())) for effect in effects):
            # A move matters to the people who work in something only where its readers differ afterwards.
            if effect is WorkEffect.MOVE and readers.isdisjoint((called(key), called(other))):
                continue
            if other not in all_lost or _rank(effect) < _rank(all_lost[other]):
                all_lost[other] = effect
    lost = []
    for key, effect in all_lost.items():
        source = direct[key][0].source if key in direct else None
        around = tuple(map(called, _lost_around(kinds, actual, all_lost, key)))
        lost.append(Loss(called(key), kinds[key[0]], actual.objects[key[0]][key[1]], effect, around, source))
    return tuple(lost)


def _lost_around(kinds: Kinds, actual: Actual, all_lost: Mapping[Key, WorkEffect], key: Key) -> list[Key]:
    """What contains an object and loses work in the same way."""
    around: list[Key] = []
    ahead = [key]
    while ahead:
        outer = ahead.pop()
        if (inner := actual.find(*outer)) is not None:
            new = [
                other
                for other in containers(kinds[outer[0]], inner)
                if all_lost.get(other) is all_lost[key] and other not in (key, *around)
            ]
            around += new
            ahead += new
    return around


def _rank(effect: WorkEffect) -> int:
    return list(WorkEffect).index(effect)


EFFECTS: Final = {
    Action.DELETE: WorkEffect.DELETE,
    Action.REPLACE: WorkEffect.REPLACE,
    Action.TRANSFER: WorkEffect.TRANSFER,
    Action.MOVE: WorkEffect.MOVE,
}


def _effects(kinds: Kinds, change: Change) -> Iterator[WorkEffect]:
    """What happens to the object of a change, and may end or interrupt work in it."""
    yield from (EFFECTS[action] for action in change.actions if action in EFFECTS)
    fields = kinds[change.kind].fields
    if any(delta.name in fields and delta.after in fields[delta.name].locks for delta in change.fields if delta.note is None):
        yield WorkEffect.LOCK


def _id(plan: Plan, change: Change) -> str | None:
    """The id of the object that a change is about; of a replacement, that of the object that is deleted."""
    if Action.REPLACE not in change.actions:
        return change.id
    targets = (step.target for step in plan.steps if step.address == change.address and step.verb == "delete")
    return next((target for target in targets if isinstance(target, str)), None)


def _other_readers(plan: Plan) -> set[Address]:
    """The objects that others can read after the plan."""
    gained = {at for exposure in plan.exposures if exposure.readers and not exposure.window for at in (exposure.address, *exposure.reaches)}
    return gained | plan.lost_readers.keys()


def _inside(kinds: Kinds, actual: Actual, outer: Iterable[Key]) -> dict[Key, list[Key]]:
    """What is in each of these objects, at any depth."""
    outer = list(outer)
    contents = Contents(kinds, actual.objects) if outer else None
    inside: dict[Key, list[Key]] = {}
    for key in outer:
        known: dict[Key, None] = {}
        ahead = [key]
        while ahead and contents is not None:
            around = ahead.pop()
            for kind in content_kinds(kinds, kinds[around[0]]):
                for observed in contents.inside(kind.name, *around):
                    inner = kind.name, observed.id
                    if observed.deleted_at is None and inner not in known:
                        known[inner] = None
                        ahead.append(inner)
        inside[key] = list(known)
    return inside


# -- what is under way ---------------------------------------------------------------------------------------------------------------


def counted_sort(word: CountedWork, number: int | None, items: Iterable[Any], unread: str = "") -> WorkSort:
    """Work that an object counts, with the beginning of the list that names it. `unread`: why that could not be read."""
    named = [_item(item, word.title, word.author, word.since) for item in items if _is_counted(item, word)]
    return WorkSort(word.noun, number, tuple(named[:ITEMS_MAX]), unread)


def _is_counted(item: Any, word: CountedWork) -> bool:
    return isinstance(item, Mapping) and (word.counts is None or at(item, word.counts[0]) in word.counts[1])


def _item(raw: Any, title: str, author: str, since: str) -> WorkItem:
    id = at(raw, "id")
    name, person = (value if isinstance(value, str) else "" for value in (at(raw, title), at(raw, author)))
    return WorkItem(id if isinstance(id, str) else "", name, person, moment(at(raw, since)))


def moment(value: Any) -> datetime | None:
    """The time that a text of the service gives, UTC where it names no zone; None where it is not a time."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
        return time if time is None else (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def unfinished(kind: Kind, raws: Iterable[Mapping[str, Any]], lost: Key | None = None) -> WorkSort | None:
    """The objects of a kind for which the service is still writing another one; None if it has finished all. `lost`: of these, those that
    refer to this object."""
    work, fields = kind.work, [field for field in kind.fields.values() if lost is not None and field.to == lost[0]]
    # Processing that writes nothing for people, such as that of a document, can be repeated at any time.
    if work is None or not kind.service_copies:
        return None
    items = []
    for raw in raws:
        state = at(raw, work.state)
        refers = lost is None or any(field.value_in(raw) == lost[1] for field in fields)
        if isinstance(state, str) and state not in work.done and refers:
            label = at(raw, work.label) if work.label else None
            items.append(WorkItem(kind.own_id(raw), ", ".join(part for part in (label, state) if isinstance(part, str)), "", None))
    return WorkSort(f"unfinished {kind.name}", len(items), tuple(items[:ITEMS_MAX])) if items else None


def joined(sorts: tuple[WorkSort, ...], other: WorkSort) -> tuple[WorkSort, ...]:
    """The sorts with one more, which is added to the one with its noun."""
    for position, sort in enumerate(sorts):
        if sort.noun == other.noun and sort.number is not None and other.number is not None:
            items = (*sort.items, *other.items)[:ITEMS_MAX]
            total = replace(
                sort, number=sort.number + other.number, items=items, unread=sort.unread or other.unread, more=sort.more or other.more
            )
            return (*sorts[:position], total, *sorts[position + 1 :])
    return (*sorts, other)


# -- what a plan says of it ----------------------------------------------------------------------------------------------------------


def with_open_work(plan: Plan, lost: Iterable[Loss], answers: Answers, guards: Guards, consents: frozenset[Consent], at: datetime) -> Plan:
    """The plan with what is under way in what it changes.

    `at`: the time to which ages refer. `consents`: of the run that this one continues.
    """
    entries = []
    for loss in lost:
        sorts = tuple(sort for sort in answers.get(loss.key, ()) if sort.number != 0)
        if not sorts:
            continue
        own = tuple(_consents(loss, sorts))
        blocks = guards.open_work == BLOCK or (guards.open_work is None and loss.effect in ENDED)
        asked = blocks and bool(own) and not consents.issuperset(own)
        entries.append(OpenWork(loss.address, loss.kind.name, loss.effect, sorts, loss.within, loss.source, blocks, asked, own))
    entries.sort(key=lambda work: (_rank(work.effect), work.address))
    allowed = {consent for work in entries for consent in work.consents}
    plan = replace(plan, consents=tuple(sorted({*plan.consents, *allowed})))
    return plan.with_feature(OPEN_WORK, PlannedWork(tuple(entries), at))


def _consents(loss: Loss, sorts: Iterable[WorkSort]) -> Iterator[Consent]:
    """What is consented to with it: each item that is named, and how many more there are. What is unknown needs none."""
    for sort in sorts:
        values = [f"{sort.noun} {item.id}" for item in sort.items if item.id]
        if sort.number is not None and sort.number > len(values):
            values.append(f"{sort.noun} ×{sort.number}")
        outermost = str(loss.within[-1]) if loss.within else ""
        yield from (Consent(str(loss.address), ENDS_WORK, "", loss.effect.value, outermost, value) for value in values)
