"""The order that keeps readers out: a step that narrows an audience comes before a step that widens it, which needs it. Pure.

The premise: a plan may close one door and open another, and between two requests both could be open. A space is shown on a public site; the
plan takes it off that site, and fills it with salaries. Sent in the wrong order, the salaries are public for as long as one request takes,
and for good where the run dies in between. Neither the world before nor the one after shows that, so no comparison of the two can find it.

So each step is asked what it does to the audience of the object that it writes, with everything else as it was or as it will be:

    narrows    some reader of before cannot read it any more       (a share link is deleted, a condition is added)
    widens     some reader of after could not read it before       (a site is published, a space is shown in it)

and every narrowing step on the *way* of an object comes before every widening one on it. The way is all through which readers may come:

    link  ->  site  ->  site space  ->  space  ->  copy of it
              `-- narrowing here  ...  comes before  ...  widening there --'

Then no prefix of the plan, and no step that fails, lets anybody read what neither the world before nor the one after lets them read. A
narrowing step is *needed*: if it fails, the widening one is not sent. Two things cannot be ordered so, and are left over: steps that do
both at once to each other's object, and steps that must come in the other order for another reason. `disclosure` plays these moments
through, and tells people what is open for a while (a *window*).

In: the steps of a plan, the world before and after them. Out: the same steps in such an order, and the pairs that it does not keep.

A create may take no condition, so that what it shows would be open until the next request. Such a create first shows a *stand-in*,
something that those readers can read already, and a last step shows the declared object.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from reconciler.address import Address
from reconciler.model import Step
from reconciler.plan.audience.readers import Access, Audiences, Objects, absorbs, admitted, asks, included, own_grants, part_of
from reconciler.plan.containment import Key, reached
from reconciler.plan.derived import Derivation
from reconciler.plan.steps.requests import body_of
from reconciler.resource import Field, Kind, Kinds, placeholders

Pair = tuple[int, int]
"""(the id of a narrowing step, the id of a widening one that should come after it)."""


@dataclass(frozen=True)
class Worlds:
    """Who can read what before a plan and after it."""

    before: Audiences
    after: Audiences
    # The ids of every address after the plan.
    ids: Mapping[Address, str]
    # The values of each new object right after its create, by key: later requests may narrow them.
    created: Mapping[Key, Mapping[str, Any]]
    # The objects after the plan as the service has them, without what only the project says of them.
    served: Objects
    # The objects that the plan gives to another container, each with the object whose transfer brings it there.
    transferred: Mapping[Key, Key] = field(default_factory=dict)


Effects = Mapping[int, Collection[Key]]
"""Objects by the id of the step that touches them."""


def effects(kinds: Kinds, steps: Iterable[Step], worlds: Worlds) -> tuple[Effects, Effects]:
    """The objects whose readers each step narrows, and those whose readers it widens; a step may do both at once.

    Of the rest of the world, either state is reckoned with.
    """
    narrowed: dict[int, set[Key]] = defaultdict(set)
    widened: dict[int, set[Key]] = defaultdict(set)
    transferred: dict[Key, list[Key]] = defaultdict(list)
    for key, root in worlds.transferred.items():
        transferred[root].append(key)
    for step in steps:
        keys = transferred[step.kind, str(step.target)]
        touched = _given(kinds, keys, worlds) if step.verb == "transfer" else _touched(kinds, step, worlds)
        for key, narrows, widens in touched:
            if narrows:
                narrowed[step.id].add(key)
            if widens:
                widened[step.id].add(key)
    return narrowed, widened


def _given(kinds: Kinds, keys: Iterable[Key], worlds: Worlds) -> Iterator[tuple[Key, bool, bool]]:
    """(object, narrows, widens) of what a transfer brings: it leaves the people of one container and what it is part of there."""
    for key in keys:
        kind, was, then = kinds[key[0]], worlds.before.find(key), worlds.after.objects[key[0]][key[1]]
        if kind.audience is None or was is None:
            continue
        narrows, widens = _compared(gate(worlds.before, key, was.values), gate(worlds.after, key, then.values))
        yield key, narrows, widens


def _touched(kinds: Kinds, step: Step, worlds: Worlds) -> Iterator[tuple[Key, bool, bool]]:
    kind = kinds[step.kind]
    if step.verb == "create":
        # A new object has no readers to lose.
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
    # Other steps write the other fields, before this one or after it. A field that admits nobody beside a closed one may open the object
    # beside an open one, so both moments count.
    old, new = worlds.created.get(key) or _values(worlds.before.objects, key), _values(worlds.after.objects, key)
    first = {**old, **{name: new.get(name) for name in written}}
    last = {**new, **{name: old.get(name) for name in written}}
    # Where its own fields leave that to what the object is part of, the steps of that may come first or later too.
    moments = [
        _compared(gate(audiences, key, was), gate(audiences, key, then))
        for audiences in (worlds.before, worlds.after)
        for was, then in ((old, first), (last, new))
    ]
    return any(less for less, _ in moments), any(more for _, more in moments)


def _flow(kind: Kind, key: Key, name: str, worlds: Worlds) -> tuple[bool, bool]:
    """(narrows, widens): what another whole, or another object that is shown, does."""
    assert kind.audience is not None
    to = kind.fields[name].to if name in kind.audience.inherits else kind.fields[name].refers
    # A transfer has taken the object out of what it was part of.
    left = name in kind.audience.inherits and worlds.transferred.get(key) == key
    before, after = worlds.created.get(key) or _values(worlds.before.objects, key), _values(worlds.after.objects, key)
    old, new = None if left else before.get(name), after.get(name)
    if old == new:
        return False, False
    if name in kind.audience.shows:
        return isinstance(old, str), isinstance(new, str)
    if name in kind.audience.inherits and not any(asks(kind.audience, values) for values in (before, after)):
        return False, False
    less = more = False
    # The readers of what it was part of and of what it becomes part of, as those are now and as they will be: their own steps may come
    # first or later.
    for audiences in (worlds.before, worlds.after):
        was, then = (_readers_of_whole(audiences, key, (str(to), id) if isinstance(id, str) else None) for id in (old, new))
        less = less or any(not included(access, then) for access in was)
        more = more or any(not included(access, was) for access in then)
    return less, more


def _readers_of_whole(audiences: Audiences, key: Key, whole: Key | None) -> frozenset[Access]:
    """The readers that an object has by what it is part of; `whole`: None where that is nothing."""
    if whole is not None:
        return audiences.of(whole)
    audience, observed = audiences.kinds[key[0]].audience, audiences.objects.get(key[0], {}).get(key[1])
    assert audience is not None
    return frozenset(admitted(grant, "", observed.within) for grant in audience.at_top) if observed is not None else frozenset()


Gate = tuple[frozenset[Access], str | None, int]
"""(the readers that its own fields admit, its condition, whether it admits those of what opens it: 0 no, 1 yes, 2 without conditions)."""


def gate(audiences: Audiences, key: Key, values: Mapping[str, Any]) -> Gate:
    """What an object says of its readers if it has these values: those that its own fields admit, and those of what it is part of where
    they leave it to that. No readers where the world has no such object."""
    kind, observed = audiences.kinds[key[0]], audiences.objects.get(key[0], {}).get(key[1])
    audience = kind.audience
    assert audience is not None
    whole = part_of(kind, replace(observed, values={**observed.values, **values})) if observed is not None else None
    within = observed.within if observed is not None else {}
    own = frozenset(admitted(grant, "", within) for grant in own_grants(audience, values, whole))
    readers = own | audiences.of(whole) if whole is not None and asks(audience, values) else own
    condition = audience.condition(values) if audience.condition is not None else None
    admits = audience.admits is not None and audience.admits(values)
    unconditional = audience.unconditional is not None and audience.unconditional(values)
    return readers, condition, (2 if unconditional else 1) if admits else 0


def _compared(old: Gate, new: Gate) -> tuple[bool, bool]:
    """(narrows, widens)."""
    less = any(not any(absorbs(other, access) for other in new[0]) for access in old[0]) or old[2] > new[2]
    more = any(not any(absorbs(other, access) for other in old[0]) for access in new[0]) or new[2] > old[2]
    # Nobody can say whether one condition admits fewer than another, so another condition does both.
    if old[1] != new[1]:
        less, more = less or new[1] is not None, more or old[1] is not None
    return less, more


def opens(audiences: Audiences, key: Key, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether these values of an object admit readers whom those did not."""
    return _compared(gate(audiences, key, old), gate(audiences, key, new))[1]


