"""`reconciler health`: whether the organization works for its readers. Only GET; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.opening import opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.features.health.model import HealthStatus
from reconciler.features.health.report import health_document, health_sheet
from reconciler.features.health.run import health_of, site_health_of
from reconciler.features.health.site.report import site_document, site_sheet
from reconciler.run.loading import now
from reconciler.text.names import HERE

CODES = {HealthStatus.BROKEN: exits.PENDING, HealthStatus.UNKNOWN: exits.PARTLY}


@click.command("health", short_help="Show what readers do not find, and what ends soon.")
@shared.project()
@shared.rules()
@shared.service()
@shared.state()
@click.option("--site", metavar="SITE", help="Show this site on one page, with its history: its key, or its address.")
@click.option("--full", is_flag=True, help="Show every concern on lines of its own, and the whole history of a site.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(screen: Screen, /, site: str | None, full: bool, report: tuple[tuple[str, Path], ...], **parameters: Any) -> int:
    """Show whether the organization works for its readers: broken URLs and links, searches that find nothing, failed specifications,
    certificates and share links that end, stale pages, change requests that wait.

    Some checks cost no request. The others are off until the project asks for them, in `health`. Exits with 2 if something is broken, and
    with 5 if a check could not be made: what is not known is never healthy. Sends only GET requests, and writes nothing.

    With --site, one site on one page: what it publishes for whom, its URLs and where earlier ones lead, its checks, what people have
    begun in it, and the runs that changed it. --report html=FILE draws it.

    \b
    Example:
      reconciler health examples/acme --sandbox .reconciler/acme.db
      reconciler health --format json --report junit=health.xml
      reconciler health examples/urls --sandbox .reconciler/urls.db --site docs --report html=docs.html
    """
    options = Options.of(screen, parameters)
    with opened(screen, options) as run:
        page = screen.masked_data(site_health_of(run, site)) if site is not None else None
        result = page.report if page is not None else screen.masked_data(health_of(run))
    made_at, folder = now(), reports.folder(run.project)
    document: Mapping[str, Any]
    if page is not None:
        document, sheet = site_document(page, created_at=made_at), partial(site_sheet, page, made_at=made_at, full=full, zone=HERE)
    else:
        document, sheet = health_document(result, created_at=made_at), partial(health_sheet, result, full=full, zone=HERE)
    printed = reports.Report(document, sheet, made_at, folder)
    printed.write(screen, report)
    printed.show(screen, options.format)
    return exits.strongest([CODES.get(word, exits.DONE) for check in result.checks if (word := check.word(result.today)) is not None])
