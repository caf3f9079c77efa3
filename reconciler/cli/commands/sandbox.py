"""`reconciler sandbox`: the embedded service by itself; `serve` and `seed` are here, its controls in the modules `sandbox_*`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.program import READS, Lazy, LazyGroup
from reconciler.cli.secret_option import secret, warn_if_visible
from reconciler.cli.terminal.screen import Screen
from reconciler.report.words import count
from reconciler.run.connection.embedded import checked, sandbox_errors
from reconciler.run.connection.seed_file import read_seed, seed_errors

command = LazyGroup(
    name="sandbox",
    commands_by_name={
        "serve": Lazy(f"{__name__}:serve_command", "Serve a sandbox on this machine."),
        "seed": Lazy(f"{__name__}:seed_command", "Load initial data."),
        "copy": Lazy("reconciler.features.rehearsal.copy_command:command", "Copy a living organization.", READS),
        "clock": Lazy("reconciler.cli.commands.sandbox_control:clock_command", "Show, stop or move the clock."),
        "faults": Lazy("reconciler.cli.commands.sandbox_control:faults_group", "Inject faults."),
        "readers": Lazy("reconciler.cli.commands.sandbox_control:readers_command", "Show who can read what."),
        "export": Lazy("reconciler.cli.commands.sandbox_control:export_command", "Export everything as JSON."),
        "reset": Lazy("reconciler.cli.commands.sandbox_control:reset_command", "Reset the sandbox."),
    },
    short_help="Run and control the embedded sandbox.",
    help="""Run and control the embedded sandbox: the complete service in one file, on this machine.

    \b
    Example:
      reconciler sandbox seed --db sandbox.db seed.yaml
      reconciler sandbox serve --db sandbox.db --port 8080
    """,
)

DB = click.option("--db", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The file that stores the data.")


@click.command("serve", short_help="Serve a sandbox on this machine.")
@DB
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port on 127.0.0.1; 0 chooses a free one.")
@secret(
    "--token",
    metavar="T",
    variable=False,  # RECONCILER_TOKEN is for the service
    help="The token of the control endpoints; without a seed, also the access token of the first admin.",
)
@shared.output()
@click.pass_obj
def serve_command(screen: Screen, /, db: Path, port: int, token: str | None, **parameters: Any) -> None:
    """Serve a sandbox on 127.0.0.1 until interrupted. Prints its URL when it is ready, and a link for a browser.

    The link works once; when it is used, the next is printed. In the browser, the first page shows the content, with each published site as
    its readers get it. Programs send a token, also for /published/SITE.

    \b
    Example:
      reconciler sandbox serve --db sandbox.db --port 8080 --token-file token.txt
    """
    Options.of(screen, parameters)
    warn_if_visible(screen, "token")
    checked(db, option="--db")
    with sandbox_errors():
        from reconciler.sandbox.server import serve

        serve(db, port=port, token=token, say=lambda line: screen.out(line + "\n"))


@click.command("seed", short_help="Load initial data.")
@DB
@click.argument("seed", type=click.Path(path_type=Path), metavar="SEED.yaml")
@shared.output()
@click.pass_obj
def seed_command(screen: Screen, /, db: Path, seed: Path, **parameters: Any) -> None:
    """Load initial data: objects in the form of the service, with their ids, in the order of the lists.

    \b
    Example:
      reconciler sandbox seed --db sandbox.db seed.yaml
    """
    Options.of(screen, parameters)
    checked(db, option="--db")
    file = read_seed(seed)
    with sandbox_errors(), seed_errors(file):
        from reconciler.sandbox.seed import seed as plant

        plant(db, file.document)
    number = sum(len(objects) for objects in file.document.values() if isinstance(objects, list))
    screen.say(f"Loaded {count(number, 'object')} into {db}.")
