"""`reconciler plan`: show what would change. Reads the service and the state, and writes to neither."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from reconciler.cli import options as shared, reports
from reconciler.cli.declare import OutputFile
from reconciler.cli.options import Options, commit as commit_option
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError
from reconciler.kinds import load as load_kinds
from reconciler.report.documents import plan_document
from reconciler.report.plan import forecast_text, not_changed, plan_sheet
from reconciler.resource import Kinds
from reconciler.run import codes, stages as run
from reconciler.run.connecting import connect, current_user
from reconciler.run.guards import check, consent_options
from reconciler.run.loading import load, now
from reconciler.run.rules import JudgedProject, judged
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import origin
from reconciler.run.stages import Planned
from reconciler.run.unseen import Unseen, kept_trees, read_state, recorded_urls
from reconciler.text.names import HERE


@click.command("plan", short_help="Show what would change.")
@shared.project()
@shared.selection()
@shared.guards()
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
    screen: Screen, /, out: Path | None, commit: str | None, detailed_exitcode: bool, full: bool,
    report: tuple[tuple[str, Path], ...], **parameters: Any,
) -> int:  # fmt: skip
    """Show what would change, and why. Sends only GET requests, and does not write to the state.

    \b
    Example:
      reconciler plan examples/acme --sandbox .reconciler/acme.db
      reconciler plan examples/acme --sandbox .reconciler/acme.db --out acme.plan.json
    """
    options = Options.of(screen, parameters)
    typed = click.get_current_context().get_parameter_source("commit") is ParameterSource.COMMANDLINE
    if typed and out is None:
        raise UsageError("--commit requires --out FILE", id="RC-options-conflict", hint="Only a saved plan records a commit.")
    if out is not None:
        plan_file.signing_key(screen)  # a key that cannot be used is reported before anything is read
    kinds = load_kinds()
    reading = read(screen, options, kinds)
    by, planned, project = reading.by, reading.planned, reading.by.project
    if reading.new is not None and options.format != "text":
        screen.warn(str(reading.new), id="RC-unseen-state")
    plan, shown, made_at = planned.plan, screen.masked_data(planned.plan), now()
    document = plan_document(shown, created_at=made_at, forecast=planned.forecast, max_urls=options.max_urls)
    sheet = partial(plan_sheet, shown, full=full, zone=HERE)
    folder = reports.folder(project)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    if plan.steps:
        screen.say(forecast_text(planned.forecast))
    try:
        check(plan, project.desired, options.limits.with_exposures)
    except Refused:
        if out is not None:
            older = "; the file there is of an earlier run" if out.exists() else ""
            screen.note(f"The plan is refused, so it was not saved in {out}{older}.")
        raise
    if options.format == "text" and plan.pending:
        rest = f"{not_changed(plan)} Apply the rest with" if plan.blocked else "Apply it with"
        screen.out(f"{rest}: {options.saved_line(out) if out is not None else options.command_line('apply')}\n")
        # Whoever applies the file consents to what it shows.
        consents = consent_options(plan.exposures, options.limits.exposures) if out is None else ""
        screen.out(f"To apply it with --yes, add: {consents}\n" if consents else "")
    if out is not None:
        made_by = origin(project, current_user(), commit=commit)
        inputs = plan_file.plan_inputs(options, project, planned.state, reading.identity, made_by, by.origin)
        digests = plan_file.digests_of(screen, planned.state.lineage, reading.key)
        plan_file.write(screen, out, planned, reading.kinds, inputs=inputs, digests=digests, created_at=made_at)
    return codes.of_plan(plan, detailed=detailed_exitcode)


@dataclass(frozen=True)
class PlanReading:
    """A plan and what it was made from. `kinds`, `key`: with the key of the state's digests. `identity`: of the service. `new`: the message
    about a state that has never seen the project."""

    by: JudgedProject
    kinds: Kinds
    planned: Planned
    key: bytes
    identity: str
    new: Unseen | None


def read(screen: Screen, options: Options, kinds: Kinds, *, create: bool = True) -> PlanReading:
    """The plan of a project, made with GET requests. `create`: create a sandbox that does not exist; otherwise refuse it."""
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project, narration = by.project, Narration(screen)
    with connect(screen, options, project, kinds, create=create) as service:
        with narration.lasting("Reading the state"):
            state, key, new = read_state(screen, options, project, service)
        kinds = kinds.with_digest_key(key, project.sensitive)
        kept = kept_trees(screen, options, project, service)
        recorded = recorded_urls(screen, options, project, service)
        planned = run.read_only(narration, service, kinds, project.desired, state, options.operation, kept=kept, recorded=recorded)
    first = (*((str(new),) if new is not None else ()), *by.notes)
    planned = replace(planned, plan=replace(planned.plan, notes=(*first, *planned.plan.notes)))
    return PlanReading(by, kinds, planned, key, service.identity, new)
