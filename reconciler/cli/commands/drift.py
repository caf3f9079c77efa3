"""`reconciler drift`: show changes outside Reconciler. Reads; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click

from reconciler import exits
from reconciler.cli import completion, options as shared, reports
from reconciler.cli.declare import OutputFile
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model.drift import Drift, DriftClass, KnownDrift
from reconciler.plan.drift import drift, grouped, looking_for_access, without_known
from reconciler.report.documents import drift_document
from reconciler.report.drift import drift_sheet
from reconciler.resource import Kinds
from reconciler.run import baselines, codes, stages as run
from reconciler.run.connecting import connect
from reconciler.run.drift import groups as drift_groups, requests
from reconciler.run.drift.accept import accept as accept_into_files, by_hand
from reconciler.run.drift.proposals import drift_proposal
from reconciler.run.loading import load, now
from reconciler.run.operation import Limits
from reconciler.run.rules import judged
from reconciler.run.saved import plan_file
from reconciler.run.stages import Planned
from reconciler.run.unseen import Unseen, kept_trees, read_state
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
        return requests.propose(screen, options, kinds, *requests.saved_proposal(screen, options, kinds, proposal))
    if revert_plan is not None:
        plan_file.signing_key(screen)  # a key that cannot be used is reported before anything is read
    known = baselines.read(baseline) if baseline is not None else ()
    reading = read(screen, options, load_kinds(), coverage=coverage, known=known, pages=revert_plan is not None)
    kinds, project, planned, new = reading.kinds, reading.project, reading.planned, reading.new
    if new is not None and (options.format != "text" or accept):
        screen.warn(str(new), id="RC-unseen-state")
    if accept:
        accept_into_files(screen, options, kinds, project, planned, reading.drift, accept)
        return exits.DONE
    if propose:
        report_of = drift_sheet(screen.masked_data(reading.shown), zone=HERE)
        made = drift_proposal(screen, options, kinds, project, planned, reading.shown, report_of)
        unread = exits.PARTLY if codes.of_drift(reading.shown) == exits.PARTLY else exits.DONE
        return exits.strongest([requests.propose(screen, options, kinds, made, report_of), unread])
    if revert_plan is not None:
        groups = drift_groups.chosen(screen.masked_data(reading.shown), group)
        drift_groups.save_revert(screen, revert_plan, options, project, kinds, planned, groups, reading.inputs)
        return exits.DONE
    drifted = screen.masked_data(reading.shown)
    document, made_at = drift_document(drifted), now()
    sheet = partial(drift_sheet, drifted, full=full, zone=HERE, **ways(screen, options, reading, baseline))
    folder = reports.folder(project)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    return codes.of_drift(drifted, fail_on=fail_on)


def ways(screen: Screen, options: Options, reading: DriftReading, baseline: Path | None = None) -> dict[str, Any]:
    """What `drift_sheet` must know of the two ways on: the commands, which changes none accepts, and which groups no plan puts back."""

    def command(name: str) -> str:
        if name == "apply":
            return options.without_saved().command_line(name)
        return options.command_line(name) + (f" --baseline {quote(str(baseline))}" if baseline is not None else "")

    kinds, planned, shown = reading.kinds, reading.planned, reading.shown
    refused = by_hand(options, kinds, reading.project, planned, shown)
    instead = drift_groups.instead_of_plans(options, kinds, planned, shown.groups)
    return {"command": command, **screen.masked_data({"by_hand": refused, "instead": instead})}


@dataclass(frozen=True)
class DriftReading:
    """Drift and what it was found from. `kinds`: with the key of the state's digests. `new`: the message about a state that has never seen
    the project. `shown`: the drift in groups, without what a baseline ignores. `inputs`: what a saved plan records."""

    kinds: Kinds
    project: Project
    planned: Planned
    drift: Drift
    new: Unseen | None
    shown: Drift
    inputs: drift_groups.RevertInputs


def read(
    screen: Screen, options: Options, kinds: Kinds, *, coverage: bool = False, known: Sequence[KnownDrift] = (), pages: bool = False
) -> DriftReading:  # fmt: skip
    """The drift of a project, found with GET requests. `coverage`: read every list. `known`: what a baseline ignores. `pages`: read what a
    plan needs to say what it does to URLs of pages."""
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project = by.project
    with connect(screen, options, project, kinds) as service:
        state, key, new = read_state(screen, options, project, service)
        kinds = kinds.with_digest_key(key, project.sensitive)
        desired = project.desired
        looking = looking_for_access(kinds, desired)
        kept = kept_trees(screen, options, project, service) if pages else None
        operation = replace(options.operation, limits=Limits())  # what would be replaced has drifted all the same
        planned = run.read_only(Narration(screen), service, kinds, looking, state, operation, everything=coverage, kept=kept)
        between = drift_groups.bounds(screen, options, project, service, planned)
        inputs = drift_groups.RevertInputs(service.identity, plan_file.digests_of(screen, state.lineage, key), by.origin)
    drifted = drift(kinds, desired, state, planned.actual, planned.plan, selection=options.operation.selection, whole=coverage)
    drifted = replace(drifted, notes=(*((str(new),) if new is not None else ()), *by.notes, *drifted.notes))
    shown = without_known(drifted, known, (planned.actual.date or now()).date())
    shown = grouped(kinds, desired, planned.actual, planned.matches, shown, between=between, selection=options.operation.selection)
    return DriftReading(kinds, project, planned, drifted, new, shown, inputs)
