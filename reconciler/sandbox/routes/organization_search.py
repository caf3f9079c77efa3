"""Search over the pages of all spaces of an organization."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from reconciler.sandbox.searching import find_pages
from reconciler.sandbox.service import Caller, Calling, Paged, Paging, listing

router = APIRouter(prefix="/orgs/{organizationId}/search", tags=["Organizations"])


@router.get("")
async def search_organization(
    organizationId: str,
    query: Annotated[str, Query(min_length=1, max_length=512)],
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    caller.member(organizationId)
    found = []
    for space in caller.store.select("space", organization=organizationId):
        pages = [] if space.get("deletedAt") else find_pages(caller.service.base, space, query)
        if pages:
            found.append({"id": space["id"], "title": space["title"], "pages": pages})
    return listing(found, paging)
