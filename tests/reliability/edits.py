"""A person's edit before any request of a run: never overwritten although a reading had shown it, and never without a word in a report.

Careful, everything is read again right before it is written, so that the window is a round trip; else a reading serves for 10 seconds.
"""

from __future__ import annotations

import random
import time as real
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product

import httpx2

from reconciler.apply import FRESH
from reconciler.apply.preconditions import INSIDE
from reconciler.errors import ReconcilerError
from reconciler.model import Outcome, Plan
from tests.meddling import exits_well, is_reported
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.faults import ready
from tests.reliability.person import ACTS, Person
from tests.reliability.result import Result, Violation
from tests.reliability.seen import plain
from tests.reliability.world import Image, World

CAREFUL = -1.0  # everything is read again
WAYS = {"quick": (0.005, 0.2), "slow": (0.2, 2.0)}  # seconds of the way to the service, and of the way back
LATE = 2.0  # round trips, besides what a reading serves for, until a write that was checked is sent


@dataclass(frozen=True)
class Base:
    """A scenario made ready, and what its run does in peace.

    `ids`: addresses by id; `touched`: ids of what is written; `doomed`: of what is deleted; `calm`: what the plan says, by address.
    """

    world: World
    start: Image
    ids: dict[str, str]
    touched: frozenset[str]
    doomed: frozenset[str]
    calm: dict[str, str]
    requests: int


def prepared(name: str, database: Database) -> Base:
    world, start, _ = ready(name, database)
    world.put(start)
    ids = _bindings(world)
    world.requests.clear()
    world.apply()
    calm = _lines(world.made)
    doomed = frozenset(id for id, address in ids.items() if "delete" in calm.get(address, ""))
    return Base(world, start, ids, frozenset(id for id, address in ids.items() if address in calm), doomed, calm, len(world.requests))


def _lines(plan: Plan | None) -> dict[str, str]:
    """What a plan says of each address: what is done, to which fields, and why."""
    changes = plan.changes if plan is not None else ()
    return {
        str(change.address): f"{' '.join(change.actions)} {[(field.name, field.cause) for field in change.fields]}" for change in changes
    }


def _bindings(world: World) -> dict[str, str]:
    return {binding.id: str(address) for address, binding in world.remembered().bindings.items()}


def run(
    name: str, database: Database, *, seed: int = 0, runs: int = 100, only: str | None = None, like: str = "", first: bool = False
) -> Result:
    """As many by chance of: each sort of edit, before each request, careful or not, on a quick and on a slow way.

    `only`: the case to repeat alone; `like`: cases with this in their names; `first`: no further than the first violation.
    """
    began = real.perf_counter()
    label = f"edits:{name}:{seed}@{database.sort}"
    result = Result("edits", database.name, label)
    base = prepared(name, database)
    acts = [act for act in ACTS if act != "child" or base.doomed]
    cases = list(product(acts, range(1, base.requests + 1), (FRESH, CAREFUL), ("quick", "slow")))
    random.Random(label).shuffle(cases)
    for act, k, fresh, way in cases:
        case = f"{act} before {k}, {'careful' if fresh == CAREFUL else 'fresh'}, {way}"
        if case == only or (only is None and like in case and result.runs < runs):
            wrong = one(base, k, act, fresh, WAYS[way], random.Random(f"{label} {case}"), result)
            result.violations += [Violation(label, case, wrong)] if wrong else []
            if first and wrong:
                break
    base.world.close()
    result.seconds = real.perf_counter() - began
    return result


def one(base: Base, k: int, act: str, fresh: float, way: tuple[float, float], chance: random.Random, result: Result) -> str | None:
    """What is wrong, or None."""
    world = base.world
    world.put(base.start)
    world.chance, world.fresh, world.made = chance, fresh, None
    world.requests.clear()
    persons: list[Person] = []

    def rewire(wire: httpx2.AsyncBaseTransport) -> httpx2.AsyncBaseTransport:
        persons.append(Person(wire, world, k, act, chance, base.touched, base.doomed))
        return persons[-1]

    world.rewire, world.latency = rewire, partial(chance.uniform, *way)  # type: ignore[method-assign]
    outcome: Outcome | None = None
    try:
        try:
            outcome = world.apply()
        except ReconcilerError as error:
            result.counted[f"ended with {type(error).__name__}"] += 1
        finally:
            world.rewire = None
        person = persons[0]
        known = {**_bindings(world), **{id: _today(world, address) for id, address in base.ids.items()}}
        address = known.get(person.edit.id) if person.edit is not None else None
        if address is None:
            result.counted["nothing to edit"] += 1
            return None
        result.runs += 1
        window = max(INSIDE if person.undone_by == "DELETE" else 0.0, fresh) + LATE * 2 * way[1]
        return judged(base, outcome, person, address, window, result.counted)
    except (Hang, Exception) as error:
        return plain(error)


def _today(world: World, address: str) -> str:
    """What the run's plan calls an object: what is transferred has its new address there before it has it in the state."""
    if world.made is None:
        return address
    renames = {
        old: new for some in (world.made.state_update.rename, *(step.renames for step in world.made.steps)) for old, new in some.items()
    }
    return {str(old): str(new) for old, new in renames.items()}.get(address, address)


def judged(base: Base, outcome: Outcome | None, person: Person, address: str, window: float, counted: Counter[str]) -> str | None:
    """What is wrong with how a run treated the edit of `address`. `window`: seconds in which it may be overwritten unseen."""
    world, edit = base.world, person.edit
    assert edit is not None
    where = f"{edit.what} of {address}"
    if outcome is not None and not exits_well(outcome):
        return f"{where}: it stands in the report, and the exit code says nothing of it"
    line = _lines(world.made).get(address, "")
    seen = person.shown is not None and person.shown_by <= world.planned  # a delete names no fields
    if world.made is not None and (line != base.calm.get(address, "") or (seen and line.startswith("delete"))):
        counted["told by the run's plan"] += 1
        return None
    if person.undone is not None:
        if person.shown is not None:
            return f"{where} was overwritten although a reading had shown it {person.undone - person.shown:.1f} s before"
        if person.undone - person.at > window:
            return f"{where} was overwritten {person.undone - person.at:.1f} s after it, and nothing was read again"
        counted["overwritten within the window"] += 1
    elif outcome is None:
        counted["the run ended with an error"] += 1
    elif edit.what == "delete" and edit.id in base.doomed:
        counted["just what was declared"] += 1
    elif is_reported(world, outcome, address):
        counted["in a report"] += 1
    elif edit.what == "move" and world.plan().empty:
        counted["just what was declared"] += 1
    else:
        return f"{where} is in no report"
    return None
