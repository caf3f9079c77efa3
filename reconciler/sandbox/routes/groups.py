"""Site section groups: sections gathered under one title."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import GroupCreate, GroupJoin, GroupMove, GroupPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.store import Object, Store
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/section-groups", tags=["Site section groups"])


@router.get("")
async def list_groups(organizationId: str, siteId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    structure.site_of(caller, organizationId, siteId)
    return listing(structure.groups(caller.store, siteId), paging, View(caller).of_site(siteId).group)


def _join(store: Store, group: Object, section: Object, field: str) -> None:
    if section.get("sectionGroup") == group["id"]:
        return
    # a section leaves its group through an endpoint of its own, so that joining another one never takes it away silently
    if section.get("sectionGroup"):
        raise Fault(400, f"{field}: section {section['id']} is in another group; remove it from there first")
    section["sectionGroup"] = group["id"]
    store.save("section", section)
    store.place("section", section["id"], structure.level(group["site"], group["id"]))


@router.post("", status_code=201)
async def create_group(organizationId: str, siteId: str, body: GroupCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        structure.site_of(caller, organizationId, siteId)
        group: dict[str, Any] = {"id": caller.store.new_id("sitesg"), "title": body.title, "organization": organizationId, "site": siteId}
        if body.icon:
            group["icon"] = body.icon
        if body.parent is not None:
            structure.part(caller, organizationId, siteId, "group", body.parent)
            group["sectionGroup"] = body.parent
        joining = [structure.part(caller, organizationId, siteId, "section", id) for id in dict.fromkeys(body.sections)]
        caller.store.add("group", organizationId, structure.level(siteId, body.parent), group)
        for section in joining:
            _join(caller.store, group, section, "sections")
    return View(caller).group(group)


@router.delete("/{siteSectionGroupId}", status_code=204)
async def remove_group(organizationId: str, siteId: str, siteSectionGroupId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        group = caller.store.find("group", siteSectionGroupId)
        if group is not None and group["organization"] == organizationId and group["site"] == siteId:
            structure.delete_group(caller.store, group)


@router.patch("/{siteSectionGroupId}")
async def change_group(organizationId: str, siteId: str, siteSectionGroupId: str, body: GroupPatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        group = structure.part(caller, organizationId, siteId, "group", siteSectionGroupId)
        group |= body.given()
        if group.get("icon") is None:
            group.pop("icon", None)
        caller.store.save("group", group)
    return View(caller).group(group)


@router.post("/{siteSectionGroupId}/sections", status_code=201)
async def join_group(organizationId: str, siteId: str, siteSectionGroupId: str, body: GroupJoin, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        group = structure.part(caller, organizationId, siteId, "group", siteSectionGroupId)
        _join(caller.store, group, structure.part(caller, organizationId, siteId, "section", body.sectionId), "sectionId")
    return View(caller).group(group)


@router.delete("/{siteSectionGroupId}/sections/{siteSectionId}", status_code=204)
async def leave_group(organizationId: str, siteId: str, siteSectionGroupId: str, siteSectionId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        section = caller.store.find("section", siteSectionId)
        mine = section is not None and section["organization"] == organizationId and section["site"] == siteId
        if section is not None and mine and section.get("sectionGroup") == siteSectionGroupId:
            section.pop("sectionGroup")
            caller.store.save("section", section)
            caller.store.place("section", siteSectionId, structure.level(siteId))


@router.post("/{siteSectionGroupId}/move")
async def move_group(organizationId: str, siteId: str, siteSectionGroupId: str, body: GroupMove, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        group = structure.part(caller, organizationId, siteId, "group", siteSectionGroupId)
        sides = structure.anchors(body.position, "id", ("group", siteSectionGroupId))
        if not caller.store.place("group", siteSectionGroupId, structure.level(siteId, group.get("sectionGroup")), **sides):
            raise Fault(400, "position names a section or a group on another level")
    return View(caller).group(group)
