"""Options that the commands of a fleet share, and how they find the database."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from reconciler import own_files
from reconciler.cli.declare import SharedOption
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import StateError, UsageError
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.store import FleetDatabase, connected
from reconciler.fleet.up import started_url
from reconciler.git import user_email
from reconciler.own_files import OwnFolder
from reconciler.run.connection.connecting import current_user
from reconciler.text.install import installing_extra
from reconciler.text.names import did_you_mean
from reconciler.text.redact import of_urls

_LASTING: Final = re.compile(r"([1-9][0-9]{0,4})(m|h|d)", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
EARLIER: Final = Path(".reconciler/fleet")  # where versions before kept their data, in the folder where they were started
NEEDED: Final = ("procrastinate", "psycopg", "sqlalchemy")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def database() -> Decorator:
    return click.option(
        "--database",
        cls=SharedOption,
        group="fleet",
        metavar="URL",
        help="The PostgreSQL database of the fleet: postgresql://USER@HOST/NAME. By default, the one that `fleet up` "
        "started in this directory.",
    )


def data() -> Decorator:
    return click.option(
        "--data",
        cls=SharedOption,
        group="fleet",
        type=click.Path(path_type=Path, file_okay=False),
        callback=_data_folder,
        metavar="DIR",
        help="Where copies of repositories and the embedded database are kept: a directory outside of every checkout that only you can "
        "write.  [default: one for the current directory, in your state directory]",
    )


def _data_folder(ctx: click.Context, param: click.Parameter, given: Path | None) -> Path:
    """The folder of a fleet's own files, without links. Raises `UsageError` if others may decide what is in it."""
    if ctx.resilient_parsing:
        return given or EARLIER
    return own_files.named_folder(given) if given is not None else usual_folder()


def usual_folder() -> Path:
    """The folder of the fleet that is run in the current folder. Raises `UsageError`, also if an earlier version kept its data below it."""
    kept = [name for name in ("postgres", "repositories") if os.path.lexists(EARLIER / name)]
    folder = own_files.fleet_folder(Path.cwd())
    if kept:
        raise UsageError(
            f"{EARLIER} contains what an earlier version kept here ({', '.join(kept)}), or what somebody committed; it is not used",
            id="RC-fleet-earlier-data",
            hint=f"Look at it first (reconciler explain RC-fleet-earlier-data). To move it to {folder}: reconciler fleet move {EARLIER}",
        )
    return folder


def installed(*modules: str) -> None:
    """Raise `UsageError` where a package of the extra is missing."""
    missing = [name for name in modules or NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"a fleet requires {', '.join(missing)}", id="RC-package-missing", hint=f"Install it: {installing_extra('fleet')}")


def url_of(screen: Screen, given: str | None, folder: Path | None = None) -> str | None:
    """The URL of the database, its password hidden from now on; None if none is set. `folder`: of the fleet's own files, None for that
    of the current folder."""
    url = given if given is not None else _started_here(folder)
    if url is not None:
        screen.hide(of_urls([url]))
    return url


def _started_here(folder: Path | None) -> str | None:
    """The URL of the server that `fleet up` started; None if it runs none here. It is read from what `fleet up` signed, because whoever
    commits a file must not choose where people approve."""
    try:
        own = OwnFolder.existing(folder if folder is not None else usual_folder())
    except UsageError as error:
        if error.id != "RC-no-home":
            raise
        return None
    return started_url(own) if own is not None else None


@contextmanager
def opened(screen: Screen, given: str | None, *, prepare: bool = False) -> Iterator[FleetDatabase]:
    """The fleet's database. `prepare`: create its tables if they do not exist."""
    installed()
    url = url_of(screen, given)
    if url is None:
        raise UsageError(
            "there is no database",
            id="RC-no-fleet-database",
            hint="Pass --database postgresql://USER@HOST/NAME, set RECONCILER_DATABASE, or start one: reconciler fleet up.",
        )
    with connected(url) as connected_database:
        if prepare:
            from reconciler.fleet.worker import ready

            ready(connected_database)
        elif not connected_database.is_prepared():
            raise StateError(
                f"{connected_database.where} contains no fleet",
                id="RC-no-fleet",
                hint="Create it: reconciler fleet apply FILE, or reconciler fleet up FILE.",
            )
        yield connected_database


def moment(value: str, ctx: click.Context, param: click.Parameter, *, ago: bool) -> datetime:
    """A time in an option: a time, or a duration from now on; `ago`: a duration until now. Raises `click.BadParameter`."""
    match = _LASTING.fullmatch(value)
    if match is not None:
        lasting = timedelta(**{_UNITS[match[2]]: int(match[1])})
        return datetime.now(UTC) - lasting if ago else datetime.now(UTC) + lasting
    try:
        written = datetime.fromisoformat(value)
    except ValueError:
        wrong = f"{value!r} is neither a time such as 2026-12-01T08:00+01:00 nor a duration such as 2h"
        raise click.BadParameter(wrong, ctx=ctx, param=param) from None
    return written if written.tzinfo is not None else written.astimezone()


def operator() -> Person:
    """The user of a command: an admin of every tenant, since the database's password allows writing every row anyway. The name is the
    e-mail address in the user's own configuration of git, so that it matches the same person's login and commits."""
    email = user_email()
    return Person(email if "@" in email and email.isprintable() else current_user(), {ALL: Role.ADMIN})


def checked(names: tuple[str, ...], known: list[str]) -> None:
    """Raise `UsageError` for a project that does not exist."""
    for name in names:
        if name not in known:
            raise UsageError(
                f'the project "{name}" does not exist in this fleet{did_you_mean(name, known)}',
                id="RC-no-fleet-project",
                hint="reconciler fleet status lists them.",
            )
