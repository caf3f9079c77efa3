"""`reconciler drift`: show changes outside Reconciler. Reads; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import completion, options as shared, reports
from reconciler.cli.declare import OutputFile
from reconciler.cli.opening import opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.features.drift.commands import groups as drift_groups, requests
from reconciler.features.drift.model import DriftClass, exit_code
from reconciler.features.drift.report.document import drift_document
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.drift.run import baselines
from reconciler.features.drift.run.accept import accept as accept_into_files
from reconciler.features.drift.run.accepted import accepted_drift
from reconciler.features.drift.run.groups import chosen
from reconciler.features.drift.run.reading import drift_commands, drift_of
from reconciler.kinds import load as load_kinds
from reconciler.run.loading import now
from reconciler.run.saved import plan_file
from reconciler.text.names import HERE


@click.command("drift", short_help="Show what was changed outside Reconciler.")
@shared.project()
@shared.selection()
@shared.rules()
@shared.absences()
@shared.service()
@shared.state()
@click.option("--coverage", is_flag=True, help="Read every list, and show how much is managed.")
@click.option(
    "--accept",
    metavar="ADDRESS[.FIELD]",
    multiple=True,
    shell_complete=completion.addresses,
    allow_from_autoenv=False,
    help="Accept a change into the YAML. Repeatable.",
)
@shared.exposures("With --accept: accept that matching addresses are public or lost a protection. Repeatable.")
@click.option(
    "--propose",
    is_flag=True,
    allow_from_autoenv=False,
    help="Accept all that files can take in, on a branch of its own and, in a job of a forge, as a pull request.",
)
@click.option(
    "--proposal",
    allow_from_autoenv=False,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --propose: a proposal that a fleet saved, instead of reading the service.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ignore the known drift that this file lists, with reasons and expiry dates.",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CLASS,…",
    callback=drift_groups.classes,
    help=f"Exit with 2 only for drift of these classes: {', '.join(DriftClass)}.",
)
@click.option(
    "--revert-plan",
    type=OutputFile(),
    metavar="FILE",
    allow_from_autoenv=False,
    help="Save the plan that puts the groups back, and nothing else; apply --plan FILE carries it out.",
)
@click.option("--group", metavar="ID", allow_from_autoenv=False, help="With --revert-plan: only this group. Default: all.")
@click.option("--full", is_flag=True, help="Show every change on lines of its own, and list every unmanaged object.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(
    screen: Screen,
    /,
    coverage: bool,
    accept: tuple[str, ...],
    propose: bool,
    baseline: Path | None,
    fail_on: frozenset[DriftClass],
    revert_plan: Path | None,
    group: str | None,
    full: bool,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Show what was changed outside Reconciler since the last apply, in groups, the worst first: what happened, since when, who can read
    more or less, and which URLs stopped working; and which assertions of the project (expect, access) are not met. Exits with 2 on both,
    and with 5 if something could not be read, or if the state has never seen the project.

    Sends only GET requests. Writes nothing, except your YAML with --accept, a branch with --propose, and a file with --revert-plan.

    \b
    Example:
      reconciler drift examples/acme --sandbox .reconciler/acme.db
      reconciler drift --accept acme/space/guides.title
      reconciler drift --propose
      reconciler drift --fail-on exposing,deleting
      reconciler drift --revert-plan revert.plan.json --group 5f0c2b9e81d4
    """
    proposal: Path | None = parameters.pop("proposal")
    options = Options.of(screen, parameters)
    if group is not None and revert_plan is None:
        raise UsageError("--group requires --revert-plan FILE", id="RC-options-conflict", hint="Without them, all groups are shown.")
    wanted = [name for name, value in (("--accept", accept), ("--propose", propose), ("--revert-plan", revert_plan)) if value]
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(wanted)} exclude each other", id="RC-options-conflict", hint="Run one after the other.")
    if proposal is not None and not propose:
        raise UsageError("--proposal requires --propose", id="RC-options-conflict", hint="Add it.")
    if proposal is not None:
        kinds = load_kinds()
        return requests.propose(screen, options, kinds, *requests.saved_drift(screen, options, kinds, proposal))
    if revert_plan is not None:
        plan_file.signing_key(screen.masks)  # a key that cannot be used is reported before anything is read
    known = baselines.read(baseline) if baseline is not None else ()
    with opened(screen, options) as run:
        reading = drift_of(run, coverage=coverage, known=known, pages=revert_plan is not None)
    if options.format != "text" or accept:
        run.warn_unseen()
    if accept:
        for line in accept_into_files(run, reading.planned, reading.drift, accept):
            screen.out(line)
        return exits.DONE
    if propose:
        report_of = drift_sheet(screen.masked_data(reading.shown), zone=HERE)
        made = accepted_drift(run, reading.planned, reading.shown, report_of)
        unread = exits.PARTLY if exit_code(reading.shown) == exits.PARTLY else exits.DONE
        return exits.strongest([requests.propose(screen, options, run.kinds, made, report_of), unread])
    if revert_plan is not None:
        groups = chosen(screen.masked_data(reading.shown), group)
        drift_groups.save_revert(screen, run, revert_plan, options, reading.planned, groups)
        return exits.DONE
    drifted = screen.masked_data(reading.shown)
    commands = drift_commands(run, reading, *drift_groups.lines(options, baseline))
    document, made_at = drift_document(drifted, commands), now()
    sheet = partial(drift_sheet, drifted, full=full, zone=HERE, commands=commands)
    folder = reports.folder(run.project)
    printed = reports.Report(document, sheet, made_at, folder)
    printed.write(screen, report)
    printed.show(screen, options.format)
    return exit_code(drifted, fail_on=fail_on)
