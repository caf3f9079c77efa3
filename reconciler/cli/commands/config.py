"""`reconciler config render`: the effective configuration."""

from __future__ import annotations

from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.terminal.screen import Screen

command = LazyGroup(
    name="config",
    commands_by_name={"render": Lazy(f"{__name__}:render_command", "Print the project with every expression evaluated.")},
    short_help="Show the evaluated configuration.",
    help="""Show the evaluated configuration.

    \b
    Example:
      reconciler config render examples/acme
    """,
)


@click.command("render", short_help="Print the project with every expression evaluated.")
@shared.project()
@shared.output()
@click.pass_obj
def render_command(screen: Screen, /, **words: Any) -> None:
    """Print the project with every expression replaced by its value, and the expression as a comment.
    Values from the environment are hidden, except those that --public-var names.

    \b
    Example:
      reconciler config render examples/acme --var brand=Beta
    """
    import os

    from reconciler.cli.wiring.connect import load
    from reconciler.config.rendered import rendered
    from reconciler.config.words import TOP
    from reconciler.kinds import load as load_kinds
    from reconciler.text.escape import terminal
    from reconciler.yamltext.format import layout
    from reconciler.yamltext.key_order import document

    options = Options.of(screen, words)
    kinds = load_kinds()
    load(screen, options, kinds)  # says everything that is wrong, and hides what is secret
    made = rendered(
        options.project, kinds, environment=options.env, variables=options.var, public=options.public_var, environ=dict(os.environ)
    )
    shape = document(kinds, TOP)
    texts = [f"# {name}\n\n{layout(text, shape)}" for name, text in made.items()]
    screen.out("\n".join("".join(f"{terminal(line)}\n" for line in text.splitlines()) for text in texts))
