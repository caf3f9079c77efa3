"""`reconciler explain`: describe a kind, a field or the cause of an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import click

from reconciler.cli import glossary, options as shared, other_words
from reconciler.cli.completion import completer
from reconciler.cli.help import page
from reconciler.cli.options import Options
from reconciler.cli.program import LazyGroup
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
@click.argument("word", metavar="[KIND[.FIELD] | CAUSE | WORD]", default="", shell_complete=candidates)
@shared.output()
@click.pass_context
def command(context: click.Context, /, word: str, **parameters: Any) -> None:
    """Describe a kind or one of its fields: values, limits, what a change does, with an example. Without an argument, list the kinds.
    The keys of the project file (`policies`, `access`, `vars`, …) and `environments` are described too, and so are words of the
    documentation, commands, and commands of other tools.

    Errors end with the id of their cause, such as [RC-locked]. With such an id: why it happens, and what to do.

    \b
    Examples:
      reconciler explain
      reconciler explain site
      reconciler explain site.visibility
      reconciler explain policies
      reconciler explain RC-locked
      reconciler explain exposure
    """
    screen: Screen = context.obj
    Options.of(screen, parameters)
    program = cast(LazyGroup, context.find_root().command)
    commands = {name: f"A command: {lazy.says} reconciler {name} --help says more." for name, lazy in program.by_name.items()}
    words = {name: f"{text}\nMore: {page(file)}" for name, (text, file) in glossary.WORDS.items()}
    screen.spans(described(word, width=screen.width, others={**other_words.COMMANDS, **commands, **words}))
