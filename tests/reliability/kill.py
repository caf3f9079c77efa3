"""A crash at every boundary, and one more run: it is as if nothing had happened.

A base is one scenario on one database. Its run passes boundaries: before, during and after each request, before and after each commit.
Each is an image of what a killed process leaves, one for each way in which what was under way may end: lost, done, or done later. From
each image one run recovers and applies; with `deep`, that run's own boundaries are images again: it was killed too.
"""

from __future__ import annotations

import random
import time as real
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.reliability.clock import Hang
from tests.reliability.databases import Database
from tests.reliability.result import Result, Violation
from tests.reliability.scenarios import FOREIGN, of
from tests.reliability.seen import plain
from tests.reliability.world import SETTLE, TIMEOUT, Image, World, commits, folder


@dataclass
class Camera:
    """Takes an image at every boundary at which something is different from the last one."""

    world: World
    prefix: str = ""
    images: list[Image] = field(default_factory=list)
    boundaries: int = 0
    _keys: set[object] = field(default_factory=set)
    _sandbox: tuple[int, bytes] | None = None
    _state: tuple[int, object] | None = None

    def __call__(self, boundary: str) -> None:
        self.boundaries += 1
        world = self.world
        case = f"{self.prefix}{self.boundaries} {boundary}"
        fates = [()]
        under_way = tuple(sorted(world.under_way.items()))
        if under_way:
            late = [world.chance.uniform(0.0, TIMEOUT + SETTLE - 10.0) for _ in under_way]
            fates += [
                tuple((number, request, fate, seconds) for (number, request), seconds in zip(under_way, late, strict=True))
                for fate in ("done", "late")
            ]
        for one in fates:
            key = (self._changes, world.commits, tuple((number, fate) for number, _, fate, _ in one))
            if key in self._keys:
                continue
            self._keys.add(key)
            pending = tuple((request, fate, seconds) for _, request, fate, seconds in one)
            told = f"{case}, under way: {pending[0][1]} ({len(pending)})" if pending else case
            self.images.append(Image(told, self._service(), self._journal(), pending, world.time.seconds))

    @property
    def _changes(self) -> int:
        return self.world.service.connection.total_changes  # a late request changes the service without being sent

    def _service(self) -> bytes:
        if self._sandbox is None or self._sandbox[0] != self._changes:
            self._sandbox = (self._changes, self.world.service.connection.serialize())
        return self._sandbox[1]

    def _journal(self) -> object:
        if self._state is None or self._state[0] != self.world.commits:
            assert self.world.database is not None
            self._state = (self.world.commits, self.world.database.take())
        return self._state[1]


@dataclass(frozen=True)
class Base:
    """A scenario made ready: the image it starts from, what it comes to in peace, and the images of its deaths."""

    world: World
    expected: Counter[str]
    images: Sequence[Image]
    boundaries: int


def prepared(name: str, database: Database, *, seed: int = 0) -> Base:
    """Apply a scenario in peace, watched."""
    scenario = of(name)
    world = World(folder("kill"), seed=scenario.seed, database=database, foreign=FOREIGN, chance=random.Random(f"{name}:{seed}"))
    if scenario.before is not None:
        scenario.before(world)
        world.apply()
        assert world.plan().empty, f"{name}: what comes before does not converge"
    else:
        world.store().close()  # the tables; making them is tested by the state's own tests
    scenario.after(world)
    camera = Camera(world)
    world.watch = camera
    with commits(world):
        world.apply()
    world.watch = None
    assert world.plan().empty, f"{name} does not converge in peace"
    return Base(world, world.seen(), camera.images, camera.boundaries)


def run(
    name: str, database: Database, *, seed: int = 0, most: int | None = None, deep: int = 0, deepest: int = 20, only: str | None = None,
    like: str = "", first: bool = False,
) -> Result:  # fmt: skip
    """Every death of a scenario, or `most` of them by chance; of `deep` of them the recovery is killed too, `deepest` times each.

    `name`: of the scenario, with `.2of4` the second quarter of its deaths.
    `only`: the case to repeat alone; `like`: cases with this in their names; `first`: the first violation is enough.
    """
    began = real.perf_counter()
    label = f"kill:{name}:{seed}@{database.sort}"
    result = Result("kill", database.name, label)
    name, _, part = name.partition(".")
    number, _, parts = (part or "1of1").partition("of")
    base = prepared(name, database, seed=seed)
    chance = random.Random(label)
    images = [image for image in base.images if like in image.case][int(number) - 1 :: int(parts)]
    result.counted["boundaries passed"] += base.boundaries if number == "1" else 0
    if most is not None and len(images) > most:
        images = [images[index] for index in sorted(chance.sample(range(len(images)), most))]
    watched = set(chance.sample(range(len(images)), min(deep, len(images))))
    with commits(base.world):
        for index, image in enumerate(images):
            if (only is not None and not only.startswith(image.case)) or (first and result.violations):
                continue
            camera = Camera(base.world, f"{image.case} > ") if index in watched else None
            one(base, image, label, result, camera)
            if camera is None:
                continue
            below = camera.images
            for again in below if len(below) <= deepest else chance.sample(below, deepest):
                if only is None or only == again.case:
                    result.counted["killed during recovery"] += 1
                    one(base, again, label, result, None)
    base.world.close()
    result.seconds = real.perf_counter() - began
    return result


def one(base: Base, image: Image, label: str, result: Result, camera: Camera | None) -> None:
    """From one image: one more run, then nothing is left to do, and all is as if nothing had happened."""
    world = base.world
    result.runs += 1
    for fate in {fate for _, fate, _ in image.pending}:
        result.counted[f"request under way {fate}"] += 1
    world.put(image)
    world.watch = camera
    try:
        outcome = world.apply()
        world.watch = None
        world.later()
        wrong = world.unlike(base.expected, outcome)
    except (Hang, Exception) as error:
        wrong = plain(error)
    finally:
        world.watch = None
    if wrong:
        result.violations.append(Violation(label, image.case, wrong))
