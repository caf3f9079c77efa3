"""How a published site looks: the service's defaults, as no endpoint changes them."""

from __future__ import annotations

from typing import Any

COLORS = {
    "primaryColor": ("#346DDB", "#346DDB"),
    "infoColor": ("#787878", "#787878"),
    "successColor": ("#00C950", "#00C950"),
    "warningColor": ("#FE9A00", "#FE9A00"),
    "dangerColor": ("#FB2C36", "#FB2C36"),
}


def customization(title: str, files: str, published: str) -> dict[str, Any]:
    """The look of a site whose files are at one address and which is read at another."""
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
