"""What the relations are measured with can see a difference."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.metamorphic.arrangement import arranged
from tests.metamorphic.canonical import differences
from tests.metamorphic.laboratory import laboratory
from tests.metamorphic.lists import Shuffling
from tests.organizations import project, small

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
    assert any(line in each for each in seen), seen


def test_another_order_of_siblings_is_seen(acme: Any) -> None:
    before = acme.canonical()
    image = acme.take()
    acme.service.connection.execute("update objects set position = -position where kind = 'section'")
    seen = differences(before, acme.canonical())
    acme.put(image)
    assert any("rank is" in line for line in seen)


def test_files_are_split_and_lists_are_shuffled(acme: Any) -> None:
    arrangements = [arranged(project({"acme": small()}), random.Random(seed)) for seed in range(20)]
    assert {len(files) for files in arrangements} == {1, 2, 3, 4}
    for seed in range(3):
        shuffling: list[Shuffling] = []
        acme.rewire = lambda inner, seed=seed, made=shuffling: made.append(Shuffling(inner, random.Random(seed))) or made[0]
        assert acme.plan().empty
        assert shuffling[0].paged > 0
    acme.rewire = None
