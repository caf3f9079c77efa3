"""`reconciler fleet approve`, `reject`, `pause`, `resume`: decisions of people."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.fleet import acts
from reconciler.fleet.acts import Decided
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.model import ChangeClass
from reconciler.fleet.people import Person
from reconciler.fleet.reports import approval_document, needs_text
from reconciler.text.names import HERE, clock_time

NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")
NAME = click.argument("name", metavar="NAME")
DIGEST = click.option(
    "--digest",
    metavar="DIGEST",
    allow_from_autoenv=False,
    help="Decide on the plan with this digest without being asked; refused if the project has another plan by now.",
)
CLASSES: Final = ("titles", "order", "update", "create", "delete", "replace", "exposure")
PAUSE_DEFAULT: Final = "1d"


@click.command("approve", short_help="Approve the plan of a project.")
@NAME
@DIGEST
@click.option(
    "--class",
    "classes",
    type=click.Choice(CLASSES),
    multiple=True,
    allow_from_autoenv=False,
    help="Approve only this class of change. Can be repeated.  [default: every class that needs somebody]",
)
@click.option(
    "--rehearsal",
    metavar="DIGEST",
    allow_from_autoenv=False,
    help="With --digest, the digest of the rehearsal that you have read. Needed where the fleet file has `rehearse: required`.",
)
@click.option("--allow-unplanned", is_flag=True, allow_from_autoenv=False, help="Approve it although its rehearsal did not go as planned.")
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def approve_command(
    screen: Screen,
    /,
    name: str,
    digest: str | None,
    classes: tuple[str, ...],
    rehearsal: str | None,
    allow_unplanned: bool,
    database: str | None,
    **parameters: Any,
) -> int:
    """Show the plan of a project, its rehearsal and what it needs, and approve it. An approval covers exactly this plan: a
    changed plan needs a new one. The next run applies a plan that has all its approvals.

    \b
    Example:
      reconciler fleet approve acme
      reconciler fleet approve acme --class create
    """
    options = Options.of(screen, parameters)
    person = fleet_options.operator()
    with fleet_options.opened(screen, database) as opened:
        with opened.transaction() as connection:
            judged, held = acts.plan(connection, person, name), acts.why_not_applied(connection, person, name)
        if digest is None:
            rehearsal = rehearsal or judged.rehearsed
            rehearsed = f"{judged.rehearsal.text}\n" if judged.rehearsal is not None and judged.rehearsed else ""
            shown = f"{judged.plan.text}\n{rehearsed}{needs_text(judged, held)}"
            screen.out(shown) if options.format == "text" else screen.narrate_spans((("plain", shown),))
            if held is not None or not judged.plan.changes:
                return exits.REFUSED
            if not screen.can_ask:
                raise UsageError(
                    "there is no terminal to ask for confirmation",
                    id="RC-no-terminal",
                    hint=f"Approve exactly this plan: reconciler fleet approve {name} --digest {judged.plan.digest}",
                )
            if not click.confirm(f"Approve it as {person.name}?", default=False, err=True):
                screen.say("Nothing was approved.")
                return exits.FAILED
        with opened.transaction() as connection:
            wanted = [ChangeClass(word) for word in classes] or None
            decided = acts.approve(
                connection,
                person,
                name,
                digest=digest or judged.plan.digest or "",
                changes=wanted,
                rehearsal=rehearsal or "",
                allow_unplanned=allow_unplanned,
            )
    _show(screen, options, name, person, decided, rejects=False)
    return exits.DONE


@click.command("reject", short_help="Reject the plan of a project.")
@NAME
@DIGEST
@click.option("--reason", allow_from_autoenv=False, required=True, metavar="TEXT", help="Why; `fleet status` shows it, with your name.")
@fleet_options.database()
@shared.output(formats=("text", "json"))
@click.pass_obj
def reject_command(screen: Screen, /, name: str, digest: str | None, reason: str, database: str | None, **parameters: Any) -> None:
    """Reject the plan of a project: it is not applied, whoever approves it, until you approve it or a commit changes it.

    \b
    Example:
      reconciler fleet reject acme --reason "the handbook is still linked"
    """
    options = Options.of(screen, parameters)
    person = fleet_options.operator()
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        current = digest or acts.plan(connection, person, name).plan.digest or ""
        decided = acts.reject(connection, person, name, digest=current, reason=reason)
    _show(screen, options, name, person, decided, rejects=True)


def _show(screen: Screen, options: Options, name: str, person: Person, decided: Decided, *, rejects: bool) -> None:
    if options.format == "json":
        screen.document(approval_document(name, person.name, decided, rejects=rejects))
        return
    what = ", ".join(sorted(decided.changes))
    screen.out(f"Rejected the plan of {name}.\n" if rejects else f"Approved {what} of {name}.\n")
    missing = decided.verdict.sentence
    if missing is None:
        screen.out("The next run applies the plan.\n")
    elif not rejects:
        screen.out(f"{missing[:1].upper()}{missing[1:]}.\n")


def _until(ctx: click.Context, param: click.Parameter, value: str) -> datetime:
    return fleet_options.moment(value, ctx, param, ago=False)


@click.command("pause", short_help="Stop running projects for a time.")
@NAMES
@click.option(
    "--until",
    metavar="TIME",
    allow_from_autoenv=False,
    default=PAUSE_DEFAULT,
    show_default=True,
    callback=_until,
    help="When the pause ends: a time, or a duration such as 2h; at most 30 days.",
)
@click.option("--reason", allow_from_autoenv=False, required=True, metavar="TEXT", help="Why; `fleet status` shows it, with your name.")
@fleet_options.database()
@shared.output()
@click.pass_obj
def pause_command(screen: Screen, /, names: tuple[str, ...], until: datetime, reason: str, database: str | None, **parameters: Any) -> None:
    """Stop running projects until a time, or until `fleet resume`. A run that is under way stops before its next step that opens something
    or cannot be undone.

    \b
    Example:
      reconciler fleet pause acme --until 2h --reason "the migration of Tuesday"
    """
    Options.of(screen, parameters)
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        acts.pause(connection, fleet_options.operator(), names, until=until, reason=reason)
    screen.say(f"Paused {', '.join(names)} until {clock_time(until, HERE)}.")


@click.command("resume", short_help="End a pause or a quarantine.")
@NAMES
@fleet_options.database()
@shared.output()
@click.pass_obj
def resume_command(screen: Screen, /, names: tuple[str, ...], database: str | None, **parameters: Any) -> None:
    """End the pauses of projects, and the quarantines of what was undone in them; they are due at once.

    \b
    Example:
      reconciler fleet resume acme
    """
    Options.of(screen, parameters)
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        lifted = acts.resume(connection, fleet_options.operator(), names)
    for project, paused, undone_by in lifted:
        ended = ["the pause"] if paused else []
        ended += [f"the quarantine of what run {run[:8]} undid" for run in undone_by]
        screen.say(f"Resumed {project}: {' and '.join(ended) or 'nothing held it'}.")
