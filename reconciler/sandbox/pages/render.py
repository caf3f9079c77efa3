"""Templates to pages: what they hold is text, and nothing is fetched from anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from jinja2 import Environment

_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the URL may contain the path of a browser
}


def visible(text: object) -> str:
    """A text with what cannot be seen, or would turn the line around, written out."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", str(text))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few processes of the sandbox show a page

    environment = Environment(loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined)
    environment.finalize = lambda value: visible(value) if type(value) is str else value  # markup and numbers are not escaped
    environment.trim_blocks = environment.lstrip_blocks = True
    return environment


def html(template: str, data: Any) -> str:
    """The text of a page of one template, which names its data `it`."""
    return _environment().get_template(template).render(it=data)


def rendered(template: str, request: Request, data: Mapping[str, Any]) -> HTMLResponse:
    """A page of one template with the headers of the sandbox's own pages. Its links begin with `above`, the path of this browser."""
    return HTMLResponse(html(template, {**data, "above": request.scope.get("root_path", "")}), headers=_HEADERS)
