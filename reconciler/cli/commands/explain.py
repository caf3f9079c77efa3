"""`reconciler explain`: describe a kind, a field or the cause of an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.completion import completer
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.kinds import load as load_kinds
from reconciler.run.explained import described


@completer
def candidates(_: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The kinds; after a point, the fields of a kind."""
    kinds = load_kinds()
    name, point, _field = incomplete.partition(".")
    if point and name in kinds:
        for field, declared in kinds[name].fields.items():
            yield f"{name}.{field}", declared.doc
    for kind in kinds.values():
        yield kind.name, kind.doc.partition("\n")[0]


@click.command("explain", short_help="Describe a kind, a field or the cause of an error.")
@click.argument("word", metavar="[KIND[.FIELD] | CAUSE]", default="", shell_complete=candidates)
@shared.output()
@click.pass_obj
def command(screen: Screen, /, word: str, **parameters: Any) -> None:
    """Describe a kind or one of its fields: values, limits, what a change does, with an example. Without an argument, list the kinds.
    The keys of the project file (`policies`, `access`, `vars`, …) and `environments` are described too.

    Errors end with the id of their cause, such as [RC-locked]. With such an id: why it happens, and what to do.

    \b
    Examples:
      reconciler explain
      reconciler explain site
      reconciler explain site.visibility
      reconciler explain policies
      reconciler explain RC-locked
    """
    Options.of(screen, parameters)
    screen.spans(described(word, width=screen.width))
