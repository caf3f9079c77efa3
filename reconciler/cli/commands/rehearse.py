"""`reconciler rehearse`: apply the plan to a copy of the living organization, look at it as its readers do, and undo it there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler.cli import exits, options as shared, reports
from reconciler.cli.checks.rules_from import judged
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import apply_saved
from reconciler.cli.wiring.connect import connect
from reconciler.cli.wiring.loading import load, now
from reconciler.cli.wiring.rehearsal import rehearse
from reconciler.kinds import load as load_kinds
from reconciler.model.rehearsal import Rehearsal
from reconciler.report.rehearsal import rehearsal_document, rehearsal_sheet

FORMATS = ("json", "markdown", "html")


@click.command("rehearse", short_help="Try the plan on a copy of the organization.")
@shared.project()
@shared.selection()
@shared.guards()
@shared.rules()
@shared.absences()
@shared.service()
@shared.state()
@click.option(
    "--plan",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    allow_from_autoenv=False,
    help="Rehearse exactly what this saved plan shows.",
)
@click.option(
    "--detailed-exitcode", is_flag=True, help="Exit with 2 if somebody can read more or a published URL stops answering, at any moment."
)
@reports.option(FORMATS)
@shared.output(formats=("text", *FORMATS))
@click.pass_obj
def command(
    screen: Screen, /, file: Path | None, detailed_exitcode: bool, report: tuple[tuple[str, Path], ...], **parameters: Any
) -> int:  # fmt: skip
    """Apply the plan to a copy of the living organization, ask after every request what readers see, plan again, and undo it there.

    The living service gets GET requests only, and the living state is not written. Nothing needs consent: what `apply` would refuse is
    listed. Says who can read more, which published URLs stop answering, the worst moment on the way, and what an undo would not bring
    back. Exits with 4 if a policy or an access test refuses the plan, and with 1 if it went differently than planned.

    With --plan FILE, rehearse what `plan --out FILE` saved. A plan that is no longer valid is refused, as by `apply`.

    \b
    Example:
      reconciler rehearse examples/acme --sandbox .reconciler/acme.db
      reconciler rehearse examples/acme --sandbox .reconciler/acme.db --plan acme.plan.json
    """
    options = Options.of(screen, parameters)
    use = None
    if file is not None:
        use = apply_saved.opened(screen, options, file, partial=False, ask=False)
        options = use.options
    kinds = load_kinds()
    by = judged(screen, options, kinds, load(screen, options, kinds))
    if use is not None:
        use.check_project(by.project.settings.project)
    with connect(screen, options, by.project, kinds, create=use is None) as service:
        if use is not None:
            use.check_service(service)
        rehearsal = screen.masked_data(rehearse(screen, options, by.project, kinds, service, use))
    document, sheet, made_at = rehearsal_document(rehearsal), partial(rehearsal_sheet, rehearsal), now()
    folder = reports.folder(by.project)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    return _code(rehearsal, detailed=detailed_exitcode)


def _code(rehearsal: Rehearsal, *, detailed: bool) -> int:
    if not rehearsal.as_planned:
        return exits.FAILED
    if rehearsal.forbidden:
        return exits.REFUSED
    return exits.PENDING if detailed and rehearsal.worst is not None else exits.DONE
