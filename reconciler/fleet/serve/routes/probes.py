"""What monitors ask: whether the process lives, whether it is ready, and the metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from reconciler.errors import ReconcilerError
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
