"""Site sections: the tabs of a site, each with its variants."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import SectionCreate, SectionMove, SectionPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.visitors import reader, shown
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/sections", tags=["Site sections"])


@router.get("")
async def list_sections(
    organizationId: str, siteId: str, shareKey: str | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    caller = reader(caller, organizationId, siteId, shareKey)
    structure.site_of(caller, organizationId, siteId)
    visible = shown(caller, siteId)
    sections = [item for item in structure.sections(caller.store, siteId) if visible.section(item)]
    return listing(sections, paging, View(caller).of_site(siteId, visible.site_space).section)


@router.post("", status_code=201)
async def create_section(organizationId: str, siteId: str, body: SectionCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    store = caller.store
    with store.write():
        site = structure.site_of(caller, organizationId, siteId)
        space = caller.get("space", body.spaceId, organizationId)
        first = not store.has_section(siteId)
        created = structure.new_section(store, site, body.title, **({"icon": body.icon} if body.icon else {}))
        structure.new_site_space(store, site, space, created["id"])
        if first:
            structure.rehome(store, site, created)
    return View(caller).section(created)


@router.delete("/{siteSectionId}", status_code=204)
async def remove_section(organizationId: str, siteId: str, siteSectionId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        section = caller.store.find("section", siteSectionId)
        if section is not None and section["organization"] == organizationId and section["site"] == siteId:
            structure.delete_section(caller.store, section)


@router.patch("/{siteSectionId}")
async def change_section(organizationId: str, siteId: str, siteSectionId: str, body: SectionPatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        section = structure.part(caller, organizationId, siteId, "section", siteSectionId)
        given = body.given()
        if "path" in given:
            structure.take_path(given["path"], taken=caller.store.section_at(siteId, given["path"], but=siteSectionId) is not None)
        if "defaultSiteSpace" in given:
            chosen = given.pop("defaultSiteSpace")
            siblings = caller.store.select("site-space", container=structure.row(siteId, siteSectionId))
            if chosen not in {item["id"] for item in siblings}:
                raise Fault(400, f"defaultSiteSpace: there is no site space {chosen} in the section")
            structure.choose(caller.store, "site-space", siblings, chosen)
        section |= given
        for name in ("condition", "icon", "description"):
            if section.get(name) is None:
                section.pop(name, None)
        caller.store.save("section", section)
    return View(caller).section(section)


@router.post("/{siteSectionId}/move")
async def move_section(organizationId: str, siteId: str, siteSectionId: str, body: SectionMove, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        section = structure.part(caller, organizationId, siteId, "section", siteSectionId)
        sides = structure.anchors(body.position, "siteSection", ("section", siteSectionId))
        if not caller.store.place("section", siteSectionId, structure.level(siteId, section.get("sectionGroup")), **sides):
            raise Fault(400, "position names a section on another level")
    return View(caller).section(section)
