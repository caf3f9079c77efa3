"""The server: the application with its routes behind the guard, its address, and how long it runs."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler import __version__
from reconciler.errors import ReconcilerError, StateError, UsageError, os_reason
from reconciler.fleet.pages import links
from reconciler.fleet.secrets import resolved
from reconciler.fleet.serve import connections, errors
from reconciler.fleet.serve.feed import Feed
from reconciler.fleet.serve.guard import Guard
from reconciler.fleet.serve.routes import acts, api, events, login, pages, probes, webhooks
from reconciler.fleet.serve.settings import ServeSettings, of_data
from reconciler.fleet.serve.single import SinglePerson
from reconciler.fleet.serve.site import Dashboard
from reconciler.fleet.store import FleetDatabase, projects
from reconciler.serving import CommandServer
from reconciler.text.service_url import is_loopback

PORT: Final = 8400
END_SECONDS: Final = 5
LOOK_SECONDS: Final = 3.0  # after which a new fleet file is noticed
ROUTES: Final = (login, pages, acts, api, events, webhooks, probes)
Say = Callable[[str], None]


def create_app(database: FleetDatabase, url: str, *, single: SinglePerson | None, feed: Feed, say: Say, show: Say) -> ASGIApp:
    """The dashboard of a fleet. `url`: the URL that people open. `single`: the only person; without it, the fleet file's provider
    identifies people. `feed`: the changes that pages follow; the caller ends it. `say`: for the log; `show`: for the terminal only."""

    app = FastAPI(
        title="The API of a fleet",
        version=__version__,
        description=api.ABOUT,
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    site = app.state.site = Dashboard(database, url.rstrip("/"), single, say, show, feed)
    errors.install(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    return _below(site.root, Guard(app, url=site.url, cookie=site.cookie, say=say))


def _below(root: str, app: ASGIApp) -> ASGIApp:
    """The same application, also below a path; what comes below it gets links below it."""

    async def below(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        head, inner = path[: len(root)], path[len(root) :]
        is_below = inner.startswith("/") and hmac.compare_digest(head.encode(errors="replace"), root.encode())
        links.ROOT.set(root if is_below else "")
        if root and is_below:
            scope = {**scope, "path": inner, "raw_path": quote(inner).encode()}
        await app(scope, receive, send)

    return below


@dataclass(frozen=True)
class Listening:
    """Where to listen. `port`: 0 for any. `person`: the user of this machine. `token`: sent by their programs, None for none. `any_port`:
    use another port if this one is in use."""

    host: str = "127.0.0.1"
    port: int = PORT
    person: str = ""
    token: str | None = None
    any_port: bool = False


def checked(database: FleetDatabase, listening: Listening) -> ServeSettings:
    """The settings of the fleet file, if it can be served there. Raises `UsageError`, or `MissingSecret` for a missing secret."""
    settings = _settings(database)
    if settings.oidc is None and not is_loopback(listening.host):
        raise UsageError(
            f"without dashboard.oidc, only this machine's user is known, so {listening.host} cannot be listened on",
            id="RC-fleet-not-loopback",
            hint="Write dashboard.oidc in the fleet file, or leave --host out and use a tunnel: ssh -L 8400:127.0.0.1:8400 HOST.",
        )
    if settings.oidc is not None and listening.token is not None:
        raise UsageError(
            "--api-token is the token of the single user, and dashboard.oidc says who people are",
            id="RC-options-conflict",
            hint="Leave --api-token out.",
        )
    if settings.oidc is not None and settings.oidc.secret is not None:
        resolved(settings.oidc.secret, "dashboard.oidc.clientSecret", where="this machine")
    for forge, known in settings.webhooks.items():
        for secret, _ in known:
            resolved(secret, f"webhooks.{forge}.secret", where="this machine")
    return settings


def _settings(database: FleetDatabase) -> ServeSettings:
    with database.transaction() as connection:
        return of_data(projects.settings(connection))


async def serve(database: FleetDatabase, listening: Listening, *, say: Say, show: Say) -> None:
    """Serve until this is cancelled. Shows the URL when it is ready. `say`: for the log; `show`: for the terminal only.

    When the fleet file begins or ceases to name a provider, or names another URL, the server is restarted with it.
    """
    settings: ServeSettings | None = await asyncio.to_thread(checked, database, listening)
    with contextlib.closing(_listener(listening)) as listener:
        while settings is not None:
            settings = await _served(database, listening, listener, settings, say=say, show=show)


async def _served(
    database: FleetDatabase, listening: Listening, listener: socket.socket, settings: ServeSettings, *, say: Say, show: Say
) -> ServeSettings | None:
    """Serve with these settings until the fleet file needs others, which are returned; None when the server ends."""
    name = f"[{listening.host}]" if ":" in listening.host else listening.host
    own = f"http://{name}:{listener.getsockname()[1]}"
    single = SinglePerson(listening.person, listening.token) if settings.oidc is None else None
    url = own if single is not None else settings.url or own
    feed = Feed(database)
    server = CommandServer(_config(create_app(database, url, single=single, feed=feed, say=say, show=show)))
    running = asyncio.create_task(server.serve(sockets=[listener.dup()]))
    ready = asyncio.create_task(server.ready.wait())
    changed = asyncio.create_task(_changed(database, listening, settings, say))
    try:
        await asyncio.wait({running, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            show(f"The dashboard is ready: {single.link(url) if single is not None else url}")
        await asyncio.wait({running, changed}, return_when=asyncio.FIRST_COMPLETED)
        return changed.result() if changed.done() else None
    finally:
        for task in (ready, changed):
            task.cancel()
        feed.end()  # followers would keep the server running as long as they wait
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def _changed(database: FleetDatabase, listening: Listening, served: ServeSettings, say: Say) -> ServeSettings:
    """The settings of the fleet file, as soon as they need another server and can be served."""
    reported = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            settings = await asyncio.to_thread(_settings, database)
            if settings.way == served.way:
                reported = ""
                continue
            settings = await asyncio.to_thread(checked, database, listening)
        except StateError:  # retried in a moment
            continue
        except ReconcilerError as error:
            if error.message != reported:
                reported = error.message
                say(f"The fleet file changed how people log in, and the dashboard cannot follow: {reported}. {error.hint or ''}".rstrip())
            continue
        say("The fleet file changed how people log in: the dashboard starts again.")
        return settings


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="critical", access_log=False, server_header=False, date_header=True, proxy_headers=False, lifespan="on",
        timeout_graceful_shutdown=END_SECONDS, timeout_keep_alive=int(connections.WAIT_SECONDS), backlog=connections.BACKLOG,
        h11_max_incomplete_event_size=32 * 2**10, http=connections.ClientConnection, ws="none",
    )  # fmt: skip


def _listener(listening: Listening) -> socket.socket:
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio turns off Nagle's algorithm
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        try:
            listener.bind((listening.host, listening.port))
        except OSError:
            if not listening.any_port:
                raise
            listener.bind((listening.host, 0))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        wrong = f"{listening.host}:{listening.port} cannot be listened on: {os_reason(error)}"
        raise ReconcilerError(wrong, id="RC-fleet-port", hint="Choose another port with --port; 0 is any free one.") from error
    return listener
