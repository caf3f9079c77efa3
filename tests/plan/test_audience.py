"""Every way in which more people come to read something is a line of the plan: by where it is shown, contained or copied to."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from reconciler.report.layout import plain
from tests.certificates import IDP
from tests.harness import Org
from tests.proofs import spread
from tests.report.made import plan_text
from tests.small import applied, node

Tree = dict[str, Any]

WORLD: Tree = {
    "members": {"ada@acme.example": "admin"},
    "teams": {"writers": {"title": "Writers"}, "editors": {"title": "Editors"}},
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
        {"space": "salaries", "title": "Salaries"},
        {"space": "plans", "title": "Plans"},
        {"collection": "shut", "title": "Shut", "content": [{"space": "secret", "title": "Secret"}]},
        {"collection": "readers", "title": "Readers", "defaultLevel": "read", "content": [{"space": "guide", "title": "Guide"}]},
        {"collection": "editors", "title": "Editors", "defaultLevel": "edit", "content": [{"space": "draft", "title": "Draft"}]},
    ],
    "saml": {
        "okta": {
            "label": "Okta",
            "entityID": "http://okta.example/1",
            "ssoURL": "https://okta.example/sso",
            "certificate": IDP,
            "defaultTeam": "writers",
            "defaultRole": "guest",
        }
    },
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "public",
            "published": True,
            "adaptiveContent": {"enabled": True},
            "structure": [
                {"section": "guides", "title": "Guides", "spaces": ["guide"]},
                {
                    "section": "partners",
                    "title": "Partners",
                    "condition": "visitor.claims.partner",
                    "spaces": [{"space": "plans", "condition": "visitor.claims.early"}],
                },
            ],
        },
        "private": {
            "title": "Private",
            "visibility": "visitor-auth",
            "published": True,
            "structure": [{"section": "inside", "title": "Inside", "spaces": [{"key": "inner", "space": "secret"}]}],
        },
    },
}


def world() -> Tree:
    return copy.deepcopy(WORLD)


def site(tree: Tree, name: str = "docs") -> Any:
    return tree["sites"][name]


def moved(tree: Tree, name: str, to: str) -> None:
    for holder in (tree, *(item for item in tree["content"] if "content" in item)):
        for entry in list(holder["content"]):
            if entry.get("space") == name or entry.get("collection") == name:
                holder["content"].remove(entry)
                node(tree, to).setdefault("content", []).append(entry)


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Org:
    """Applied once; the tests only plan."""
    org = Org(tmp_path_factory.mktemp("audience"))
    applied(org, world())
    return org


def new_site(tree: Tree) -> None:
    tree["sites"]["pay"] = {"title": "Pay", "visibility": "public", "published": True, "structure": ["salaries"]}


def published_copy(tree: Tree) -> None:
    tree["content"].append({"space": "pay", "title": "Pay", "duplicateOf": "salaries"})
    site(tree)["structure"][0]["spaces"].append("pay")


def copy_in_open_collection(tree: Tree) -> None:
    node(tree, "editors")["content"].append({"space": "pay", "title": "Pay", "duplicateOf": "salaries"})


WAYS: list[tuple[str, Callable[[Tree], Any], str]] = [
    ("a variant", lambda t: site(t)["structure"][0]["spaces"].append("salaries"), "acme/space/salaries anyone"),
    (
        "a variant with a condition",
        lambda t: site(t)["structure"][0]["spaces"].append({"space": "salaries", "condition": "visitor.claims.hr"}),
        "acme/space/salaries anyone for whom visitor.claims.hr holds",
    ),
    (
        "a section",
        lambda t: site(t)["structure"].append({"section": "pay", "title": "Pay", "spaces": ["salaries"]}),
        "acme/space/salaries anyone",
    ),
    (
        "another space in a variant",
        lambda t: site(t)["structure"][0].update(spaces=[{"key": "guide", "space": "salaries"}]),
        "acme/space/salaries anyone",
    ),
    ("a new public site", new_site, "acme/space/salaries anyone"),
    (
        "a space moved to a collection with more rights",
        lambda t: moved(t, "guide", "editors"),
        "acme/space/guide members through its container (edit)",
    ),
    (
        "a space moved out of a closed collection",
        lambda t: moved(t, "secret", "readers"),
        "acme/space/secret members through its container",
    ),
    (
        "a collection moved into one with more rights",
        lambda t: moved(t, "shut", "editors"),
        "acme/collection/shut members through its container (edit)",
    ),
    ("a copy in an open collection", copy_in_open_collection, "acme/space/salaries members through its container"),
    ("a published copy", published_copy, "acme/space/salaries anyone"),
    ("a site for everybody", lambda t: site(t, "private").update(visibility="public"), "acme/site/private anyone"),
    (
        "a condition less",
        lambda t: node(t, "partners")["spaces"][0].update(condition=None),
        "acme/site/docs/site-space/plans anyone for whom visitor.claims.partner holds",
    ),
    (
        "another condition",
        lambda t: node(t, "partners").update(condition="visitor.claims.customer"),
        "acme/site/docs/section/partners anyone for whom visitor.claims.customer holds",
    ),
    (
        "a condition that anybody can meet",
        lambda t: node(t, "partners").update(condition="visitor.claims.unsigned.x"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that cannot be understood",
        lambda t: node(t, "partners").update(condition="vistor.claims.partner"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that ends too early",
        lambda t: node(t, "partners").update(condition="visitor.claims.partner =="),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that compares by order",
        lambda t: node(t, "partners").update(condition="visitor.claims.level > 3"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a condition that is always true",
        lambda t: node(t, "partners").update(condition="!visitor.claims.partner || true"),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "the claims of visitors in another spelling",
        lambda t: node(t, "partners").update(condition='visitor.claims["unsigned"].x'),
        "acme/site/docs/section/partners anyone",
    ),
    (
        "a variant with a condition that cannot be understood",
        lambda t: site(t)["structure"][0]["spaces"].append({"space": "salaries", "condition": "visitor.claim.hr"}),
        "acme/space/salaries anyone",
    ),
    (
        "a condition that excludes some",
        lambda t: node(t, "partners").update(condition="!visitor.claims.partner"),
        "acme/site/docs/section/partners anyone for whom !visitor.claims.partner holds",
    ),
    ("another team for newcomers", lambda t: t["saml"]["okta"].update(defaultTeam="editors"), "acme/saml/okta "),
    ("a higher role for newcomers", lambda t: t["saml"]["okta"].update(defaultRole="read"), "acme/saml/okta "),
    ("a template", lambda t: node(t, "salaries").update(template=True), "acme/space/salaries "),
    (
        "a share link that says nothing",
        lambda t: site(t).update(shareLinks={"p": {"name": "P"}}),
        "acme/site/docs/share-link/p whoever has the share link",
    ),
]


@pytest.mark.parametrize(("edit", "line"), spread([row[1:] for row in WAYS], 6), ids=[row[0] for row in WAYS])
def test_each_way_to_more_readers_is_a_line_with_its_readers(living: Org, edit: Callable[[Tree], Any], line: str) -> None:
    tree = world()
    edit(tree)
    living.write(tree)
    plan = living.plan()
    assert [f"{exposure.address} {', '.join(exposure.readers)}" for exposure in plan.exposures] == [line]
    assert "! exposure" in plain(plan_text(plan))


CALM: list[tuple[str, Callable[[Tree], Any]]] = [
    ("a share link that is off", lambda t: site(t).update(shareLinks={"z": {"name": "Z", "active": False}})),
    (
        "a copy of a template",
        lambda t: (t["content"].append({"space": "more", "title": "More"}), site(t)["structure"][0]["spaces"].append("more")),
    ),
    ("a space that is public already", lambda t: site(t)["structure"][1]["spaces"].append({"key": "again", "space": "guide"})),
    ("a variant for the same readers", lambda t: site(t, "private")["structure"][0]["spaces"].append("guide")),
    ("a space moved to a collection with fewer rights", lambda t: moved(t, "draft", "readers")),
    ("a space moved to the root", lambda t: (t["content"].append(node(t, "draft")), node(t, "editors")["content"].clear())),
    ("a condition more", lambda t: node(t, "guides").update(condition="visitor.claims.guest")),
    ("a new site that is not published", lambda t: t["sites"].update(pay={"title": "Pay", "structure": ["salaries"]})),
    ("a section less", lambda t: site(t)["structure"].pop()),
]


@pytest.mark.parametrize("edit", [row[1] for row in CALM], ids=[row[0] for row in CALM])
def test_what_gives_nobody_more_to_read_is_none(living: Org, edit: Callable[[Tree], Any]) -> None:
    tree = world()
    edit(tree)
    living.write(tree)
    plan = living.plan()
    assert plan.steps
    assert plan.exposures == ()


def test_a_space_that_is_restored_where_everybody_reads_it_is_a_line(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, world())
    org.call("DELETE", f"/spaces/{org.id('acme/space/guide')}")
    plan = org.plan()
    assert [(str(exposure.address), exposure.readers) for exposure in plan.exposures] == [("acme/space/guide", ("anyone",))]


def test_a_section_that_somebody_deleted_is_a_line_when_it_comes_back(tmp_path: Any) -> None:
    org = Org(tmp_path)
    applied(org, world())
    org.call("DELETE", f"/orgs/org_acme/sites/{org.id('acme/site/docs')}/sections/{org.id('acme/site/docs/section/guides')}")
    assert [(str(exposure.address), exposure.readers) for exposure in org.plan().exposures] == [("acme/space/guide", ("anyone",))]


def test_conditions_that_hide_nothing_any_more_open_to_holders_of_a_share_link_too(tmp_path: Any) -> None:
    """A site that only share links open: without adaptive content its conditions hide nothing from their holders."""
    org, tree = Org(tmp_path), world()
    site(tree).update(visibility="share-link", shareLinks={"p": {"name": "P", "active": True}})
    applied(org, tree)
    site(tree).update(adaptiveContent={"enabled": False})
    org.write(tree)
    lines = [(str(exposure.address), exposure.field, exposure.readers) for exposure in org.plan().exposures]
    assert lines == [("acme/site/docs", "adaptiveContent", ("whoever has the share link",))]