# -- which step waits for which -------------------------------------------------------------------------------------------------------


def way(worlds: Worlds, *keys: Key) -> set[Key]:
    """Objects and everything whose readers reach one of them, before the plan or after it, directly or indirectly."""
    return reached(keys, lambda at: (source for audiences in (worlds.before, worlds.after) for source in audiences.leading(at)))


def pairs(worlds: Worlds, narrowed: Effects, widened: Effects) -> tuple[list[Pair], list[Pair]]:
    """Every narrowing step with each widening one on the same way: that of an object which the one touches leads through the other.

    The second list has those whose steps both narrow and widen, so that each should come before the other; the first has the opposite.
    """
    if not narrowed:
        return [], []
    # By object: the steps that narrow it, and those that narrow something that it leads to.
    narrowing: dict[Key, set[int]] = defaultdict(set)
    beyond: dict[Key, set[int]] = defaultdict(set)
    ways: dict[Key, set[Key]] = {}
    for keys in (*narrowed.values(), *widened.values()):
        for key in keys:
            if key not in ways:
                ways[key] = way(worlds, key)
    for id, keys in narrowed.items():
        for key in keys:
            narrowing[key].add(id)
            for other in ways[key] - {key}:
                beyond[other].add(id)
    result: set[Pair] = set()
    opposed: set[Pair] = set()
    for id, keys in widened.items():
        before = {other for key in keys for at in ways[key] for other in narrowing.get(at, ())}
        before |= {other for key in keys for other in beyond.get(key, ())}
        for narrow in before - {id}:
            # Of two steps that both narrow and widen, the earlier comes first; one that only narrows comes before one that does both.
            is_opposed = narrow in widened and id in narrowed and narrow > id
            (opposed if is_opposed else result).add((narrow, id))
    return sorted(result), sorted(opposed)


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

    # What widens nothing too early comes first, in the order of the plan. If only other steps are ready, a create goes first: only what it
    # shows can be open too early, and not the new object itself.
    def rank(id: int) -> tuple[int, int]:
        return (0 if not narrow_first[id] else 1 if id in creates else 2, id)

    ready = [rank(id) for id, number in waits.items() if not number]
    heapq.heapify(ready)
    sequence: list[int] = []
    done: set[int] = set()
    while ready:
        urgency, id = heapq.heappop(ready)
        # It was put in again when it had less to wait for.
        if id in done or (urgency, id) != rank(id):
            continue
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


