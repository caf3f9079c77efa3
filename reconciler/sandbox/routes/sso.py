"""Single sign-on: SAML providers, and the list a sign-in page shows."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import SamlCreate, SamlPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}", tags=["SSO"])


def _team(caller: Caller, organization: str, given: Object) -> Object:
    """The body with the team as it is kept. Raises 400 for an unknown team."""
    if "defaultTeam" in given:
        team = given.pop("defaultTeam")
        if team is not None:
            known = caller.store.find("team", team)
            if known is None or known["organization"] != organization:
                raise Fault(400, f"defaultTeam: there is no team {team}")
        given["_team"] = team
    return given


@router.get("/saml")
async def list_saml(organizationId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    return listing(caller.store.select("saml", organization=organizationId), paging, View(caller).saml)


@router.post("/saml", status_code=201)
async def create_saml(organizationId: str, body: SamlCreate, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        given = _team(caller, organizationId, body.given())
        provider = {
            "id": caller.store.new_id("saml"),
            "defaultRole": None,
            **given,
            "createdAt": caller.store.stamp(),
            "status": "active",
            "organization": organizationId,
        }
        caller.store.add("saml", organizationId, f"saml:{organizationId}", provider)
    return View(caller).saml(provider)


@router.get("/saml/{samlProviderId}")
async def get_saml(organizationId: str, samlProviderId: str, caller: Caller = Calling) -> Any:
    return View(caller).saml(caller.get("saml", samlProviderId, organizationId))


@router.delete("/saml/{samlProviderId}", status_code=204)
async def remove_saml(organizationId: str, samlProviderId: str, caller: Caller = Calling) -> None:
    caller.admin(organizationId)
    provider = caller.store.find("saml", samlProviderId)
    if provider is not None and provider["organization"] == organizationId:
        caller.store.remove("saml", samlProviderId)


@router.patch("/saml/{samlProviderId}")
async def change_saml(organizationId: str, samlProviderId: str, body: SamlPatch, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        provider = caller.get("saml", samlProviderId, organizationId)
        provider |= _team(caller, organizationId, body.given())
        caller.store.save("saml", provider)
    return View(caller).saml(provider)


@router.get("/sso")
async def list_sso(organizationId: str, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    view = View(caller)
    shown = [view.saml(item) for item in caller.store.select("saml", organization=organizationId)]
    return {"items": [{"id": item["id"], "label": item["label"], "startURL": item["service"]["startURL"]} for item in shown]}
