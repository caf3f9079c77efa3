"""What no reading shows is not absent: nothing is created that may exist. What people created in place of another is recognized."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.model import Action, Plan
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.missing import believable
from tests.harness import ORGANIZATION, Org
from tests.small import applied, node, settled, small

HOUSE: dict[str, Any] = {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}]}
ROOT: dict[str, Any] = {"content": [*HOUSE["content"], {"space": "notes", "title": "Notes"}]}


def actions(made: Plan) -> dict[str, set[str]]:
    return {str(change.address): {str(action) for action in change.actions} for change in made.changes}


def reasons(made: Plan) -> dict[str, str]:
    return {str(refusal.address): f"{refusal.reason}; {refusal.remedy}" for refusal in made.blocked}


def copy(org: Org, title: str, source: str = "spc_blank", parent: str | None = None) -> str:
    """Another space of that title, created by hand."""
    made = org.call("POST", f"/spaces/{source}/duplicate")["id"]
    org.call("PATCH", f"/spaces/{made}", {"title": title})
    org.call("POST", f"/spaces/{made}/move", {"parent": parent})
    return str(made)


# -- spaces at the root ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", [None, "ada@acme.example", "linus@acme.example"])
def test_a_space_at_the_root_is_found_by_an_admins_list_whoever_the_projects_member_is(org: Org, member: str | None) -> None:
    existing = copy(org, "Notes")
    org.write(ROOT, service={"member": member} if member else {})
    made = org.plan()
    assert actions(made)["acme/space/notes"] == {"adopt"}
    assert [change.id for change in made.changes if str(change.address) == "acme/space/notes"] == [existing]


def test_where_no_list_shows_the_root_nothing_is_created_there_and_the_plan_says_what_to_write(org: Org) -> None:
    copy(org, "Notes")
    org.write(ROOT, service={})
    made = org.plan(failing=("spaces",))
    assert "acme/space/notes" not in actions(made)
    assert "may exist already: no reading shows every space of acme" in reasons(made)["acme/space/notes"]
    assert (
        "set service.member to an admin with access to all of them; if it does not exist, write adopt: never"
        in reasons(made)["acme/space/notes"]
    )
    org.write({"content": [*HOUSE["content"], {"space": "notes", "title": "Notes", "adopt": "never"}]}, service={})
    assert actions(org.plan(failing=("spaces",)))["acme/space/notes"] == {"create"}


def test_where_members_cannot_be_listed_nothing_is_created_at_the_root(org: Org) -> None:
    org.write(ROOT, service={})
    assert "acme/space/notes" in reasons(org.plan(failing=("members",)))


def test_people_are_not_looked_for_where_every_space_has_a_place_that_lists_it(org: Org) -> None:
    tree = {"content": [*HOUSE["content"], {"collection": "c", "title": "C", "content": [{"space": "notes", "title": "Notes"}]}]}
    org.write(tree, service={})
    org.plan()
    assert not [path for _, path in org.requests if "/members" in path]


def test_an_admin_is_asked_where_no_member_is_named(org: Org) -> None:
    org.write(ROOT, service={})
    assert actions(org.plan())["acme/space/notes"] == {"create"}
    assert ("GET", f"/orgs/{ORGANIZATION}/members/usr_ada/spaces") in org.requests


# -- deleted and created again --------------------------------------------------------------------------------------------------------


def again(acme: Org, path: str, id: str, body: Any, method: str = "POST") -> str:
    """Delete an object by hand, and create one like it."""
    acme.call("DELETE", f"{path}/{id}")
    return str(acme.call(method, path, body)["id"])


def id_of(org: Org, address: str) -> str:
    return next(one.id for at, one in org.remembered().bindings.items() if str(at) == address)


def test_a_team_that_was_deleted_and_created_again_is_adopted_and_the_plan_says_so(acme: Org) -> None:
    new = again(acme, f"/orgs/{ORGANIZATION}/teams", id_of(acme, "acme/team/writers"), {"title": "Writers"}, "PUT")
    (change,) = [one for one in acme.plan().changes if str(one.address) == "acme/team/writers"]
    assert (change.actions, change.id) == ((Action.ADOPT,), new)
    assert change.reason == "was deleted and created again outside Reconciler"
    acme.apply()
    settled(acme)
    assert id_of(acme, "acme/team/writers") == new
    assert [item["title"] for item in acme.items(f"/orgs/{ORGANIZATION}/teams")].count("Writers") == 1


def test_adopt_never_creates_it_beside_the_one_that_people_created(acme: Org) -> None:
    tree = small()
    tree["teams"]["writers"]["adopt"] = "never"
    acme.write(tree)
    again(acme, f"/orgs/{ORGANIZATION}/teams", id_of(acme, "acme/team/writers"), {"title": "Writers"}, "PUT")
    assert actions(acme.plan())["acme/team/writers"] == {"create"}


def test_two_that_could_be_meant_are_a_decision_for_people(acme: Org) -> None:
    for _ in range(2):
        acme.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Writers"})
    acme.call("DELETE", f"/orgs/{ORGANIZATION}/teams/{id_of(acme, 'acme/team/writers')}")
    made = acme.plan()
    assert "2 objects match" in reasons(made)["acme/team/writers"]
    assert "reconciler state forget acme/team/writers, then reconciler adopt acme/team/writers ID" in reasons(made)["acme/team/writers"]


def test_a_space_that_was_deleted_and_created_again_is_the_new_one_and_how_long_the_old_can_be_restored_is_said(acme: Org) -> None:
    old = id_of(acme, "acme/space/two")
    parent = acme.call("GET", f"/spaces/{old}")["parent"]
    acme.call("DELETE", f"/spaces/{old}")
    new = copy(acme, "Two", parent=parent)
    (change,) = [one for one in acme.plan().changes if str(one.address) == "acme/space/two"]
    assert Action.ADOPT in change.actions
    assert change.id == new
    said = f"was deleted and created again outside Reconciler; the deleted one ({old}) can be restored for another "
    assert change.reason.startswith(said)
    acme.apply()
    settled(acme)
    assert [item["space"]["title"] for item in acme.items(f"/orgs/{ORGANIZATION}/members/usr_ada/spaces")].count("Two") == 1


def test_a_space_that_was_only_deleted_is_restored(acme: Org) -> None:
    acme.call("DELETE", f"/spaces/{id_of(acme, 'acme/space/two')}")
    assert "restore" in actions(acme.plan())["acme/space/two"]


def test_a_space_with_adopt_never_is_restored_beside_the_new_one(acme: Org) -> None:
    old = id_of(acme, "acme/space/two")
    parent = acme.call("GET", f"/spaces/{old}")["parent"]
    acme.call("DELETE", f"/spaces/{old}")
    copy(acme, "Two", parent=parent)
    tree = small()
    node(tree, "two")["adopt"] = "never"
    acme.write(tree)
    assert "restore" in actions(acme.plan())["acme/space/two"]


def test_a_site_that_was_deleted_and_created_again_is_adopted_with_all_that_is_in_it(acme: Org) -> None:
    site = id_of(acme, "acme/site/docs")
    links = f"/orgs/{ORGANIZATION}/sites/{{}}/share-links"
    acme.call("DELETE", f"/orgs/{ORGANIZATION}/sites/{site}")
    new = acme.call("POST", f"/orgs/{ORGANIZATION}/sites", {"title": "Docs"})["id"]
    link = acme.call("POST", links.format(new), {"name": "Partners"})["id"]
    made = acme.plan()
    assert "adopt" in actions(made)["acme/site/docs"]
    (change,) = [one for one in made.changes if str(one.address) == "acme/site/docs/share-link/partners"]
    assert (change.id, Action.ADOPT in change.actions) == (link, True)
    acme.apply()
    settled(acme)


def test_any_number_of_recreated_objects_is_not_an_outage(acme: Org) -> None:
    links = [f"l{number}" for number in range(6)]
    tree = small()
    tree["sites"]["docs"]["shareLinks"] = {key: {"name": key, "active": False} for key in links}
    applied(acme, tree)
    path = f"/orgs/{ORGANIZATION}/sites/{id_of(acme, 'acme/site/docs')}/share-links"
    for key in links:
        again(acme, path, id_of(acme, f"acme/site/docs/share-link/{key}"), {"name": key})
    made, found = read(acme)
    believable(identify(kinds(), *found), found[0], accept=None)
    assert {str(action) for change in made.changes for action in change.actions if "share-link" in str(change.address)} <= {
        "adopt",
        "update",
    }
    for key in links[:5]:
        acme.call("DELETE", f"{path}/{next(item['id'] for item in acme.items(path) if item['name'] == key)}")
    found = read(acme)[1]
    with pytest.raises(Refused):
        believable(identify(kinds(), *found), found[0], accept=None)


def read(org: Org) -> tuple[Plan, Any]:
    import asyncio

    from reconciler.client.service import Reader
    from reconciler.observe import observe
    from reconciler.plan.planner import plan

    async def look() -> Any:
        desired = org.load().desired
        state = org.remembered()
        async with org.client(Reader) as reader:
            return desired, state, await observe(reader, kinds(), desired, state)

    found = asyncio.run(look())
    return plan(kinds(), *found), found
