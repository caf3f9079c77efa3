"""`reconciler fleet audit`: who saw, decided and ran what."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import StateError, UsageError
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.reports import audit_document, audit_text
from reconciler.fleet.store import FleetDatabase, audit, chain
from reconciler.text.escape import as_json

LOOK_SECONDS: Final = 1.0


def _since(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return fleet_options.moment(value, ctx, param, ago=True) if value is not None else None


@click.command("audit", short_help="Show who saw, decided and ran what.")
@click.option("--since", metavar="TIME", callback=_since, help="Only lines after a time, or of the last 2h. By default, all.")
@click.option("--follow", is_flag=True, help="Then print what is added, until interrupted.")
@click.option(
    "--verify",
    is_flag=True,
    allow_from_autoenv=False,
    help="Check that no line of it, and no decision, was changed, deleted or slipped in.",
)
@click.option(
    "--head",
    metavar="DIGEST",
    allow_from_autoenv=False,
    help="With --verify: a digest that --verify printed before, and that must still be part of it.",
)
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def audit_command(
    screen: Screen, /, since: datetime | None, follow: bool, verify: bool, head: str | None, database: str | None, **parameters: Any
) -> None:
    """Print the audit log of the fleet, oldest line first: who saw, approved, rejected, paused and ran what. The database refuses to change
    or delete a line. --format json prints one JSON object on each line. --verify checks the chain of digests that PostgreSQL writes,
    and prints the last one: keep it elsewhere, and pass it as --head the next time.

    \b
    Examples:
      reconciler fleet audit --since 2h
      reconciler fleet audit --format json > audit.jsonl
      reconciler fleet audit --verify
    """
    options = Options.of(screen, parameters)
    if (head is not None and not verify) or (verify and (follow or since is not None)):
        wrong = "--verify is about the whole audit log" if verify else "--head requires --verify"
        raise UsageError(wrong, id="RC-options-conflict", hint="Write: reconciler fleet audit --verify --head DIGEST.")
    if verify:
        with fleet_options.opened(screen, database) as opened:
            _verify(screen, opened, head)
        return
    with fleet_options.opened(screen, database) as opened:
        printer = _Printer(screen, options, opened, since, settled=follow)
        if not follow:
            printer.more()
        while follow and screen.lost is None:
            printer.follow()
            time.sleep(LOOK_SECONDS)


def _verify(screen: Screen, database: FleetDatabase, head: str | None) -> None:
    with database.transaction() as connection:
        lines, last = chain.verified(connection, head=head)
    screen.out(f"The audit log is unchanged: {lines} lines of it and of decisions.\n")
    if last:
        screen.out(f"To check it from here the next time: reconciler fleet audit --verify --head {last}\n")


@dataclass
class _Printer:
    """Prints new lines. `after`: the id of the last line; `settled`: no line is skipped because its transaction ended late; `failed`: why
    the database could not be read the last time."""

    screen: Screen
    options: Options
    database: FleetDatabase
    since: datetime | None
    settled: bool
    after: int = 0
    failed: str = ""

    def follow(self) -> None:
        """Print new lines as they are added. A database that cannot be reached is tried again."""
        try:
            self.more()
        except StateError as error:
            if error.message != self.failed:
                self.screen.say(f"{error.message}; trying again")
            self.failed = error.message
        else:
            self.failed = ""

    def more(self) -> None:
        """Print the lines after the last one."""
        with self.database.transaction() as connection:
            for line in audit.read(connection, after=self.after, since=self.since, settled=self.settled):
                text = as_json(audit_document(line), indent=None) + "\n" if self.options.format == "json" else audit_text(line)
                self.screen.out(text)
                self.after = line.id
