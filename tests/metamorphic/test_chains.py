"""Organizations that become another and themselves again: nothing is left over."""

from __future__ import annotations

from tests.metamorphic.canonical import differences
from tests.metamorphic.laboratory import laboratory
from tests.metamorphic.relation import relation
from tests.organizations import Tree, pairs

DERIVED = ("path", "basename", "default")  # what the service derives takes account of what nobody remembers


@relation(pairs(), quick=2)
def test_an_organization_that_became_another_and_itself_again_is_as_at_first(pair: tuple[Tree, Tree]) -> None:
    first, second = pair
    with laboratory() as world:
        world.converge(first)
        before = world.canonical()
        world.converge(second)
        world.converge(first)
        assert differences(before, world.canonical()) == []


@relation(pairs(), quick=2)
def test_an_organization_whose_state_was_lost_meanwhile_has_all_that_it_had_and_nothing_tracked_twice(pair: tuple[Tree, Tree]) -> None:
    first, second = pair
    with laboratory() as world:
        world.converge(first)
        before, declared = world.canonical(listed=True), world.tracked().keys()
        world.converge(second)
        world.lose_state()
        world.converge(first)
        after, tracked = world.canonical(listed=True), world.tracked()
        assert before.keys() - after.keys() == set()
        assert tracked.keys() == declared
        assert len(set(tracked.values())) == len(tracked)
        assert differences(before, world.canonical(world.ids() - set(tracked.values()), listed=True), ignored=DERIVED) == []
