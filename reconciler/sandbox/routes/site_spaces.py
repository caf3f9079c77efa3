"""Site spaces: the spaces of a site."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import SiteSpaceCreate, SiteSpaceMove, SiteSpacePatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.visitors import reader, shown
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/site-spaces", tags=["Site spaces"])


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
    site_spaces = [item for item in structure.site_spaces(caller.store, siteId) if visible.site_space(item)]
    if default is not None:
        site_spaces = [item for item in site_spaces if item["default"] == default]
    return listing(site_spaces, paging, View(caller).of_site(siteId).site_space)


@router.post("", status_code=201)
async def create_site_space(organizationId: str, siteId: str, body: SiteSpaceCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site = structure.site_of(caller, organizationId, siteId)
        space = caller.get("space", body.spaceId, organizationId)
        section = body.sectionId
        if section is not None:
            structure.part(caller, organizationId, siteId, "section", section)
        else:
            section = structure.default_section(caller.store, site, wraps=caller.wraps)
        site_space = structure.new_site_space(caller.store, site, space, section)
    return View(caller).site_space(site_space)


@router.delete("/{siteSpaceId}", status_code=204)
async def remove_site_space(organizationId: str, siteId: str, siteSpaceId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        site_space = caller.store.find("site-space", siteSpaceId)
        if site_space is not None and site_space["organization"] == organizationId and site_space["site"] == siteId:
            structure.remove_site_space(caller.store, site_space)


@router.patch("/{siteSpaceId}")
async def change_site_space(organizationId: str, siteId: str, siteSpaceId: str, body: SiteSpacePatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site_space = structure.part(caller, organizationId, siteId, "site-space", siteSpaceId)
        given = body.given()
        if "path" in given:
            siblings = caller.store.select("site-space", container=structure.row(siteId, site_space.get("section")))
            taken = any(sibling["path"] == given["path"] and sibling["id"] != siteSpaceId for sibling in siblings)
            structure.take_path(given["path"], taken=taken)
        if "spaceId" in given:
            site_space["_space"] = caller.get("space", given.pop("spaceId"), organizationId)["id"]
        if "condition" in given and given["condition"] is None:
            site_space.pop("condition", None)
            given.pop("condition")
        site_space |= given
        caller.store.save("site-space", site_space)
    return View(caller).site_space(site_space)


@router.post("/{siteSpaceId}/move")
async def move_site_space(organizationId: str, siteId: str, siteSpaceId: str, body: SiteSpaceMove, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site_space = structure.part(caller, organizationId, siteId, "site-space", siteSpaceId)
        sides = structure.anchors(body.position, "siteSpace", ("site-space", siteSpaceId))
        if not caller.store.place("site-space", siteSpaceId, structure.row(siteId, site_space.get("section")), **sides):
            raise Fault(400, "position names a site space that is not a sibling")
    return View(caller).site_space(site_space)
