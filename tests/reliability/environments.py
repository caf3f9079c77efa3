"""A run in one environment is killed at every boundary, and tried again in the wrong one first: they never touch each other.

Both environments of a project have one service and one database, and what is declared in them is the same, so that only the program
keeps them apart.
"""

from __future__ import annotations

import random
import time as real
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from reconciler.config import Project
from reconciler.model import State
from tests.harness import Org
from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.kill import Camera
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import FOREIGN, Scenario, Write, of
from tests.reliability.seen import difference, plain, shortened
from tests.reliability.world import Image, World, commits, folder

TWIN = "staging"
ENVIRONMENTS = ("production", TWIN)


@dataclass
class Environments(World):
    """A project with two environments; `environment`: that of the next run."""

    environment: str | None = "production"
    projects: dict[str, Project] = field(default_factory=dict)

    def touch(self) -> None:
        self.projects.clear()

    def load(self) -> Project:
        environment = str(self.environment)
        if environment not in self.projects:
            self.projects[environment] = Org.load(self)
        return self.projects[environment]

    def declare(self, write: Write) -> None:
        """Write the project of a scenario, and what is different in each environment."""
        write(self)
        file = self.project / "environments" / f"{TWIN}.yaml"
        file.parent.mkdir(exist_ok=True)
        declared = yaml.safe_load((self.project / "reconciler.yaml").read_text(encoding="utf-8"))["organizations"]
        ids = {key: twin_id(organization["id"]) for key, organization in declared.items()}
        patch = [{"match": address, "set": {"id": twin_id(id)}} for address, id in _written(declared)]
        document = {"organizations": {key: {"id": id} for key, id in ids.items()}, "patch": patch}
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        file.with_name("production.yaml").write_text("{}\n", encoding="utf-8")
        self.touch()

    def within(self, environment: str) -> State:
        """What the state knows of an environment, without what it reads in those of others and what depends on the time."""
        self.environment = environment
        return replace(self.remembered(), foreign=frozenset(), former={}, projects={}, recent={}, deleted={})

    def lines(self, environment: str) -> Counter[str]:
        """What the service holds in the organizations of an environment."""
        twin = environment == TWIN
        return Counter({line: number for line, number in self.seen().items() if (f" {TWIN}'" in line) == twin})


def twin_id(id: str) -> str:
    """The id that the same object has in the other environment."""
    return f"{id}{TWIN}"


def doubled(seed: Mapping[str, Any]) -> dict[str, Any]:
    """A service that holds every organization twice, once for each environment."""
    result = {name: [*rows] for name, rows in seed.items()}
    result["organizations"] += [{**row, "id": twin_id(row["id"]), "title": f"{row['title']} {TWIN}"} for row in seed["organizations"]]
    for name, rows in seed.items():
        for row in rows if name not in ("organizations", "tokens") else ():
            ids = {"organization": twin_id(row["organization"])}
            ids |= {word: twin_id(row[word]) for word in ("id", "parent") if row.get(word) and name != "members"}
            result[name].append({**row, **ids})
    return result


def _written(declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The addresses of the content that has an id in the project."""
    for key, organization in declared.items():
        ahead = [*organization.get("content", [])]
        while ahead:
            node = ahead.pop()
            name = "space" if "space" in node else "collection"
            ahead += node.get("content", [])
            if "id" in node:
                yield f"{key}/{name}/{node[name]}", node["id"]


@dataclass(frozen=True)
class Base:
    """Both environments before their change. `images`: of the killed run of one of them; `expected`: the end of both."""

    world: Environments
    start: Image
    states: Mapping[str, State]
    before: Counter[str]
    expected: Counter[str]
    images: Sequence[Image]
    boundaries: int


def prepared(name: str, database: Database, *, seed: int = 0) -> Base:
    """Apply the scenario in peace, in one environment after the other; the first run is watched."""
    scenario: Scenario = of(name)
    foreign = FOREIGN | {twin_id(id) for id in FOREIGN}
    chance = random.Random(f"{name}:{seed}")
    world = Environments(folder("environments"), seed=doubled(scenario.seed), database=database, foreign=foreign, chance=chance)
    for environment in ENVIRONMENTS:
        world.environment = environment
        if scenario.before is not None:
            world.declare(scenario.before)
            world.apply()
            assert world.plan().empty, f"{name}: what comes before does not converge in {environment}"
        else:
            world.store().close()
    world.declare(scenario.after)
    start, states = world.take(), {environment: world.within(environment) for environment in ENVIRONMENTS}
    before, camera = world.lines("production"), Camera(world)
    world.watch = camera
    with commits(world):
        world.environment = TWIN
        world.apply()
    world.watch = None
    assert world.lines("production") == before, f"{name}: a run in {TWIN} changed production"
    world.environment = "production"
    world.apply()
    for environment in ENVIRONMENTS:
        world.environment = environment
        assert world.plan().empty, f"{name} does not converge in peace in {environment}"
    return Base(world, start, states, before, world.seen(), camera.images, camera.boundaries)


def run(name: str, database: Database, *, seed: int = 0, most: int | None = None, only: str | None = None, first: bool = False) -> Result:
    """Every death of a run in one environment, or `most` of them by chance; in every other case the wrong environment is tried next."""
    began = real.perf_counter()
    label = f"environments:{name}:{seed}@{database.sort}"
    result = Result("environments", database.name, label)
    base = prepared(name, database, seed=seed)
    result.counted["boundaries passed"] += base.boundaries
    images = list(base.images)
    if most is not None and len(images) > most:
        images = random.Random(label).sample(images, most)
    with commits(base.world):
        for number, image in enumerate(images):
            if only not in (None, image.case) or (first and result.violations):
                continue
            result.runs += 1
            wrong = one(base, image, wrong_first=number % 2 == 1, result=result)
            result.violations += [Violation(label, image.case, wrong)] if wrong else []
    base.world.close()
    result.seconds = real.perf_counter() - began
    return result


def one(base: Base, image: Image, *, wrong_first: bool, result: Result) -> str | None:
    """From one image: a run in each environment; each leaves the other one alone. What is wrong, or None."""
    world = base.world
    world.put(image)
    result.counted[f"{'the wrong' if wrong_first else 'the same'} environment tried next"] += 1
    try:
        if world.within("production") != base.states["production"]:
            return "the killed run changed the state of the other environment"
        if world.lines("production") != base.before:
            return f"the killed run changed the other environment: {shortened(difference(base.before, world.lines('production')))}"
        for environment in ENVIRONMENTS if wrong_first else reversed(ENVIRONMENTS):
            wrong = _alone(world, environment)
            if wrong:
                return wrong
        world.later()
        for environment in ENVIRONMENTS:
            world.environment = environment
            wrong = world.unlike(base.expected, None)
            if wrong:
                return f"{environment}: {wrong}"
    except (Hang, Exception) as error:
        return plain(error)
    return None


def _alone(world: Environments, environment: str) -> str | None:
    """Apply in one environment. What it did to the other one, or None."""
    other = ENVIRONMENTS[environment == ENVIRONMENTS[0]]
    known, ids = world.within(other), {binding.id for binding in world.within(other).bindings.values()}
    world.environment = environment
    world.requests.clear()
    world.apply()
    written = [f"{method} {path}" for method, path in world.requests if method != "GET" and ids & set(path.split("/"))]
    if written:
        return f"a run in {environment} wrote to {other}: {shortened(written)}"
    return f"a run in {environment} changed the state of {other}" if world.within(other) != known else None
