"""Two projects, of which one transfers something into an organization that the other one manages too: a run of each at once.

The second run begins when the first one passes a boundary. Both do what they do alone: nothing is lost, and nothing is there twice.
"""

from __future__ import annotations

import copy
import random
import threading
import time as real
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from reconciler.errors import Locked
from reconciler.model import StepStatus
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import FOREIGN, of
from tests.reliability.seen import as_lists_show, difference, plain, shortened
from tests.reliability.world import Image, World, commits, folder
from tests.transfers.two import BETA


def document(*spaces: str, title: str) -> str:
    """The other project: a collection of its own in the second organization, with a site that shows it, and a team."""
    content = [{"space": space, "title": f"Theirs {space}", "duplicateOf": {"id": "spc_base"}} for space in spaces]
    tree = {
        "id": BETA,
        "content": [{"collection": "theirs", "title": title, "content": content}],
        "teams": {"theirs": {"title": title}},
        "sites": {"theirs": {"title": title, "structure": [{"section": "all", "title": "All", "spaces": ["b"]}]}},
    }
    made = {
        "version": 1, "project": "theirs", "service": {"member": "ada@acme.example"}, "protect": [],
        "guards": {"maxDelete": {"percent": 100, "atLeast": 1000}}, "organizations": {"beta": tree},
    }  # fmt: skip
    return yaml.safe_dump(made, sort_keys=False)


BEFORE, AFTER = document("a", "b", title="Theirs"), document("c", "b", title="Theirs again")


def second(world: World, project: Path) -> World:
    """The same service and database, with the other project."""
    other = copy.copy(world)
    other.project, other.scope_project, other._project = project, "theirs", None
    other.watch, other.requests, other.under_way = None, [], {}
    return other


class Both:
    """The second run begins when the first one passes its nth boundary."""

    def __init__(self, world: World, project: Path, nth: int) -> None:
        self.world, self.project, self.nth = world, project, nth
        self.passed = -1
        self.rival: threading.Thread | None = None
        self.ended: Any = None
        self.at = ""

    def __call__(self, boundary: str) -> None:
        if threading.current_thread() is self.rival:
            return
        self.passed += 1
        if self.passed == self.nth:
            self.at = boundary
            self.rival = threading.Thread(target=self._apply)
            self.rival.start()
            self.rival.join()

    def _apply(self) -> None:
        try:
            self.ended = second(self.world, self.project).apply()
        except (Hang, Exception) as error:
            self.ended = error

    def run(self, expected: Counter[str], result: Result) -> str | None:
        """What is wrong, or None."""
        world = self.world
        world.watch = self
        try:
            first = world.apply()
        except (Hang, Exception) as error:
            return f"at {self.nth} {self.at}: the first ended with {plain(error)}"
        finally:
            world.watch = None
        where, broke = f"at {self.nth} {self.at}", isinstance(self.ended, Exception)
        locked = isinstance(self.ended, Locked) or (broke and "locked" in str(self.ended))
        result.counted["the second had to wait" if locked else "both at once"] += 1
        if broke and not locked:
            return f"{where}: the second ended with {plain(self.ended)}"
        failed = [str(one.step.address) for one in first.results if one.status is not StepStatus.DONE]
        if failed:
            return f"{where}: not done by the first: {shortened(failed)}"
        other = second(world, self.project)
        if locked:
            other.apply()
        world.later()
        wrong = difference(as_lists_show(expected), as_lists_show(world.seen()))
        wrong += [f"sent twice: {path}" for path in world.twice]
        wrong += [f"{one.scope_project} is not empty" for one in (world, other) if not one.plan().empty]
        return f"{where}: {shortened(wrong)}" if wrong else None


def ready(name: str, database: Database) -> tuple[World, Path, Image, Counter[str], list[str]]:
    """Both projects before their change, the end of both in peace, and the boundaries of the first run."""
    scenario, place = of(name), folder("projects")
    world = World(place, seed=scenario.seed, database=database, foreign=FOREIGN, chance=random.Random(0))
    project = place / "theirs"
    project.mkdir()
    assert scenario.before is not None
    scenario.before(world)
    world.apply()
    other = second(world, project)
    other.write(BEFORE)
    other.apply()
    assert other.plan().empty
    other.write(AFTER)
    scenario.after(world)
    start, passed = world.take(), list[str]()
    world.put(start)
    world.chance, world.watch = random.Random(0), passed.append
    with commits(world):
        world.apply()
    world.watch = None
    second(world, project).apply()
    assert world.plan().empty
    assert second(world, project).plan().empty
    return world, project, start, world.seen(), passed


def run(name: str, database: Database, *, seed: int = 0, runs: int = 20, only: str | None = None) -> Result:
    """As many runs, each with the second one at another boundary of the first."""
    began = real.perf_counter()
    label = f"projects:{name}:{seed}@{database.sort}"
    result = Result("projects", database.name, label)
    world, project, start, expected, passed = ready(name, database)
    with commits(world):
        for nth in _chosen(label, runs, len(passed), only):
            world.put(start)
            world.chance = random.Random(0)
            result.runs += 1
            wrong = Both(world, project, nth).run(expected, result)
            result.violations += [Violation(label, str(nth), wrong)] if wrong else []
    world.close()
    result.seconds = real.perf_counter() - began
    return result


def _chosen(label: str, runs: int, boundaries: int, only: str | None) -> Iterable[int]:
    if only is not None:
        return [int(only)]
    return sorted(random.Random(label).sample(range(boundaries), min(runs, boundaries)))
