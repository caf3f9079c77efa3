"""Any one reading that the service refuses, while something else changes: only what it would have shown is unknown."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.exits import DONE, PARTLY
from reconciler.run.codes import of_outcome, of_plan
from tests.harness import Org
from tests.small import applied, described, node, small
from tests.transports import Onward, Way

SPACES = ("one", "two", "three", "four", "five", "six")
COLLECTIONS = ("product", "other", "deep")


def refusing(path: str, status: int) -> Way:
    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method == "GET" and request.url.path == f"/v1{path}":
            return httpx2.Response(status, json={"error": {"code": status, "message": "not for you"}}, request=request)
        return await onward(request)

    return way


def without_places(org: Org) -> None:
    """The state of an import: everything is tracked, and nothing was ever placed."""
    with sqlite3.connect(org.root / "state.db") as connection:
        connection.execute("UPDATE bindings SET place_parent = NULL, place_index = NULL, origin = 'adopted'")
    connection.close()


@pytest.mark.parametrize("imported", [False, True])
@pytest.mark.parametrize("status", [403, 404, 500])
def test_nothing_is_moved_in_a_list_that_nobody_read(tmp_path: Path, status: int, imported: bool) -> None:
    org = Org(tmp_path)
    applied(org, small())
    if imported:
        without_places(org)
    tree = small()
    node(tree, "product")["content"].reverse()
    node(tree, "product")["content"].insert(1, {"space": "new", "title": "New"})
    tree["teams"]["writers"]["title"] = "Authors"
    org.write(tree)
    org.way = refusing(f"/collections/{org.id('acme/collection/product')}/spaces", status)
    plan = org.plan()
    assert of_plan(plan, detailed=False) == PARTLY
    assert "space" in [unknown.kind for unknown in plan.unknown]
    assert "update" in [step.verb for step in plan.steps if str(step.address) == "acme/team/writers"]
    assert {str(step.address) for step in plan.steps if step.verb == "move"} <= {"acme/space/new"}
    org.apply()
    org.way = None
    if not imported:  # where collections are between spaces, no list shows
        assert of_outcome(org.apply()) == DONE
        assert described(org.plan()) == []


def edited(tree: dict[str, Any], chance: random.Random) -> None:
    """A few spaces are created, moved and put in another order, and something else changes."""
    lists = [node(tree, key)["content"] for key in COLLECTIONS] + [tree["content"]]
    for number in range(chance.randint(1, 3)):
        first, second = chance.choice(lists), chance.choice(lists)
        spaces = [part for part in first if "space" in part]
        match chance.choice(("order", "move", "create")):
            case "order":
                chance.shuffle(first)
            case "move" if spaces:
                space = chance.choice(spaces)
                first.remove(space)
                second.insert(chance.randint(0, len(second)), space)
            case _:
                second.insert(chance.randint(0, len(second)), {"space": f"new{number}", "title": f"New {number}"})
    tree["teams"]["writers"]["title"] = "Authors"


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_is_proved_whatever_list_is_missing(tmp_path: Path, seed: int) -> None:
    chance, org, tree = random.Random(seed), Org(tmp_path), small()
    applied(org, small())
    nodes = {None: None, **{key: org.id(f"acme/collection/{key}") for key in COLLECTIONS}}
    for key in chance.sample(SPACES, chance.randint(0, 3)):
        org.call("POST", f"/spaces/{org.id(f'acme/space/{key}')}/move", {"parent": nodes[chance.choice([*nodes])]})
    edited(tree, chance)
    if chance.random() < 0.5:
        without_places(org)
    org.write(tree, **({"service": None} if chance.random() < 0.5 else {}))
    org.requests.clear()
    assert org.plan().steps
    for path in {path for _, path in org.requests if "collections" in path or path.endswith("/spaces")}:
        org.way = refusing(path, 403)
        assert of_plan(org.plan(), detailed=False) != DONE, path
