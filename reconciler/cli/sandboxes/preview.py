"""The preview of a rehearsal over HTTP, for the browser of this machine's user: one page, and the texts of pages when they are opened.

    GET /open/TOKEN   sets a cookie, and leads to /
    GET /             the page
    GET /text         ?content=SPACE&page=PAGE: safe markup, or the reason why there is none

A page of another origin gets nothing: names other than loopback are refused, the cookie is not sent from other sites, and no answer allows
frames. The token of the service stays in this process.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from hmac import compare_digest
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reconciler.serving import CommandServer

Texts = Callable[[str, str], Awaitable[dict[str, str]]]
"""The answer for a space and a page: `html`, or `reason`."""

LOOPBACK: Final = ("127.0.0.1", "localhost")
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def preview_app(html: str, policy: str, texts: Texts, *, port: int, token: str) -> Starlette:
    """`policy`: of the page; that of all other answers allows nothing."""
    cookie, session = f"reconciler-preview-{port}", secrets.token_urlsafe(24)

    def is_known(request: Request) -> bool:
        return compare_digest(request.cookies.get(cookie, "").encode(), session.encode())

    async def opened(request: Request) -> Response:
        if not compare_digest(request.path_params["token"].encode(), token.encode()):
            return _refused()
        answer = RedirectResponse("/", 303)
        answer.set_cookie(cookie, session, httponly=True, samesite="strict")
        return answer

    async def page(request: Request) -> Response:
        if not is_known(request):
            return _refused()
        return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})

    async def text(request: Request) -> Response:
        if not is_known(request):
            return _refused()
        return JSONResponse(await texts(request.query_params.get("content", ""), request.query_params.get("page", "")))

    routes = [Route("/open/{token}", opened), Route("/", page), Route("/text", text)]
    return Starlette(routes=routes, middleware=[Middleware(_Loopback, hosts=frozenset(f"{name}:{port}" for name in LOOPBACK))])


def _refused() -> Response:
    return PlainTextResponse("Open the URL that `reconciler rehearse --serve` printed.\n", 403)


class _Loopback:
    """Refuses requests to other names, which a page of another origin can choose; adds the headers of every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        hosts = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
        known = len(hosts) == 1 and hosts[0] in self.hosts

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items() if name.lower().encode() not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        app = self.app if known else PlainTextResponse("The preview answers only on this machine, by its address.\n", 421)
        await app(scope, receive, headed)


async def serve_preview(html: str, policy: str, texts: Texts, *, ready: Callable[[str], None]) -> None:
    """Serve on a free port of 127.0.0.1 until cancelled. `ready` gets the URL with the token when requests are answered."""
    token = secrets.token_urlsafe(24)
    with closing(_listener()) as listener:
        port = listener.getsockname()[1]
        server = CommandServer(
            uvicorn.Config(
                preview_app(html, policy, texts, port=port, token=token), lifespan="off", log_level="critical", access_log=False,
                server_header=False, ws="none", timeout_graceful_shutdown=1,
            )
        )  # fmt: skip
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.ready.wait()
            ready(f"http://127.0.0.1:{port}/open/{token}")
            await running
        finally:
            server.should_exit = True
            await asyncio.wait({running})


def _listener() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener
