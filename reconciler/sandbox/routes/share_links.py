"""Share links: secret addresses of a site."""

from __future__ import annotations

import secrets
from typing import Any

from reconciler.sandbox.bodies import ShareLinkCreate, ShareLinkPatch
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Paged, Paging, listing
from reconciler.sandbox.sites import structure
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/share-links", tags=["Site share links"])


@router.get("")
async def list_share_links(organizationId: str, siteId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    structure.site_of(caller, organizationId, siteId)
    return listing(caller.store.select("share-link", container=f"links:{siteId}", newest=True), paging, View(caller).share_link)


@router.post("", status_code=201)
async def create_share_link(organizationId: str, siteId: str, body: ShareLinkCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        structure.site_of(caller, organizationId, siteId)
        link = {
            "id": caller.store.new_id("link"),
            "createdAt": caller.store.stamp(),
            "name": body.name,
            "active": True,
            "organization": organizationId,
            "site": siteId,
            "_secret": secrets.token_urlsafe(24),
        }
        caller.store.add("share-link", organizationId, f"links:{siteId}", link)
    return View(caller).share_link(link)


@router.delete("/{shareLinkId}", status_code=204)
async def remove_share_link(organizationId: str, siteId: str, shareLinkId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    link = caller.store.find("share-link", shareLinkId)
    if link is not None and link["organization"] == organizationId and link["site"] == siteId:
        caller.store.remove("share-link", shareLinkId)


@router.patch("/{shareLinkId}")
async def change_share_link(organizationId: str, siteId: str, shareLinkId: str, body: ShareLinkPatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        link = structure.part(caller, organizationId, siteId, "share-link", shareLinkId)
        link |= body.given()
        caller.store.save("share-link", link)
    return View(caller).share_link(link)
