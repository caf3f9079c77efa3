"""Docs sites: published documentation, made of sections or of spaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from reconciler.sandbox.bodies import SiteCreate, SitePatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.readers import Gate
from reconciler.sandbox.sites.visitors import Visitor, reader, sites_reader
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites", tags=["Docs sites"])


@router.get("")
async def list_sites(
    organizationId: str,
    space: str | None = None,
    title: str | None = None,
    published: bool | None = None,
    type: str | None = None,
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    caller = sites_reader(caller, organizationId)
    caller.member(organizationId)
    sites: Sequence[Object] = caller.store.rows("site", organization=organizationId, newest=True)
    if isinstance(caller, Visitor) and caller.reader is not None:
        sites = [item for item in sites if Gate.of(caller.store, item).opens(caller.reader)]
    if space is not None:
        holding = {item["site"] for item in caller.store.select("site-space", organization=organizationId) if item["_space"] == space}
        sites = [item for item in sites if item["id"] in holding]
    if title:
        sites = [item for item in sites if title.lower() in item["title"].lower()]
    if published is not None:
        sites = [item for item in sites if item["published"] == published]
    if type is not None:
        sites = [item for item in sites if item["type"] == type]
    return listing(sites, paging, View(caller).of_sites(organizationId).site)


@router.post("", status_code=201)
async def create_site(organizationId: str, body: SiteCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        spaces = [caller.get("space", id, organizationId) for id in body.spaces]
        site = structure_site(caller, organizationId, body)
        for space in spaces:
            structure.new_site_space(caller.store, site, space, structure.default_section(caller.store, site, wraps=caller.wraps))
    return View(caller).site(site)


def structure_site(caller: Caller, organization: str, body: SiteCreate) -> dict[str, Any]:
    """A new site, in the store."""
    taken = partial(caller.store.values, "site", organization, "basename")
    site = {
        "id": caller.store.new_id("site"),
        "type": body.type,
        "title": body.title,
        "basename": structure.new_path(body.title, partial(caller.store.site_at, organization), taken),
        "visibility": body.visibility,
        "published": False,
        "createdAt": caller.store.stamp(),
        "adaptiveContent": {"enabled": False},
        "ads": {"status": "pending", "submittable": False},
        "agentsContext": "excluded",
        "features": [],
        "organization": organization,
    }
    return caller.store.add("site", organization, f"sites:{organization}", site)


@router.get("/{siteId}")
async def get_site(organizationId: str, siteId: str, caller: Caller = Calling) -> Any:
    caller = reader(caller, organizationId, siteId, None)
    return View(caller).site(structure.site_of(caller, organizationId, siteId))


@router.delete("/{siteId}", status_code=204)
async def remove_site(organizationId: str, siteId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        site = caller.store.find("site", siteId)
        if site is not None and site["organization"] == organizationId:
            structure.delete_site(caller.store, site)


@router.patch("/{siteId}")
async def change_site(organizationId: str, siteId: str, body: SitePatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site = structure.site_of(caller, organizationId, siteId)
        given = body.given()
        if "basename" in given and caller.store.site_at(organizationId, given["basename"], but=siteId) is not None:
            raise Fault(400, f"basename: {given['basename']} is taken in the organization")
        if "proxy" in given:
            site["_proxy"] = given.pop("proxy")
        chooses = "defaultSiteSection" in given or "defaultSiteSpace" in given
        all_sections = structure.sections(caller.store, siteId) if chooses else []
        if "defaultSiteSection" in given:
            chosen = given.pop("defaultSiteSection")
            if chosen not in {item["id"] for item in all_sections}:
                raise Fault(400, f"defaultSiteSection: there is no section {chosen} in the site")
            structure.choose(caller.store, "section", all_sections, chosen)
        if "defaultSiteSpace" in given:
            chosen = given.pop("defaultSiteSpace")
            home = next((item["id"] for item in all_sections if item["default"]), None)
            siblings = caller.store.select("site-space", container=structure.row(siteId, home))
            if chosen not in {item["id"] for item in siblings}:
                raise Fault(400, f"defaultSiteSpace: there is no site space {chosen} at the root or in the default section")
            structure.choose(caller.store, "site-space", siblings, chosen)
        site |= given
        caller.store.save("site", site)
    return View(caller).site(site)


@router.post("/{siteId}/publish")
async def publish_site(organizationId: str, siteId: str, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site = structure.site_of(caller, organizationId, siteId)
        site["published"] = True
        caller.store.save("site", site)
    return View(caller).site(site)
