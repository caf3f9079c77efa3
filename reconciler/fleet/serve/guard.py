"""Checks of every request before it reaches a route: host name, origin, size, time; and the headers of every response.

A page of another origin cannot send requests here with a name that it controls (DNS rebinding), nor with this site's cookies.

Bodies that are being received share BODIES_MAX bytes of memory. If they need more, the oldest one is ended: whoever sends slowly makes
room for whoever does not.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_MAX: Final = 64 * 2**10
PUSH_MAX: Final = 4 * 2**20  # size of a forge's push
BODIES_MAX: Final = 32 * 2**20  # bytes of all bodies that are being received
REQUESTS_MAX: Final = 40  # of a session that are under way, the pages that follow changes included
BODY_SECONDS: Final = 30.0  # from the head of a request to the end of its body
SAFE: Final = {"GET", "HEAD", "OPTIONS"}
PROBES: Final = {"/healthz", "/readyz"}  # requested by IP address; they reveal nothing about the fleet
METRICS: Final = "/metrics"  # requested by IP address; the route requires a token, or this dashboard's own host
WEBHOOKS: Final = "/webhooks/"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # without any referrer, browsers send the forms of this site with the origin "null", and the check of the origin would refuse them
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LASTING: Final = "max-age=31536000"
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
AGAIN: Final = {"Retry-After": "30"}


class Bodies:
    """The bodies that are being received, the oldest first."""

    def __init__(self, most: int = BODIES_MAX) -> None:
        self.most, self._sizes = most, dict[_Body, int]()

    def add(self, body: _Body, size: int) -> None:
        """Count bytes of a body, and end the oldest others until all fit."""
        self._sizes[body] = self._sizes.get(body, 0) + size
        while sum(self._sizes.values()) > self.most:
            oldest = next(iter(self._sizes))
            self.remove(oldest)
            oldest.end()

    def remove(self, body: _Body) -> None:
        self._sizes.pop(body, None)


class _Body:
    """The body of a request, within its limits."""

    def __init__(self, receive: Receive, limit: int, bodies: Bodies) -> None:
        self._receive, self._limit, self._bodies = receive, limit, bodies
        self._size, self._is_whole, self._is_ended = 0, False, False
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self._reading: asyncio.Timeout | None = None

    async def receive(self) -> Message:
        """The next message. Raises `HTTPException` for a body that is too long, too slow, or the oldest of too many."""
        # a page that follows changes calls this to learn that its client left: that may take hours, and a slow body is something else
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until) as self._reading:
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(503 if self._is_ended else 408, headers=AGAIN) from None
        finally:
            self._reading = None
        size = len(message.get("body", b""))
        self._size += size
        self._is_whole = not message.get("more_body", False)
        if self._size > self._limit:
            raise HTTPException(413)
        # a body that arrives in one piece is in memory before anybody can count it, so only the others compete for the memory
        if size and (self._size > size or not self._is_whole):
            self._bodies.add(self, size)
        if self._is_ended:
            raise HTTPException(503, headers=AGAIN)
        return message

    def end(self) -> None:
        """Make the one who receives it fail."""
        self._is_ended, self._until = True, 0.0
        if self._reading is not None:
            self._reading.reschedule(0.0)


class Guard:
    """`url`: the URL that people open; a loopback name stands for all of them. `cookie`: the name of the cookie of a session."""

    def __init__(self, app: ASGIApp, *, url: str, cookie: str, say: Callable[[str], None]) -> None:
        self.app, self.cookie, self.say, self.bodies = app, cookie, say, Bodies()
        self.under_way = Counter[str]()  # requests of each session
        scheme = url.partition("://")[0]
        self.is_secure, self.hosts = scheme == "https", hosts(url)
        self.origins = {f"{scheme}://{known}" for known in self.hosts}

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
        session = self._session(scope)
        # one session must not be able to occupy all threads that answer requests; callers without a session cost little
        if self.under_way[session] >= REQUESTS_MAX and session:
            await _problem(answer, 429, "Too much is open at once", "Wait until other requests of this session are answered.")
            return
        self.under_way[session] += 1
        body = _Body(receive, _limit(scope["path"]), self.bodies)
        try:
            await self.app(scope, body.receive, answer)
        except ClientDisconnect:
            return
        # the text of an error may contain data of the fleet that the reader of the log should not see, so only its type is named
        except Exception as error:
            self.say(f"A request of {scope['path'][:200]!r} failed: {type(error).__name__}")
            if not begun:
                await _problem(answer, 500, "This request failed", "Try again. If it fails again, report it.")
        finally:
            self.bodies.remove(body)
            self.under_way[session] -= 1
            if not self.under_way[session]:
                del self.under_way[session]

    def _session(self, scope: Scope) -> str:
        """What a session or a program proves who it is with; "" for anybody else."""
        connection = HTTPConnection(scope)
        return first_cookie(connection, self.cookie) or connection.headers.get("authorization", "")

    def _refused(self, scope: Scope) -> tuple[int, str, str] | None:
        """A status, what is wrong and what to do; None for a request that may pass."""
        headers, path = Headers(scope=scope), scope["path"]
        if path not in (*PROBES, METRICS) and headers.get("host", "").lower() not in self.hosts:
            return 421, "This is not the host of the dashboard", "Open it with the URL that `fleet serve` printed, or set dashboard.url."
        # PostgreSQL stores no text with NUL, and its driver would answer with an error that looks like one of ours
        if "\0" in path or b"%00" in scope["query_string"]:
            return 400, "This request cannot be understood", "Leave out the character NUL."
        # refused from the head alone, before a byte of the body is read; int() of a very long number would itself be slow
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:18]) > _limit(path):
            return 413, "The request is too large", "Send less at once."
        # forges send webhooks from anywhere; a signature protects those, not the origin
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


def hosts(url: str) -> frozenset[str]:
    """The names, with ports, by which a browser may call the dashboard of a URL."""
    host = url.partition("://")[2].lower()
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdigit() else (host, "", "")
    others = [f"{other}:{port}" if port else other for other in LOOPBACK] if name in LOOPBACK else []
    return frozenset({host, *others})


def first_cookie(connection: HTTPConnection, name: str) -> str:
    """The value of a cookie; "" without it. Browsers send first what is for the longest path: a page at another port of this machine can
    set one of the same name too, but knows no path of ours, and `HTTPConnection.cookies` has the last."""
    pairs = (pair.strip().partition("=") for pair in connection.headers.get("cookie", "").split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def is_own(request: HTTPConnection, url: str) -> bool:
    """Whether a request names the host of the dashboard."""
    return request.headers.get("host", "").lower() in hosts(url)


def _limit(path: str) -> int:
    return PUSH_MAX if path.startswith(WEBHOOKS) else BODY_MAX


async def _problem(send: Send, status: int, title: str, remedy: str) -> None:
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": f"{title}.", "remedy": remedy}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
