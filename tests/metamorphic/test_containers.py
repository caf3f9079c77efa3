"""What is in a container that stays is never deleted unless its address is named, and what disappears is what the plan lists.

A container of a random organization loses its lines, with all that is in it. What decides about it is drawn: `removed`, protection,
`prune`, something unmanaged in it. What is in what is asked of the service, never of the planner.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import assume, strategies as st

from reconciler.address import Selection, bare
from reconciler.client.service import Reader
from reconciler.model import Plan
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from reconciler.plan.planner import plan
from reconciler.plan.simulation.simulate import simulate
from tests.harness import ORGANIZATION, kinds
from tests.metamorphic.edits import Declared, declared
from tests.metamorphic.laboratory import Laboratory, laboratory
from tests.metamorphic.relation import relation
from tests.organizations import Tree, organizations
from tests.reliability.clock import everywhere

CONTAINERS = ("collection", "group", "section", "site")
WAYS = ("forget", "protect", "prune none", "stranger", "delete", "delete-all")
INSIDE = ("parent", "section", "sectionGroup", "site")  # the fields of the service's objects that name what they are in


@dataclass(frozen=True)
class Change:
    """An organization without a container, and the words about it. `before`: with what the container has now."""

    before: Tree
    after: Tree
    top: dict[str, Any]
    container: str
    way: str
    strangers: bool
    named: tuple[str, ...]


@st.composite
def changes(draw: st.DrawFn) -> Change:
    tree = draw(organizations())
    nodes = [node for node in declared(tree) if node.kind in CONTAINERS]
    assume(nodes)
    chosen, way = draw(st.sampled_from(nodes)), draw(st.sampled_from(WAYS))
    inner = [node.address for node in declared(*_below(chosen))]
    named = tuple(draw(st.lists(st.sampled_from(inner), max_size=1))) if inner and way in ("forget", "protect", "stranger") else ()
    before, after = copy.deepcopy(tree), copy.deepcopy(tree)
    top: dict[str, Any] = {"removed": [{"address": address, "action": "delete"} for address in named]}
    if way in ("forget", "delete", "delete-all"):
        top["removed"].append({"address": chosen.address, "action": way})
    if way == "prune none":
        top["prune"] = {chosen.kind: "none"}
    if way == "protect":
        _at(before, chosen.address).node["protect"] = True
    _lose(after, chosen.address)
    strangers = way == "stranger" or draw(st.booleans())
    return Change(before, after, top, chosen.address, way, strangers, named)


def _below(node: Declared) -> tuple[Tree, str]:
    """What `declared` takes to list all that is in a container."""
    return node.node, node.address if node.kind == "site" else node.address.rsplit("/", 2)[0]


def _at(tree: Tree, address: str) -> Declared:
    return next(node for node in declared(tree) if node.address == address)


def _lose(tree: Tree, address: str) -> None:
    """Remove the lines of a container, and of what shows or copies a space in it."""
    node = _at(tree, address)
    spaces = {inner.key for inner in declared(*_below(node)) if inner.kind == "space"}
    if isinstance(node.row, dict):
        del node.row[node.key]
    else:
        node.row[:] = [other for other in node.row if other is not node.node]
    _unshow(tree, spaces)
    if node.kind == "site" and "defaultContent" in tree:
        del tree["defaultContent"]


def _unshow(value: Any, spaces: set[str]) -> None:
    if isinstance(value, list):
        value[:] = [part for part in value if not (isinstance(part, dict) and part.get("space") in spaces)]
    elif isinstance(value, dict) and value.get("duplicateOf") in spaces:
        value["duplicateOf"] = "blank"
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _unshow(part, spaces)
    if isinstance(value, list):  # a section without variants
        value[:] = [part for part in value if not (isinstance(part, dict) and part.get("spaces") == [])]


def inside(world: Laboratory, outer: str) -> set[str]:
    """The ids of what is in an object, at any depth; deleted spaces are not."""
    rows = [(id.rsplit(":", 1)[-1], json.loads(data)) for id, data in world.service.connection.execute("select id, data from objects")]
    result = {outer}
    while more := {
        id for id, data in rows if not data.get("deletedAt") and id not in result and any(data.get(name) in result for name in INSIDE)
    }:
        result |= more
    return result - {outer}


def strange(world: Laboratory, container: str) -> None:
    """Create something unmanaged in a container."""
    kind, id = container.split("/")[-2], world.tracked()[container]
    site = f"/orgs/{ORGANIZATION}/sites/{id if kind == 'site' else world.tracked().get('/'.join(container.split('/')[:3]))}"
    match kind:
        case "collection":
            inner = world.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Strange", "parent": id})["id"]
            space = world.call("POST", "/spaces/spc_blank/duplicate")["id"]
            world.call("POST", f"/spaces/{space}/move", {"parent": inner})
        case "site":
            world.call("POST", f"{site}/share-links", {"name": "Strange"})
        case "section":
            world.call("POST", f"{site}/site-spaces", {"spaceId": "spc_blank", "sectionId": id})
        case "group":
            section = world.call("POST", f"{site}/sections", {"spaceId": "spc_blank", "title": "Strange"})["id"]
            world.call("POST", f"{site}/section-groups/{id}/sections", {"sectionId": section})


def planned(world: Laboratory) -> tuple[Plan, set[str]]:
    """The plan, and the ids of what its simulation has not any more."""

    async def plan_and_simulate() -> tuple[Plan, set[str]]:
        desired = world.load().desired
        state = world.remembered()
        async with world.client(Reader) as reader:
            actual = await observe(reader, kinds(), desired, state)
        proposal = plan(kinds(), desired, state, actual, selection=Selection(), allow_replace=("**",))
        after = simulate(kinds(), actual, identify(kinds(), desired, state, actual).ids, proposal.steps, proposal.places)
        return proposal, {bare(id) for id in after.removed}

    with everywhere(world.time):
        proposal, gone = world.time.run(plan_and_simulate())
    return proposal, gone


def listed(plan: Plan) -> set[str]:
    """The ids of what a plan lists as deleted."""
    return {bare(str(change.id)) for change in plan.changes if {"delete", "replace"} & {*change.actions}}


@relation(changes(), quick=6)
def test_only_what_is_named_is_deleted_in_a_container_that_stays(change: Change) -> None:
    with laboratory() as world:
        world.converge(change.before)
        tracked = world.tracked()
        container = tracked[change.container]
        if change.strangers:
            strange(world, change.container)
        contents, before = inside(world, container), world.ids()
        allowed = {id for address in change.named for id in (tracked[address], *inside(world, tracked[address]))}
        world.write(change.after, **change.top)
        plan, gone = planned(world)
        assert gone <= listed(plan), "the simulation loses what the plan does not list"
        kept = change.way in ("forget", "protect", "prune none") or container not in listed(plan)
        if kept:
            assert not (listed(plan) | gone) & (contents | {container}) - allowed
        world.apply()
        disappeared = before - world.ids()
        assert disappeared <= listed(plan), "the service loses what the plan does not list"
        if kept:
            assert not disappeared & (contents | {container}) - allowed
        if change.way == "delete-all":
            assert not kept, [f"{blocked.address}: {blocked.reason}; {blocked.remedy}" for blocked in plan.blocked]
            assert contents | {container} <= disappeared
        world.apply()
        if kept:  # what is no longer managed is not deleted by the next run either
            assert not (before - world.ids()) & (contents | {container}) - allowed
