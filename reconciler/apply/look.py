"""One reading of many objects at once: the fewest requests that show them as they are now. Only GET.

In: objects as they should be, and containers whose contents are to be complete. Out: `Actual`; what could not be read is in it by name.

What a run has written, read again with what the same lists show; the rest is as the plan read it and this run changed it. Only GET.

In: a run whose steps have all ended. Out: `Actual`, as if everything had been read; None where everything must be read.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from reconciler.address import Address, bare
from reconciler.apply.answer import Answers
from reconciler.apply.task import Task
from reconciler.client import PAGE_SIZE
from reconciler.client.service import Reader
from reconciler.model import Actual, Desired, Observed, State, Step, StepResult, StepStatus
from reconciler.observe import Survey
from reconciler.observe.readers import reaching
from reconciler.plan.containment import Key, content_kinds
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import FieldRole, Kind, Kinds, Listing, placeholders


async def look(
    reader: Reader,
    objects: Collection[Observed],
    simulation: Simulation,
    *,
    soon: int = 0,
    ordered: Collection[Key] = (),
    emptied: Collection[Observed] = (),
    followers: Collection[Observed] = (),
) -> Actual:
    """How these objects are now.

    `simulation`: what should exist, from which the length of lists follows. `soon`: how many more objects will be asked for before this
    reading is outdated. `ordered`: objects whose position among their siblings matters too. `emptied`: objects that are read with all their
    contents. `followers`: objects that should not exist any more, because one of `objects` does not.

    Raises `ServiceError` where the service refuses the token.
    """
    survey = _ObjectSurvey(reader, simulation, soon)
    wave = [*survey.some(objects, frozenset(ordered)), *(task for observed in emptied for task in survey.inside(observed))]
    await asyncio.gather(*wave)
    wave = survey.some(survey.unlisted(followers), frozenset())
    while wave := [*wave, *survey.unseen(objects), *survey.deeper(emptied)]:
        await asyncio.gather(*wave)
        wave = []
    return survey.actual()


class _ObjectSurvey(Survey):
    """A survey limited to given objects."""

    def __init__(self, reader: Reader, simulation: Simulation, soon: int) -> None:
        super().__init__(reader, simulation.kinds, Desired("", None, {}, {}, frozenset()), State("", 0))
        self.simulation, self.soon = simulation, soon

    def some(self, objects: Collection[Observed], ordered: frozenset[Key]) -> list[Awaitable[None]]:
        """The fewest requests: for each object its own, a listing of its siblings, or the listing of a member who reaches everything."""
        groups: dict[tuple[str, str, str], list[Observed]] = defaultdict(list)
        for observed in objects:
            stands = self._stands(self.kinds[observed.kind], observed)
            groups[(observed.kind, observed.within.get(self.kinds[observed.kind].within or "", ""), stands)].append(observed)
        wave: list[Awaitable[None]] = []
        several: dict[tuple[str, str], list[list[Observed]]] = defaultdict(list)
        for (name, outer, _), group in groups.items():
            if ordered.isdisjoint(observed.key for observed in group) or self._listing(self.kinds[name], group[0]) is None:
                several[name, outer].append(group)
            else:
                wave += self._siblings(group, ordered)
        for (name, outer), some in several.items():
            kind = self.kinds[name]
            # One list of everything may have fewer pages than the lists of many small containers; what will be asked for soon
            # counts too, because the same list would show it.
            pages = _pages_of(self.simulation.count(name, str(kind.within), outer))
            alone = sum(min(len(group), self._pages(kind, group[0]) or len(group)) for group in some)
            everything = self._everything(kind, some[0][0]) if pages < alone + self.soon else []
            wave += everything or [task for group in some for task in self._siblings(group, ordered)]
        return wave

    def _siblings(self, group: Sequence[Observed], ordered: frozenset[Key]) -> list[Awaitable[None]]:
        """Siblings, by their listing or each by itself."""
        kind = self.kinds[group[0].kind]
        reading = self._listing(kind, group[0])
        few = len(group) <= self._pages(kind, group[0]) and ordered.isdisjoint(observed.key for observed in group)
        if reading is None or (few and kind.by_id is not None):
            return [task for observed in group for task in self._by_itself(kind, observed)]
        scope = self._stands(kind, group[0]) or group[0].within.get(kind.within or "")
        return self._list(kind, reading, self._names(kind, group[0]), scope)

    def _everything(self, kind: Kind, sibling: Observed) -> list[Awaitable[None]]:
        """The listing of a member who reaches everything, which shows objects in every location; empty where no such member is known."""
        reading = kind.lister_listing
        admin = min((person.id for person in reaching(self.kinds, self.simulation.objects)), default=None)
        if reading is None or admin is None:
            return []
        return self._list(kind, reading, {**sibling.within, "lister": bare(admin)}, None)

    def _pages(self, kind: Kind, sibling: Observed) -> int:
        """How many pages a listing of these siblings has; 0 where there is none."""
        if self._listing(kind, sibling) is None:
            return 0
        stands = self._stands(kind, sibling)
        outer = str(kind.inside.to) if stands and kind.inside is not None else str(kind.within)
        return _pages_of(self.simulation.count(kind.name, outer, stands or sibling.within.get(outer, "")))

    def unseen(self, objects: Collection[Observed]) -> list[Awaitable[None]]:
        """Requests by id for objects that the listing no longer showed: they may be in another location."""
        removed = self.simulation.removed  # an object that was deleted is in its location, or nowhere
        lost = [observed for observed in self._unshown(objects) if observed.id not in removed or not self._is_listed(observed)]
        return [task for observed in lost for task in self._by_itself(self.kinds[observed.kind], observed)]

    def unlisted(self, objects: Collection[Observed]) -> list[Observed]:
        """The objects of which no reading shows whether they exist."""
        return [observed for observed in self._unshown(objects) if not self._is_listed(observed)]

    def _is_listed(self, observed: Observed) -> bool:
        return is_listed(self.kinds, self._listed, observed)

    def _unshown(self, objects: Collection[Observed]) -> list[Observed]:
        return [observed for observed in objects if observed.id not in self._objects[observed.kind] and observed.key not in self._absent]

    def inside(self, outer: Observed) -> list[Awaitable[None]]:
        """Requests for everything in an object, one level deep."""
        wave: list[Awaitable[None]] = []
        for kind in content_kinds(self.kinds, self.kinds[outer.kind]):
            within = {**outer.within, outer.kind: outer.id}
            for reading in kind.listings:
                if not reading.lister and set(placeholders(reading.path)) <= set(within):
                    direct = outer.kind in (kind.within, reading.each)
                    wave += self._list(kind, reading, within, outer.id if direct else within.get(kind.within or ""))
        return wave

    def deeper(self, emptied: Collection[Observed]) -> list[Awaitable[None]]:
        """Requests for the next level of what is to be read completely."""
        simulation = Simulation(self.kinds, Actual(self._objects), guess=False)
        objects = [observed for outer in emptied for _, observed in simulation.contents(self.kinds[outer.kind], outer.id)]
        return [task for observed in objects for task in self.inside(observed)]

    def _stands(self, kind: Kind, observed: Observed) -> str:
        """The node whose listing shows the object; "" where the container's does, or none."""
        inside = kind.inside
        if kind.listed_by is not None:
            return str(observed.values.get(kind.listed_by.name) or "")
        by_node = inside is not None and any(reading.each == inside.to for reading in kind.listings)
        return str(observed.values.get(inside.name) or "") if inside is not None and by_node else ""

    def _listing(self, kind: Kind, observed: Observed) -> Listing | None:
        names = self._names(kind, observed)
        if self._stands(kind, observed) in self.simulation.removed:
            return None  # the node whose listing showed it does not exist any more
        fitting = [
            reading
            for reading in kind.listings
            if not reading.lister and kind.within is not None and set(placeholders(reading.path)) <= set(names)
        ]
        return fitting[0] if fitting else None

    def _names(self, kind: Kind, observed: Observed) -> Mapping[str, str]:
        """The values for the placeholders of its readings."""
        stands, inside = self._stands(kind, observed), kind.inside
        keys = {field.name: str(observed.values[field.name]) for field in kind.keys if isinstance(observed.values.get(field.name), str)}
        return {**keys, **observed.within, **({str(inside.to): stands} if stands and inside is not None else {})}

    def _by_itself(self, kind: Kind, observed: Observed) -> list[Awaitable[None]]:
        return self._one(kind, observed.id, self._names(kind, observed))


