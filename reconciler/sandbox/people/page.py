"""`/`: the page, made on the server; it looks again every two seconds by itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reconciler.sandbox.people.sketch import Sketch
from reconciler.sandbox.recent import newest
from reconciler.sandbox.service import Service

router = APIRouter(include_in_schema=False)

SHOWN: Final = 40  # requests
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_HEADERS: Final = {  # nothing of it is fetched from anywhere, and nothing of it is kept
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
    "Cache-Control": "no-store",
}


def visible(text: object) -> str:
    """A text with what cannot be seen, or would turn the line around, written out."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined)
    made.finalize = visible_or_markup
    made.trim_blocks = made.lstrip_blocks = True
    return made


def visible_or_markup(value: object) -> object:
    """`visible` for texts; markup and numbers as they are."""
    return visible(value) if type(value) is str else value


ENVIRONMENT: Final = _environment()


@router.get("/", response_class=HTMLResponse)
async def page(request: Request) -> HTMLResponse:
    service: Service = request.app.state.service
    text = ENVIRONMENT.get_template("page.html").render(it=Sketch(service.store).whole(newest(service, SHOWN)))
    return HTMLResponse(text, headers=_HEADERS)
