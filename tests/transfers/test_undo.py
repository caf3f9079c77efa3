"""`undo` gives back what a run transferred: to the organization, the place and the address that it had.

A run with transfers is killed at its boundaries and then undone, and an undo is killed: everything is as before.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.features.undo.undoing import Undone, undo
from tests.harness import runs
from tests.proofs import costly, proof, sampled, stride, tries
from tests.reliability.clock import everywhere
from tests.reliability.databases import Sqlite
from tests.reliability.kill import Camera
from tests.reliability.seen import as_lists_show, difference, seen
from tests.reliability.world import Image, World, commits
from tests.transfers import steps
from tests.transfers.drawn import drawn
from tests.transfers.two import GAMMA, TWO_SEED, Two, collection, document, sent, space, three, two

EDITS = {
    "a space that leaves a collection": (
        ([collection("product", space("one"), space("guides"), space("two"))], [space("home", of="base")]),
        ([collection("product", space("one"), space("two"))], [space("guides", "Handbook", of="base"), space("home", of="base")]),
        [("acme/space/guides", "beta/space/guides")],
    ),
    "a collection with another key": (
        ([space("first"), collection("product", space("one"), collection("deep", space("two"))), space("last")], []),
        ([space("first"), space("last")], [collection("books", space("one", of="base"), collection("deep", space("two", of="base")))]),
        [("acme/collection/product", "beta/collection/books")],
    ),
    "two that change places": (
        ([space("guides", "From acme")], [space("guides", "From beta", of="base")]),
        ([space("guides", "From beta")], [space("guides", "From acme", of="base")]),
        [("acme/space/guides", "beta/space/guides"), ("beta/space/guides", "acme/space/guides")],
    ),
}


RENAMED = (9, 14, 32)
"""Random transfers for which something is renamed within its organization: it frees an address, or takes a freed one; three in a circle."""


@pytest.fixture
def org(tmp_path: Path) -> Two:
    return two(tmp_path)


@costly
@pytest.mark.parametrize("name", EDITS)
def test_undo_gives_everything_back(org: Two, name: str) -> None:
    before, after, moved = EDITS[name]
    connection = org.app.state.service.store.connection
    org.applied(*before)
    addresses, lines = org.addresses(), seen(connection)
    org.applied(*after, *moved)
    outcome, found, again = undo(org, runs(org)[0].id)
    assert found.cannot == ()
    assert outcome.leftover == ()
    assert [result.error for result in outcome.results if result.error] == []
    assert {line.what for line in again} >= {"transfers it again"}
    assert org.addresses() == addresses
    assert difference(lines, seen(connection)) == []
    org.declare(*before)
    org.settled()


def test_after_an_undo_the_lines_transfer_again(org: Two) -> None:
    before, after, moved = EDITS["two that change places"]
    org.applied(*before)
    org.applied(*after, *moved)
    there = org.addresses()
    undo(org, runs(org)[0].id)
    assert sorted(sent(org.applied(*after, *moved))) == ["transfer acme/space/guides", "transfer beta/space/guides"]
    assert org.addresses() == there


def test_what_was_given_back_by_hand_gets_its_address_back(org: Two) -> None:
    org.applied([space("guides")], [])
    addresses = org.addresses()
    org.applied([], [space("guides", of="base")], ("acme/space/guides", "beta/space/guides"))
    org.call("POST", f"/spaces/{org.id('beta/space/guides')}/transfer", {"organization": "org_acme"})
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert sent(outcome) == ["move acme/space/guides"]  # nothing shows where it is at the top
    assert found.cannot == ()
    assert org.addresses() == addresses


def test_what_was_transferred_on_by_hand_stays(tmp_path: Path) -> None:
    org = three(tmp_path)
    org.applied([space("guides")], [], gamma=[])
    org.applied([], [space("guides", of="base")], ("acme/space/guides", "beta/space/guides"), gamma=[])
    org.call("POST", f"/spaces/{org.id('beta/space/guides')}/transfer", {"organization": GAMMA})
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert outcome.results == ()
    assert [(str(obstacle.address), obstacle.reason) for obstacle in found.cannot] == [
        ("beta/space/guides", "was transferred, and belongs to another organization now; it was not transferred back")
    ]


@sampled
def test_random_transfers_are_undone(tmp_path: Path) -> None:
    for seed in (*RENAMED, *(seed for seed in range(60) if seed not in RENAMED))[: tries(60, 1)]:
        org, draw = two(tmp_path / str(seed)), drawn(seed)
        org.applied(*draw.first, protect=[])
        addresses, lines = org.addresses(), seen(org.app.state.service.store.connection)
        made = org.applied(*draw.last, *draw.moved, protect=[])
        outcome, found, _ = undo(org, runs(org)[0].id)
        assert outcome.leftover == ()
        if not {"create", "delete"} & {result.step.verb for result in made.results}:
            assert found.cannot == ()
            assert org.addresses() == addresses
            assert difference(as_lists_show(lines), as_lists_show(seen(org.app.state.service.store.connection))) == []


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
    return {str(address): binding.id for address, binding in world.remembered().bindings.items() if binding.kind != "site-space"}


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


@costly
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
    assert asked.readers == ("admins of beta", "members of beta (edit)")
    camera = Camera(world)
    world.watch = camera
    with commits(world):
        world.apply()
    world.watch = None
    for image in camera.images[:: stride(5)]:
        world.put(image)
        assert not world.remembered().consents or [exposure for exposure in world.plan().exposures if exposure.asked] == [], image.case
    world.service.connection.close()
