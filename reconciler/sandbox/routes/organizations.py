"""Organizations: listed, read and changed."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import OrganizationPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites.visitors import is_member
from reconciler.sandbox.views import View

router = Router(tags=["Organizations"])


@router.get("/orgs")
async def list_organizations(paging: Paging = Paged, caller: Caller = Calling) -> Any:
    mine = [item for item in caller.store.select("organization") if is_member(caller, item["id"])]
    return listing(mine, paging, View(caller).organization)


@router.get("/orgs/{organizationId}")
async def get_organization(organizationId: str, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    return View(caller).organization(caller.get("organization", organizationId))


@router.patch("/orgs/{organizationId}")
async def change_organization(organizationId: str, body: OrganizationPatch, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        organization = caller.get("organization", organizationId)
        given = body.given()
        content = given.get("defaultContent")
        site = caller.store.find("site", content["site"]) if content is not None else None
        if content is not None and (site is None or site["organization"] != organizationId):
            raise Fault(400, f"defaultContent.site: there is no site {content['site']}")
        if "logo" in given:
            organization["_logo"] = given.pop("logo")
        if "defaultContent" in given and given["defaultContent"] is None:
            organization.pop("defaultContent", None)
            given.pop("defaultContent")
        organization |= given
        caller.store.save("organization", organization)
    return View(caller).organization(organization)
