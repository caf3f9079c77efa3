"""What a run has written, read again with what the same lists show; the rest is as the plan read it and this run changed it. Only GET.

In: a run whose steps have all ended. Out: `Actual`, as if everything had been read; None where everything must be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.apply.answer import Answers
from reconciler.apply.look import look
from reconciler.apply.task import Task
from reconciler.model import Actual, Observed, Step, StepResult, StepStatus
from reconciler.plan.containment import Key
from reconciler.plan.simulation.simulate import Simulation
from reconciler.resource import FieldRole, Kinds


async def read_written(task: Task, answers: Answers, results: Mapping[int, StepResult]) -> Actual | None:
    """Read what was written; None where a request's effect is not known, and where something that should exist was not shown.

    Raises `ServiceError` where the service refuses the token.
    """
    # The model is right only as far as every answer was understood. With one request in doubt, everything is read.
    if answers.expected.doubts or any(result.status is StepStatus.IN_DOUBT for result in results.values()):
        return None
    steps = [result.step for _, result in sorted(results.items()) if result.status is StepStatus.DONE]
    simulation, written = answers.expected.simulation, _Written(task.kinds, answers)
    objects = {(observed.kind, observed.id): observed for step in steps for observed in written.by(step)}
    objects |= {(observed.kind, observed.id): observed for observed in written.rearranged()}
    now = await look(task.writer, task.kinds, objects.values(), simulation, ordered=written.ordered(steps) & objects.keys())
    failed = {unknown.kind for unknown in now.unknown}
    missing = {key for key in objects if now.find(*key) is None}
    # Something that should exist is not shown: whether it was deleted, moved or is late, only a complete reading tells.
    if any(kind not in failed for kind, _ in missing) or any(_lacking(task.kinds, simulation, now)):
        return None
    return _overlaid(simulation.actual(), now, missing)


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
