"""The endpoints of monitors: whether the process lives, whether it is ready, and the metrics."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from reconciler.errors import ReconcilerError
from reconciler.fleet.metrics import CONTENT_TYPE, metrics_text
from reconciler.fleet.secrets import resolved
from reconciler.fleet.serve.guard import is_own
from reconciler.fleet.serve.site import site_of

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> dict[str, Any]:
    """The process lives."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(request: Request) -> Response:
    """The database answers, and its tables are of this version."""
    site = site_of(request)
    try:
        if site.database.fits():
            return JSONResponse({"status": "ok"})
        why = "the tables of the fleet are of an older version"
    except ReconcilerError as error:
        why = "the tables of the fleet are of a newer version" if error.id == "RC-state-newer" else "the database cannot be used"
    return JSONResponse({"status": "not ready", "reason": why}, 503)


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """The metrics of the fleet, for callers with the token of `dashboard.metrics`; without one, for this machine only, by a name of its
    own: a page of another origin can send any header to a name that it controls."""
    site = site_of(request)
    try:
        reference = site.settings().metrics
        if reference is None and site.single is None:
            return PlainTextResponse("the fleet file does not say where the token of /metrics is: dashboard.metrics\n", 403)
        if reference is None and not is_own(request, site.url):
            return PlainTextResponse("this is not the host of the dashboard\n", 421)
        if reference is not None:
            token = resolved(reference, "dashboard.metrics", where="this machine")
            if not compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode()):
                return PlainTextResponse("the token is missing or wrong\n", 401, headers={"WWW-Authenticate": "Bearer"})
        return Response(metrics_text(site.database), media_type=CONTENT_TYPE)
    except ReconcilerError as error:
        site.say(error.message)
        return PlainTextResponse("the metrics cannot be read now\n", 503)
