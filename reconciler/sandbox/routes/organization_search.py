"""Search over the pages of all spaces of an organization."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from reconciler.sandbox.content.searching import candidates, find_pages, found_in
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
    base = caller.service.base
    spaces = candidates(caller.store.rows("space", organization=organizationId, alive=True).texts, query)
    found = [one for one in spaces if found_in(one, query)]
    return listing(found, paging, lambda one: {"id": one["id"], "title": one["title"], "pages": find_pages(base, one, query)})
