"""A site as its visitors get it: its structure and its look, once it is published."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault
from reconciler.sandbox.sites import structure
from reconciler.sandbox.sites.visitors import reader, shown as shown_to
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/published", tags=["Docs sites"])

COLORS = {
    "primaryColor": ("#346DDB", "#346DDB"),
    "infoColor": ("#787878", "#787878"),
    "successColor": ("#00C950", "#00C950"),
    "warningColor": ("#FE9A00", "#FE9A00"),
    "dangerColor": ("#FB2C36", "#FB2C36"),
}


@router.get("")
async def get_published_site(organizationId: str, siteId: str, shareKey: str | None = None, caller: Caller = Calling) -> Any:
    caller = reader(caller, organizationId, siteId, shareKey)
    site = structure.site_of(caller, organizationId, siteId)
    if not site["published"]:
        raise Fault(404, f"site {siteId} is not published")
    visible = shown_to(caller, siteId)
    view = View(caller).of_site(siteId, lambda item: visible.site_space(item) and not visible.is_draft(item))
    shown = view.site(site)
    in_sections = structure.sections(caller.store, siteId)
    sections = [item for item in in_sections if visible.section(item) and not visible.is_draft(item)]
    standing = [item for item in structure.site_spaces(caller.store, siteId) if visible.site_space(item) and not visible.is_draft(item)]
    if in_sections:
        parts = {"type": "sections", "structure": [view.section(item) for item in sections]}
    else:
        parts = {"type": "siteSpaces", "structure": [view.site_space(item) for item in standing]}
    look = site.get("_look") or customization(site["title"], f"{caller.service.base}/files/{siteId}", shown["urls"]["published"])
    return {
        "object": "published-content-site",
        "site": shown,
        "structure": parts,
        "customizations": {"site": look, "siteSpaces": {item["id"]: look for item in standing}},
        "scripts": [],
    }


def customization(title: str, files: str, published: str) -> dict[str, Any]:
    """The look of a site: the service's defaults, as no endpoint changes them. `files`, `published`: where its files and its pages are."""
    logo = {"light": f"{files}/logo-light", "dark": f"{files}/logo-dark"}
    return {
        "title": title,
        "styling": {
            "theme": "clean",
            **{name: {"light": light, "dark": dark} for name, (light, dark) in COLORS.items()},
            "tint": {"color": {"light": "#DDDDDD", "dark": "#222222"}},
            "corners": "straight",
            "depth": "subtle",
            "links": "default",
            "font": "Inter",
            "monospaceFont": "IBMPlexMono",
            "icons": "regular",
            "sidebar": {"background": "default", "list": "default"},
            "search": "prominent",
        },
        "favicon": {"icon": {"light": f"{files}/icon-light", "dark": f"{files}/icon-dark"}},
        "header": {"logo": logo, "links": []},
        "footer": {"logo": logo, "groups": [], "copyright": ""},
        "announcement": {"enabled": False, "message": "Welcome", "style": "info"},
        "themes": {"default": "light", "toggeable": True},
        "pdf": {"enabled": True},
        "feedback": {"enabled": False},
        "ai": {"mode": "none"},
        "advancedCustomization": {"enabled": False},
        "git": {"showEditLink": False},
        "pageActions": {"externalAI": True, "markdown": True, "mcp": True},
        "externalLinks": {"target": "self"},
        "pagination": {"enabled": True},
        "trademark": {"enabled": True},
        "privacyPolicy": {"url": f"{published}/privacy"},
        "socialPreview": {"url": f"{published}/preview"},
        "insights": {"trackingCookie": True},
    }
