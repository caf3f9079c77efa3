"""Undo puts back what moved between siblings that nobody manages, and leaves those where they are."""

from __future__ import annotations

from tests.apply.test_random import everything
from tests.features.undo.test_undo import orders, taken_back
from tests.harness import ORGANIZATION, Org
from tests.small import applied, node, small


def stranger(org: Org, collection: str, after: str) -> str:
    """A space that nobody manages, behind a managed one."""
    id: str = org.call("POST", "/spaces/spc_blank/duplicate")["id"]
    position = {"type": "space", "space": org.id(after)}
    org.call("POST", f"/spaces/{id}/move", {"parent": org.id(collection), "position": {"after": position}})
    return id


def test_a_space_goes_back_behind_one_that_nobody_manages(acme: Org) -> None:
    id = stranger(acme, "acme/collection/product", "acme/space/one")
    before, order = everything(acme), orders(acme)
    assert order[acme.id("acme/collection/product")][1] == id
    tree = small()
    product, other = node(tree, "product"), node(tree, "other")
    other["content"].append(product["content"].pop(1))
    applied(acme, tree)
    taken_back(acme, before, order)


def test_a_space_that_was_first_goes_back_before_one_that_nobody_manages(acme: Org) -> None:
    stranger(acme, "acme/collection/product", "acme/space/one")
    before, order = everything(acme), orders(acme)
    tree = small()
    content = node(tree, "product")["content"]
    content.append(content.pop(0))
    applied(acme, tree)
    taken_back(acme, before, order)


def test_a_section_goes_back_behind_one_that_nobody_manages(acme: Org) -> None:
    site = acme.id("acme/site/docs")
    base = f"/orgs/{ORGANIZATION}/sites/{site}"
    acme.call("POST", f"{base}/sections", {"spaceId": acme.id("acme/space/six"), "title": "Strange"})
    more = acme.id("acme/site/docs/section/more")
    acme.call(
        "POST",
        f"{base}/sections/{more}/move",
        {"position": {"after": {"type": "site-section", "siteSection": strange_section(acme, base)}}},
    )
    before, order = everything(acme), orders(acme)
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure.insert(0, structure.pop())
    applied(acme, tree)
    taken_back(acme, before, order)


def strange_section(org: Org, base: str) -> str:
    found: str = next(item["id"] for item in org.items(f"{base}/sections") if item["title"] == "Strange")
    return found
