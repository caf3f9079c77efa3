"""The order that keeps readers out: a step that narrows an audience comes before a step that widens it, which needs it. Pure.

In: the steps of a plan, the world before and after them. Out: the same steps in an order in which every narrowing step that touches the way
to an object comes before every widening one, as far as the steps' own needs allow it. Then no prefix of the plan, and no step that fails,
lets anybody read what neither the world before nor the one after lets them read; `windows` reports what could not be ordered so.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reconciler.address import Address
from reconciler.model import Step
from reconciler.plan.audience.readers import Access, Audiences, Objects, absorbs, admitted, included, part_of
from reconciler.plan.containment import Key
from reconciler.resource import Kind, Kinds

Pair = tuple[int, int]
"""(the id of a narrowing step, the id of a widening one that should come after it)."""


@dataclass(frozen=True)
class Worlds:
    """The audiences before a plan and after it. `ids`: of every address after it. `created`: the values right after the create, by key.
    `served`: the objects after it as the service has them, without what only the project says of them. `transferred`: the objects that the
    plan gives to another container, each with the object whose transfer brings it there.
    """

    before: Audiences
    after: Audiences
    ids: Mapping[Address, str]
    created: Mapping[Key, Mapping[str, Any]]
    served: Objects
    transferred: Mapping[Key, Key] = field(default_factory=dict)


@dataclass
class Effects:
    """The objects whose readers each step narrows and widens, by step id; a step may do both at once."""

    narrows: dict[int, set[Key]] = field(default_factory=lambda: defaultdict(set))
    widens: dict[int, set[Key]] = field(default_factory=lambda: defaultdict(set))


def effects(kinds: Kinds, steps: Iterable[Step], worlds: Worlds) -> Effects:
    """What each step does to the audience of the objects it writes; of the rest of the world, either state is reckoned with."""
    result = Effects()
    transferred: dict[Key, list[Key]] = defaultdict(list)
    for key, root in worlds.transferred.items():
        transferred[root].append(key)
    for step in steps:
        keys = transferred[step.kind, str(step.target)]
        touched = _given(kinds, keys, worlds) if step.verb == "transfer" else _touched(kinds, step, worlds)
        for key, narrows, widens in touched:
            if narrows:
                result.narrows[step.id].add(key)
            if widens:
                result.widens[step.id].add(key)
    return result


def _given(kinds: Kinds, keys: Iterable[Key], worlds: Worlds) -> Iterator[tuple[Key, bool, bool]]:
    """(object, narrows, widens) of what a transfer brings: it leaves the people of one container and what it is part of there."""
    for key in keys:
        kind, was, then = kinds[key[0]], worlds.before.find(key), worlds.after.objects[key[0]][key[1]]
        if kind.audience is None or was is None:
            continue
        narrows, widens = _compared(gate(kind, was.values, was.within), gate(kind, was.values, then.within))
        whole = part_of(kind, was) if worlds.transferred[key] == key else None
        yield key, narrows or (whole is not None and bool(worlds.before.of(whole))), widens


def _touched(kinds: Kinds, step: Step, worlds: Worlds) -> Iterator[tuple[Key, bool, bool]]:
    kind = kinds[step.kind]
    if step.verb == "create":
        for name, address in ((step.kind, step.address), *((name, address) for name, _, address in step.brings)):
            if kinds[name].audience is not None:
                yield (name, worlds.ids[address]), False, True
        return
    if kind.audience is None:
        return
    key = (kind.name, worlds.ids[step.target] if isinstance(step.target, Address) else str(step.target))
    if step.verb in ("delete", "restore"):
        yield key, step.verb == "delete", step.verb == "restore"
        return
    written = set(step.writes)
    narrows = widens = False
    if written & set(kind.audience.gates):
        narrows, widens = _gates(kind, key, written, worlds)
    for name in written & {*kind.audience.inherits, *kind.audience.shows}:
        less, more = _flow(kind, key, name, worlds)
        narrows, widens = narrows or less, widens or more
    if narrows or widens:
        yield key, narrows, widens


def _values(objects: Objects, key: Key) -> Mapping[str, Any]:
    observed = objects.get(key[0], {}).get(key[1])
    return observed.values if observed is not None else {}


def _gates(kind: Kind, key: Key, written: set[str], worlds: Worlds) -> tuple[bool, bool]:
    """(narrows, widens): what the written fields do beside the other fields as they were, or beside them as they will be."""
    old, new = worlds.created.get(key) or _values(worlds.before.objects, key), _values(worlds.after.objects, key)
    first = {**old, **{name: new.get(name) for name in written}}
    last = {**new, **{name: old.get(name) for name in written}}
    early, late = _compared(gate(kind, old), gate(kind, first)), _compared(gate(kind, last), gate(kind, new))
    return early[0] or late[0], early[1] or late[1]


def _flow(kind: Kind, key: Key, name: str, worlds: Worlds) -> tuple[bool, bool]:
    """(narrows, widens): what another whole, or another object that is shown, does."""
    assert kind.audience is not None
    to = kind.fields[name].to if name in kind.audience.inherits else kind.fields[name].refers
    left = name in kind.audience.inherits and worlds.transferred.get(key) == key  # the transfer took it out of that
    old = None if left else (worlds.created.get(key) or _values(worlds.before.objects, key)).get(name)
    new = _values(worlds.after.objects, key).get(name)
    if old == new:
        return False, False
    if name in kind.audience.shows:
        return isinstance(old, str), isinstance(new, str)
    less = more = False
    for audiences in (worlds.before, worlds.after):
        was = audiences.of((str(to), old)) if isinstance(old, str) else frozenset()
        then = audiences.of((str(to), new)) if isinstance(new, str) else frozenset()
        less = less or any(not included(access, then) for access in was)
        more = more or any(not included(access, was) for access in then)
    return less, more


Gate = tuple[frozenset[Access], str | None, int]
"""(the readers that its own fields admit, its condition, whether it admits those of what opens it: 0 no, 1 yes, 2 without conditions)."""


def gate(kind: Kind, values: Mapping[str, Any], within: Mapping[str, str] = {}) -> Gate:
    """What the fields of an object say of its readers, whatever it is part of. `within`: the ids of its containers, where they matter."""
    audience = kind.audience
    assert audience is not None
    grants = audience.grants(values) if audience.grants is not None else ()
    readers = frozenset(admitted(grant, "", within) for grant in grants)
    condition = audience.condition(values) if audience.condition is not None else None
    admits = audience.admits is not None and audience.admits(values)
    unconditional = audience.unconditional is not None and audience.unconditional(values)
    return readers, condition, (2 if unconditional else 1) if admits else 0


def _compared(old: Gate, new: Gate) -> tuple[bool, bool]:
    """(narrows, widens)."""
    less = any(not any(absorbs(other, access) for other in new[0]) for access in old[0]) or old[2] > new[2]
    more = any(not any(absorbs(other, access) for other in old[0]) for access in new[0]) or new[2] > old[2]
    if old[1] != new[1]:
        less, more = less or new[1] is not None, more or old[1] is not None
    return less, more


def opens(kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether these values admit readers whom those did not."""
    return _compared(gate(kind, old), gate(kind, new))[1]


