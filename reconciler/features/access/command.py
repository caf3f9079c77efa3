"""`reconciler access`: who can read what, now and after the plan. Reads; writes nothing, not even state."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import click

from reconciler.address import Address
from reconciler.cli import options as shared, reports
from reconciler.cli.declare import address
from reconciler.cli.opening import opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.features.access.matrix import access_rows
from reconciler.features.access.read import FORMS, access_of
from reconciler.features.access.report import access_document, access_sheet
from reconciler.run.loading import now

WHOLE: Final = ("html", "csv")  # formats that show what each reader can do with each object


@click.command("access", short_help="Show who can read what, now and after the plan.")
@shared.project()
@click.option("--as", "readers", metavar="READER", multiple=True, help=f"Show this reader only: {FORMS}. Repeatable.")
@click.option("--who", "about", metavar="ADDRESS", callback=address, help="Show everybody who can read this object, by name, and why.")
@click.option("--people", is_flag=True, help="Also read who is in each team, and what single people were given: 1 or 2 requests a member.")
@shared.absences()
@shared.service()
@shared.state()
@shared.output(formats=("text", "brief", "json", "html", "csv"))
@click.pass_obj
def command(screen: Screen, /, readers: tuple[str, ...], about: Address | None, people: bool, **parameters: Any) -> None:
    """Show who can read every site, section, space, collection and OpenAPI document, managed or not, now and after the plan: a tree by
    site, then what is in no site. For an access review, --format html is one page with a matrix, and csv has a row for each reader of each
    object, with --people also by name. json shows the path by which each reader gets access.

    Reads every list, and sends only GET requests. Writes nothing.

    \b
    Examples:
      reconciler access examples/acme --sandbox .reconciler/acme.db
      reconciler access --as anyone --as role=guest
      reconciler access --who acme/space/handbook
      reconciler access --as member=linus@acme.example
      reconciler access --people --format html > access.html
      reconciler access --people --format csv > access.csv
    """
    options = Options.of(screen, parameters)
    if about is not None and readers:
        raise UsageError("--who shows everybody, so it takes no --as", id="RC-options-conflict", hint="Pass one of them.")
    whole = options.format in WHOLE or (people and options.format == "json")
    with opened(screen, options) as run:
        reviewed, made_at = screen.masked_data(access_of(run, readers, about, people=people, whole=whole)), now()
    document = access_document(reviewed, created_at=made_at)
    sheet, rows = partial(access_sheet, reviewed, more="--format json"), partial(access_rows, reviewed)
    reports.Report(document, sheet, made_at, rows=rows).show(screen, options.format)
