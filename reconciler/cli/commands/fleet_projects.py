"""`reconciler fleet status`, `sync`, `pause`, `resume`: the projects of a fleet."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.commands import fleet_options
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.fleet.store import Database
    from reconciler.fleet.store.projects import Row

NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")
WAIT_SECONDS: Final = 3_600
LOOK_SECONDS: Final = 0.3
START_SECONDS: Final = 25  # in which a worker may still be starting
_LASTING: Final = re.compile(r"([1-9][0-9]{0,4})(m|h|d)", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


@click.command("status", short_help="Show the status of projects.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def status_command(screen: Screen, /, names: tuple[str, ...], database: str | None, **words: Any) -> int:
    """Show whether projects are Synced, OutOfSync or Unknown, why, how old the reading is, and how much of the organization is managed.
    What could not be read, or was read too long ago, is Unknown. Exits with 2 if a project is OutOfSync, and with 5 if one is Unknown.

    \b
    Example:
      reconciler fleet status
      reconciler fleet status acme --format json
    """
    options = Options.of(screen, words)
    with fleet_options.opened(screen, database) as opened:
        rows, workers = _read(opened, names)
    return _show(screen, options, rows, workers)


def _read(database: Database, names: tuple[str, ...]) -> tuple[list[Row], int]:
    from reconciler.fleet.store import projects, runs

    with database.transaction() as connection:
        rows = projects.read(connection, names)
        fleet_options.checked(names, [row.project.name for row in (rows if len(rows) >= len(set(names)) else projects.read(connection))])
        return rows, runs.living(connection)


def _show(screen: Screen, options: Options, rows: Sequence[Row], workers: int) -> int:
    from reconciler.cli import exits
    from reconciler.fleet.reports import status_document, status_of, status_text
    from reconciler.fleet.status import Word

    if options.format == "json":
        screen.document(status_document(rows, workers, rows[0].now if rows else datetime.now(UTC)))
    else:
        screen.out(status_text(rows, workers, width=screen.width))
    codes = {Word.SYNCED: exits.DONE, Word.OUT_OF_SYNC: exits.PENDING, Word.UNKNOWN: exits.PARTLY}
    return exits.strongest(codes[status_of(row).word] for row in rows if not row.orphaned)


@click.command("sync", short_help="Run projects now.")
@NAMES
@click.option(
    "--wait", allow_from_autoenv=False, is_flag=True, help="Wait for the end of the runs, and show the status as `fleet status` does."
)
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def sync_command(screen: Screen, /, names: tuple[str, ...], wait: bool, database: str | None, **words: Any) -> int:
    """Run projects now, before others of the same tenant. A worker must be running.

    \b
    Example:
      reconciler fleet sync acme --wait
    """
    from reconciler.cli import exits
    from reconciler.errors import ReconcilerError
    from reconciler.fleet.store import projects, runs

    options = Options.of(screen, words)
    with fleet_options.opened(screen, database) as opened:
        _read(opened, names)
        with opened.transaction() as connection:
            last = runs.last(connection)
            projects.wish(connection, names)
        if not wait:
            screen.say("They are run as soon as a worker is free.")
            return exits.DONE
        until = time.monotonic() + WAIT_SECONDS
        while True:
            with opened.transaction() as connection:
                if runs.ended_since(connection, names, last):
                    break
                living = runs.living(connection)
            if not living and time.monotonic() > until - WAIT_SECONDS + START_SECONDS:
                raise ReconcilerError(
                    "no worker is running, so nothing is run", id="RC-no-worker", hint="Start one: reconciler fleet worker."
                )
            if time.monotonic() > until:
                raise ReconcilerError("the runs did not end within an hour", id="RC-fleet-slow", hint="See reconciler fleet status.")
            time.sleep(LOOK_SECONDS)
        rows, workers = _read(opened, names)
    return _show(screen, options, rows, workers)


def _until(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    match = _LASTING.fullmatch(value)
    if match is not None:
        return datetime.now(UTC) + timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a time such as 2026-12-01T08:00+01:00 nor a duration such as 2h", ctx=ctx, param=param
        ) from None
    return moment if moment.tzinfo is not None else moment.astimezone()


@click.command("pause", short_help="Stop running projects for a time.")
@NAMES
@click.option(
    "--until",
    metavar="TIME",
    allow_from_autoenv=False,
    callback=_until,
    help="When the pause ends: a time, or a duration such as 2h. By default, with `fleet resume`.",
)
@click.option("--reason", allow_from_autoenv=False, required=True, metavar="TEXT", help="Why; `fleet status` shows it, with your name.")
@fleet_options.database()
@shared.output()
@click.pass_obj
def pause_command(
    screen: Screen, /, names: tuple[str, ...], until: datetime | None, reason: str, database: str | None, **words: Any
) -> None:
    """Stop running projects until a time, or until `fleet resume`. A run that is under way ends as usual.

    \b
    Example:
      reconciler fleet pause acme --until 2h --reason "the migration of Tuesday"
    """
    from reconciler.cli.wiring.connect import who
    from reconciler.fleet.store import projects

    Options.of(screen, words)
    if until is not None and until <= datetime.now(UTC):
        raise UsageError(
            "--until is in the past", id="RC-option-value", hint="Write a time such as 2026-12-01T08:00+01:00, or a duration such as 2h."
        )
    with fleet_options.opened(screen, database) as opened:
        _read(opened, names)
        with opened.transaction() as connection:
            projects.pause(connection, names, until=until, by=who(), reason=reason)
    screen.say(f"Paused {', '.join(names)}.")


@click.command("resume", short_help="End a pause.")
@NAMES
@fleet_options.database()
@shared.output()
@click.pass_obj
def resume_command(screen: Screen, /, names: tuple[str, ...], database: str | None, **words: Any) -> None:
    """End the pause of projects; they are due at once.

    \b
    Example:
      reconciler fleet resume acme
    """
    from reconciler.fleet.store import projects

    Options.of(screen, words)
    with fleet_options.opened(screen, database) as opened:
        _read(opened, names)
        with opened.transaction() as connection:
            projects.resume(connection, names)
    screen.say(f"Resumed {', '.join(names)}.")