def is_listed(kinds: Kinds, complete: Container[Key], observed: Observed) -> bool:
    """Whether complete listings have everything of the kind in the location of this object."""
    kind = kinds[observed.kind]
    parents = [observed.values.get(field.name) for field in kind.fields.values() if field.container]
    return any((kind.name, scope) in complete for scope in (observed.within.get(kind.within or ""), *parents))


def _pages_of(number: int) -> int:
    return -(-number // PAGE_SIZE) or 1


async def read_written(
    task: Task, answers: Answers, results: Mapping[int, StepResult], deleted: Collection[Observed], followers: Collection[Observed]
) -> tuple[Actual | None, Actual | None]:
    """Read what was written and what was `deleted`, with its `followers`: (as if everything had been read, the reading alone).

    The first is None where a request's effect is not known, and where something that should exist was not shown; the second where nothing
    was read. Raises `ServiceError` where the service refuses the token.
    """
    # The model is right only as far as every answer was understood. With one request in doubt, everything is read.
    if answers.expected.doubts or any(result.status is StepStatus.IN_DOUBT for result in results.values()):
        return None, None
    steps = [result.step for _, result in sorted(results.items()) if result.status is StepStatus.DONE]
    simulation, written = answers.expected.simulation, _Written(task.kinds, answers)
    objects = {observed.key: observed for step in steps for observed in written.by(step)}
    objects |= {observed.key: observed for observed in written.rearranged()}
    ordered = written.ordered(steps) & objects.keys()
    now = await look(task.writer, (*objects.values(), *deleted), simulation, ordered=ordered, followers=followers)
    failed = {unknown.kind for unknown in now.unknown}
    missing = {key for key in objects if now.find(*key) is None}
    # Something that should exist is not shown: whether it was deleted, moved or is late, only a complete reading tells.
    if any(kind not in failed for kind, _ in missing) or any(_lacking(task.kinds, simulation, now)):
        return None, now
    return _overlaid(simulation.actual(), now, missing), now


class _Written:
    """Which objects a run has written, or changed by what it wrote."""

    def __init__(self, kinds: Kinds, answers: Answers) -> None:
        self.kinds, self.ids, self.expected = kinds, answers.ids, answers.expected

    def _object(self, kind: str, address: Address) -> Iterator[Observed]:
        observed = self.expected.find(kind, self.ids.get(address, ""))
        if observed is not None:
            yield observed

    def by(self, step: Step) -> Iterator[Observed]:
        """What a step wrote: its object, the children created with it, and the children of which it chose one."""
        kind = self.kinds[step.kind]
        objects = list(self._object(kind.name, step.address)) if step.verb != "delete" else []
        yield from objects
        choices = [kind.fields[name] for name in step.writes if kind.fields[name].role is FieldRole.CHOICE]
        for observed in objects:
            for field in choices:  # a choice is shown by the children among which it chooses
                yield from self.expected.simulation.inside(str(field.to), kind.name, observed.id)
        for name, _, child in step.brings:
            yield from self._object(name, child)

    def rearranged(self) -> Iterator[Observed]:
        """What the service changed by itself: the siblings that it rearranged, and the children of which it chose another one."""
        simulation = self.expected.simulation
        for name, container in self.expected.reshaped:
            yield from simulation.inside(name, str(self.kinds[name].within), container)
        for name, id in self.expected.unsure:
            fields = self.kinds[name].fields.values() if name in self.kinds else ()
            for field in fields:
                if field.role is FieldRole.CHOICE:
                    yield from simulation.inside(str(field.to), name, id)

    def ordered(self, steps: list[Step]) -> set[Key]:
        """The objects with a new position among their siblings."""
        placed = [(step.kind, step.address) for step in steps if step.verb in ("create", "move", "restore")]
        placed += [(step.kind, step.address) for step in steps if any(self.kinds[step.kind].fields[name].container for name in step.writes)]
        placed += [(name, child) for step in steps for name, _, child in step.brings]
        return {(kind, self.ids.get(address, "")) for kind, address in placed}


def _lacking(kinds: Kinds, simulation: Simulation, now: Actual) -> Iterator[Key]:
    """What should exist, and is missing from a complete list."""
    for name, scope in now.complete:
        kind = kinds[name]
        outer = {kind.within, *(field.to for field in kind.fields.values() if field.container)} - {None}
        for container in outer:
            for observed in simulation.inside(name, str(container), scope):
                if observed.deleted_at is None and now.find(name, observed.id) is None:
                    yield name, observed.id


def _overlaid(model: Actual, now: Actual, missing: set[Key]) -> Actual:
    """The model with what was read in place of what it had; what could not be read is not in it."""
    objects = {}
    for name, some in model.objects.items():
        shown = now.objects.get(name, {})
        kept = {id: observed for id, observed in some.items() if id not in shown and (name, id) not in missing}
        objects[name] = kept | {id: _ranked(some.get(id), observed) for id, observed in shown.items()}
    return replace(
        model,
        objects=objects,
        complete=model.complete | now.complete,
        absent=model.absent - {(name, id) for name, some in objects.items() for id in some},
        unknown=(*model.unknown, *now.unknown),
        date=now.date or model.date,
        elsewhere={**model.elsewhere, **now.elsewhere},
    )


def _ranked(old: Observed | None, now: Observed) -> Observed:
    """An object as it was read; one that was read by its id keeps its known rank."""
    return now if now.rank is not None or old is None or old.rank is None else replace(now, rank=old.rank)
