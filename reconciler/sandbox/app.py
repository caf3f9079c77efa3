"""The service as an ASGI application: its endpoints, how it refuses, and the one clock behind every answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from reconciler.sandbox import content, control
from reconciler.sandbox.routes import (
    collections,
    groups,
    members,
    openapi,
    organizations,
    sections,
    share_links,
    site_spaces,
    sites,
    spaces,
    sso,
    teams,
)
from reconciler.sandbox.service import Fault, Service
from reconciler.sandbox.store import Store

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
GROUPS = (collections, spaces, organizations, members, teams, sites, sections, groups, site_spaces, share_links, openapi, sso)


def create_app(
    db: Path, *, control_token: str | None = None, base: str = "http://127.0.0.1", new_id: Callable[[str], str] | None = None
) -> FastAPI:
    """The service over one file. `control_token` opens the control endpoints and acts as the first admin. Raises `NotASandbox`."""
    store = Store(db, new_id=new_id)
    app = FastAPI(title="Documentation service (sandbox)", version="1", openapi_url="/openapi.json", docs_url=None, redoc_url=None)
    app.state.service = Service(store, control_token, base)
    for group in GROUPS:
        app.include_router(group.router, prefix="/v1")
    app.include_router(control.router)
    _refusals(app)

    @app.middleware("http")
    async def clock_and_host(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        host = request.headers.get("host", "")
        if (host.rsplit(":", 1)[0] if not host.endswith("]") else host) not in LOOPBACK:
            answer: Response = _error(403, "this service answers only on the loopback interface")
        else:
            content.purge(store)
            answer = await call_next(request)
        answer.headers["Date"] = format_datetime(store.now(), usegmt=True)
        return answer

    return app


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": status, "message": message}}, status)


def _refusals(app: FastAPI) -> None:
    """Every refusal has one shape."""

    @app.exception_handler(Fault)
    async def fault(request: Request, error: Fault) -> Response:
        return _error(error.status, error.message)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return _error(error.status_code, f"{request.method} {request.url.path}: {error.detail}")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        parts = []
        for one in error.errors()[:5]:
            place: list[Any] = [part for part in one["loc"] if part not in ("body", "query", "path")]
            parts.append(f"{'.'.join(str(part) for part in place) or 'body'}: {one['msg']}")
        return _error(400, "; ".join(parts))
