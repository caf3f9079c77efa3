"""An application for browsers of this machine's user, below a path that nobody can guess: a link that works once becomes a cookie.

    GET /PATH/open/CODE   sets the cookie of the path, and leads to /PATH/
    /PATH/…               with the cookie: what the application answers at /…

A browser sends the cookies of 127.0.0.1 to every port of it, so also to programs of other users. This one is for its path only, which those
programs do not know, and the path without the cookie opens nothing. `__Host-` would need TLS and the path `/`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from hmac import compare_digest
from typing import Final
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

COOKIE: Final = "reconciler"
OPEN: Final = "/open/"
NO_STORE: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
AGAIN: Final = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Opening</title>'


class Entrance:
    """`base`: the URL that the application is served at. `refuse`: answers whoever has no cookie. `opened`: called when the link was used;
    `link` is another one then."""

    def __init__(self, app: ASGIApp, base: str, *, refuse: ASGIApp, opened: Callable[[], None] = lambda: None) -> None:
        self.app, self.base, self.refuse, self.opened = app, base, refuse, opened
        self.root = f"/{secrets.token_urlsafe(24)}"
        self._session, self._code = secrets.token_urlsafe(24), secrets.token_urlsafe(24)

    @property
    def link(self) -> str:
        """The link that opens the application once."""
        return f"{self.base}{self.root}{OPEN}{self._code}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        head, below = path[: len(self.root)], path[len(self.root) :]
        app = self.refuse
        if _same(head, self.root) and below.startswith("/"):
            app = self._below(scope, below)
            if app is self.app:
                # routes see the path of the application; pages begin their links with `root_path`
                scope = {**scope, "path": below, "raw_path": quote(below).encode(), "root_path": self.root}
        await app(scope, receive, send)

    def _below(self, scope: Scope, path: str) -> ASGIApp:
        """What answers below the root."""
        headers = Headers(scope=scope)
        # a page at another port can set a cookie of this name for all paths, which the browser sends besides
        named = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        is_known = any(name == COOKIE and _same(value, self._session) for name, _, value in named)
        if not path.startswith(OPEN):
            # a strict cookie is not sent where a link of another site leads here, as that of a terminal in a browser: the page asks again
            is_led = headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate"
            return self.app if is_known else HTMLResponse(AGAIN, headers=NO_STORE) if is_led else self.refuse
        is_new = scope["method"] == "GET" and _same(path.removeprefix(OPEN), self._code)
        if not is_new and not is_known:
            return self.refuse
        answer = RedirectResponse(f"{self.root}/", 303, headers=NO_STORE)
        if is_new:
            self._code = secrets.token_urlsafe(24)
            answer.set_cookie(COOKIE, self._session, path=f"{self.root}/", httponly=True, samesite="strict")
            self.opened()
        return answer


def _same(given: str, secret: str) -> bool:
    """Compares in a time that says nothing about the secret."""
    return compare_digest(given.encode(errors="replace"), secret.encode())
