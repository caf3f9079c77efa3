"""Checks of every request before it reaches a route: host name, origin, size; and the headers of every response.

A page of another origin cannot send requests here with a name that it controls (DNS rebinding), nor with this site's cookies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_MAX: Final = 64 * 2**10
PUSH_MAX: Final = 4 * 2**20  # size of a forge's push
SAFE: Final = {"GET", "HEAD", "OPTIONS"}
PROBES: Final = {"/healthz", "/readyz"}  # requested by IP address; they reveal nothing about the fleet
METRICS: Final = "/metrics"  # requested by IP address with a token, which no page of another origin has
WEBHOOKS: Final = "/webhooks/"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with none at all, a browser sends forms with the origin "null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LASTING: Final = "max-age=31536000"
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


class _TooLarge(Exception):
    """A body that is longer than allowed."""


class Guard:
    """`url`: the URL that people open. `port`: of this process, which answers to loopback names too if `url` is one."""

    def __init__(self, app: ASGIApp, *, url: str, say: Callable[[str], None]) -> None:
        self.app, self.say = app, say
        scheme, _, host = url.partition("://")
        self.is_secure, hosts = scheme == "https", {host.lower()}
        name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
        if name in LOOPBACK:
            hosts |= {f"{other}:{port}" if port else other for other in LOOPBACK}
        self.hosts, self.origins = hosts, {f"{scheme}://{known}" for known in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._complete(message)
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await _problem(answer, *refused)
            return
        try:
            await self.app(scope, _limited(receive, _limit(scope["path"])), answer)
        except _TooLarge:
            if not begun:
                await _problem(answer, 413, "The request is too large", "Send less at once.")
        except Exception as error:  # its message may contain data that nobody should read
            self.say(f"A request of {scope['path'][:200]!r} failed: {type(error).__name__}")
            if not begun:
                await _problem(answer, 500, "This request failed", "Try again. If it fails again, report it.")

    def _refused(self, scope: Scope) -> tuple[int, str, str] | None:
        """A status, what is wrong and what to do; None for a request that may pass."""
        headers, path = Headers(scope=scope), scope["path"]
        by_address = path in PROBES or (path == METRICS and "authorization" in headers)
        if not by_address and headers.get("host", "").lower() not in self.hosts:
            return 421, "This is not the host of the dashboard", "Open it with the URL that `fleet serve` printed, or set dashboard.url."
        if "\0" in path or b"%00" in scope["query_string"]:  # PostgreSQL stores no such text
            return 400, "This request cannot be understood", "Leave out the character NUL."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:18]) > _limit(path):
            return 413, "The request is too large", "Send less at once."
        if scope["method"] in SAFE or path.startswith(WEBHOOKS):
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site not in (None, "same-origin", "none") or (origin is not None and origin.lower() not in self.origins):
            return 403, "The request comes from another site", "Use the form on this site."
        return None

    def _complete(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Cache-Control", "no-store")
        if self.is_secure:
            headers.setdefault("Strict-Transport-Security", LASTING)


def _limit(path: str) -> int:
    return PUSH_MAX if path.startswith(WEBHOOKS) else BODY_MAX


def _limited(receive: Receive, limit: int) -> Receive:
    """The same messages, up to the maximum length of the body."""
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            raise _TooLarge
        return message

    return counted


async def _problem(send: Send, status: int, title: str, remedy: str) -> None:
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": f"{title}.", "remedy": remedy}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
