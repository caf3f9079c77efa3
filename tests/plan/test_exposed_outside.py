"""What somebody exposed outside Reconciler stays an exposure until somebody agrees to it, whatever the files say in the meantime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Glob
from reconciler.model import Exposure, Plan
from reconciler.plan.world import Selection
from tests.harness import Org
from tests.small import applied, node, small

OUTSIDE = "RC-exposed-outside"
Tree = dict[str, Any]
DOCS = "acme/site/docs"


def closed() -> Tree:
    """The small organization with a site for holders of a share link, and spaces that members only read."""
    tree = small() | {"emailDomains": ["acme.example"], "inviteLinks": False}
    tree["sites"]["docs"] |= {"visibility": "share-link", "adaptiveContent": {"enabled": True}}
    tree["openapi"]["pets"]["visibility"] = "private"
    node(tree, "six")["defaultLevel"] = "read"
    node(tree, "other")["defaultLevel"] = "edit"
    node(tree, "product")["defaultLevel"] = "read"
    return tree


@pytest.fixture
def org(tmp_path: Path) -> Org:
    created = Org(tmp_path)
    applied(created, closed())
    return created


def accepted(org: Org, edit: Callable[[Tree], Any]) -> Plan:
    """The plan once the files say the same."""
    tree = closed()
    edit(tree)
    org.write(tree)
    return org.plan()


def outside(plan: Plan) -> list[Exposure]:
    return [exposure for exposure in plan.exposures if exposure.id == OUTSIDE]


CHANGES: dict[str, tuple[str, str, dict[str, Any], Callable[[Tree], Any], str, str]] = {
    "a site is public": (
        "PATCH", f"/orgs/org_acme/sites/{{{DOCS}}}", {"visibility": "public"},
        lambda t: t["sites"]["docs"].update(visibility="public"), DOCS, "visibility",
    ),
    "a member is an admin": (
        "PATCH", "/orgs/org_acme/members/{acme/member/linus@acme.example}", {"role": "admin"},
        lambda t: t["members"]["linus@acme.example"].update(role="admin"), "acme/member/linus@acme.example", "role",
    ),
    "a domain may join": (
        "PATCH", "/orgs/org_acme", {"emailDomains": ["acme.example", "evil.example"]},
        lambda t: t.update(emailDomains=["acme.example", "evil.example"]), "acme", "emailDomains",
    ),
    "members may edit": (
        "PATCH", "/spaces/{acme/space/six}", {"defaultLevel": "edit"},
        lambda t: node(t, "six").update(defaultLevel="edit"), "acme/space/six", "defaultLevel",
    ),
    "a line is gone": (
        "PATCH", f"/orgs/org_acme/sites/{{{DOCS}}}", {"visibility": "public"},
        lambda t: t["sites"]["docs"].pop("visibility"), DOCS, "visibility",
    ),
    "a promoted member is no longer declared": (
        "PATCH", "/orgs/org_acme/members/{acme/member/linus@acme.example}", {"role": "admin"},
        lambda t: (t["members"].pop("linus@acme.example"), t["teams"].pop("writers"), t["saml"]["okta"].pop("defaultTeam")),
        "acme/member/linus@acme.example", "role",
    ),
}  # fmt: skip


def changed(org: Org, name: str) -> None:
    """Somebody makes the change."""
    method, path, body, *_ = CHANGES[name]
    for address in [part.partition("}")[0] for part in path.split("{")[1:]]:
        path = path.replace(f"{{{address}}}", org.id(address).rpartition("/")[2])
    org.call(method, path, body)


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_files_accept_is_an_exposure_until_a_run_records_it(org: Org, name: str) -> None:
    *_, edit, address, field = CHANGES[name]
    changed(org, name)
    plan = accepted(org, edit)
    assert [(str(line.address), line.field) for line in outside(plan)] == [(address, field)]
    line = outside(plan)[0]
    assert line.asked
    assert line.consents
    assert set(line.consents) <= set(plan.consents)
    assert line.before != line.after
    org.apply()
    assert org.plan().exposures == ()


@pytest.mark.parametrize("name", list(CHANGES)[:4])
def test_what_the_plan_restores_is_not_an_exposure(org: Org, name: str) -> None:
    changed(org, name)
    assert outside(org.plan()) == []


def test_a_condition_that_somebody_removed_is_an_exposure(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed()
    applied(org, tree)
    site, section = (org.id(address).rpartition("/")[2] for address in (DOCS, f"{DOCS}/section/more"))
    org.call("PATCH", f"/orgs/org_acme/sites/{site}/sections/{section}", {"condition": None})
    assert outside(org.plan()) == []
    node(tree, "more")["condition"] = None
    org.write(tree)
    assert [(str(line.address), line.field, line.before) for line in outside(org.plan())] == [
        (f"{DOCS}/section/more", "condition", "visitor.claims.x")
    ]


def test_a_site_that_is_closed_outside_is_not_an_exposure(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "visitor-auth"})
    org.apply()
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"published": False})
    assert accepted(org, lambda t: None).exposures == ()


def test_a_change_of_the_files_from_what_somebody_opened_is_compared_with_what_was_agreed_to(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "public"})
    plan = accepted(org, lambda t: t["sites"]["docs"].update(visibility="unlisted"))
    (line,) = outside(plan)
    assert (line.before, line.after) == ("share-link", "unlisted")
    assert "anyone with the URL" in line.readers


def test_what_the_plan_opens_anyway_is_said_once(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "unlisted"})
    plan = accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    readers = [reader for line in plan.exposures for reader in line.readers]
    assert sorted(readers) == sorted(set(readers))
    assert "anyone" in readers


def test_a_share_link_that_somebody_created_and_the_files_declare_is_an_exposure(org: Org) -> None:
    org.call("POST", f"/orgs/org_acme/sites/{org.id(DOCS)}/share-links", {"name": "Press"})
    plan = accepted(org, lambda t: t["sites"]["docs"]["shareLinks"].update(press={"name": "Press", "active": True}))
    assert [str(line.address) for line in outside(plan)] == [f"{DOCS}/share-link/press"]
    org.apply()
    assert org.plan().exposures == ()


def test_a_space_that_somebody_moved_to_where_members_may_do_more_is_an_exposure(org: Org) -> None:
    org.call("POST", f"/spaces/{org.id('acme/space/two')}/move", {"parent": org.id("acme/collection/other")})

    def moved(tree: Tree) -> None:
        content = node(tree, "product")["content"]
        two = next(entry for entry in content if entry.get("space") == "two")
        content.remove(two)
        node(tree, "other")["content"].append(two)

    plan = accepted(org, moved)
    assert [(str(line.address), line.field) for line in outside(plan)] == [("acme/space/two", "parent")]


def test_a_lost_state_raises_no_alarm(org: Org) -> None:
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "public"})
    accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    files = [*org.root.rglob("state.db*")]
    assert files
    for file in files:
        file.unlink()
    assert outside(org.plan()) == []


def test_a_run_about_something_else_neither_shows_nor_records_it(org: Org) -> None:
    changed(org, "a site is public")
    accepted(org, lambda t: t["sites"]["docs"].update(visibility="public"))
    org.apply(selection=Selection((Glob.parse("acme/team/*"),)))
    assert len(outside(org.plan())) == 1


def test_later_changes_of_an_ignored_field_are_not_an_exposure(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed()
    tree["sites"]["docs"]["ignoreChanges"] = ["visibility"]
    applied(org, tree)
    changed(org, "a site is public")
    assert outside(org.plan()) == []


def test_another_change_of_the_same_object_does_not_allow_it(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed()
    tree["sites"]["docs"]["published"] = False
    applied(org, tree)
    org.call("POST", f"/orgs/org_acme/sites/{org.id(DOCS)}/publish")
    tree["sites"]["docs"]["title"] = "Handbook"
    org.write(tree)
    org.apply()
    tree["sites"]["docs"]["published"] = True
    org.write(tree)
    assert [(str(line.address), line.field) for line in outside(org.plan())] == [(DOCS, "published")]


def test_what_was_ignored_is_an_exposure_once_the_files_manage_it_again(tmp_path: Path) -> None:
    org, tree = Org(tmp_path), closed()
    tree["sites"]["docs"]["ignoreChanges"] = ["visibility"]
    applied(org, tree)
    changed(org, "a site is public")
    org.apply()
    tree["sites"]["docs"] |= {"visibility": "public", "ignoreChanges": []}
    org.write(tree)
    assert [(str(line.address), line.field) for line in outside(org.plan())] == [(DOCS, "visibility")]


def test_an_exposure_that_somebody_reverts_is_forgotten(org: Org) -> None:
    changed(org, "a site is public")
    org.call("PATCH", f"/orgs/org_acme/sites/{org.id(DOCS)}", {"visibility": "share-link"})
    assert org.plan().exposures == ()


def test_a_renamed_resource_is_compared_with_what_was_agreed_to_under_its_former_address(org: Org) -> None:
    changed(org, "members may edit")

    def renamed(tree: Tree) -> None:
        node(tree, "six").update(space="sixth", previously=["six"], defaultLevel="edit")

    assert [(str(line.address), line.field) for line in outside(accepted(org, renamed))] == [("acme/space/sixth", "defaultLevel")]


def test_two_that_exchange_their_values_are_an_exposure_of_the_one_that_opens(org: Org) -> None:
    tree = closed()
    node(tree, "five")["defaultLevel"] = "edit"
    org.write(tree)
    org.apply()
    org.call("PATCH", f"/spaces/{org.id('acme/space/six')}", {"defaultLevel": "edit"})
    org.call("PATCH", f"/spaces/{org.id('acme/space/five')}", {"defaultLevel": "read"})
    node(tree, "five")["defaultLevel"], node(tree, "six")["defaultLevel"] = "read", "edit"
    org.write(tree)
    assert [str(line.address) for line in outside(org.plan())] == ["acme/space/six"]
