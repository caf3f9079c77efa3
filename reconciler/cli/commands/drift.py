"""`reconciler drift`: show changes outside Reconciler. Reads; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler.cli import codes, completion, exits, options as shared, reports
from reconciler.cli.checks.rules_from import judged
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import accept_drift, baselines, propose_drift, run
from reconciler.cli.wiring.connect import connect
from reconciler.cli.wiring.loading import load, now
from reconciler.cli.wiring.run import Planned
from reconciler.cli.wiring.unseen import Unseen, read_state
from reconciler.config import Project
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model.drift import Drift, DriftWord
from reconciler.plan.drift import drift, without_known
from reconciler.report.documents import drift_document
from reconciler.report.drift import drift_sheet
from reconciler.resource import Kinds
from reconciler.text.names import HERE


@click.command("drift", short_help="Show what was changed outside Reconciler.")
@shared.project()
@shared.targets()
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
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Ignore the known drift that this file lists, with reasons and expiry dates.",
)
@click.option("--full", is_flag=True, help="List every unmanaged object.")
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
    full: bool,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Show what was changed outside Reconciler since the last apply: fields, locations, deleted and unmanaged objects, and which
    assertions of the project (expect, access) are not met. Exits with 2 on both, and with 5 if something could not be read, or if the
    state has never seen the project.

    Sends only GET requests. Writes nothing, except your YAML with --accept, and a branch with --propose.

    \b
    Example:
      reconciler drift examples/acme --sandbox .reconciler/acme.db
      reconciler drift --accept acme/space/guides.title
      reconciler drift --propose
    """
    options = Options.of(screen, parameters)
    if accept and propose:
        raise UsageError("--accept and --propose exclude each other", id="RC-option-value", hint="Pass one of them.")
    known = baselines.read(baseline) if baseline is not None else ()
    reading = read(screen, options, load_kinds(), coverage=coverage)
    kinds, project, planned, drifted, new = reading.kinds, reading.project, reading.planned, reading.drift, reading.new
    today = (planned.actual.date or now()).date()
    if new is not None and (options.format != "text" or accept):
        screen.warn(str(new), id="RC-unseen-state")
    if accept:
        accept_drift.accept(screen, options, kinds, project, planned, drifted, accept)
        return exits.DONE
    if propose:
        return propose_drift.propose(screen, options, kinds, project, planned, without_known(drifted, known, today))
    drifted = screen.masked_data(without_known(drifted, known, today))
    document, made_at = drift_document(drifted), now()
    sheet = partial(drift_sheet, drifted, full=full, zone=HERE)
    folder = reports.folder(project)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    if options.format == "text" and drifted.resources:
        screen.out(f"Restore it with: {options.command_line('apply')}\n")
        if any(resource.status is not DriftWord.DELETED for resource in drifted.resources):
            screen.out(f"Or accept it with: {options.command_line('drift')} --accept ADDRESS[.FIELD]\n")
        else:
            screen.out("Or accept it: remove its lines from the YAML.\n")
    return codes.of_drift(drifted)


@dataclass(frozen=True)
class DriftReading:
    """Drift and what it was found from. `kinds`: with the key of the state's digests. `new`: the message about a state that has never seen
    the project."""

    kinds: Kinds
    project: Project
    planned: Planned
    drift: Drift
    new: Unseen | None


def read(screen: Screen, options: Options, kinds: Kinds, *, coverage: bool = False) -> DriftReading:
    """The drift of a project, found with GET requests. `coverage`: read every list."""
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project = by.project
    with connect(screen, options, project, kinds) as service:
        state, key, new = read_state(screen, options, project, service)
        kinds = kinds.with_digest_key(key, project.sensitive)
        desired = project.desired
        planned = run.read_only(Narration(screen), service, kinds, desired, state, options, everything=coverage)
    drifted = drift(kinds, desired, state, planned.actual, planned.plan, selection=run.selected(options), whole=coverage)
    drifted = replace(drifted, notes=(*((str(new),) if new is not None else ()), *by.notes, *drifted.notes))
    return DriftReading(kinds, project, planned, drifted, new)
