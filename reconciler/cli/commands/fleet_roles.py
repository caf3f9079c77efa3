"""`reconciler fleet roles`: roles of PostgreSQL for workers, dashboards and runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.commands import fleet_options
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError, os_reason
from reconciler.text.redact import of_urls
from reconciler.writing import create_folder, write_whole


@click.command("roles", short_help="Create roles of PostgreSQL for workers and dashboards.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@fleet_options.database()
@shared.output()
@click.pass_obj
def roles_command(screen: Screen, /, folder: Path, database: str | None, **parameters: Any) -> None:
    """Create a role for workers, one for dashboards and one for the runs of each project in the fleet's database, and write the URLs of the
    first two into FOLDER: worker.url and dashboard.url. If they exist, they get new passwords, and rights on tables of a newer version. The
    user of --database must own the tables and be allowed to create roles.

    \b
    Example:
      reconciler fleet roles /etc/reconciler --database postgresql://owner@db.example.com/fleet
    """
    from reconciler.fleet.store.access import roles

    Options.of(screen, parameters)
    with fleet_options.opened(screen, database, prepare=True) as opened, opened.transaction() as connection:
        urls = roles.create(connection, opened.address.url)
        screen.hide(of_urls(urls.values()))
        for part, url in urls.items():
            write(folder / f"{part}.url", url)
    for part in urls:
        screen.say(f"The URL for --database of a {part} is in {folder / part}.url.")


def write(path: Path, url: str) -> None:
    """Write a URL with a password where only this user reads it. Raises `UsageError`."""
    try:
        create_folder(path.parent, mode=0o700)
        write_whole(path, f"{url}\n")
    except OSError as error:
        wrong = f"{path} cannot be written: {os_reason(error)}"
        raise UsageError(wrong, id="RC-option-value", hint="Pass a folder that this user may write.") from error
