"""Published sites over HTTP, without a token: `/published/{site}/{path}`."""

from __future__ import annotations

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from reconciler.sandbox.served.choice import chosen
from reconciler.sandbox.served.page import ROOT, page_of, site_named
from reconciler.sandbox.service import Service
from reconciler.sandbox.sites.readers import HEADER

METHODS: Final = ("GET", "HEAD")
HEADERS: Final = {
    # texts of other people are on these pages: no script runs, and nothing is fetched
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
    "Cache-Control": "no-store",
    # the URL may contain the key of a share link
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


async def published(request: Request) -> Response:
    """A page, or a page that says that nothing is there. Raises 400 for an invalid reader, 405 for a write."""
    if request.method not in METHODS:
        raise HTTPException(405, "Method Not Allowed", {"Allow": ", ".join(METHODS)})
    service: Service = request.app.state.service
    name, path = request.path_params["site"], request.path_params.get("path", "")
    header = request.headers.get(HEADER)
    site = site_named(service.store, name)
    query = request.query_params.multi_items()
    choice = chosen(service.store, site or {"id": ""}, query, header)
    search = request.query_params.get("q")
    answer = page_of(service.store, service.base, name, path, choice.reader, choice=choice if header is None else None, search=search)
    return HTMLResponse(answer.html, answer.status, HEADERS)


# a route that takes some methods only leaves the others to the table of endpoints, which does not know the path
_ALL: Final = (*METHODS, "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROUTES: Final = tuple(Route(f"{ROOT}/{{site}}{rest}", published, methods=_ALL) for rest in ("", "/{path:path}"))