# -- Stand-ins -----------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownByCreate:
    """What a create shows: `carrier`: the field of its request, `child` and `field`: the object and its field that show it, `key`: what."""

    carrier: Field
    child: Address
    kind: Kind
    field: Field
    key: Key


def shown_by(kinds: Kinds, step: Step, worlds: Worlds) -> ShownByCreate | None:
    """What a create shows, by itself or by a child that it brings; None where it shows nothing."""
    kind = kinds[step.kind]
    pairs = [(step.address, kind, name, name) for name in kind.audience.shows] if kind.audience is not None else []
    for name, _, child in step.brings:
        first, audience = kind.first, kinds[name].audience
        if first is not None and first.to == name and first.child_field is not None and audience is not None:
            pairs += [(child, kinds[name], first.name, shown) for shown in audience.shows if shown == first.child_field]
    for address, shower, carrier, name in pairs:
        value, field = step.writes.get(carrier), shower.fields[name]
        id = worlds.ids.get(value) if isinstance(value, Address) else value
        if isinstance(id, str) and field.refers is not None:
            return ShownByCreate(kind.fields[carrier], address, shower, field, (field.refers, id))
    return None


def _stand_in(kinds: Kinds, worlds: Worlds, key: Key, accesses: frozenset[Access]) -> str | None:
    """The id of an object of the same kind that certain readers can read before the plan and after it, and that is in the same container
    all the time; None where there is none."""
    # In the container before the plan and after it, because an object is never shown outside its own; and read by them both times.
    both, container = (worlds.before, worlds.after), _container(kinds, worlds.after, key)
    return next(
        (
            id
            for id in sorted(worlds.before.objects.get(key[0], {}))
            if all(_container(kinds, world, (key[0], id)) == container for world in both)
            and all(included(access, world.of((key[0], id))) for access in accesses for world in both)
        ),
        None,
    )


