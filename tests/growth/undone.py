"""What an undo, an import and an acceptance are made from, for an organization of any size, without a service and without a state file."""

from __future__ import annotations

from dataclasses import replace

from reconciler.address import Address, Selection
from reconciler.features.undo import RevertedRun, desired_for_reading, redeclaring_lines, run_effects
from reconciler.kinds import load as kinds
from reconciler.model import Desired, Intent, JournalEntry, Plan, State, StateChange, Step
from reconciler.model.codec import non_sensitive
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.prove import carried_out
from reconciler.plan.simulation.simulate import Simulation
from reconciler.state.history import turned
from tests.growth.scenes import NOW, Scene


def journal(scene: Scene, made: Plan) -> list[JournalEntry]:
    """What the journal has of the run that carried a plan out."""
    found = identify(kinds(), scene.desired, scene.state, scene.actual)
    simulation = Simulation(kinds(), scene.actual, ids=found.ids, places=made.places)
    entries = []
    for step in made.steps:
        target = step.source if step.source is not None else step.target
        id = simulation.ids.get(target) if isinstance(target, Address) else target
        simulation.run(step)
        entries.append(_entry(simulation, step, id))
    return entries


def _entry(simulation: Simulation, step: Step, target: str | None) -> JournalEntry:
    writes = simulation.writes(step)
    made = [step.address, *(address for _, _, address in step.brings)] if step.verb == "create" else []
    gone = (step.address, *step.takes) if step.verb == "delete" else ()
    before = replace(step.before, takes=step.takes)
    intent = Intent(
        0, "run", step.id, step.address, step.kind, step.verb, step.method, "/", target, writes, frozenset(), NOW, NOW, before=before
    )
    bound = {address: simulation.ids[address] for address in made}
    return JournalEntry(intent, NOW, "done", bound=bound, forgotten=gone, after={step.address: non_sensitive(kinds()[step.kind], writes)})


def turns(before: State, after: State) -> list[StateChange]:
    """What a run changed of the state without a request."""
    rows = [
        {(binding.kind, binding.id): (str(address), binding.protected) for address, binding in state.bindings.items()}
        for state in (before, after)
    ]
    return list(turned(*rows))


class Undoing:
    """A run that was carried out, and what there is to take it back."""

    def __init__(self, scene: Scene) -> None:
        self.project: Desired = scene.desired
        made = scene.plan()
        self.entries = journal(scene, made)
        self.state, self.actual = carried_out(kinds(), scene.desired, scene.state, scene.actual, made)
        by_request = {address for entry in self.entries for address in (*entry.bound, *entry.forgotten)}
        self.turns = [turn for turn in turns(scene.state, self.state) if turn.address not in by_request]

    def undo(self) -> Plan:
        """All that `undo` works out: what to read, what to want, the plan, and the lines that would repeat the run."""
        project, state, actual = self.project, self.state, self.actual
        done = run_effects(kinds(), self.entries)
        desired_for_reading(kinds(), project, state, done, self.turns)
        found = RevertedRun(kinds(), project, state, actual, done, self.turns, ()).inverse()
        made = plan(kinds(), found.desired, state, actual, selection=Selection(only=found.only))
        redeclaring_lines(kinds(), project, found.desired, made, found.state_changes, identify(kinds(), project, state, actual).ids)
        return made
