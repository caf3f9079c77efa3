"""The door of a service that listens on a port: without a secret of its process, nothing of it answers.

Every user of the machine, and every page in a browser of it, can connect to a port of 127.0.0.1. So each request has one of

    Authorization: Bearer TOKEN   whoever acts with this token
    X-Sandbox-Secret: TOKEN       a reader without a token, for everything behind the door
    a cookie                      a browser, below the path of an `Entrance`

and all others get one answer, whatever they ask for; nothing of them is read or noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler.sandbox.header import SECRET

NO_TOKEN: Final = "an access token is required: Authorization: Bearer <ACCESS_TOKEN>"  # noqa: S105 - a sentence
UNKNOWN_TOKEN: Final = "the access token is unknown"  # noqa: S105
TO_BROWSERS: Final = (
    "This page opens with a link that works once.\n"
    "Open the newest link that `reconciler sandbox serve` printed in its terminal: when one is used, it prints the next.\n"
)


class Door:
    """`opens`: whether a token is one of the service, compared in constant time. `otherwise`: answers all other requests."""

    def __init__(self, app: ASGIApp, opens: Callable[[str], bool], *, otherwise: ASGIApp) -> None:
        self.app, self.opens, self.otherwise = app, opens, otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        is_open = any(secret and self.opens(secret) for secret in (bearer(headers.get("authorization", "")), headers.get(SECRET, "")))
        await (self.app if is_open else self.otherwise)(scope, receive, send)


def bearer(authorization: str) -> str:
    """The token of a header `Authorization`; "" without one."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """The answer to whoever has no secret: the same for every path."""
    await _refusal(Headers(scope=scope))(scope, receive, send)


async def refuse_browser(scope: Scope, receive: Receive, send: Send) -> None:
    """The same; a browser gets a page that says how to open it."""
    headers = Headers(scope=scope)
    is_page = "text/html" in headers.get("accept", "") and "authorization" not in headers
    await (PlainTextResponse(TO_BROWSERS, 401) if is_page else _refusal(headers))(scope, receive, send)


def _refusal(headers: Headers) -> Response:
    wrong = UNKNOWN_TOKEN if bearer(headers.get("authorization", "")) else NO_TOKEN
    return JSONResponse({"error": {"code": 401, "message": wrong}}, 401)