# -- which step waits for which -------------------------------------------------------------------------------------------------------


def way(worlds: Worlds, *keys: Key) -> set[Key]:
    """Objects and everything whose readers reach one of them, before the plan or after it, directly or indirectly."""
    result, ahead = {*keys}, [*keys]
    while ahead:
        at = ahead.pop()
        for audiences in (worlds.before, worlds.after):
            for source in audiences.leading(at):
                if source not in result:
                    result.add(source)
                    ahead.append(source)
    return result


def pairs(worlds: Worlds, effects: Effects) -> tuple[list[Pair], list[Pair]]:
    """Every narrowing step with each widening one on the same way: that of an object which the one touches leads through the other.

    The second list has those whose steps both narrow and widen, so that each should come before the other; the first has the opposite.
    """
    if not effects.narrows:
        return [], []
    narrowing: dict[Key, set[int]] = defaultdict(set)  # steps that narrow the object
    beyond: dict[Key, set[int]] = defaultdict(set)  # steps that narrow something that the object leads to
    ways: dict[Key, set[Key]] = {}
    for keys in (*effects.narrows.values(), *effects.widens.values()):
        for key in keys:
            if key not in ways:
                ways[key] = way(worlds, key)
    for id, keys in effects.narrows.items():
        for key in keys:
            narrowing[key].add(id)
            for other in ways[key] - {key}:
                beyond[other].add(id)
    result: set[Pair] = set()
    opposed: set[Pair] = set()
    for id, keys in effects.widens.items():
        before = {other for key in keys for at in ways[key] for other in narrowing.get(at, ())}
        before |= {other for key in keys for other in beyond.get(key, ())}
        for narrow in before - {id}:
            (opposed if _mutual(effects, narrow, id) else result).add((narrow, id))
    return sorted(result), sorted(opposed)


