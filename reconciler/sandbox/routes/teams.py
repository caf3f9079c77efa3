"""Teams: made with their members, which can never be changed afterwards."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import TeamCreate, TeamPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.organization.levels import OWNER, role_in
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/teams", tags=["Teams"])


@router.get("")
async def list_teams(
    organizationId: str, owner: str | None = None, title: str | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    caller.lister(organizationId)
    teams = caller.store.select("team", organization=organizationId, newest=True)
    if owner is not None:
        teams = [item for item in teams if role_in(item, owner) == OWNER]
    if title:
        teams = [item for item in teams if title.lower() in item["title"].lower()]
    return listing(teams, paging, View(caller).team)


@router.put("", status_code=201)
async def create_team(organizationId: str, body: TeamCreate, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        for user in body.members:
            if caller.store.find("member", f"{organizationId}:{user}") is None:
                raise Fault(400, f"members: there is no member {user}")
        team = {
            "id": caller.store.new_id("team"),
            "title": body.title,
            "createdAt": caller.store.stamp(),
            "organization": organizationId,
            "_members": list(dict.fromkeys(body.members)),
            "_owner": caller.member(organizationId)["id"],
        }
        caller.store.add("team", organizationId, f"teams:{organizationId}", team)
    return View(caller).team(team)


@router.get("/{teamId}")
async def get_team(organizationId: str, teamId: str, caller: Caller = Calling) -> Any:
    return View(caller).team(caller.get("team", teamId, organizationId))


@router.delete("/{teamId}", status_code=204)
async def remove_team(organizationId: str, teamId: str, caller: Caller = Calling) -> None:
    caller.admin(organizationId)
    team = caller.store.find("team", teamId)
    if team is not None and team["organization"] == organizationId:
        caller.store.remove("team", teamId)


@router.patch("/{teamId}")
async def change_team(organizationId: str, teamId: str, body: TeamPatch, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        team = caller.get("team", teamId, organizationId)
        team["title"] = body.title
        caller.store.save("team", team)
    return View(caller).team(team)
