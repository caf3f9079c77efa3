"""The run of a plan: which steps may start, which are skipped, and what is left when all have ended.

In: a plan, a writer, a journal under its lease. Out: an Outcome; a failed step is a value, not an exception, and the rest continues. Ends
with a reading that shows whether anything is left to change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.address import Address
from reconciler.apply.answer import Answers
from reconciler.apply.deletions import Deletions
from reconciler.apply.step import Steps
from reconciler.apply.task import ApplyOptions, Halt, Task
from reconciler.apply.verify import Verification, verify_writes
from reconciler.client.service import Writer
from reconciler.errors import StateError
from reconciler.model import Actual, Desired, Outcome, Plan, Step, StepResult, StepStatus
from reconciler.plan.changes import journal_changes
from reconciler.plan.steps.graph import Edges, Schedule
from reconciler.resource import Kinds
from reconciler.state import Journal, grouped

QUEUED = 2  # steps in progress per allowed request: a guard must not become outdated before its step's turn
GRACE = 5.0  # seconds that requests in flight get after the first signal


async def apply(
    writer: Writer, kinds: Kinds, desired: Desired, plan: Plan, actual: Actual, journal: Journal, options: ApplyOptions
) -> Outcome:
    """Carry out a plan. When `options.stop` is set, what is in flight gets `GRACE` seconds.

    Raises `StateError` where the journal cannot be written: no request without an intent.
    """
    journal.consented(plan.consents)
    journal.remember(**journal_changes(plan.state_update))
    if not plan.steps:
        options.listener.planned(0)
        journal.remember(places=plan.places)
        return Outcome(journal.run, plan, stopped="interrupted" if options.stop.is_set() else None)
    async with grouped(journal) as group:
        task = Task(writer, kinds, desired, plan, actual, journal, group, options)
        run = ApplyRun(task)
        await run.all()
    journal.remember(places=run.places())
    # Whoever stopped the run waits for the prompt, and a reading of thousands of objects can take longer than the run.
    verification, interrupted = Verification(), options.stop.is_set()
    if run.steps.sent and not interrupted:
        options.listener.looking()
        verification = await verify_writes(task, run.answers, run.deletions, run.results)
    run.results |= run.deletions.close(lambda ending: journal.settle([ending]))
    results = tuple(run.results[step.id] for step in plan.steps)
    notes = (*run.answers.notes, *verification.notes)
    stopped = "interrupted" if interrupted else f"stopped: {run.halt.refused}" if run.halt.refused is not None else None
    return Outcome(
        journal.run,
        plan,
        results,
        run.steps.sent,
        verification.leftover,
        notes,
        stopped,
        verification.edited,
        verification.unverified,
        verification.not_visible,
    )


class ApplyRun:
    """One apply."""

    def __init__(self, task: Task) -> None:
        self.plan, self.listener, self.stop = task.plan, task.options.listener, task.options.stop
        self.concurrency = task.writer.concurrency
        self.halt = Halt(task.options.stop, task.options.on_error)
        self.answers = Answers(task)
        self.deletions = Deletions(self.answers.expected.simulation, task.plan)
        self.steps = Steps(task, self.answers, self.deletions, self.halt)
        self.results: dict[int, StepResult] = {}

    async def all(self) -> None:
        """Run every step that can be run; the rest is skipped, with the reason."""
        steps = {step.id: step for step in self.plan.steps}
        schedule = Schedule({step.id: Edges(step.needs, step.after) for step in self.plan.steps}, _depth_first(self.plan.steps))
        running: dict[asyncio.Task[StepResult], int] = {}
        ended: asyncio.Queue[asyncio.Task[StepResult]] = asyncio.Queue()
        self.listener.planned(len(steps))
        stopping = asyncio.create_task(self._stopped(running))
        try:
            while not schedule.done or running:
                # More steps than requests are allowed at once: while some wait for a guard's reading, others send.
                free = 0 if self.halt else max(0, QUEUED * self.concurrency - len(running))
                for id in schedule.ready(free):
                    schedule.start(id)
                    task = asyncio.create_task(self._turn(steps[id]))
                    task.add_done_callback(ended.put_nowait)
                    running[task] = id
                if not running:
                    break
                task = await ended.get()
                # Everything that has ended by now is taken before new steps are started: one pass over the ready steps for many.
                while True:
                    self._report(schedule, steps, running.pop(task), task.result())
                    if ended.empty():
                        break
                    task = ended.get_nowait()
        except StateError:
            if running:  # nothing new can be sent; steps in progress get an outcome
                await asyncio.wait(running, timeout=GRACE)
            raise
        finally:
            stopping.cancel()
            for task in running:
                task.cancel()
            await asyncio.gather(stopping, *running, return_exceptions=True)
        why = "interrupted" if self.stop.is_set() else f"not sent: {self.halt.refused}" if self.halt.refused else "an earlier step failed"
        for step in self.plan.steps:
            if step.id not in self.results:
                self._ended(StepResult(step, StepStatus.SKIPPED, why))

    async def _stopped(self, running: Mapping[asyncio.Task[StepResult], int]) -> None:
        """Wait for the signal that ends the run, and stop what is still running `GRACE` seconds after it."""
        await self.stop.wait()
        await asyncio.sleep(GRACE)
        for task in running:
            task.cancel()

    def _report(self, schedule: Schedule, steps: Mapping[int, Step], id: int, result: StepResult) -> None:
        """Report a step that has ended, and the steps that required it and are skipped."""
        self._ended(result)
        if result.status is StepStatus.DONE:
            schedule.succeed(id)
            return
        for skipped in schedule.fail(id):
            self._ended(StepResult(steps[skipped], StepStatus.SKIPPED, f"requires step {id} ({steps[id].address})"))

    async def _turn(self, step: Step) -> StepResult:
        """Run a step to its end; one that is stopped before its request was not sent."""
        self.listener.began(step)
        try:
            return await self.steps.run(step)
        except asyncio.CancelledError:
            return StepResult(step, StepStatus.SKIPPED, "interrupted", id="RC-interrupted")

    def _ended(self, result: StepResult) -> None:
        self.results[result.step.id] = result
        self.halt.failed = self.halt.failed or result.status is StepStatus.FAILED
        self.listener.ended(result)

    def places(self) -> dict[Address, Any]:
        """The positions of siblings whose rows were completed."""
        undone = {result.step.address for result in self.results.values() if result.status is not StepStatus.DONE}
        troubled = {place.parent for address, place in self.plan.places.items() if address in undone}
        return {
            address: place
            for address, place in self.plan.places.items()
            if place.parent not in troubled and address in self.answers.bindings
        }


def _depth_first(steps: Sequence[Step]) -> dict[int, tuple[int, int]]:
    """Complete what was started first: a newly created object need not be read again before the rest of it is written."""
    # The order of a heap: steps of an object that was created come right after its create.
    first: dict[Address, int] = {}
    for step in steps:
        if step.verb == "create":
            first.setdefault(step.address, step.id)
    return {step.id: (first.get(step.address, step.id), step.id) for step in steps}
