"""What can be inherited, cleared and sent as a text arrives as it was written, and the plan after it is empty."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Org
from tests.small import applied, node, small

SECTIONS = "/orgs/org_acme/sites/{}/sections"


def sent(org: Org, address: str) -> list[Any]:
    """The bodies of the last run's requests on an address."""
    assert org.made is not None
    return [step.body for step in org.made.steps if str(step.address) == address]


@pytest.mark.parametrize(("kind", "key", "path"), [("space", "one", "spaces"), ("collection", "deep", "collections")])
def test_a_level_can_be_inherited_and_set_again(acme: Org, kind: str, key: str, path: str) -> None:
    tree = small()
    for level in ("read", "inherit", "guest", "inherit", "comment"):
        node(tree, key)["defaultLevel"] = level
        applied(acme, tree)
        shown = acme.call("GET", f"/{path}/{acme.id(f'acme/{kind}/{key}')}")["defaultLevel"]
        assert shown == (None if level == "guest" else level)


def test_what_a_level_that_is_no_longer_inherited_opens_is_said(acme: Org) -> None:
    tree = small()
    node(tree, "one")["defaultLevel"] = "inherit"
    applied(acme, tree)
    node(tree, "one")["defaultLevel"] = "edit"
    acme.write(tree)
    assert [str(exposure.address) for exposure in acme.plan().exposures] == ["acme/space/one"]
    applied(acme, tree)
    node(tree, "one")["defaultLevel"] = "inherit"
    acme.write(tree)
    assert acme.plan().exposures == ()
    node(tree, "product")["defaultLevel"] = "admin"
    acme.write(tree)
    assert "acme/space/one" in {str(address) for exposure in acme.plan().exposures for address in (exposure.address, *exposure.reaches)}


def test_texts_are_cleared_with_null(acme: Org) -> None:
    tree = small()
    guides = node(tree, "guides")
    guides |= {"icon": "gear", "description": "All of it"}
    node(tree, "reference")["icon"] = "book"
    applied(acme, tree)
    guides |= {"icon": None, "description": None}
    for key, field in (("reference", "icon"), ("one", "emoji"), ("other", "description")):
        node(tree, key)[field] = None
    applied(acme, tree)
    assert sent(acme, "acme/site/docs/section/guides") == [{"icon": None, "description": None}]
    assert sent(acme, "acme/site/docs/group/reference") == [{"icon": None}]
    assert sent(acme, "acme/space/one") == [{"emoji": None}]
    assert sent(acme, "acme/collection/other") == [{"description": ""}]
    site = acme.id("acme/site/docs")
    shown = next(section for section in acme.items(SECTIONS.format(site)) if section["title"] == "Guides")
    assert not {"icon", "description"} & shown.keys()
    acme.call("PATCH", f"{SECTIONS.format(site)}/{shown['id']}", {"icon": "gear"})
    plan = acme.plan()
    assert [(str(change.address), [field.name for field in change.fields]) for change in plan.changes] == [
        ("acme/site/docs/section/guides", ["icon"])
    ]


@pytest.mark.parametrize(
    ("written", "body"),
    [("none", {"type": "none"}), ("inherit", {"type": "inherit"}), ({"type": "rules", "rules": []}, {"type": "rules", "rules": []})],
)
def test_merge_rules_of_an_organization_are_sent_as_they_are_written(acme: Org, written: Any, body: Any) -> None:
    tree = small()
    tree["mergeRules"] = written
    applied(acme, tree)
    assert sent(acme, "acme") == [{"mergeRules": body}]


def test_a_specification_can_be_sent_as_a_text(acme: Org) -> None:
    tree = small()
    tree["openapi"]["pets"]["source"] = {"text": "openapi: 3.1.0"}
    applied(acme, tree)
    assert sent(acme, "acme/openapi/pets") == [{"source": {"text": "openapi: 3.1.0"}}]
    assert "sourceURL" not in acme.call("GET", "/orgs/org_acme/openapi/pets")
    tree["openapi"]["pets"]["source"] = {"text": "openapi: 3.0.0"}
    applied(acme, tree)
    assert sent(acme, "acme/openapi/pets") == [{"source": {"text": "openapi: 3.0.0"}}]
    tree["openapi"]["pets"]["source"] = {"url": "https://pets.example/new.json"}
    applied(acme, tree)
    assert acme.call("GET", "/orgs/org_acme/openapi/pets")["sourceURL"] == "https://pets.example/new.json"
