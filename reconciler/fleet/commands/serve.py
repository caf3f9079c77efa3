"""`reconciler fleet serve`: the dashboard, the JSON API, webhooks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.secret_option import secret, warn_if_visible
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.serving import until_interrupted
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.store import FleetDatabase

if TYPE_CHECKING:
    from reconciler.fleet.serve.run import Listening
ON_A_TERMINAL: Final = "The link that logs in is a secret, shown on a terminal only: start the command in one, or set dashboard.oidc."
NEEDED: Final = (*fleet_options.NEEDED, "authlib", "fastapi", "sse_starlette", "uvicorn")


def port(*, default: int | None = 8400, help: str = "The port; 0 is any free one.") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--port", type=click.IntRange(0, 65535), default=default, show_default=True, metavar="N", help=help)


@click.command("serve", short_help="Serve the dashboard.")
@fleet_options.database()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on. Others than loopback need dashboard.oidc.",
)
@port()
@secret("--api-token", metavar="TOKEN", help="The token that programs send as `Authorization: Bearer`. Only without dashboard.oidc.")
@shared.output()
@click.pass_obj
def serve_command(screen: Screen, /, database: str | None, host: str, port: int, api_token: str | None, **parameters: Any) -> None:
    """Serve the dashboard, its JSON API and webhooks until interrupted. Without dashboard.oidc in the fleet file, it listens on this
    machine only and prints a link that logs in once.

    \b
    Example:
      reconciler fleet serve --port 8400
    """
    Options.of(screen, parameters)
    warn_if_visible(screen, "api_token", "RECONCILER_API_TOKEN")
    fleet_options.installed(*NEEDED)
    with fleet_options.opened(screen, database, prepare=True) as opened:
        until_interrupted(dashboard(screen, opened, listening(screen, host, port, api_token)))
    screen.say("The dashboard has ended.")


def listening(screen: Screen, host: str, port: int | None, token: str | None = None) -> Listening:
    """Where to listen. `port`: None for the usual one, or another if that is in use."""
    from reconciler.fleet.serve.run import PORT, Listening

    if token is not None:
        screen.hide([token])
    return Listening(host, port if port is not None else PORT, fleet_options.operator().name, token, any_port=port is None)


def dashboard(screen: Screen, database: FleetDatabase, where: Listening) -> Coroutine[Any, Any, None]:
    """Serve until cancelled. Links that log in are shown, and never logged."""
    from reconciler.fleet.serve.run import serve

    return serve(database, where, say=screen.say, show=lambda line: screen.reveal(f"{line}\n", instead=ON_A_TERMINAL))
