"""The preview of a rehearsal over HTTP, for the browser of this machine's user: one page, and the texts of pages when they are opened.

    GET /PATH/open/CODE   once: sets a cookie, and leads to /PATH/
    GET /PATH/            the page
    GET /PATH/text        ?content=SPACE&page=PAGE: safe markup, or the reason why there is none

A page of another origin gets nothing: names other than loopback are refused, the cookie is not sent from other sites, and no answer allows
frames. A program at another port gets nothing either, because the cookie is for a path that it does not know (`sandbox.entrance`). The
token of the service stays in this process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reconciler.sandbox.entrance import Entrance
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


def preview_app(html: str, policy: str, texts: Texts, *, port: int, say: Callable[[str], None]) -> tuple[ASGIApp, str]:
    """The application, and the link that opens it once. `policy`: of the page; that of all other answers allows nothing. `say`: gets the
    next link when one was used."""

    async def page(request: Request) -> Response:
        return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})

    async def text(request: Request) -> Response:
        return JSONResponse(await texts(request.query_params.get("content", ""), request.query_params.get("page", "")))

    app = Starlette(routes=[Route("/", page), Route("/text", text)])
    entrance = Entrance(app, f"http://127.0.0.1:{port}", refuse=REFUSED, opened=lambda: say(entrance.link))
    return _Loopback(entrance, frozenset(f"{name}:{port}" for name in LOOPBACK)), entrance.link


REFUSED: Final = PlainTextResponse(
    "The preview opens with a link that works once.\n"
    "Open the newest link that `reconciler rehearse --serve` printed in its terminal: when one is used, it prints the next.\n",
    403,
)


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


async def serve_preview(html: str, policy: str, texts: Texts, *, ready: Callable[[str], None], used: Callable[[str], None]) -> None:
    """Serve on a free port of 127.0.0.1 until cancelled. `ready` gets the link when requests are answered, `used` the next one."""
    with closing(_listener()) as listener:
        app, link = preview_app(html, policy, texts, port=listener.getsockname()[1], say=used)
        server = CommandServer(
            uvicorn.Config(
                app,
                lifespan="off",
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=1,
            )
        )
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await server.ready.wait()
            ready(link)
            await running
        finally:
            server.should_exit = True
            await asyncio.wait({running})


def _listener() -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener
