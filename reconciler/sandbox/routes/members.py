"""Members: people of an organization, what they reach and the teams they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from reconciler.sandbox.bodies import MemberPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.organization import accounts, levels
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/members", tags=["Organization members"])


def _member(caller: Caller, organization: str, user: str) -> Object:
    """A member: of whoever may list members everyone, of all others themselves."""
    if user != caller.member(organization)["id"]:
        caller.lister(organization)
    member = caller.store.find("member", f"{organization}:{user}")
    if member is None:
        raise Fault(404, f"member {user} not found")
    return member


def _show(view: View, member: Object) -> Object:
    """The member as the service shows it, with when it was seen last and whether it signs in through a provider."""
    return {**view.member(member), "lastSeenAt": _seen(member), "sso": member.get("_sso", False)}


def _seen(member: Object) -> str:
    return str(member.get("_seenAt", member["joinedAt"]))


@router.get("")
async def list_members(
    organizationId: str,
    order: Literal["asc", "desc"] = "desc",
    role: Literal["admin", "create", "review", "edit", "comment", "read", "guest"] | None = None,
    search: str | None = None,
    sort: Literal["joinedAt", "lastSeenAt"] = "joinedAt",
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    caller.lister(organizationId)
    members = caller.store.select("member", organization=organizationId, newest=order == "desc")
    if role is not None:
        members = [item for item in members if (item["role"] or "guest") == role]
    if search:
        members = [item for item in members if search.lower() in f"{item['displayName']}\n{item['email']}".lower()]
    if sort == "lastSeenAt":
        members.sort(key=_seen, reverse=order == "desc")
    view = View(caller)
    return listing(members, paging, lambda item: _show(view, item))


@router.get("/{userId}")
async def get_member(organizationId: str, userId: str, caller: Caller = Calling) -> Any:
    return _show(View(caller), _member(caller, organizationId, userId))


@router.delete("/{userId}", status_code=204)
async def remove_member(organizationId: str, userId: str, caller: Caller = Calling) -> None:
    caller.admin(organizationId)
    with caller.store.write():
        # a delete that is repeated must answer the same as the first one, so a person who left before is not an error
        member = caller.store.find("member", f"{organizationId}:{userId}")
        if member is not None:
            accounts.keep(caller.store, member)
        caller.store.remove("member", f"{organizationId}:{userId}")
        for team in caller.store.select("team", organization=organizationId):
            if userId in team["_members"]:
                team["_members"].remove(userId)
                team.get("_roles", {}).pop(userId, None)
                caller.store.save("team", team)
        levels.forget(caller.store, organizationId, userId)


@router.patch("/{userId}")
async def change_member(organizationId: str, userId: str, body: MemberPatch, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        member = _member(caller, organizationId, userId)
        member |= body.given()
        caller.store.save("member", member)
    return _show(View(caller), member)


@router.post("/{userId}/sso")
async def add_sso_member(organizationId: str, userId: str, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        member = _member(caller, organizationId, userId)
        member["_sso"] = True
        caller.store.save("member", member)
    return _show(View(caller), member)


@router.get("/{userId}/spaces")
async def list_member_spaces(
    organizationId: str, userId: str, order: Literal["asc", "desc"] = "desc", paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    member = _member(caller, organizationId, userId)
    spaces: Sequence[Object] = caller.store.rows("space", organization=organizationId, alive=True, newest=order == "desc", by="updatedAt")
    of_spaces, view = levels.Levels.of(caller.store, organizationId), View(caller)
    if member["role"] != levels.ADMIN or member.get("disabled"):
        spaces = [item for item in spaces if of_spaces.level(member, item) is not None]
    return listing(spaces, paging, lambda item: {"permission": of_spaces.level(member, item), "space": view.space(item)})


@router.get("/{userId}/teams")
async def list_member_teams(
    organizationId: str, userId: str, title: str | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    _member(caller, organizationId, userId)
    teams = [item for item in caller.store.select("team", organization=organizationId, newest=True) if userId in item["_members"]]
    if title:
        teams = [item for item in teams if title.lower() in item["title"].lower()]
    view = View(caller)
    return listing(teams, paging, lambda item: {"team": view.team(item), "member": {"role": levels.role_in(item, userId)}})
