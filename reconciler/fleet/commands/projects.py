"""`reconciler fleet status`, `sync` and `rehearse`: the projects of a fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ReconcilerError
from reconciler.fleet import acts
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.facts import Judged, is_unverified, judged_plans
from reconciler.fleet.refresh import generation
from reconciler.fleet.rehearsals import MOVED
from reconciler.fleet.reports import status_document, status_of, status_text
from reconciler.fleet.status import StatusWord
from reconciler.fleet.store import FleetDatabase, projects, runs
from reconciler.fleet.store.projects import ProjectRow

NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")
WAIT_SECONDS: Final = 3_600
LOOK_SECONDS: Final = 0.3
START_SECONDS: Final = 25  # seconds in which a worker may still be starting


@click.command("status", short_help="Show the status of projects.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def status_command(screen: Screen, /, names: tuple[str, ...], database: str | None, **parameters: Any) -> int:
    """Show whether projects are Synced, OutOfSync or Unknown, why, how old the reading is, and how much of the organization is managed.
    What could not be read, or was read too long ago, is Unknown. Exits with 2 if a project is OutOfSync, and with 5 if one is Unknown.

    \b
    Example:
      reconciler fleet status
      reconciler fleet status acme --format json
    """
    options = Options.of(screen, parameters)
    with fleet_options.opened(screen, database) as opened:
        rows, workers, judged = _read(opened, names)
        with opened.transaction() as connection:
            listed = generation.state(connection)
    if wrong := listed.held or listed.error:
        screen.warn(wrong, id="RC-fleet-vanishing" if listed.held else "RC-fleet-generators")
    return _show(screen, options, rows, workers, judged)


def _read(database: FleetDatabase, names: tuple[str, ...]) -> tuple[list[ProjectRow], int, dict[int, Judged]]:
    with database.transaction() as connection:
        rows = projects.read(connection, names)
        fleet_options.checked(names, [row.project.name for row in (rows if len(rows) >= len(set(names)) else projects.read(connection))])
        return rows, runs.count_alive(connection), judged_plans(connection, rows)


def _show(screen: Screen, options: Options, rows: Sequence[ProjectRow], workers: int, judged: Mapping[int, Judged]) -> int:
    if options.format == "json":
        screen.document(status_document(rows, workers, rows[0].now if rows else datetime.now(UTC), judged))
    else:
        screen.out(status_text(rows, workers, width=screen.width))
    codes = {StatusWord.SYNCED: exits.DONE, StatusWord.OUT_OF_SYNC: exits.PENDING, StatusWord.UNKNOWN: exits.PARTLY}
    return exits.strongest(codes[status_of(row).word] for row in rows if not row.orphaned)


@click.command("sync", short_help="Run projects now.")
@NAMES
@click.option(
    "--wait", allow_from_autoenv=False, is_flag=True, help="Wait for the end of the runs, and show the status as `fleet status` does."
)
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def sync_command(screen: Screen, /, names: tuple[str, ...], wait: bool, database: str | None, **parameters: Any) -> int:
    """Run projects now, before others of the same tenant. A worker must be running. Refused for a project that is paused or orphaned. With
    --wait, exits as `fleet status` does, and with 1 if a run failed.

    \b
    Example:
      reconciler fleet sync acme --wait
    """
    options = Options.of(screen, parameters)
    with fleet_options.opened(screen, database) as opened:
        with opened.transaction() as connection:
            acts.sync(connection, fleet_options.operator(), names)
            asked = projects.clock(connection)
        if not wait:
            screen.say("They are run as soon as a worker is free.")
            return exits.DONE

        def ended(connection: Connection) -> bool:
            rows = projects.read(connection, names)
            if runs.ended_since(connection, names, asked) and not any(is_unverified(row) for row in rows):
                return True
            for row in rows:
                acts.refuse_idle(row)  # somebody may pause it meanwhile
            return False

        _wait(opened, ended)
        rows, workers, judged = _read(opened, names)
    shown = _show(screen, options, rows, workers, judged)
    return exits.strongest([shown, exits.FAILED if any(row.error is not None for row in rows) else exits.DONE])


def _wait(database: FleetDatabase, ended: Callable[[Connection], bool]) -> None:
    """Wait until workers have ended something. Raises `ReconcilerError` after an hour, or if no worker is running."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        with database.transaction() as connection:
            if ended(connection):
                return
            living = runs.count_alive(connection)
        if not living and time.monotonic() > until - WAIT_SECONDS + START_SECONDS:
            raise ReconcilerError("no worker is running, so nothing is run", id="RC-no-worker", hint="Start one: reconciler fleet worker.")
        if time.monotonic() > until:
            raise ReconcilerError("the runs did not end within an hour", id="RC-fleet-slow", hint="See reconciler fleet status.")
        time.sleep(LOOK_SECONDS)


@click.command("rehearse", short_help="Rehearse the plan of a project.")
@click.argument("name", metavar="NAME")
@click.option("--wait", allow_from_autoenv=False, is_flag=True, help="Wait for the end of the rehearsal, and show it.")
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def rehearse_command(screen: Screen, /, name: str, wait: bool, database: str | None, **parameters: Any) -> int:
    """Let a worker apply the plan of a project to a copy of the organization, and say what readers see after each request. The service gets
    GET requests only. A rehearsal of this plan that is still valid is not repeated. With --wait, exits with 1 if there is no result, or if
    it did not go as planned.

    \b
    Example:
      reconciler fleet rehearse acme --wait
    """
    options, person = Options.of(screen, parameters), fleet_options.operator()
    with fleet_options.opened(screen, database) as opened:
        with opened.transaction() as connection:
            digest = acts.plan(connection, person, name).plan.digest or ""
            acts.rehearse(connection, person, name, digest=digest)
        if not wait:
            screen.say("It is rehearsed as soon as a worker is free.")
            return exits.DONE

        def ended(connection: Connection) -> bool:
            judged = acts.plan(connection, person, name)
            if judged.plan.digest == digest and judged.rehearsal is not None and judged.rehearsal.is_pending:
                acts.refuse_idle(projects.read(connection, [name])[0])  # somebody may pause it meanwhile
            return judged.plan.digest != digest or (judged.rehearsal is not None and not judged.rehearsal.is_pending)

        _wait(opened, ended)
        with opened.transaction() as connection:
            judged = acts.plan(connection, person, name)
            rehearsal, document = judged.rehearsal, acts.rehearsal_document(connection, person, name)
    if rehearsal is None or rehearsal.plan != digest or document is None:
        wrong = rehearsal.error if rehearsal is not None and rehearsal.error else MOVED
        raise ReconcilerError(f"the plan of {name} was not rehearsed: {wrong}", id="RC-fleet-run-failed", hint="Ask for it again.")
    screen.document(document) if options.format == "json" else screen.out(rehearsal.text)
    return exits.DONE if rehearsal.as_planned else exits.FAILED
