"""`reconciler health`: whether the organization works for its readers. Only GET; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler.cli import exits, options as shared, reports
from reconciler.cli.checks.rules_from import judged
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import run
from reconciler.cli.wiring.connect import connect
from reconciler.cli.wiring.loading import load, now
from reconciler.cli.wiring.unseen import read_state
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.kinds import load as load_kinds
from reconciler.model import HealthReport, HealthStatus
from reconciler.observe.health import checked
from reconciler.plan.drift import drift
from reconciler.plan.health import HealthInputs, free_checks
from reconciler.report.health import health_document, health_sheet
from reconciler.resource import Kinds
from reconciler.text.names import HERE

CODES = {HealthStatus.BROKEN: exits.PENDING, HealthStatus.UNKNOWN: exits.PARTLY}


@click.command("health", short_help="Show what readers do not find, and what ends soon.")
@shared.project()
@shared.rules()
@shared.service()
@shared.state()
@click.option("--full", is_flag=True, help="Show every concern on lines of its own.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(screen: Screen, /, full: bool, report: tuple[tuple[str, Path], ...], **parameters: Any) -> int:
    """Show whether the organization works for its readers: broken URLs and links, searches that find nothing, failed specifications,
    certificates and share links that end, stale pages, change requests that wait.

    Some checks cost no request. The others are off until the project asks for them, in `health`. Exits with 2 if something is broken, and
    with 5 if a check could not be made: what is not known is never healthy. Sends only GET requests, and writes nothing.

    \b
    Example:
      reconciler health examples/acme --sandbox .reconciler/acme.db
      reconciler health --format json --report junit=health.xml
    """
    options = Options.of(screen, parameters)
    project, result = read(screen, options, load_kinds())
    result, made_at = screen.masked_data(result), now()
    document, sheet = health_document(result, created_at=made_at), partial(health_sheet, result, full=full, zone=HERE)
    folder = reports.folder(project)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    return exits.strongest([CODES.get(word, exits.DONE) for check in result.checks if (word := check.word(result.today)) is not None])


def read(screen: Screen, options: Options, kinds: Kinds) -> tuple[Project, HealthReport]:
    """A project and its health, found with GET requests."""
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project = by.project
    with connect(screen, options, project, kinds) as service:
        state, key, new = read_state(screen, options, project, service)
        kinds = kinds.with_digest_key(key, project.sensitive)
        narration = Narration(screen)

        async def look(kinds: Kinds) -> HealthReport:
            async with Reader(service.settings, listener=narration) as reader:
                planned = await run.make_plan(
                    reader, kinds, project.desired, state, run.selected(options), everything=True, stage=narration.stage
                )
                changed = drift(kinds, project.desired, state, planned.actual, planned.plan, selection=run.selected(options), whole=True)
                at = planned.actual.date or now()
                inputs = HealthInputs(kinds, project.desired, state, planned.actual, changed, at)
                narration.stage("Checking what readers find")
                free = free_checks(inputs, unseen=f"its state has never seen {new.project}" if new is not None else "")
                asked = await checked(reader, inputs, project.settings.health)
            return HealthReport(project.desired.project, project.desired.environment, at.date(), (*free, *asked), by.notes)

        with narration.phase(f"Reading {project.desired.project}", where=service.where):
            return project, asyncio.run(look(kinds))
