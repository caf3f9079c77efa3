"""Edits that leave the objects as they are, and edits that are taken back: nothing is created, deleted or left over."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, strategies as st

from tests.metamorphic.canonical import differences
from tests.metamorphic.edits import declared, pairs, renamed, swapped
from tests.metamorphic.laboratory import Laboratory, described, laboratory
from tests.metamorphic.relation import relation
from tests.organizations import Tree, organizations

FIXED = ("member", "openapi")  # their key is what the service knows them by


def title(world: Laboratory, id: str) -> Any:
    """The title of an object, by its id."""
    (data,) = world.service.connection.execute(
        "select coalesce(data->>'name', data->>'label', data->>'title') from objects where id = ?", (id,)
    )
    return data[0]


def written(world: Laboratory) -> list[str]:
    """The requests that wrote, since the last time."""
    lines = [f"{method} {path}" for method, path in world.requests if method != "GET"]
    world.requests.clear()
    return lines


@relation(organizations(), st.data(), quick=2)
def test_two_swapped_titles_are_two_updates_of_the_same_objects_and_so_is_the_way_back(tree: Tree, data: st.DataObject) -> None:
    chances = pairs(tree)
    assume(chances)
    one, other = data.draw(st.sampled_from(chances))
    with laboratory() as world:
        world.converge(tree)
        first, tracked = world.canonical(), world.tracked()
        written(world)
        world.converge(swapped(tree, one.address, other.address))
        assert {line.split()[0] for line in written(world)} == {"PATCH"}
        assert world.tracked() == tracked
        assert title(world, tracked[one.address]) == other.node[other.title]
        assert title(world, tracked[other.address]) == one.node[one.title]
        world.converge(tree)
        assert {line.split()[0] for line in written(world)} == {"PATCH"}
        assert world.tracked() == tracked
        assert differences(first, world.canonical()) == []


@relation(organizations(), st.data(), quick=2)
def test_a_key_that_is_renamed_twice_and_back_sends_nothing(tree: Tree, data: st.DataObject) -> None:
    one = data.draw(st.sampled_from([entry for entry in declared(tree) if entry.kind not in FIXED]))
    address = one.address.rsplit("/", 1)[0] + "/"
    with laboratory() as world:
        world.converge(tree)
        first, tracked, ids = world.canonical(), world.tracked(), world.ids()
        written(world)
        for step in (
            renamed(tree, one.address, "new", (one.key,)),
            renamed(renamed(tree, one.address, "new"), f"{address}new", "newer", (one.key, "new")),
            renamed(tree, one.address, one.key, ("newer", "new")),
        ):
            world.converge(step)
            assert written(world) == []
        assert world.tracked() == tracked
        assert world.ids() == ids
        assert differences(first, world.canonical()) == []


@relation(organizations(), st.data(), quick=2)
def test_a_commit_with_a_rename_that_is_reverted_creates_and_deletes_nothing(tree: Tree, data: st.DataObject) -> None:
    one = data.draw(st.sampled_from([entry for entry in declared(tree) if entry.kind not in FIXED]))
    with laboratory() as world:
        world.converge(tree)
        first, tracked = world.canonical(), world.tracked()
        world.converge(renamed(tree, one.address, "new", (one.key,)))
        world.write(tree)
        plan = world.plan()
        assert [f"{step.verb} {step.address}" for step in plan.steps if step.verb in ("create", "delete")] == []
        if plan.blocked:  # it asks whether it is the same, and says what to write
            assert [blocked.remedy for blocked in plan.blocked if f"previously: [new] on {one.address}" not in blocked.remedy] == []
            world.converge(renamed(tree, one.address, one.key, ("new",)))
        world.apply()
        assert described(world.plan()) == []
        assert world.tracked() == tracked
        assert differences(first, world.canonical()) == []
