"""The organization that results is the same, ids and times aside, whichever way the apply takes: how many requests are under way at once,
how long each of them takes, and whether the state is lost on the way. What the service derives by itself is a part of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.metamorphic.arrangement import arranged
from tests.metamorphic.canonical import differences
from tests.metamorphic.laboratory import laboratory
from tests.metamorphic.lists import Shuffling
from tests.metamorphic.relation import relation
from tests.organizations import Tree, organizations, pairs, project, small
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


# -- means -------------------------------------------------------------------------------------------------------------------------


SITE = "/orgs/org_acme/sites"


@pytest.fixture(scope="module")
def acme() -> Any:
    with laboratory() as world:
        world.converge(small())
        yield world


def test_two_services_with_other_ids_and_times_are_alike(acme: Any) -> None:
    with laboratory(7, concurrency=32) as other:
        numbers = count(0x5000)
        other.service.new_id = lambda prefix: f"{prefix}_{next(numbers):06x}"
        other.converge(small())
        assert acme.ids() != other.ids()
        assert differences(acme.canonical(), other.canonical()) == []


@pytest.mark.parametrize(
    ("kind", "change", "line"),
    [
        ("section", lambda data: data.update(path="other"), "path is 'other'"),
        ("site-space", lambda data: data.update(default=not data["default"]), "default is "),
        ("site", lambda data: data.update(basename="other"), "basename is 'other'"),
        ("space", lambda data: data["_pages"].append({"title": "Another"}), "_pages is "),
        ("saml", lambda data: data.update(_team="team_other"), "_team is 'team_other'"),
        ("team", lambda data: data.update(title="Others"), "left over: team Acme/Others"),
    ],
)
def test_what_differs_is_seen(acme: Any, kind: str, change: Callable[[Any], Any], line: str) -> None:
    before = acme.canonical()
    image = acme.take()
    data = acme.service.select(kind)[-1]
    change(data)
    acme.service.save(kind, data)
    seen = differences(before, acme.canonical())
    acme.put(image)
    assert any(line in entry for entry in seen), seen


def test_another_order_of_siblings_is_seen(acme: Any) -> None:
    before = acme.canonical()
    image = acme.take()
    acme.service.connection.execute("update objects set position = -position where kind = 'section'")
    seen = differences(before, acme.canonical())
    acme.put(image)
    assert any("rank is" in line for line in seen)


def test_files_are_split_and_lists_are_shuffled(acme: Any) -> None:
    assert {len(files) for files in [arranged(project({"acme": small()}), random.Random(seed)) for seed in range(20)]} == {1, 2, 3, 4}
    for seed in range(3):
        shuffling: list[Shuffling] = []
        acme.rewire = lambda inner, seed=seed, created=shuffling: created.append(Shuffling(inner, random.Random(seed))) or created[0]
        assert acme.plan().empty
        assert shuffling[0].paged > 0
    acme.rewire = None