def _mutual(effects: Effects, step: int, other: int) -> bool:
    """Of two steps that both narrow and widen, the earlier comes first; a step that only narrows comes before one that does both."""
    both = step in effects.widens and other in effects.narrows
    return both and step > other


def arranged(steps: Sequence[Step], wanted: Sequence[Pair], opposed: Sequence[Pair] = ()) -> tuple[tuple[Step, ...], tuple[Pair, ...]]:
    """The steps in a new order, numbered from 1, each needing the narrowing steps before it; and the pairs (new ids) left over.

    `opposed`: pairs that the order need not keep, and that are left over where it does not.
    """
    if not wanted and not opposed:
        return tuple(steps), ()
    sequence = _sequence(steps, wanted)
    number = {id: index for index, id in enumerate(sequence, start=1)}
    needed: dict[int, set[int]] = defaultdict(set)
    left: list[Pair] = []
    for narrow, wide in wanted:
        if number[narrow] < number[wide]:
            needed[wide].add(number[narrow])
        else:
            left.append((number[narrow], number[wide]))
    left += [(number[narrow], number[wide]) for narrow, wide in opposed if number[narrow] > number[wide]]
    by_id = {step.id: step for step in steps}
    created = []
    for id in sequence:
        step = by_id[id]
        needs = frozenset({*(number[other] for other in step.needs), *needed[id]})
        after = frozenset(number[other] for other in step.after) - needs
        created.append(replace(step, id=number[id], needs=needs, after=after))
    return tuple(created), tuple(left)


def _sequence(steps: Sequence[Step], wanted: Sequence[Pair]) -> list[int]:
    """An order that keeps what the steps need, with every widening step as late as what narrows needs it to be."""
    follows: dict[int, list[int]] = defaultdict(list)
    waits = {step.id: len(step.needs | step.after) for step in steps}
    for step in steps:
        for other in step.needs | step.after:
            follows[other].append(step.id)
    narrow_first: dict[int, int] = defaultdict(int)
    released: dict[int, list[int]] = defaultdict(list)
    for narrow, wide in wanted:
        narrow_first[wide] += 1
        released[narrow].append(wide)
    creates = {step.id for step in steps if step.verb == "create"}

    def rank(id: int) -> tuple[int, int]:
        return (0 if not narrow_first[id] else 1 if id in creates else 2, id)

    ready = [rank(id) for id, number in waits.items() if not number]
    heapq.heapify(ready)
    sequence: list[int] = []
    done: set[int] = set()
    while ready:
        urgency, id = heapq.heappop(ready)
        if id in done or (urgency, id) != rank(id):
            continue  # it was put in again with less to wait for
        done.add(id)
        sequence.append(id)
        for other in released[id]:
            narrow_first[other] -= 1
            if not waits[other] and other not in done:
                heapq.heappush(ready, rank(other))
        for other in follows[id]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, rank(other))
    return sequence


def depending(steps: Sequence[Step], on: Iterable[int]) -> frozenset[int]:
    """These steps and all that need one of them, directly or indirectly. `steps`: each after what it needs."""
    ids = set(on)
    for step in steps:
        if step.needs & ids:
            ids.add(step.id)
    return frozenset(ids)
