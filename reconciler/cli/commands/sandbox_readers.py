"""`reconciler sandbox readers`: who can read the contents of a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.sandboxes.control import Control, where
from reconciler.cli.terminal.screen import Screen
from reconciler.kinds import load
from reconciler.report.layout import table

ANYONE: Final = "anyone"
WITHIN_ANYONE: Final = ("anyone-with-the-address", "link:", "visitor")  # readers that need no line of their own besides `anyone`
UNSAID: Final = ("admin", "member:")  # the same for every object, or in the list of members


@click.command("readers", short_help="Show who can read what.")
@click.option("--org", metavar="ID", help="Show one organization only.")
@click.option("--condition", multiple=True, metavar="C", help="Also show visitors for whom this condition is true. Repeatable.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def readers_command(screen: Screen, /, org: str | None, condition: tuple[str, ...], **parameters: Any) -> None:
    """Show who can read every site, section, site space, space and OpenAPI document of a sandbox, and who can join an organization.

    The sandbox computes this independently of plans. Text shows the largest audience of each object; JSON shows all readers.

    \b
    Example:
      reconciler sandbox readers --db sandbox.db --org org_acme
    """
    Options.of(screen, parameters)
    control = Control(screen, db=parameters["db"], base_url=parameters["base_url"], token=parameters["token"])
    asked = [(load().roots[0].name, org)] if org is not None else []
    query = urlencode([*asked, *(("condition", text) for text in condition)])
    readers = control("GET", f"/readers?{query}" if query else "/readers")
    if parameters["format"] == "json":
        screen.document(readers)
        return
    rows = [(entry["kind"], entry["title"], entry["id"], readers_text(entry["readers"])) for entry in readers["items"]]
    if rows:
        screen.out(table([("kind", "title", "id", "readers"), *rows]))


def readers_text(readers: Sequence[Mapping[str, str]]) -> str:
    """The widest readers with their levels, unless those are `read`."""
    names = {entry["reader"] for entry in readers}
    shown = [entry for entry in readers if not entry["reader"].startswith(UNSAID) and not _within(entry["reader"], names)]
    return ", ".join(entry["reader"] + ("" if entry["level"] == "read" else f" ({entry['level']})") for entry in shown) or "nobody"


def _within(reader: str, names: set[str]) -> bool:
    """Whether one of the names is a wider reader."""
    if ANYONE in names:
        return reader.startswith(WITHIN_ANYONE)
    if WITHIN_ANYONE[0] in names:
        return reader.startswith(WITHIN_ANYONE[1:])
    return "visitor" in names and reader.startswith("visitor:")
