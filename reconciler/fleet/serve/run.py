"""The server: where it listens, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from dataclasses import dataclass
from typing import Final

import uvicorn

from reconciler.errors import ReconcilerError, UsageError
from reconciler.fleet.runs.secrets import resolved
from reconciler.fleet.serve.app import Say, create_app
from reconciler.fleet.serve.settings import Settings, of_data
from reconciler.fleet.serve.single import Single
from reconciler.fleet.store import Database, projects

PORT: Final = 8400
END_SECONDS: Final = 5
CONNECTIONS_MAX: Final = 2_000


@dataclass(frozen=True)
class Listening:
    """Where to listen. `port`: 0 for any. `person`: who uses this machine. `token`: that programs of theirs send, None for none.
    `any_port`: another one will do where that is taken."""

    host: str = "127.0.0.1"
    port: int = PORT
    person: str = ""
    token: str | None = None
    any_port: bool = False

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def checked(database: Database, listening: Listening) -> Settings:
    """What the fleet file says, if it can be served there. Raises `UsageError`, or `MissingSecret` for a reference to nothing."""
    with database.transaction() as connection:
        settings = of_data(projects.settings(connection))
    if settings.oidc is None and not listening.is_loopback:
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
    for forge, reference in settings.webhooks.items():
        resolved(reference, f"webhooks.{forge}.secret", where="this machine")
    return settings


async def serve(database: Database, listening: Listening, *, say: Say, show: Say) -> None:
    """Serve until this is cancelled. Shows where, when it is ready. `say`: for the log; `show`: for the terminal only."""
    settings = await asyncio.to_thread(checked, database, listening)
    with contextlib.closing(_listener(listening)) as listener:
        name = f"[{listening.host}]" if ":" in listening.host else listening.host
        own = f"http://{name}:{listener.getsockname()[1]}"
        single = Single(listening.person, listening.token) if settings.oidc is None else None
        url = own if single is not None else settings.url or own
        server = _Server(_config(create_app(database, url, single=single, say=say, show=show)))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.wait({running, asyncio.ensure_future(server.ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                show(f"The dashboard is ready: {single.link(url) if single is not None else url}")
            await asyncio.shield(running)
        finally:
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await running


class _Server(uvicorn.Server):
    """A server that leaves signals to the command, and says when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="critical", access_log=False, server_header=False, date_header=True, proxy_headers=False, lifespan="on",
        timeout_graceful_shutdown=END_SECONDS, limit_concurrency=CONNECTIONS_MAX, timeout_keep_alive=20,
        h11_max_incomplete_event_size=32 * 2**10, http="h11", ws="none",
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
        wrong = f"{listening.host}:{listening.port} cannot be listened on: {(error.strerror or 'unknown reason').lower()}"
        raise ReconcilerError(wrong, id="RC-fleet-port", hint="Choose another port with --port; 0 is any free one.") from error
    return listener
