"""Control a sandbox: a served one by its URL and control token, or a file by opening it here."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click
import httpx2

from reconciler.cli.declare import SharedOption
from reconciler.cli.secret_option import secret, warn_if_visible
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ReconcilerError, UsageError
from reconciler.run.connection.embedded import checked, sandbox_errors

TOKEN: Final = "RECONCILER_TOKEN"  # noqa: S105 - the name of a variable
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
PATIENCE: Final = 60.0  # seconds


def where() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options that name a sandbox."""
    shared = partial(click.option, cls=SharedOption, group="control")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            secret("--token", metavar="T", group="control", help=f"The token that the sandbox was started with; also {TOKEN}."),
            shared("--base-url", metavar="URL", help="The URL of a running sandbox on this machine."),
            shared("--db", type=click.Path(path_type=Path), metavar="FILE", help="The file of a sandbox, running or not."),
        ):
            function = option(function)
        return function

    return decorate


class Control:
    """The control endpoints of one sandbox."""

    def __init__(self, screen: Screen, *, db: Path | None, base_url: str | None, token: str | None) -> None:
        if (db is None) == (base_url is None):
            raise UsageError("no sandbox was given", id="RC-missing-argument", hint="Pass --db FILE, or --base-url URL and its --token.")
        self.db, self.base_url = db, base_url
        warn_if_visible(screen, "token", TOKEN)
        self.token = token or os.environ.get(TOKEN, "")
        if db is not None:
            checked(db, option="--db")
            if not db.exists() or db.stat().st_size == 0:
                wrong = f"there is no sandbox {db}"
                raise UsageError(wrong, id="RC-no-sandbox", hint=f"Create it from a seed: reconciler sandbox seed --db {db} SEED.yaml")
            return
        try:
            host = urlsplit(base_url or "").hostname
        except ValueError:
            host = None
        if host not in LOOPBACK or not str(base_url).startswith(("http://", "https://")):
            wrong = f"{base_url} is not a sandbox: sandboxes only listen on this machine"
            raise UsageError(wrong, id="RC-sandbox-url", hint="Write it like http://127.0.0.1:8080.")
        if not self.token:
            raise UsageError(
                "there is no control token",
                id="RC-control-token",
                hint=f"Pass --token-file FILE with the token that it was started with, or set {TOKEN}.",
            )
        if not self.token.isascii() or not self.token.isprintable():
            raise UsageError("the token contains characters that cannot be sent", id="RC-control-token")
        screen.hide([self.token])

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of one control endpoint; None if it is empty."""
        try:
            with sandbox_errors():
                answer = asyncio.run(self._ask(method, path, body))
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise ReconcilerError(
                f"no sandbox answers at {self.base_url}", id="RC-sandbox-not-running", hint="reconciler sandbox serve prints its address."
            ) from error
        return self._read(answer)

    async def _ask(self, method: str, path: str, body: Any) -> httpx2.Response:
        if self.base_url is not None:
            return await self._send(None, self.base_url, self.token, method, path, body)

        from reconciler.sandbox.app import create_app  # fastapi is an extra

        assert self.db is not None
        token = secrets.token_urlsafe(24)
        app = create_app(self.db, control_token=token)
        try:
            return await self._send(httpx2.ASGITransport(app), "http://127.0.0.1", token, method, path, body)
        finally:
            app.state.service.store.close()

    @staticmethod
    async def _send(
        transport: httpx2.ASGITransport | None, base_url: str, token: str, method: str, path: str, body: Any
    ) -> httpx2.Response:
        # Without the environment: a sandbox is on this machine, where no proxy leads.
        async with httpx2.AsyncClient(transport=transport, base_url=base_url, timeout=PATIENCE, trust_env=False) as client:
            return await client.request(method, f"/_sandbox{path}", headers={"Authorization": f"Bearer {token}"}, json=body)

    def _read(self, answer: httpx2.Response) -> Any:
        if answer.status_code == 204:
            return None
        try:
            content = answer.json()
        except ValueError as error:
            raise ReconcilerError(f"the server at {self.base_url} is not a sandbox", id="RC-not-a-sandbox") from error
        if answer.is_success:
            return content
        refusal = content.get("error") if isinstance(content, dict) else None
        message = str(refusal.get("message", "")) if isinstance(refusal, dict) else ""
        if answer.status_code == 401:
            raise UsageError(
                "the sandbox was started with a different token", id="RC-control-token", hint="reconciler sandbox serve prints it."
            )
        if answer.status_code == 400:
            raise UsageError(message, id="RC-sandbox-refused")
        raise ReconcilerError(
            f"the server at {self.base_url} is not this sandbox: {answer.status_code} {message}".rstrip(), id="RC-not-a-sandbox"
        )