def _container(kinds: Kinds, world: Audiences, key: Key) -> str | None:
    """The id of the container that an object is in; None where the object does not exist."""
    observed = world.objects.get(key[0], {}).get(key[1])
    return observed.within.get(str(kinds[key[0]].within)) if observed is not None else None


def with_stand_ins(
    kinds: Kinds,
    steps: Sequence[Step],
    worlds: Worlds,
    open_for: Mapping[Key, Collection[Access]],
    late: Collection[int],
    derived: Mapping[Address, Derivation] = {},
) -> tuple[Step, ...]:
    """The steps, with a stand-in in each create of `late` that would open something; the same tuple where no stand-in exists.

    `open_for`: what would be open for a while, and to whom. `late`: the steps before which an audience should have been narrowed.
    `derived`: what the service would derive from the declared object, and now derives from the stand-in.
    """
    result, last, changed = list(steps), max(step.id for step in steps), False
    # Many creates may show the same thing, and each answer is a search through all objects of a kind.
    stand_in = cache(partial(_stand_in, kinds, worlds))
    for index, step in enumerate(steps):
        shown = shown_by(kinds, step, worlds) if step.verb == "create" and step.id in late else None
        accesses = frozenset(open_for.get(shown.key, ())) if shown is not None else frozenset()
        id = stand_in(shown.key, accesses) if shown is not None and accesses else None
        if shown is None or id is None or id == shown.key[1]:
            continue
        meant = _meant(kinds, step, shown, last + 1, derived.get(shown.child))
        if meant is None:
            continue
        writes = {**step.writes, shown.carrier.name: id}
        identity = {**step.identity, shown.carrier.name: id} if shown.carrier.name in step.identity else step.identity
        body = {**step.body, shown.carrier.wire: id}
        result[index] = replace(step, writes=writes, body=body, identity=identity)
        result.append(meant)
        last, changed = last + 1, True
    return tuple(result) if changed else tuple(steps)


def _meant(kinds: Kinds, step: Step, shown: ShownByCreate, number: int, derived: Derivation | None) -> Step | None:
    """The step that shows the declared object, with what the service derives from it; None where no request on an existing object can do
    that."""
    verb = next((verb for verb in shown.kind.update_verbs if shown.field in shown.kind.sent_by(verb.name)), None)
    if verb is None:
        return None
    writes: dict[str, Any] = {shown.field.name: step.writes[shown.carrier.name]}
    if derived is not None and derived.shown and derived.derived.reference == shown.field.name:
        if derived.value is None or derived.field not in shown.kind.sent_by(verb.name):
            return None
        writes[derived.field.name] = derived.value
    return Step(
        id=number,
        address=shown.child,
        kind=shown.kind.name,
        verb=verb.name,
        method=verb.method,
        path=_path(kinds, verb.path, shown.child, step),
        body=body_of(shown.kind, writes),
        writes=writes,
        target=shown.child,
        needs=frozenset({step.id, *step.needs}),
    )


def _path(kinds: Kinds, template: str, address: Address, step: Step) -> tuple[str | Address, ...]:
    """The path of a request on an object that the plan creates, with the ids that the path of its create contains."""
    own_path = kinds[step.kind].api[step.verb].path
    filled = [part for hole, part in zip(own_path.strip("/").split("/"), step.path, strict=True) if hole.startswith("{")]
    known = dict(zip(placeholders(own_path), filled, strict=False))
    holes: dict[str, str | Address] = {"id": address}
    for name in placeholders(template):
        if name not in holes:
            holes[name] = known[name] if name in known else kinds.container(address, name)
    return tuple(holes[part[1:-1]] if part.startswith("{") else part for part in template.strip("/").split("/"))
