"""`reconciler fleet drift`: what was changed outside Reconciler in a project, and the decision on it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.fleet import acts, drift
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.drift_groups import differences
from reconciler.fleet.reports import drift_text
from reconciler.report.words import count
from reconciler.text.names import HERE, clock_time


def _until(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    return fleet_options.moment(value, ctx, param, ago=False) if value is not None else None


@click.command("drift", short_help="Decide on what was changed outside Reconciler.")
@click.argument("name", metavar="NAME")
@click.option(
    "--revert", is_flag=True, allow_from_autoenv=False, help="Let the next run take the changes back, with the approvals of a plan."
)
@click.option(
    "--ignore-until",
    "until",
    metavar="TIME",
    allow_from_autoenv=False,
    callback=_until,
    help="Ignore the changes until a time, or for a duration such as 7d; at most 90 days. Then they alarm again.",
)
@click.option(
    "--reason", allow_from_autoenv=False, default="", metavar="TEXT", help="With --ignore-until: why; others see it with your name."
)
@click.option(
    "--address", "addresses", multiple=True, allow_from_autoenv=False, metavar="ADDRESS", help="Decide only on this resource. Repeatable."
)
@fleet_options.database()
@shared.output()
@click.pass_obj
def drift_command(
    screen: Screen,
    /,
    name: str,
    revert: bool,
    until: datetime | None,
    reason: str,
    addresses: tuple[str, ...],
    database: str | None,
    **parameters: Any,
) -> int:
    """Show what the last run of a project found changed outside Reconciler, what people decided, and the commands of each decision: revert,
    accept, or ignore until a time. Exits with 2 if something was changed and is not ignored.

    \b
    Example:
      reconciler fleet drift acme
      reconciler fleet drift acme --revert
      reconciler fleet drift acme --ignore-until 7d --reason "renamed for the fair"
    """
    Options.of(screen, parameters)
    if revert and until is not None:
        raise UsageError("--revert and --ignore-until exclude each other", id="RC-option-value", hint="Decide on some with --address.")
    person = fleet_options.operator()
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        row, groups, decided = acts.outside(connection, person, name)
        read = drift.digest(groups)
        if revert:
            chosen = acts.revert(connection, person, name, digest=read, addresses=addresses)
            screen.say(f"The next run reverts {count(len(chosen), 'resource')}, as soon as a worker is free.")
            return exits.DONE
        if until is not None:
            chosen = acts.ignore(connection, person, name, digest=read, until=until, reason=reason, addresses=addresses)
            screen.say(f"Ignored {count(len(chosen), 'resource')} until {clock_time(until, HERE)}.")
            return exits.DONE
    screen.out(drift_text(row, groups, decided))
    return exits.PENDING if {address for address, *_ in differences(groups)} - drift.ignores(decided) else exits.DONE
