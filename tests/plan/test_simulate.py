"""What one request does to the service, as the declarations describe it: the one model behind `prove`, the apply and the audiences."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.errors import ReconcilerError
from reconciler.kinds import load, load as kinds
from reconciler.model import Actual, Desired, Observed, Plan, State, Step
from reconciler.observe import observe
from reconciler.plan.planner import plan
from reconciler.plan.prove import prove
from reconciler.plan.siblings.order import Siblings
from reconciler.plan.simulation.simulate import Simulation, simulate
from reconciler.plan.world import World
from reconciler.resource import PATCH, POST, UNSET, Keyed, Listing, Resource, Verbs, field
from tests.effort import timed
from tests.harness import Org
from tests.proofs import costly
from tests.small import node, small

KINDS = load()
ORG = {"organization": "org_1"}
SITE = {**ORG, "site": "site_1"}
IDS = {Address.parse("acme"): "org_1", Address.parse("acme/site/docs"): "site_1"}


def seen(
    kind: str, id: str, within: Mapping[str, str], rank: int | None = None, flags: Mapping[str, bool] | None = None, **values: Any
) -> Observed:
    return Observed(kind, id, values, within, {"id": id}, flags=flags or {}, rank=rank)


def actual(*objects: Observed) -> Actual:
    every: dict[str, dict[str, Observed]] = {}
    for observed in (seen("organization", "org_1", {}), seen("site", "site_1", ORG), *objects):
        every.setdefault(observed.kind, {})[observed.id] = observed
    return Actual(every)


def step(verb: str, address: str, target: str | None = None, *, body: Any = None, **others: Any) -> Step:
    at = Address.parse(address)
    return Step(0, at, KINDS.of(at).name, verb, "POST", (), body, others.pop("writes", {}), target, **others)


def order(world: Simulation, kind: str) -> list[str]:
    return [observed.id for observed in sorted(world.actual().objects[kind].values(), key=lambda observed: observed.rank or 0)]


def sections(count: int, chosen: int = 0) -> list[Observed]:
    return [
        seen("section", f"sec_{index}", SITE, index, {"default": index == chosen}, sectionGroup=None, title=f"S{index}")
        for index in range(count)
    ]  # fmt: skip


def variant(id: str, section: str | None, rank: int = 0, chosen: bool = False) -> Observed:
    return seen("site-space", id, SITE, rank, {"default": chosen}, section=section, space="spc_1")


@pytest.mark.parametrize(
    ("address", "writes", "values"),
    [
        ("acme/site/docs/share-link/press", {"name": "Press"}, {"active": True}),
        (
            "acme/site/new",
            {"title": "New"},
            {"visibility": "public", "published": False, "agentsContext": "excluded", "adaptiveContent": {"enabled": False}, "proxy": None},
        ),
        ("acme/site/new", {"title": "New", "visibility": "unlisted"}, {"visibility": "unlisted", "published": False}),
        ("acme/collection/new", {"title": "New"}, {"defaultLevel": "inherit", "parent": None}),
        ("acme/openapi/pets", {"source": {"url": "https://x"}}, {"visibility": "private"}),
        ("acme/saml/okta", {"entityID": "okta"}, {"defaultRole": None}),
    ],
)
def test_what_a_create_says_nothing_of_is_as_the_service_sets_it(address: str, writes: dict[str, Any], values: dict[str, Any]) -> None:
    world = simulate(KINDS, actual(), IDS, [step("create", address, writes=writes)])
    created = world.find(KINDS.of(Address.parse(address)).name, world.ids[Address.parse(address)])
    assert created is not None
    assert {name: created.values[name] for name in values} == values


def test_a_copy_is_like_its_source_but_for_its_name() -> None:
    source = seen("space", "spc_1", ORG, title="Blank", parent="col_1", defaultLevel="edit", editMode="locked")
    copy = step("create", "acme/space/copy", source="spc_1", writes={})
    world = simulate(KINDS, actual(source), IDS, [copy])
    created = world.find("space", world.ids[copy.address])
    assert created is not None
    assert created.values["title"] is UNSET
    assert (created.values["defaultLevel"], created.values["editMode"], created.values["parent"]) == ("edit", "locked", "col_1")
    assert [observed.id for observed in world.inside("space", "collection", "col_1")] == ["spc_1", created.id]


def test_a_create_brings_its_first_child_and_the_service_chooses_both() -> None:
    brought = Address.parse("acme/site/docs/site-space/one")
    create = step(
        "create",
        "acme/site/docs/section/one",
        writes={"title": "One", "spaceId": "spc_1"},
        brings=(("site-space", "siteSpaces", brought),),
    )
    world = simulate(KINDS, actual(), IDS, [create])
    child = world.find("site-space", world.ids[brought])
    assert child is not None
    assert (child.values["space"], child.values["section"]) == ("spc_1", world.ids[create.address])
    assert world.chosen("site", "site_1") == {"defaultSiteSection": world.ids[create.address]}
    assert world.chosen("section", world.ids[create.address]) == {"defaultSiteSpace": child.id}


def test_a_second_child_is_not_chosen() -> None:
    world = simulate(KINDS, actual(*sections(1)), IDS, [step("create", "acme/site/docs/section/new", writes={"title": "New"})])
    assert world.chosen("site", "site_1") == {"defaultSiteSection": "sec_0"}


def test_a_choice_moves_the_flag_and_touches_no_other_parents_children() -> None:
    variants = [variant("a", "sec_0", 0, True), variant("b", "sec_0", 1), variant("c", "sec_1", 0, True)]
    choose = step("update", "acme/site/docs/section/s0", "sec_0", writes={"defaultSiteSpace": "b"})
    world = simulate(KINDS, actual(*sections(2), *variants), IDS, [choose])
    assert world.chosen("section", "sec_0") == {"defaultSiteSpace": "b"}
    assert world.chosen("section", "sec_1") == {"defaultSiteSpace": "c"}
    assert [observed.id for observed in world.actual().objects["site-space"].values() if observed.flags["default"]] == ["b", "c"]


def test_where_the_chosen_one_goes_the_first_that_remains_is_chosen() -> None:
    world = simulate(KINDS, actual(*sections(3, chosen=1)), IDS, [step("delete", "acme/site/docs/section/s1", "sec_1")])
    assert world.chosen("site", "site_1") == {"defaultSiteSection": "sec_0"}


def test_a_delete_includes_contents_and_cascades_at_any_depth() -> None:
    link = seen("share-link", "link_1", SITE, name="Press")
    other = seen("site", "site_2", ORG)
    world = simulate(KINDS, actual(*sections(2), variant("a", "sec_0"), link, other), IDS, [step("delete", "acme/site/docs", "site_1")])
    assert {name: sorted(some) for name, some in world.objects.items() if some} == {"organization": ["org_1"], "site": ["site_2"]}
    assert world.removed == {"site_1", "sec_0", "sec_1", "a", "link_1"}
    assert not any(world.inside("section", "site", "site_1"))


def test_what_was_only_gathered_in_a_deleted_group_is_at_the_root() -> None:
    group = seen("group", "grp_1", SITE, parent=None)
    section = seen("section", "sec_9", SITE, 0, {"default": False}, sectionGroup="grp_1")
    world = simulate(KINDS, actual(*sections(2), group, section), IDS, [step("delete", "acme/site/docs/group/g", "grp_1")])
    left = world.find("section", "sec_9")
    assert left is not None
    assert left.values["sectionGroup"] is None
    assert order(world, "section") == ["sec_0", "sec_1", "sec_9"]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ({"after": {"type": "site-section", "siteSection": "sec_2"}}, ["sec_1", "sec_2", "sec_0", "sec_3"]),
        ({"before": {"type": "site-section", "siteSection": "sec_3"}}, ["sec_1", "sec_2", "sec_0", "sec_3"]),
        ({}, ["sec_1", "sec_2", "sec_3", "sec_0"]),
    ],
)
def test_a_move_goes_beside_its_anchor_and_else_to_the_end(position: Any, expected: list[str]) -> None:
    move = step("move", "acme/site/docs/section/s0", "sec_0", body={"position": position})
    assert order(simulate(KINDS, actual(*sections(4)), IDS, [move]), "section") == expected


def test_a_restore_brings_an_object_back_as_it_was() -> None:
    from datetime import UTC, datetime

    deleted = Observed("space", "spc_1", {"title": "T", "defaultLevel": "edit"}, ORG, {}, deleted_at=datetime(2026, 1, 1, tzinfo=UTC))
    back = simulate(KINDS, actual(deleted), IDS, [step("restore", "acme/space/t", "spc_1")]).find("space", "spc_1")
    assert back is not None
    assert back.deleted_at is None
    assert back.values == deleted.values


def test_a_place_that_nothing_shows_is_not_known_where_nothing_may_be_guessed() -> None:
    unplaced = seen("section", "sec_9", SITE, None, sectionGroup=None)
    known = Simulation(KINDS, actual(*sections(2), unplaced), guess=False)
    assert [list(some) for some in known.order.rows.values()] == [["sec_0", "sec_1"]]
    assert [list(some) for some in Simulation(KINDS, actual(*sections(2), unplaced)).order.rows.values() if "sec_0" in some] == [
        ["sec_0", "sec_1", "sec_9"]
    ]


def test_siblings_keep_their_order_through_every_change() -> None:
    row = Siblings()
    for id in "abc":
        row.append(id)
    row.insert("x", "a", after=False)
    row.insert("y", "c", after=True)
    row.remove("b")
    row.remove("nobody")
    assert list(row) == ["x", "a", "c", "y"]
    assert "b" not in row


def _many(count: int) -> tuple[Actual, list[Step]]:
    """Sections with one variant: all but two are moved and deleted, one after the other; each time another one is chosen."""
    objects = [*sections(count), *(variant(f"v_{index}", f"sec_{index}", 0, True) for index in range(count))]
    steps = []
    for index in range(count - 2):
        at, id = f"acme/site/docs/section/s{index}", f"sec_{index}"
        steps.append(step("update", "acme/site/docs", "site_1", writes={"defaultSiteSection": f"sec_{count - 1 - index}"}))
        steps.append(step("move", at, id, body={"position": {"after": {"type": "site-section", "siteSection": f"sec_{count - 1}"}}}))
        steps.append(step("delete", at, id))
        steps.append(step("create", f"acme/site/docs/share-link/l{index}", writes={"name": f"L{index}"}))
    return actual(*objects), steps


@costly
def test_a_request_takes_as_long_in_a_large_organization_as_in_a_small_one() -> None:
    def seconds(count: int) -> float:
        world, steps = _many(count)
        return min(timed(lambda: simulate(KINDS, world, IDS, steps))[0] for _ in range(3))

    small, large = seconds(500), seconds(4000)
    assert large < 8 * small * 2.5, f"8 times as many objects and requests took {large / small:.1f} times as long"


def test_an_initial_value_belongs_to_a_field_that_a_create_may_leave_out() -> None:
    with pytest.raises(ReconcilerError, match="initial value"):

        class Wrong(Resource, kind="wrong", place=Keyed("wrongs")):
            """Wrong."""

            reads = (Listing("/wrongs"),)
            api = Verbs(create=POST("/wrongs"), update=PATCH("/wrongs/{id}"))
            name: str = field("The name.", key=True, required=True, initial="x")


# -- a plan is proved before it is sent --------------------------------------------------------------------------------------------


@pytest.fixture
def changed(org: Org) -> tuple[Desired, State, Actual, Plan]:
    """A plan of one title and one move, with what it was made from."""
    org.write(small())
    org.apply()
    tree = small()
    node(tree, "one")["title"] = "Uno"
    node(tree, "product")["content"].insert(0, node(tree, "product")["content"].pop())
    org.write(tree)
    desired, store = org.load().desired, org.store()

    async def read(state: State) -> Actual:
        async with org.client(Reader) as reader:
            return await observe(reader, kinds(), desired, state)

    try:
        state = store.read()
    finally:
        store.close()
    actual = asyncio.run(read(state))
    return desired, state, actual, plan(kinds(), desired, state, actual)


def test_a_right_plan_passes_as_it_came(changed: tuple[Desired, State, Actual, Plan]) -> None:
    desired, state, actual, created = changed
    assert len(created.steps) == 2
    assert prove(World(kinds(), desired, state, actual), created) is created


@pytest.mark.parametrize("missing", [0, 1])
def test_a_plan_that_lacks_a_step_is_a_defect_and_names_it(changed: tuple[Desired, State, Actual, Plan], missing: int) -> None:
    desired, state, actual, created = changed
    lacking = replace(created, steps=tuple(step for index, step in enumerate(created.steps) if index != missing))
    with pytest.raises(ReconcilerError, match=str(created.steps[missing].address)):
        prove(World(kinds(), desired, state, actual), lacking)


def test_a_plan_that_sends_the_wrong_value_is_a_defect(changed: tuple[Desired, State, Actual, Plan]) -> None:
    desired, state, actual, created = changed
    wrong = tuple(replace(step, writes={"title": "Due"}) if step.verb == "update" else step for step in created.steps)
    with pytest.raises(ReconcilerError, match="title"):
        prove(World(kinds(), desired, state, actual), replace(created, steps=wrong))
