"""`reconciler access`: who can read what, now and after the plan. Reads; writes nothing, not even state."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from reconciler.address import Address
from reconciler.cli import options as shared, reports
from reconciler.cli.declare import address
from reconciler.cli.opening import opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.features.access.read import FORMS, access_of
from reconciler.features.access.report import access_document, access_sheet
from reconciler.run.loading import now


@click.command("access", short_help="Show who can read what, now and after the plan.")
@shared.project()
@click.option("--as", "readers", metavar="READER", multiple=True, help=f"Show this reader only: {FORMS}. Repeatable.")
@click.option("--who", "about", metavar="ADDRESS", callback=address, help="Show everybody who can read this object, by name, and why.")
@shared.absences()
@shared.service()
@shared.state()
@shared.output(formats=("text", "brief", "json", "html"))
@click.pass_obj
def command(screen: Screen, /, readers: tuple[str, ...], about: Address | None, **parameters: Any) -> None:
    """Show who can read every site, section, space, collection and OpenAPI document, managed or not, now and after the plan: a tree by
    site, then what is in no site. For an access review, --format html is one page; json shows the path by which each reader gets access.

    Reads every list, and sends only GET requests. Writes nothing.

    \b
    Examples:
      reconciler access examples/acme --sandbox .reconciler/acme.db
      reconciler access --as anyone --as role=guest
      reconciler access --who acme/space/handbook
      reconciler access --as member=linus@acme.example
      reconciler access --format html > access.html
    """
    options = Options.of(screen, parameters)
    if about is not None and readers:
        raise UsageError("--who shows everybody, so it takes no --as", id="RC-options-conflict", hint="Pass one of them.")
    with opened(screen, options) as run:
        reviewed, made_at = screen.masked_data(access_of(run, readers, about)), now()
    document = access_document(reviewed, created_at=made_at)
    reports.Report(document, partial(access_sheet, reviewed, more="--format json"), made_at).show(screen, options.format)
