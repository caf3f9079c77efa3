"""The static files of the pages: three styles, an icon, and two pinned scripts. They are read from the package once.

`POLICY` lets a page load these and nothing else: no other origin, no inline scripts or styles.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from reconciler.features.rehearsal.page.first_screen import CSS
from reconciler.fleet.pages import links
from reconciler.report.style import PRODUCT as PRODUCT_FILE

HTMX: Final = "htmx-2.0.11.min.js"
EVENTS: Final = "htmx-ext-sse-2.2.4.min.js"
STYLE: Final = "dashboard.css"
PRODUCT: Final = PRODUCT_FILE.name
REHEARSAL: Final = CSS.name
ICON: Final = "icon.svg"
TYPES: Final = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "HX-Request",
}
"""The headers of every page."""


@dataclass(frozen=True)
class Asset:
    """A file. `digest`: a part of its URL, so that browsers may cache it permanently."""

    name: str
    type: str
    content: bytes
    digest: str


@cache
def assets() -> dict[str, Asset]:
    """The files by name."""
    folder = files("reconciler.fleet.pages") / "static"
    own = {name: _asset(name, (folder / name).read_bytes()) for name in (HTMX, EVENTS, STYLE, ICON)}
    return own | {file.name: _asset(file.name, file.read_bytes()) for file in (PRODUCT_FILE, CSS)}


def url(name: str) -> str:
    """The URL of a file."""
    return links.to(f"{links.STATIC}{name}?{assets()[name].digest}")


def _asset(name: str, content: bytes) -> Asset:
    return Asset(name, TYPES[name.rpartition(".")[2]], content, hashlib.sha256(content).hexdigest()[:12])
