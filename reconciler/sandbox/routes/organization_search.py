"""Search over the pages of all spaces of an organization."""

from __future__ import annotations

from typing import Annotated, Any

from reconciler.sandbox.content.searching import candidates, find_pages, found_in
from reconciler.sandbox.endpoints import Query, Router
from reconciler.sandbox.service import Caller, Calling, Paged, Paging, listing

router = Router(prefix="/orgs/{organizationId}/search", tags=["Organizations"])


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
    results = [item for item in spaces if found_in(item, query)]
    return listing(results, paging, lambda item: {"id": item["id"], "title": item["title"], "pages": find_pages(base, item, query)})
