"""Options that the commands of a fleet share, and how they find the database."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import click

from reconciler.cli.declare import SharedOption
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.connect import current_user
from reconciler.errors import StateError, UsageError
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.store import FleetDatabase, connected
from reconciler.git import user_email
from reconciler.text.install import installing_extra
from reconciler.text.names import did_you_mean
from reconciler.text.redact import of_urls

_LASTING: Final = re.compile(r"([1-9][0-9]{0,4})(m|h|d)", re.ASCII)
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
DATA: Final = Path(".reconciler/fleet")
URL_MAX: Final = 10_000  # characters
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
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
        default=DATA,
        metavar="DIR",
        help="Where copies of repositories and the embedded database are kept.  [default: .reconciler/fleet]",
    )


def installed(*modules: str) -> None:
    """Raise `UsageError` where a package of the extra is missing."""
    missing = [name for name in modules or NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"a fleet requires {', '.join(missing)}", id="RC-package-missing", hint=f"Install it: {installing_extra('fleet')}")


def url_of(screen: Screen, given: str | None, folder: Path = DATA) -> str | None:
    """The URL of the database, its password hidden from now on; None if none is set."""
    url = given if given is not None else _started_here(folder / "url")
    if url is not None:
        screen.hide(of_urls([url]))
    return url


def _started_here(file: Path) -> str | None:
    """The URL that `fleet up` wrote; None if it runs no database here. Raises `UsageError` for a file that it did not write, because
    whoever commits one must not choose where people approve."""
    url: str | None = None
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8") as opened:
            status = os.fstat(opened.fileno())
            private = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
            url = opened.read(URL_MAX).strip() if private else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        url = None
    if url is None or not _is_of_this_machine(url):
        raise UsageError(
            f"{file} is not a file that only you can read, with the database that `fleet up` started on this machine",
            id="RC-no-fleet-database",
            hint="Delete it if you do not know it. Pass --database URL, or set RECONCILER_DATABASE, to use a server.",
        )
    return url


def _is_of_this_machine(url: str) -> bool:
    """Whether a URL names a socket or the loopback interface, and nothing else."""
    try:
        parts = urlsplit(url)
        query = parse_qs(parts.query, keep_blank_values=True)
        named = [*query.get("host", []), *filter(None, [parts.hostname])]
    except ValueError:
        return False
    names = [name for text in named for name in text.split(",")]
    return bool(names) and query.keys() <= {"host", "require_auth"} and all(name.startswith("/") or name in LOOPBACK for name in names)


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
