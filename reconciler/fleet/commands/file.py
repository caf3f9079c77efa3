"""`reconciler fleet plan` and `fleet apply`: the changes of a fleet file, and putting it into effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused
from reconciler.fleet.changes import Changes, changes
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.declared import read_fleet
from reconciler.fleet.generated import generated
from reconciler.fleet.model import Fleet, FleetProject
from reconciler.fleet.program.listing import listing
from reconciler.fleet.refresh import generation
from reconciler.fleet.reports import plan_document, plan_sheet
from reconciler.fleet.store import FleetDatabase, connected, projects
from reconciler.run.connection.connecting import current_user

FILE = click.argument("file", type=click.Path(path_type=Path), default=Path("fleet.yaml"), metavar="[FILE]")


@click.command("plan", short_help="Show what a fleet file would change.")
@FILE
@fleet_options.database()
@fleet_options.data()
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if changes are pending.")
@shared.output(formats=("text", "json"))
@click.pass_obj
def plan_command(screen: Screen, /, file: Path, database: str | None, data: Path, detailed_exitcode: bool, **parameters: Any) -> int:
    """Show which projects would appear, change and vanish if FILE became the fleet. Reads the repositories and organizations that its
    generators list, and the database if there is one; writes nothing there.

    \b
    Example:
      reconciler fleet plan fleet.yaml
    """
    options = Options.of(screen, parameters)
    fleet_options.installed()
    declared, _, _ = declaration(file, data)
    changes = _compared(screen, declared, database, data)
    show(screen, options, changes)
    for sentence in changes.shrinking:
        screen.warn(f"{sentence}; `fleet apply` requires --allow-vanish {len(changes.vanishing)}", id="RC-fleet-vanishing")
    return exits.PENDING if detailed_exitcode and changes.pending else exits.DONE


@click.command("apply", short_help="Make a fleet file the fleet.")
@FILE
@fleet_options.database()
@fleet_options.data()
@click.option("--allow-vanish", type=click.IntRange(0), metavar="N", help="Allow up to N projects to vanish.")
@shared.output(formats=("text", "json"))
@click.pass_obj
def apply_command(screen: Screen, /, file: Path, database: str | None, data: Path, allow_vanish: int | None, **parameters: Any) -> int:
    """Make FILE the fleet: its projects appear in the schedule, and those that vanished become orphaned. An orphaned project is not run
    again, and nothing of it is deleted. Creates the tables of the fleet if there are none.

    \b
    Example:
      reconciler fleet apply fleet.yaml --database 'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'
    """
    options = Options.of(screen, parameters)
    with fleet_options.opened(screen, database, prepare=True) as opened:
        changes = take_effect(opened, file, data, allow_vanish)
    show(screen, options, changes)
    return exits.DONE


def declaration(file: Path, data: Path) -> tuple[dict[str, FleetProject], str, Fleet]:
    """Every project of a fleet file, its text, and the fleet."""
    fleet, text = read_fleet(file)
    return generated(fleet, listing(fleet, data / "repositories")), text.decode("utf-8-sig"), fleet


def take_effect(database: FleetDatabase, file: Path, data: Path, allow_vanish: int | None) -> Changes:
    """Put a fleet file into effect. Raises `Refused` if too many projects would be removed."""
    declared, text, fleet = declaration(file, data)
    with database.transaction() as connection:
        projects.lock(connection)
        pending = changes(declared, projects.stored(connection))
        if pending.shrinking and len(pending.vanishing) > (allow_vanish or 0):
            wrong = f"too many projects would vanish: {'; '.join(pending.shrinking)}"
            raise Refused(wrong, id="RC-fleet-vanishing", hint=f"If this is intended: --allow-vanish {len(pending.vanishing)}")
        projects.write(connection, declared, pending)
        projects.revise(connection, str(file), text, fleet.soak, current_user(), fleet.settings)
        generation.begin(connection)
    return pending


def _compared(screen: Screen, declared: dict[str, FleetProject], given: str | None, data: Path) -> Changes:
    """The changes from the stored fleet to a declared one; everything is new if none is stored."""
    url = fleet_options.url_of(screen, given, data)
    if url is None:
        screen.say("There is no database, so every project is new.")
        return changes(declared, {})
    with connected(url) as database:
        if not database.is_prepared():
            return changes(declared, {})
        with database.transaction() as connection:
            return changes(declared, projects.stored(connection))


def show(screen: Screen, options: Options, pending: Changes) -> None:
    if options.format == "json":
        screen.document(plan_document(pending))
    else:
        reports.show_sheet(screen, plan_sheet(pending))
