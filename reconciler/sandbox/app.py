"""The service as an ASGI application: its endpoints, how it refuses, and the one clock behind every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reconciler.sandbox import control, pages, snapshot
from reconciler.sandbox.content import tree
from reconciler.sandbox.endpoints import Endpoint
from reconciler.sandbox.faults.control import router as faults
from reconciler.sandbox.faults.inject import Faults
from reconciler.sandbox.faults.rules import VERSION
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
from reconciler.sandbox.served import routes as served
from reconciler.sandbox.service import Fault, Service, note, who
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


class Sandbox(Starlette):
    """The service over one file."""

    def __init__(self, service: Service, endpoints: tuple[Endpoint, ...]) -> None:
        self.table = Table(endpoints)
        super().__init__(routes=[*served.ROUTES, self.table], exception_handlers={Fault: _fault, HTTPException: _http, Exception: _broken})
        self.state.service = service
        self.add_middleware(Faults, service=service, endpoints=[endpoint for endpoint in endpoints if endpoint.include_in_schema])
        self.add_middleware(Front, service=service)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the service."""
        return self.table.framework.openapi()


def service_document() -> dict[str, Any]:
    """The OpenAPI document of the service, of no file."""
    return Table(_endpoints()).framework.openapi()


def create_app(
    db: Path, *, control_token: str | None = None, base: str = "http://127.0.0.1", new_id: Callable[[str], str] | None = None
) -> Sandbox:
    """The service over one file. `control_token` opens the control endpoints and acts as the first admin. Raises `NotASandbox`."""
    store = Store(db, new_id=new_id)
    # a copy answers with the URLs of its original, where its pages are for everybody else
    return Sandbox(Service(store, control_token, store.meta(snapshot.ORIGIN) or base), _endpoints())


@cache
def _endpoints() -> tuple[Endpoint, ...]:
    """The endpoints of all applications of this process: FastAPI examines the parameters of one once, not once an application."""
    of_the_service = [replace(endpoint, path=f"{VERSION}{endpoint.path}") for group in GROUPS for endpoint in group.router.endpoints]
    others = [endpoint for router in (control.router, faults, snapshot.router, *pages.ROUTERS) for endpoint in router.endpoints]
    return (*of_the_service, *others)


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
        # a page in a browser could reach the port under a name of its own (DNS rebinding); it cannot choose what the browser sends as
        # Host
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
        # the clock may be moved by hours between two requests, so what has expired is removed when somebody looks, not by a timer
        tree.purge(self.service.store)
        await self.app(scope, receive, dated)


def _date(service: Service) -> bytes:
    return format_datetime(service.store.now(), usegmt=True).encode()


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"code": status, "message": message}}, status, dict(headers or {}))


# Every refusal has one shape.


async def _fault(request: Request, error: Exception) -> Response:
    return _error(error.status, error.message) if isinstance(error, Fault) else await _broken(request, error)


async def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return await _broken(request, error)
    return _error(error.status_code, f"{request.method} {request.url.path}: {error.detail}", error.headers)


async def _broken(request: Request, error: Exception) -> Response:
    service: Service = request.app.state.service
    return _error(500, f"{request.method} {request.url.path}: {type(error).__name__}", {"Date": _date(service).decode()})
