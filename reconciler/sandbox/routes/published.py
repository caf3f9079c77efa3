"""A site as its visitors get it: its structure and its look, once it is published."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.customization import customization
from reconciler.sandbox.sites.visitors import reader, shown as shown_to
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/published", tags=["Docs sites"])


@router.get("")
async def get_published_site(organizationId: str, siteId: str, shareKey: str | None = None, caller: Caller = Calling) -> Any:
    caller = reader(caller, organizationId, siteId, shareKey)
    site = structure.site_of(caller, organizationId, siteId)
    if not site["published"]:
        raise Fault(404, f"site {siteId} is not published")
    visible = shown_to(caller, siteId)
    view = View(caller).of_site(siteId, visible.site_space)
    shown = view.site(site)
    in_sections = structure.sections(caller.store, siteId)
    sections = [item for item in in_sections if visible.section(item)]
    standing = [item for item in structure.site_spaces(caller.store, siteId) if visible.site_space(item)]
    if in_sections:
        parts = {"type": "sections", "structure": [view.section(item) for item in sections]}
    else:
        parts = {"type": "siteSpaces", "structure": [view.site_space(item) for item in standing]}
    look = customization(site["title"], f"{caller.service.base}/files/{siteId}", shown["urls"]["published"])
    return {
        "object": "published-content-site",
        "site": shown,
        "structure": parts,
        "customizations": {"site": look, "siteSpaces": {item["id"]: look for item in standing}},
        "scripts": [],
    }
