"""`reconciler apply`: recover, plan, ask, apply."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from reconciler.cli import options as shared
from reconciler.cli import reports
from reconciler.cli.options import Options
from reconciler.cli.screen import Screen
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.cli.run import Planned, Session
    from reconciler.model import Plan

FRESH = 10.0  # seconds; what was read longer ago is read again before anything is sent


@click.command("apply", short_help="Recover, plan, ask, apply.")
@shared.project()
@shared.selection()
@shared.guards()
@shared.service()
@shared.state()
@click.option("--yes", is_flag=True, help="Do not ask. Overrides no guard.")
@click.option("--on-error", type=click.Choice(["continue", "stop"]), default="continue", show_default=True, help="After a failed request.")
@click.option("--full", is_flag=True, help="Do not fold alike changes into one line.")
@reports.option()
@shared.output(formats=("text", "json"))
@click.pass_obj
def command(
    screen: Screen, /, yes: bool, on_error: Literal["continue", "stop"], full: bool, report: tuple[tuple[str, Path], ...], **words: Any
) -> int:
    """Make the organization what the files say: settle what earlier runs left open, plan, ask, apply, look again.

    \b
    Example:
      reconciler apply examples/acme --sandbox .reconciler/acme.db
    """
    from reconciler.cli import exits
    from reconciler.cli.connect import accounted, connect, load, now, open_store, who
    from reconciler.cli.progress import Narration
    from reconciler.cli.run import Session
    from reconciler.kinds import load as load_kinds
    from reconciler.model import Status
    from reconciler.report.documents import outcome_document
    from reconciler.report.outcome import outcome_text
    from reconciler.report.sheet import outcome_sheet

    options = Options.of(screen, words)
    if not yes and not screen.can_ask:
        raise UsageError("there is no terminal to ask on", hint="Pass --yes to apply without being asked.")
    kinds = load_kinds()
    project = load(screen, options, kinds)
    with (
        connect(screen, options, project, kinds) as service,
        open_store(screen, options, project, service, create=True) as store,
        store.lease(who=who(), command="apply") as journal,
        accounted(journal),
        Session(Narration(screen), service, kinds, project, journal, options) as session,
    ):
        for note in session.recover():
            screen.say(note)
        planned = agreed(screen, options, session, ask=not yes, full=full)
        if planned is None:
            screen.say("Nothing was applied.")
            journal.finish(exit_code=exits.FAILED, summary={})
            return exits.FAILED
        outcome = session.apply(planned, on_error=on_error)
        code = exits.of_outcome(outcome, signal=session.signal)
        journal.finish(exit_code=code, summary={status.value: outcome.count(status) for status in Status})
    outcome = screen.masked_data(outcome)
    document = outcome_document(outcome)
    reports.write(screen, report, document, lambda: outcome_sheet(outcome), created_at=now(), folder=reports.folder(project))
    if options.format == "json":
        screen.document(document)
    elif outcome.plan.pending or outcome.notes:
        screen.spans(outcome_text(outcome, width=screen.width))
    return code


def agreed(screen: Screen, options: Options, session: Session, *, ask: bool, full: bool) -> Planned | None:
    """A plan that passed the guards, was shown and agreed to, and is still what a fresh reading gives; None where it was declined."""
    from reconciler.guard import consent, guard

    planned = session.plan()
    while True:
        _show(screen, options, planned.plan, ask=ask, full=full)
        guard(planned.plan, session.desired, allow_delete=options.allow_delete)
        if not ask or not planned.plan.pending:
            consent(planned.plan, options.allow_exposure)
            return planned
        if not click.confirm(_question(planned.plan), default=False, err=True):
            return None
        if planned.age <= FRESH:
            return planned
        again = session.plan()
        if again.plan == planned.plan:
            return again
        screen.say("The service changed meanwhile; this is the plan now.")
        planned = again


def _show(screen: Screen, options: Options, plan: Plan, *, ask: bool, full: bool) -> None:
    from reconciler.report.text import plan_text

    spans = plan_text(screen.masked_data(plan), width=screen.width, full=full)
    if options.format == "text":
        screen.spans(spans)
    elif ask:
        screen.narrate_spans(spans)


def _question(plan: Plan) -> str:
    number, opened = len(plan.steps), len(plan.exposures)
    told = f" It exposes {opened} thing{'s' if opened != 1 else ''}." if opened else ""
    if not number:
        return f"Apply this plan? It takes no request.{told}"
    return f"Apply {'this request' if number == 1 else f'these {number} requests'}?{told}"
