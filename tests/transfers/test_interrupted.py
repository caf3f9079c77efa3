"""A run with transfers is killed at its boundaries and then undone, and an undo is killed: everything is as before."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.proofs import proof, sampled, stride
from tests.reliability.clock import everywhere
from tests.reliability.databases import Sqlite
from tests.reliability.kill import Camera
from tests.reliability.seen import as_lists_show, difference
from tests.reliability.world import Image, World, commits
from tests.transfers import steps
from tests.transfers.two import TWO_SEED, collection, document, space
from tests.undo.undoing import Undone, runs, undo


@dataclass
class Start:
    """A project as it was applied before a transfer, and the images of the transfer's deaths."""

    world: World
    step: steps.Step
    addresses: dict[str, str]
    lines: Counter[str]
    before: str
    images: list[Image]

    def undone(self, run: str) -> Undone:
        world = self.world
        with everywhere(world.time):
            return undo(world, run, world.time.run)

    def as_before(self, case: str) -> None:
        """With the files as they were, nothing is left to do, and every object has the id and the place that it had."""
        world = self.world
        world.write(self.step.before)
        outcome = world.apply()
        assert world.unlike(world.seen(), outcome) is None, case
        assert tracked(world) == self.addresses, case
        assert difference(as_lists_show(self.lines), as_lists_show(world.seen())) == [], case


def tracked(world: World) -> dict[str, str]:
    """The id of everything that keeps it in an undo: a variant that was removed is created again."""
    with world.store() as store:
        return {str(address): binding.id for address, binding in store.read().bindings.items() if binding.kind != "site-space"}


@pytest.fixture(params=[pytest.param(name, marks=proof) if name != "swapped" else name for name in ("swapped", "kept", "mixed", "parts")])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    step = steps.of(request.param)
    world = World(tmp_path, seed=step.seed, database=Sqlite(tmp_path), chance=random.Random(request.param))
    world.write(step.before)
    world.apply()
    assert world.plan().empty
    addresses, lines = tracked(world), world.seen()
    earlier = runs(world)[0].id
    world.write(step.after)
    camera = Camera(world)
    world.watch = camera
    with commits(world):
        world.apply()
    world.watch = None
    assert world.plan().empty
    yield Start(world, step, addresses, lines, earlier, camera.images)
    world.service.connection.close()


@sampled
def test_a_killed_run_with_transfers_is_undone(start: Start) -> None:
    world, sent = start.world, 0
    for image in start.images[:: stride(7)]:
        world.put(image)
        world.write(start.step.after)
        run = runs(world)[0].id
        if run != start.before:
            sent += 1
            _, found, _ = start.undone(run)
            if any("run reconciler apply first" in obstacle.reason for obstacle in found.cannot):
                world.apply()
                start.undone(runs(world)[0].id)
        start.as_before(image.case)
    assert sent


@sampled
@proof
def test_a_killed_undo_of_transfers_is_undone_again(start: Start) -> None:
    world = start.world
    run, camera = runs(world)[0].id, Camera(world)
    world.watch = camera
    with commits(world):
        start.undone(run)
    world.watch = None
    start.as_before("in peace")
    for image in camera.images[:: stride(7)]:
        world.put(image)
        world.write(start.step.after)
        start.undone(run)
        world.later()
        start.as_before(image.case)


@sampled
def test_a_run_that_continues_a_killed_one_asks_nothing_that_was_consented_to(tmp_path: Path) -> None:
    """Members of the new organization come to it at once by its own level, and by that of a collection once it is moved there."""
    world = World(tmp_path, seed=TWO_SEED, database=Sqlite(tmp_path), chance=random.Random(0))
    inside = collection("product", space("one", defaultLevel="comment"), defaultLevel="read")
    world.write(document([inside], [collection("help", defaultLevel="create")], protect=[]))
    world.apply()
    there = collection("product", space("one", of="base", defaultLevel="edit"), defaultLevel="read")
    line = ("acme/collection/product", "beta/collection/product")
    world.write(document([], [collection("help", there, defaultLevel="create")], line, protect=[]))
    (asked,) = [exposure for exposure in world.plan().exposures if exposure.asked]
    assert asked.readers == ("admins of beta", "members of beta (edit)", "members of beta through its container (create)")
    camera = Camera(world)
    world.watch = camera
    with commits(world):
        world.apply()
    world.watch = None
    for image in camera.images[:: stride(5)]:
        world.put(image)
        with world.store() as store:
            consented = store.read().consents
        assert not consented or [exposure for exposure in world.plan().exposures if exposure.asked] == [], image.case
    world.service.connection.close()
