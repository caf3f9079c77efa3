"""The organization that results is the same, ids and times aside, whichever way the apply takes: how many requests are under way at once,
how long each of them takes, and whether the state is lost on the way. What the service derives by itself is a part of it."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import strategies as st

from tests.metamorphic.canonical import differences
from tests.metamorphic.laboratory import laboratory
from tests.metamorphic.relation import relation
from tests.organizations import Tree, organizations, pairs
from tests.reliability.world import Image

CUTS = 2  # moments of an apply at which the state is lost


@relation(pairs(full=False), st.integers(0, 2**20), quick=2)
def test_thirty_two_slow_requests_at_once_come_to_the_same_as_one_after_the_other(pair: tuple[Tree, Tree], delays: int) -> None:
    with laboratory(concurrency=1) as steady, laboratory(delays, concurrency=32, slowest=5.0) as hasty:
        for tree in pair:
            steady.converge(tree)
            hasty.converge(tree)
            assert differences(steady.canonical(), hasty.canonical()) == []


@relation(organizations(), st.integers(0, 2**20), quick=2)
def test_an_apply_whose_state_was_lost_halfway_comes_to_the_same_in_the_end(tree: Tree, seed: int) -> None:
    with laboratory(seed) as world:
        world.write(tree)
        writes = range(1, len(world.plan().steps) + 1)
        moments = set(random.Random(seed).sample(writes, min(CUTS, len(writes))))
        images: list[Image] = []
        done = 0

        def watch(boundary: str) -> None:
            nonlocal done
            done += boundary.startswith(("after POST", "after PUT", "after PATCH", "after DELETE"))
            if done in moments:
                moments.remove(done)
                images.append(world.take())

        world.watch = watch
        world.converge(tree)
        world.watch = None
        undisturbed = world.canonical(listed=True)
        for image in images:
            world.put(replace(image, state=None))
            world.converge(tree)
            assert differences(undisturbed, world.canonical(world.orphans(), listed=True)) == []
