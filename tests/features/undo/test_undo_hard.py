"""What long chains of runs found out about undo: each of these went wrong once."""

from __future__ import annotations

import copy

from tests.apply.test_random import everything
from tests.features.undo.test_undo import orders
from tests.features.undo.undoing import undo
from tests.harness import Org, runs
from tests.small import applied, node, small


def said(org: Org, run: str) -> list[tuple[str, str]]:
    """Undo a run; what it named."""
    _, found, _ = undo(org, run)
    return [(str(obstacle.address), obstacle.reason) for obstacle in found.cannot]


def test_nothing_is_lost_if_two_collections_changed_sides_and_their_container_was_deleted(acme: Org) -> None:
    outer = {"collection": "outer", "title": "Outer", "content": [node(small(), "product")]}
    tree = small()
    tree["content"][1] = outer
    applied(acme, tree)
    before = everything(acme)
    turned = small()
    product = node(turned, "product")
    deep = product["content"].pop(2)
    deep["content"].append(product)
    turned["content"][1] = deep
    acme.write(turned)
    assert acme.apply().leftover == ()
    assert said(acme, runs(acme)[0].id) == [
        ("acme/collection/deep", "was in acme/collection/product, which is now inside it; it was not moved"),
        ("acme/collection/outer", "was deleted; the service cannot restore a collection"),
        ("acme/collection/product", "was in acme/collection/outer, which was deleted; it was not moved"),
    ]
    assert before.keys() - everything(acme).keys() == {next(id for id, one in before.items() if one.get("title") == "Outer")}


def test_what_was_deleted_comes_back_under_its_own_name_though_another_had_it_meanwhile(acme: Org) -> None:
    six = acme.id("acme/space/six")
    without = small()
    without["content"].remove(node(without, "six"))
    applied(acme, without)
    run = runs(acme)[0].id
    again = small()
    node(again, "six")["adopt"] = "never"
    applied(acme, again)
    renamed = copy.deepcopy(again)
    node(renamed, "six").update(space="seven", previously=["six"])
    applied(acme, renamed)
    assert said(acme, run) == []
    assert acme.id("acme/space/six") == six


def test_a_position_in_a_deleted_collection_is_not_one_in_another_of_its_name(acme: Org) -> None:
    tree = small()
    node(tree, "product")["content"].append(node(tree, "other")["content"].pop())
    applied(acme, tree)
    run = runs(acme)[0].id
    without = copy.deepcopy(tree)
    without["content"].remove(node(without, "other"))
    applied(acme, without)
    applied(acme, tree)
    order = orders(acme)
    assert said(acme, run) == [("acme/space/five", "was in acme/collection/other, which was deleted; it was not moved")]
    assert orders(acme) == order


def test_the_loss_of_a_replacement_is_named_even_if_the_new_object_was_deleted(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    reference = structure.pop(1)
    structure.append({"group": "outer", "title": "Outer", "structure": [reference]})
    acme.write(tree)
    assert acme.apply().leftover == ()
    run = runs(acme)[0].id
    without = small()
    without["defaultContent"] = {"site": "flat"}
    del without["sites"]["docs"]
    applied(acme, without)
    assert ("acme/site/docs/group/reference", "was replaced; the old object no longer exists") in said(acme, run)


def test_the_line_of_an_object_deleted_anyway_is_named(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"][0]["spaces"].append({"key": "guides-six", "space": "six"})
    applied(acme, tree)
    site, id = acme.id("acme/site/docs"), acme.id("acme/site/docs/site-space/guides-six")
    acme.call("DELETE", f"/orgs/org_acme/sites/{site}/site-spaces/{id}")
    _, found, lines = undo(acme, runs(acme)[0].id)
    assert found.cannot == ()
    assert [(str(line.address), line.what) for line in lines] == [("acme/site/docs/site-space/guides-six", "creates it again")]
