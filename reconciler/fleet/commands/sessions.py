"""`reconciler fleet sessions`: who is logged in to the dashboard."""

from __future__ import annotations

from typing import Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.store import audit
from reconciler.fleet.store.dashboard import sessions
from reconciler.fleet.store.dashboard.sessions import Login
from reconciler.report.layout import table
from reconciler.text.names import utc_text

SHOWN: Final = 12  # characters of the id of a session


@click.command("sessions", short_help="List or end sessions of the dashboard.")
@click.option("--end", "ids", multiple=True, metavar="ID", allow_from_autoenv=False, help="End the session with this id. Can be repeated.")
@click.option("--end-all", is_flag=True, allow_from_autoenv=False, help="End every session.")
@click.option("--person", metavar="NAME", allow_from_autoenv=False, help="Only the sessions of the person with this name or subject.")
@fleet_options.database()
@shared.output()
@click.pass_obj
def sessions_command(
    screen: Screen, /, ids: tuple[str, ...], end_all: bool, person: str | None, database: str | None, **parameters: Any
) -> None:
    """List who is logged in to the dashboard, and since when. With --end or --end-all, end sessions: their people must log in again.

    \b
    Examples:
      reconciler fleet sessions
      reconciler fleet sessions --person ada@acme.example --end-all
    """
    Options.of(screen, parameters)
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        logins = [login for login in sessions.listed(connection) if person in (None, login.person["name"], login.person.get("subject"))]
        ending = logins if end_all else [_session(logins, id) for id in ids]
        if ending:
            sessions.end_all(connection, [login.id for login in ending])
            by = fleet_options.operator().name
            lines = [{"session": login.id[:SHOWN], "of": login.person["name"]} for login in ending]
            audit.write(connection, *(audit.AuditRecord(by, "end-session", details=details) for details in lines))
    if ids or end_all:
        screen.say(f"Ended {len(ending)} session{'s' if len(ending) != 1 else ''}.")
        return
    rows = [("id", "person", "subject", "since", "until")]
    for login in logins:
        about = (login.person["name"], login.person.get("subject") or "-")
        rows.append((login.id[:SHOWN], *about, utc_text(login.created_at), utc_text(login.expires_at)))
    screen.out(table(rows, width=screen.width) if logins else "Nobody is logged in.\n")


def _session(logins: list[Login], id: str) -> Login:
    """The session whose id begins so. Raises `UsageError`."""
    same = [login for login in logins if login.id.startswith(id)] if id else []
    if len(same) != 1:
        wrong = f"{'more than one' if same else 'no'} session has an id that begins with {id!r}"
        raise UsageError(wrong, id="RC-option-value", hint="reconciler fleet sessions lists them.")
    return same[0]
