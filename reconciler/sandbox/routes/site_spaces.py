"""Site spaces: spaces as they stand in a site."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from reconciler.sandbox.bodies import SiteSpaceCreate, SiteSpaceMove, SiteSpacePatch
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.visitors import reader, shown
from reconciler.sandbox.views import View

router = APIRouter(prefix="/orgs/{organizationId}/sites/{siteId}/site-spaces", tags=["Site spaces"])


@router.get("")
async def list_site_spaces(
    organizationId: str,
    siteId: str,
    shareKey: str | None = None,
    default: bool | None = None,
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    caller = reader(caller, organizationId, siteId, shareKey)
    structure.site_of(caller, organizationId, siteId)
    visible = shown(caller, siteId)
    found = [one for one in structure.site_spaces(caller.store, siteId) if visible.site_space(one)]
    if default is not None:
        found = [one for one in found if one["default"] == default]
    return listing(found, paging, View(caller).of_site(siteId).site_space)


@router.post("", status_code=201)
async def create_site_space(organizationId: str, siteId: str, body: SiteSpaceCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    store = caller.store
    with store.write():
        site = structure.site_of(caller, organizationId, siteId)
        space = caller.get("space", body.spaceId, organizationId)
        section = body.sectionId
        if section is not None:
            structure.part(caller, organizationId, siteId, "section", section)
        else:
            section = next((one["id"] for one in structure.sections(store, siteId) if one["default"]), None)
        made = structure.new_site_space(store, site, space, section)
    return View(caller).site_space(made)


@router.delete("/{siteSpaceId}", status_code=204)
async def remove_site_space(organizationId: str, siteId: str, siteSpaceId: str, caller: Caller = Calling) -> Response:
    caller.creator(organizationId)
    store = caller.store
    with store.write():
        found = store.find("site-space", siteSpaceId)
        if found is not None and found["organization"] == organizationId and found["site"] == siteId:
            structure.remove_site_space(store, found)
    return Response(status_code=204)


@router.patch("/{siteSpaceId}")
async def change_site_space(organizationId: str, siteId: str, siteSpaceId: str, body: SiteSpacePatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    store = caller.store
    with store.write():
        found = structure.part(caller, organizationId, siteId, "site-space", siteSpaceId)
        given = body.given()
        if "path" in given:
            siblings = store.select("site-space", container=structure.row(siteId, found.get("section")))
            structure.take_path(given["path"], siteSpaceId, siblings)
        if "spaceId" in given:
            found["_space"] = caller.get("space", given.pop("spaceId"), organizationId)["id"]
        if "condition" in given and given["condition"] is None:
            found.pop("condition", None)
            given.pop("condition")
        found |= given
        store.save("site-space", found)
    return View(caller).site_space(found)


@router.post("/{siteSpaceId}/move")
async def move_site_space(organizationId: str, siteId: str, siteSpaceId: str, body: SiteSpaceMove, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    store = caller.store
    with store.write():
        found = structure.part(caller, organizationId, siteId, "site-space", siteSpaceId)
        sides = structure.anchors(body.position, "siteSpace", ("site-space", siteSpaceId))
        if not store.place("site-space", siteSpaceId, structure.row(siteId, found.get("section")), **sides):
            raise Fault(400, "position names a site space that is not a sibling")
    return View(caller).site_space(found)
