"""`reconciler schema`: the JSON Schemas of what is read and written."""

from __future__ import annotations

from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError

SUFFIX = ".schema.json"


@click.command("schema", short_help="Print JSON Schemas.")
@click.argument("name", metavar="[NAME]", default="")
@shared.output()
@click.pass_obj
def command(screen: Screen, /, name: str, **words: Any) -> None:
    """Print the JSON Schema of project files (config), or of a document that --format json prints. Without an argument, list the schemas.

    \b
    Example:
      reconciler schema config > .reconciler/config.schema.json
    """
    from reconciler.config.schema import schema
    from reconciler.kinds import load as load_kinds
    from reconciler.report.schemas.documents import schemas
    from reconciler.report.table import table
    from reconciler.text.suggest import did_you_mean

    Options.of(screen, words)
    known = {"config": schema(load_kinds()), **{file.removesuffix(SUFFIX): made for file, made in schemas().items()}}
    if not name:
        screen.out(table([(each, str(made["title"])) for each, made in known.items()]))
    elif name not in known:
        raise UsageError(f"there is no schema {name!r}{did_you_mean(name, known)}", hint="reconciler schema lists them.")
    else:
        screen.document(known[name])
