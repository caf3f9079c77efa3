"""`reconciler release`: write the next version of a section into the files."""

from __future__ import annotations

from typing import Any

import click

from reconciler.address import Address
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.features.edits.command import show_proposal
from reconciler.features.edits.propose import propose
from reconciler.kinds import load as load_kinds


@click.command("release", short_help="Write the next version of a section into the files.")
@click.argument("address", callback=shared.address)
@click.option("--name", required=True, metavar="VERSION", help="The new version, such as v3: its path, and a part of its key and title.")
@click.option("--from", "source", metavar="VERSION", default="", help="The version that it is a copy of. Default: the newest.")
@click.option(
    "--keep", type=click.IntRange(1), allow_from_autoenv=False, metavar="N", help="Show N versions, the new one included. Default: all."
)
@click.option("--default", is_flag=True, allow_from_autoenv=False, help="Let readers find the new version first.")
@shared.project_option()
@click.option("--check", is_flag=True, help="Write nothing; show what would change.")
@shared.output()
@click.pass_obj
def command(
    screen: Screen, /, address: Address, name: str, source: str, keep: int | None, default: bool, check: bool, **parameters: Any
) -> int:  # fmt: skip
    """Write the next version of the section ADDRESS: a copy of the space, shown in front of the others. Sends no requests.

    apply copies, names, places and publishes it. What is no longer shown keeps its space; with urls.redirects,
    its URLs lead to the next version. `propose --undo` restores the files.

    \b
    Example:
      reconciler release acme/site/docs/section/guides --name v3 --keep 3 --default --project examples/acme
    """
    given = {"name": name, "from": source, "keep": keep, "default": default}
    operation = {"op": "release", "address": str(address), **{key: value for key, value in given.items() if value}}
    options = Options.of(screen, parameters)
    return show_proposal(screen, propose(options.operation, TerminalVoice(screen), load_kinds(), [operation], write=not check), "Changed")
