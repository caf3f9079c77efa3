"""`reconciler plan`: show what would change. Reads the service and the state, and writes to neither."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from reconciler.cli import options as shared, reports
from reconciler.cli.declare import OutputFile
from reconciler.cli.opening import opened
from reconciler.cli.options import Options, commit as commit_option
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError
from reconciler.report.documents import plan_document
from reconciler.report.plan import forecast_text, not_changed, plan_sheet
from reconciler.run import codes
from reconciler.run.connection.connecting import current_user
from reconciler.run.guards import consent_options
from reconciler.run.loading import now
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import origin
from reconciler.text.names import HERE


@click.command("plan", short_help="Show what would change.")
@shared.project()
@shared.selection()
@shared.guards()
@shared.holding()
@shared.rules()
@shared.absences()
@shared.urls()
@shared.service()
@shared.state()
@click.option("--out", type=OutputFile(), metavar="FILE", help="Save the plan to a file that only you can read.")
@commit_option()
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if changes are pending.")
@click.option("--full", is_flag=True, help="Show every change on lines of its own.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(
    screen: Screen,
    /,
    out: Path | None,
    commit: str | None,
    detailed_exitcode: bool,
    full: bool,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Show what would change, and why. Sends only GET requests, and does not write to the state.

    With --hold, what would be refused is left out, and the rest can be applied.

    \b
    Example:
      reconciler plan examples/acme --sandbox .reconciler/acme.db
      reconciler plan examples/acme --sandbox .reconciler/acme.db --out acme.plan.json
      reconciler plan examples/acme --sandbox .reconciler/acme.db --hold
    """
    options = Options.of(screen, parameters)
    typed = click.get_current_context().get_parameter_source("commit") is ParameterSource.COMMANDLINE
    if typed and out is None:
        raise UsageError("--commit requires --out FILE", id="RC-options-conflict", hint="Only a saved plan records a commit.")
    if out is not None:
        plan_file.signing_key(screen.masks)  # a key that cannot be used is reported before anything is read
    with opened(screen, options) as run:
        planned, project = run.plan(), run.project
    planned = replace(planned, plan=replace(planned.plan, notes=(*run.notes, *planned.plan.notes)))
    if options.format != "text":
        run.warn_unseen()
    plan, shown, made_at = planned.plan, screen.masked_data(planned.plan), now()
    document = plan_document(shown, created_at=made_at, forecast=planned.forecast, max_urls=options.max_urls)
    sheet = partial(plan_sheet, shown, full=full, zone=HERE)
    folder = reports.folder(project)
    printed = reports.Report(document, sheet, made_at, folder)
    printed.write(screen, report)
    printed.show(screen, options.format)
    if plan.steps:
        screen.say(forecast_text(planned.forecast))
    try:
        planned.check(options.limits.with_exposures)
    except Refused:
        if out is not None:
            older = "; the file there is of an earlier run" if out.exists() else ""
            screen.note(f"The plan is refused, so it was not saved in {out}{older}.")
        raise
    if plan.held and not plan.pending and out is not None:
        screen.note(f"Everything is held, so the plan was not saved in {out}.")
        out = None
    if options.format == "text" and plan.pending:
        rest = f"{not_changed(plan)} Apply the rest with" if plan.blocked or plan.held else "Apply it with"
        screen.out(f"{rest}: {options.saved_line(out) if out is not None else options.command_line('apply')}\n")
        # Whoever applies the file consents to what it shows.
        consents = consent_options(plan.exposures, options.limits.exposures) if out is None else ""
        screen.out(f"To apply it with --yes, add: {consents}\n" if consents else "")
    if out is not None:
        made_by = origin(project, current_user(), commit=commit)
        recorded = options.with_held(planned.excluded).recorded
        inputs = plan_file.plan_inputs(recorded, project, planned.state, run.service.identity, made_by, run.judged.origin)
        digests = plan_file.digests_of(run.voice, planned.state.lineage, run.seen.key)
        plan_file.write(run.voice, out, planned, inputs=inputs, digests=digests, created_at=made_at)
    return codes.of_plan(plan, detailed=detailed_exitcode)
