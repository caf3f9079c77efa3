"""Undo brings the organization back to where it was before a run, but for what it names."""

from __future__ import annotations

from typing import Any

from reconciler.model import StepStatus
from tests.apply.test_random import everything
from tests.features.undo.undoing import undo
from tests.harness import ORGANIZATION, Org, runs
from tests.proofs import costly
from tests.small import applied, node, small


def orders(org: Org) -> dict[str, list[str]]:
    """The ids of every list that the service shows in order."""
    base = f"/orgs/{ORGANIZATION}"
    found = {
        item["id"]: [space["id"] for space in org.items(f"/collections/{item['id']}/spaces")] for item in org.items(f"{base}/collections")
    }
    for site in org.items(f"{base}/sites"):
        for path, parent in (("sections", "sectionGroup"), ("site-spaces", "section")):
            for one in org.items(f"{base}/sites/{site['id']}/{path}"):
                found.setdefault(f"{site['id']} {path} {one.get(parent)}", []).append(one["id"])
    return found


def taken_back(org: Org, before: dict[str, Any], order: dict[str, list[str]]) -> None:
    """Undo the newest run; all is as it was, and nothing was named."""
    outcome, found, _ = undo(org, runs(org)[0].id)
    assert [
        (str(result.step.address), result.step.verb, result.error) for result in outcome.results if result.status is not StepStatus.DONE
    ] == []
    assert (found.cannot, outcome.leftover, outcome.plan.blocked) == ((), (), ())
    assert everything(org) == before
    assert orders(org) == order


@costly
def test_fields_go_back_and_forth(acme: Org) -> None:
    before, order = everything(acme), orders(acme)
    tree = small()
    tree["title"], tree["mergeRules"], tree["teams"]["writers"]["title"] = "Acme 2", "inherit", "Authors"
    tree["members"]["linus@acme.example"] = "read"
    node(tree, "one")["title"] = "Uno"
    node(tree, "guides")["path"] = "handbook"
    tree["sites"]["docs"]["structure"][0]["spaces"] = [
        {"space": "one", "path": "v1", "default": True},
        {"space": "two", "path": "v2"},
        "four",
    ]
    tree["saml"]["okta"]["defaultRole"] = "read"
    tree["openapi"]["pets"]["source"] = {"url": "https://pets.example/2.json"}
    tree["sites"]["docs"]["shareLinks"]["partners"]["active"] = False
    applied(acme, tree)
    changed, changed_order = everything(acme), orders(acme)
    assert changed != before
    taken_back(acme, before, order)
    taken_back(acme, changed, changed_order)
    taken_back(acme, before, order)


def test_moves_go_back(acme: Org) -> None:
    before, order = everything(acme), orders(acme)
    tree = small()
    product, other = node(tree, "product"), node(tree, "other")
    one, two, deep, four = product["content"]
    product["content"] = [four, two, deep]
    other["content"] = [one, *other["content"]]
    guides, reference, more = tree["sites"]["docs"]["structure"]
    tree["sites"]["docs"]["structure"] = [more, guides, {**reference, "structure": [reference["structure"][1]]}, reference["structure"][0]]
    applied(acme, tree)
    assert orders(acme) != order
    taken_back(acme, before, order)


def test_what_was_made_is_removed(acme: Org) -> None:
    before, order = everything(acme), orders(acme)
    tree = small()
    tree["content"].append({"collection": "new", "title": "New", "content": [{"space": "seven", "title": "Seven"}, node(tree, "six")]})
    tree["content"].remove(node(tree, "six")) if node(tree, "six") in tree["content"] else None
    tree["sites"]["docs"]["structure"].insert(
        0, {"section": "fresh", "title": "Fresh", "spaces": ["seven", {"key": "fresh-one", "space": "one"}]}
    )
    tree["sites"]["help"] = {"title": "Help", "structure": [{"section": "a", "title": "A help", "spaces": ["one"]}]}
    tree["teams"]["readers"] = {"title": "Readers"}
    applied(acme, tree)
    taken_back(acme, before, order)


@costly
def test_a_deleted_space_comes_back_to_its_place_and_goes_again(acme: Org) -> None:
    before, order = everything(acme), orders(acme)
    tree = small()
    node(tree, "product")["content"].pop(3)
    tree["sites"]["docs"]["structure"][0]["spaces"].pop()
    acme.write(tree)
    assert acme.apply().leftover == ()
    gone = everything(acme)
    outcome, found, lines = undo(acme, runs(acme)[0].id)
    assert outcome.leftover == ()
    assert [(str(obstacle.address), obstacle.reason) for obstacle in found.cannot] == [
        ("acme/site/docs/site-space/four", "was deleted; the service cannot restore a site-space")
    ]
    assert [(str(line.address), line.source, line.what) for line in lines] == [
        ("acme/space/four", None, "is not declared, so the next apply would delete it again")
    ]
    assert [one["object"] for one in acme_only(before, everything(acme))] == ["site-space"]
    assert {id: row for id, row in orders(acme).items() if " " not in id} == {id: row for id, row in order.items() if " " not in id}
    undo(acme, runs(acme)[0].id)
    assert everything(acme) == gone


def acme_only(before: dict[str, Any], after: dict[str, Any]) -> list[Any]:
    return [one for id, one in before.items() if after.get(id) != one]


def test_what_others_changed_since_stays_and_is_named(acme: Org) -> None:
    tree = small()
    tree["teams"]["writers"]["title"] = "Authors"
    node(tree, "one")["title"] = "Uno"
    node(tree, "other")["content"].append(node(tree, "product")["content"].pop(1))
    tree["teams"]["readers"] = {"title": "Readers"}
    applied(acme, tree)
    team, two = acme.id("acme/team/writers"), acme.id("acme/space/two")
    acme.call("PATCH", f"/orgs/{ORGANIZATION}/teams/{team}", {"title": "Poets"})
    acme.call("PATCH", f"/orgs/{ORGANIZATION}/teams/{acme.id('acme/team/readers')}", {"title": "Lectors"})
    acme.call("POST", f"/spaces/{two}/move", {"parent": acme.id("acme/collection/deep")})
    outcome, found, _ = undo(acme, runs(acme)[0].id)
    assert [(str(obstacle.address), obstacle.reason) for obstacle in found.cannot] == [
        ("acme/space/two", "was moved since; it was not moved back"),
        ("acme/team/readers", "was created, and title changed since; it was not deleted"),
        ("acme/team/writers", "title was changed since; it was not changed back"),
    ]
    assert [(result.step.verb, str(result.step.address)) for result in outcome.results] == [("update", "acme/space/one")]
    assert acme.call("GET", f"/orgs/{ORGANIZATION}/teams/{team}")["title"] == "Poets"
