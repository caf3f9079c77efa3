"""Published sites over HTTP, for readers: `/published/{site}/{path}`."""

from __future__ import annotations

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from reconciler.sandbox.served.choice import chosen
from reconciler.sandbox.served.page import ROOT, page_of, problem, site_named
from reconciler.sandbox.service import Fault, Service
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
    """A page, or a page that says that nothing is there. Raises 400 for an invalid header, 405 for a write."""
    if request.method not in METHODS:
        raise HTTPException(405, "Method Not Allowed", {"Allow": ", ".join(METHODS)})
    service: Service = request.app.state.service
    name, header = request.path_params["site"], request.headers.get(HEADER)
    site = site_named(service.store, name) or {"id": ""}
    try:
        choice = chosen(service.store, site, request.query_params.multi_items(), header)
    except Fault as fault:
        if header is not None:
            raise
        # people may mistype claims in the form or in the URL
        answer = problem(fault.status, "This reader is invalid", fault.message)
    else:
        shown = choice if header is None else None
        path, search = request.path_params.get("path", ""), request.query_params.get("q")
        above = request.scope.get("root_path", "")
        answer = page_of(service.store, service.base, name, path, choice.reader, choice=shown, search=search, above=above)
    return HTMLResponse(answer.html, answer.status, HEADERS)


# a route that takes some methods only leaves the others to the table of endpoints, which does not know the path
_ALL: Final = (*METHODS, "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ROUTES: Final = tuple(Route(f"{ROOT}/{{site}}{rest}", published, methods=_ALL) for rest in ("", "/{path:path}"))
