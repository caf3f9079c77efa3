"""What a plan does to who can read what: its steps in the order that keeps readers out, and what more people can read after it. Pure.

The premise: whoever approves a plan approves what it opens. So a plan has to say it before, for every object and every class of readers,
and also for the moments in between. Nothing here knows what a site or a share link is: a simulation of the service plays the steps, and a
model of audiences (`readers`) says who can read what in the world that results.

    the world as agreed --.                                          .--> openings   (after, and not before)
    the world before ------+--> steps ordered, then simulated ------+--> outside    (after, and not as agreed to)
    the world after ------'                                          `--> windows    (in between, and neither before nor after)

1. The order: `barriers` puts narrowing steps before widening ones.
2. What could not be ordered so is played through: the plan without the steps that come too late. What somebody reads in that world, and
   reads neither before nor after, would be open for a while.
3. A create that opens something for a while first shows a *stand-in*, an object that the same readers can read anyway (`barriers`). That
   changes the steps, so they are ordered and played a second time; the second attempt is the result.
4. What is still open for a while is a window, and needs consent like everything else that is opened.

*As agreed* is the service with the values that somebody last agreed to: what was opened outside Reconciler, and would be kept by this plan,
is an exposure too, although no step does it.

In: the inputs of the plan, and its steps. Out: the steps in that order, the openings, and the windows that no order avoids (`Disclosure`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field as item, replace
from typing import Any, Final, NamedTuple

from reconciler.address import Address, bare
from reconciler.model import Actual, Desired, Observed, Step
from reconciler.plan.audience.agreed import AS_AGREED, AgreedWorld
from reconciler.plan.audience.barriers import Effects, Pair, Worlds, arranged, depending, effects, pairs, way, with_stand_ins
from reconciler.plan.audience.openings import Opening, closings, openings, without_known
from reconciler.plan.audience.readers import Access, Audiences, Objects, absorbs, included, order, whole_of
from reconciler.plan.containment import Key, copied, makers, parent, reached
from reconciler.plan.derived import Derivation
from reconciler.plan.simulation.simulate import Simulation
from reconciler.plan.world import World
from reconciler.resource import UNSET, FieldRole, Kinds

MOMENTS: Final = 32
"""How many moments of a plan are looked at for windows, beside the one before all steps that come too late."""


def _nothing(key: Key) -> Address:
    raise KeyError(key)


Paths = dict[Access, tuple[Key, ...]]
"""Classes of readers of an object, each with the path by which they reach it."""

LocalValues = Mapping[Address, Mapping[str, Any]]
"""Values that only the project declares for its objects, by address."""


class ReaderWindow(NamedTuple):
    """An object that somebody can read only during the run. `requests`: for how many requests. `path`: as in an opening."""

    key: Key
    access: Access
    requests: int
    path: tuple[Key, ...]


@dataclass(frozen=True)
class Disclosure:
    """What the steps of a plan change about who can read what."""

    # In their order, each with the objects that decide who can read what it opens.
    steps: tuple[Step, ...]
    # What more people can read after the plan than before it.
    openings: tuple[Opening, ...] = ()
    # What somebody can read for a while.
    windows: tuple[ReaderWindow, ...] = ()
    # The address of an object, managed or not.
    called: Callable[[Key], Address] = _nothing
    # Who can no longer read what remains, and who of them still can.
    closings: tuple[tuple[Key, Access, tuple[Access, ...]], ...] = ()
    # Objects for which a reading must find out who can read them.
    questions: frozenset[Key] = frozenset()
    # Lists that must be read to learn what the opened objects are copies of.
    lists: frozenset[Key] = frozenset()
    # Objects that are narrowed by conditions only before the plan or only after it: their pages may have some.
    trees: frozenset[Key] = frozenset()
    # Who can read what the steps create or open to anybody, new or not: (object, reader, what admits them).
    reach: tuple[tuple[Key, Access, Key], ...] = ()
    # None where no step touches who can read what.
    worlds: Worlds | None = None
    # What more people can read after the plan than was agreed to, and no opening says.
    outside: tuple[Opening, ...] = ()
    # The objects as they were agreed to, and after the plan, where there are any.
    before: Objects = item(default_factory=dict)
    after: Objects = item(default_factory=dict)


def caller(kinds: Kinds, addresses: Mapping[Key, Address], after: Objects, before: Objects) -> Callable[[Key], Address]:
    """A function that returns the address of an object; an unmanaged one is named by its id. `addresses`: of managed objects."""

    def called(key: Key) -> Address:
        return _called(kinds, after if key[1] in after.get(key[0], {}) else before, addresses, key)

    return called


def disclosure(
    world: World,
    ids: Mapping[Address, str],
    steps: Sequence[Step],
    derived: Mapping[Address, Derivation] = {},
    agreed: AgreedWorld = AS_AGREED,
) -> Disclosure:
    """What the steps of a plan change about who can read what; nothing is computed where they change nothing of it.

    `ids`: of the declared objects. `derived`: what the service derives for what they create. `agreed`: what somebody agreed to, where the
    service differs from it.
    """
    kinds, desired, actual = world.kinds, world.desired, world.actual
    if not any(kinds[step.kind].audience is not None for step in steps):
        return _unchanged(kinds, desired, actual, ids, steps, agreed) if agreed else Disclosure(tuple(steps))
    local = local_values(kinds, desired)
    before = _seen(kinds, with_local(local, ids, actual.objects), actual)
    attempt = tuple(steps)
    while True:
        worlds = _worlds(kinds, actual, ids, local, before, attempt)
        narrowed, widened = effects(kinds, attempt, worlds)
        ordered, left = arranged(attempt, *pairs(worlds, narrowed, widened))
        between = _between(world, ids, local, worlds, ordered, left) if left else {}
        # Once: whatever is open for a while in the second attempt is what the stand-ins left open.
        is_first = len(attempt) == len(steps)
        late = {wide for _, wide in left}
        reordered = with_stand_ins(kinds, ordered, worlds, between, late, derived) if between and is_first else ordered
        if reordered == ordered:
            break
        attempt = reordered
    opened = tuple(openings(kinds, before, worlds.after, worlds.transferred))
    accepted = _agreed(kinds, actual, local, ids, agreed) if agreed else before
    outside = tuple(without_known(openings(kinds, accepted, worlds.after, worlds.transferred), opened)) if agreed else ()
    opened, outside = _once(opened, outside, worlds.created)
    addresses = {**world.state.addresses, **kinds.addresses(ids), **kinds.addresses(worlds.ids), **agreed.addresses}
    called = caller(kinds, addresses, worlds.after.objects, before.objects)
    requests = max((narrow - wide for narrow, wide in left), default=0)
    windows = tuple(
        ReaderWindow(key, access, requests, path)
        for key, paths in between.items()
        if key[1] in before.objects.get(key[0], {})
        for access, path in paths.items()
    )
    asked = _questions(kinds, actual, worlds, widened, (*opened, *outside))
    reach = tuple(_reach(kinds, worlds, widened))
    lists = frozenset(_makers(kinds, actual, (*opened, *outside)))
    # The effects are by step id, and the order gave the steps other ids.
    widens = widened if ordered is attempt else effects(kinds, ordered, worlds)[1]
    gated = _gated(kinds, actual, ordered, worlds, widens)
    trees = frozenset(_unguarded(kinds, before, worlds.after, actual))
    return Disclosure(
        gated, opened, windows, called, tuple(closings(kinds, before, worlds.after)), asked, lists, trees, reach, worlds, outside,
        accepted.objects, worlds.after.objects,
    )  # fmt: skip


def _seen(kinds: Kinds, objects: Objects, actual: Actual) -> Audiences:
    """Who can read what in the world as it is, or as it was agreed to."""
    return Audiences(kinds, objects, complete=actual.complete, copies=copied(kinds, actual.objects), guarded=actual.guarded)


def _unguarded(kinds: Kinds, before: Audiences, after: Audiences, actual: Actual) -> Iterator[Key]:
    """The objects with pages that nobody asked about, which the same readers read under conditions at one time and under none at the other:
    there they read also pages that have conditions of their own."""
    for kind in (kind for kind in kinds.values() if kind.pages is not None and kind.audience is not None):
        for key in ((kind.name, id) for id in before.objects.get(kind.name, {})):
            sides = before.of(key), after.of(key)
            if key not in actual.guarded and sides[0] != sides[1]:
                for then, now in (sides, sides[::-1]):
                    free = (access for access in now if not access.conditional and included(access, then))
                    if any(not any(absorbs(wide, access) for wide in then) for access in free):
                        yield key


def _agreed(kinds: Kinds, actual: Actual, local: LocalValues, ids: Mapping[Address, str], agreed: AgreedWorld) -> Audiences:
    """Who can read what in the world that was agreed to."""
    return _seen(kinds, with_local(local, ids, agreed.of(actual.objects)), actual)


def _unchanged(
    kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], steps: Sequence[Step], agreed: AgreedWorld
) -> Disclosure:
    """The disclosure of steps that change nothing of who can read what: what is open already and was not agreed to."""
    local = local_values(kinds, desired)
    now = _seen(kinds, with_local(local, ids, actual.objects), actual)
    before = _agreed(kinds, actual, local, ids, agreed)
    outside = tuple(openings(kinds, before, now))
    addresses = {**kinds.addresses(ids), **agreed.addresses}
    called, lists = caller(kinds, addresses, now.objects, before.objects), frozenset(_makers(kinds, actual, outside))
    trees = frozenset(_unguarded(kinds, before, now, actual))
    return Disclosure(tuple(steps), called=called, lists=lists, trees=trees, outside=outside, before=before.objects, after=now.objects)


def opened_outside(kinds: Kinds, desired: Desired, actual: Actual, ids: Mapping[Address, str], agreed: AgreedWorld) -> Disclosure:
    """What more people can read now than was agreed to."""
    return _unchanged(kinds, desired, actual, ids, (), agreed) if agreed else Disclosure(())


def _once(
    opened: Sequence[Opening], outside: Sequence[Opening], created: Collection[Key]
) -> tuple[tuple[Opening, ...], tuple[Opening, ...]]:
    """The same openings, each cause that the plan creates once: what it opens beyond the agreed world is part of its opening, because
    nobody created it outside Reconciler."""
    of_plan = {opening.place for opening in opened if opening.cause in created}
    more = {opening.place: opening.opened for opening in outside if opening.place in of_plan}
    merged = tuple(replace(opening, opened=more.get(opening.place, {}) | opening.opened) for opening in opened)
    return merged, tuple(opening for opening in outside if opening.place not in more)


def _reach(kinds: Kinds, worlds: Worlds, widening: Effects) -> Iterator[tuple[Key, Access, Key]]:
    """Who can read, after the plan, what its steps open. Removing a reader and admitting them again opens nothing, but the remaining plan
    does if the run is killed in between."""
    widened = {key for keys in widening.values() for key in keys}
    onward: dict[Key, list[Key]] = defaultdict(list)
    if not widened:
        return
    for name, some in worlds.after.objects.items():
        if kinds[name].audience is not None:
            for key in ((name, id) for id in some):
                for source in worlds.after.leading(key):
                    onward[source].append(key)
    for key in sorted(reached(widened, lambda key: onward.get(key, ()))):
        for access in sorted(worlds.after.of(key), key=order):
            yield key, access, worlds.after.path(key, access)[-1]


def _gated(kinds: Kinds, actual: Actual, steps: Sequence[Step], worlds: Worlds, widens: Mapping[int, Collection[Key]]) -> tuple[Step, ...]:
    """The steps, those that open something with the objects that decide who can read it."""
    # A run reads these again before it sends the step: somebody may have opened one of them since the plan was approved.
    result = []
    for step in steps:
        gates = dict.fromkeys(at for key in sorted(widens.get(step.id, ())) for at in whole_of(kinds, worlds.after.objects, key))
        existing = tuple(key for key in gates if actual.find(*key) is not None)
        result.append(replace(step, gates=existing) if existing != step.gates else step)
    return tuple(result)


def _worlds(
    kinds: Kinds, actual: Actual, ids: Mapping[Address, str], local: LocalValues, before: Audiences, steps: Sequence[Step]
) -> Worlds:
    simulation, created = _simulated(kinds, actual, ids, steps)
    given = _transferred(kinds, actual, simulation.objects, steps)
    return Worlds(before, _audiences(kinds, simulation, local, steps), simulation.ids, created, simulation.objects, given)


def _transferred(kinds: Kinds, actual: Actual, after: Objects, steps: Iterable[Step]) -> dict[Key, Key]:
    """The objects that are in another container after the steps, each with the object whose transfer brings it there."""
    roots = {(step.kind, str(step.target)) for step in steps if step.verb == "transfer"}
    result: dict[Key, Key] = {}
    for kind in kinds.values():
        if not roots or kind.transferable is None:
            continue
        for id, observed in actual.objects.get(kind.name, {}).items():
            then = after.get(kind.name, {}).get(id)
            if then is not None and then.within.get(kind.within or "") != observed.within.get(kind.within or ""):
                key = (kind.name, id)
                root = next((at for at in (key, *_around(kinds, actual, key)) if at in roots), None)
                result |= {key: root} if root is not None else {}
    return result


def _around(kinds: Kinds, actual: Actual, key: Key) -> Iterator[Key]:
    """The container of an object, the container of that, and so on."""
    met = {key}
    while (observed := actual.find(*key)) is not None and (outer := parent(kinds[key[0]], observed)) is not None and outer not in met:
        yield outer
        met.add(outer)
        key = outer


def _called(kinds: Kinds, objects: Objects, addresses: Mapping[Key, Address], key: Key) -> Address:
    """The address of an object; for an unmanaged one, the address that its id would give it."""
    if key in addresses:
        return addresses[key]
    observed, kind = objects.get(key[0], {}).get(key[1]), kinds[key[0]]
    outer = observed.within.get(kind.within or "") if observed is not None else None
    if kind.within is None or outer is None:
        return Address((bare(key[1]),))
    return kind.address(_called(kinds, objects, addresses, (kind.within, outer)), bare(key[1]))


def _questions(kinds: Kinds, actual: Actual, worlds: Worlds, widening: Effects, opened: Collection[Opening]) -> frozenset[Key]:
    """What must still be read about the readers of what the plan opens: what opens it, and what else shows it."""
    openers = {kind.audience.opens: kind.name for kind in kinds.values() if kind.audience is not None and kind.audience.opens is not None}
    sought = {reading.by for kind in kinds.values() for reading in kind.lookups}
    widened = {key for keys in widening.values() for key in keys}
    unread = {key for key in way(worlds, *widened) if key[0] in openers and (openers[key[0]], key[1]) not in actual.complete}
    restored = {key for key in widened if worlds.before.find(key) is None}
    shown = {key for key in {*restored, *(opening.at for opening in opened if not opening.field)} if key[0] in sought}
    return frozenset(key for key in unread | shown if actual.find(*key) is not None)


def _makers(kinds: Kinds, actual: Actual, opened: Collection[Opening]) -> Iterator[Key]:
    """The unread lists that show whether an opened object is the result of another one, and so a copy of existing content."""
    existing = [observed for opening in opened for key, _ in opening.opened if (observed := actual.find(*key)) is not None]
    for maker, name in makers(kinds, {observed.kind for observed in existing}):
        scopes = {observed.within.get(maker.within or "") for observed in existing if observed.kind == name}
        yield from ((maker.name, scope) for scope in scopes if scope is not None and (maker.name, scope) not in actual.complete)


def local_values(kinds: Kinds, desired: Desired) -> LocalValues:
    """Values that only the project declares for its objects, by address."""
    result: dict[Address, dict[str, Any]] = defaultdict(dict)
    local = {name: [field.name for field in kind.fields.values() if field.role is FieldRole.LOCAL] for name, kind in kinds.items()}
    for address, declared in desired.resources.items():
        for name in local[declared.kind]:
            if declared.values.get(name, UNSET) is not UNSET:
                result[address][name] = declared.values[name]
    return result


def with_local(local: LocalValues, ids: Mapping[Address, str], objects: Objects) -> Objects:
    """The objects with the values that only the project declares."""
    result: dict[str, dict[str, Observed]] = {}
    for address, values in local.items():
        id = ids.get(address)
        name = address.kind
        observed = objects.get(name, {}).get(id) if id is not None and name is not None else None
        if observed is not None and name is not None:
            result.setdefault(name, dict(objects[name]))[observed.id] = replace(observed, values={**observed.values, **values})
    return {**objects, **result}


def _simulated(
    kinds: Kinds, actual: Actual, ids: Mapping[Address, str], steps: Iterable[Step]
) -> tuple[Simulation, dict[Key, Mapping[str, Any]]]:
    """The simulation after the steps, and the values that each new object had right after its create."""
    steps = tuple(steps)
    created = {address for step in steps if step.verb == "create" for address in (step.address, *(child for _, _, child in step.brings))}
    simulation = Simulation(kinds, actual, ids={address: id for address, id in ids.items() if address not in created})
    values: dict[Key, Mapping[str, Any]] = {}
    for step in steps:
        simulation.run(step)
        if step.verb == "create":
            for name, address in ((step.kind, step.address), *((name, child) for name, _, child in step.brings)):
                values[name, simulation.ids[address]] = simulation.objects[name][simulation.ids[address]].values
    return simulation, values


def _audiences(kinds: Kinds, simulation: Simulation, local: LocalValues, steps: Iterable[Step]) -> Audiences:
    copies: dict[Key, list[Key]] = defaultdict(list, copied(kinds, simulation.first.objects))
    for step in steps:
        if step.source is not None:
            source = simulation.ids.get(step.source, "") if isinstance(step.source, Address) else step.source
            copies[step.kind, source].append((step.kind, simulation.ids[step.address]))
    complete = simulation.first.complete | {(name, id) for name in kinds for _, id in simulation.born}
    objects = with_local(local, simulation.ids, simulation.objects)
    return Audiences(kinds, objects, complete=complete, copies=copies, guarded=simulation.first.guarded)


def _between(
    world: World, ids: Mapping[Address, str], local: LocalValues, worlds: Worlds, steps: Sequence[Step], left: Sequence[Pair]
) -> dict[Key, Paths]:
    """What would be open while narrowing steps come too late, by object: before all of them, and before those that follow each
    widening step.

    The first `MOMENTS` widening steps are looked at by themselves.
    """
    ahead: dict[int, set[int]] = defaultdict(set)
    for narrow, wide in left:
        ahead[wide].add(narrow)
    # A narrowing step that comes too late may also fail, and with it whatever needs it: all of them are left out together.
    every = depending(steps, (narrow for narrow, _ in left))
    moments = dict.fromkeys([every, *(depending(steps, ahead[wide]) for wide in sorted(ahead)[:MOMENTS])])
    result: dict[Key, Paths] = defaultdict(dict)
    for late in moments:
        done = [step for step in steps if step.id not in late]
        for key, paths in _open_without(world.kinds, world.actual, ids, local, worlds, done).items():
            result[key] = paths | result[key]
    return dict(result)


def _open_without(
    kinds: Kinds, actual: Actual, ids: Mapping[Address, str], local: LocalValues, worlds: Worlds, done: Sequence[Step]
) -> dict[Key, Paths]:
    """By object, the readers it has once only these steps are done, and that it has neither before nor after the plan.

    A new object counts only where something shows it.
    """
    simulation, _ = _simulated(kinds, actual, ids, done)
    between = _audiences(kinds, simulation, local, done)
    # A new share link admits whoever has it, and nobody has it before the run has ended.
    not_handed_out = {id for _, id in worlds.created}
    shown = {field.refers for kind in kinds.values() for field in kind.shows}
    result: dict[Key, Paths] = {}
    for name, some in between.objects.items():
        known = worlds.before.objects.get(name, {})
        if kinds[name].audience is None:
            continue
        for id in sorted(some):
            if id in known or name in shown:
                allowed = worlds.before.of((name, id)) | worlds.after.of((name, id))
                accesses = [access for access in sorted(between.of((name, id)), key=order) if not included(access, allowed)]
                paths = {access: between.path((name, id), access) for access in accesses if access.via not in not_handed_out}
                result |= {(name, id): paths} if paths else {}
    return result
