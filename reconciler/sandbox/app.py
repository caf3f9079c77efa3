"""The service as an ASGI application: its endpoints, how it refuses, and the one clock behind every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.utils import format_datetime
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reconciler.sandbox import control, pages, snapshot
from reconciler.sandbox.content import tree
from reconciler.sandbox.document import document
from reconciler.sandbox.faults.control import router as faults
from reconciler.sandbox.faults.inject import Faults
from reconciler.sandbox.recent import note
from reconciler.sandbox.repeats import said_once
from reconciler.sandbox.routes import (
    adaptive_schema,
    agent_instructions,
    change_requests,
    collections,
    comments,
    conversations,
    groups,
    integrations,
    joining,
    members,
    openapi,
    organization_search,
    organizations,
    ping,
    published,
    sections,
    share_links,
    site_spaces,
    sites,
    space_content,
    spaces,
    sso,
    teams,
    translations,
)
from reconciler.sandbox.service import Fault, Service, who
from reconciler.sandbox.sites.readers import HEADER as READER
from reconciler.sandbox.sites.visitors import as_reader
from reconciler.sandbox.store import Store
from reconciler.sandbox.table import Table

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
GROUPS = (
    collections,
    spaces,
    organizations,
    members,
    teams,
    sites,
    sections,
    groups,
    site_spaces,
    share_links,
    openapi,
    sso,
    joining,
    organization_search,
    agent_instructions,
    ping,
    adaptive_schema,
    published,
    change_requests,
    space_content,
    comments,
    integrations,
    translations,
    conversations,
)


def create_app(
    db: Path, *, control_token: str | None = None, base: str = "http://127.0.0.1", new_id: Callable[[str], str] | None = None
) -> FastAPI:
    """The service over one file. `control_token` opens the control endpoints and acts as the first admin. Raises `NotASandbox`."""
    store = Store(db, new_id=new_id)
    app = FastAPI(title="Documentation service (sandbox)", version="1", openapi_url="/openapi.json", docs_url=None, redoc_url=None)
    app.state.service = Service(store, control_token, base)
    app.router.routes.extend(_endpoints())
    _refusals(app)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # as FastAPI's own documentation says to
    app.add_middleware(Faults, service=app.state.service, routers=[group.router for group in GROUPS])
    app.add_middleware(Front, service=app.state.service)
    return app


@cache
def _endpoints() -> tuple[BaseRoute, ...]:
    """The routes of all applications of this process: FastAPI examines an endpoint's parameters once, not once an application."""
    router = APIRouter()
    for group in GROUPS:
        router.include_router(group.router, prefix="/v1", dependencies=[Depends(said_once)])
    for other in (control.router, faults, snapshot.router, pages.router):
        router.include_router(other)
    return (Table("/v1", [group.router for group in GROUPS], [Depends(said_once)]), *router.routes)


class Front:
    """Before and after every request: the host, who calls, the spaces whose time is over, the clock on the answer."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"date", _date(self.service))]
                if scope["path"].startswith("/v1/"):
                    note(self.service, scope["method"], scope["path"], message["status"])
            await send(message)

        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if (host.rsplit(":", 1)[0] if not host.endswith("]") else host) not in LOOPBACK:
            await _error(403, "this service only listens on the loopback interface")(scope, receive, dated)
            return
        if scope["path"].startswith("/v1/"):
            try:
                caller = who(self.service, headers.get("authorization", ""), scope["method"])
                described = headers.get(READER)
                scope["caller"] = caller if described is None else as_reader(caller, described, scope["method"])
            except Fault as fault:
                await _error(fault.status, fault.message)(scope, receive, dated)
                return
        tree.purge(self.service.store)
        await self.app(scope, receive, dated)


def _date(service: Service) -> bytes:
    return format_datetime(service.store.now(), usegmt=True).encode()


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"code": status, "message": message}}, status, dict(headers or {}))


def _refusals(app: FastAPI) -> None:
    """Every refusal has one shape."""

    @app.exception_handler(Fault)
    async def fault(request: Request, error: Fault) -> Response:
        return _error(error.status, error.message)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        return _error(error.status_code, f"{request.method} {request.url.path}: {error.detail}", error.headers)

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        service: Service = request.app.state.service
        return _error(500, f"{request.method} {request.url.path}: {type(error).__name__}", {"Date": _date(service).decode()})

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        parts = []
        for problem in error.errors()[:5]:
            if problem["type"] == "json_invalid":
                parts.append("body: not JSON")
                continue
            place = ".".join(str(part) for part in problem["loc"][1:])
            parts.append(f"{place or 'body'}: {problem['msg'].removeprefix('Value error, ')}")
        return _error(400, "; ".join(parts))
