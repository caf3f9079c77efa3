"""`reconciler config`: the effective configuration, and what differs between two environments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.program import Lazy, LazyGroup
from reconciler.cli.terminal.screen import Screen
from reconciler.config.environments.difference import differences
from reconciler.config.keys import TOP
from reconciler.config.rendered import rendered
from reconciler.kinds import load as load_kinds
from reconciler.report.words import count
from reconciler.run.loading import load_options
from reconciler.text.escape import log, terminal
from reconciler.yamltext.format import document, layout

command = LazyGroup(
    name="config",
    commands_by_name={
        "render": Lazy(f"{__name__}:render_command", "Print the project with every expression evaluated."),
        "diff": Lazy(f"{__name__}:diff_command", "Show what differs between two environments."),
    },
    short_help="Show the evaluated configuration, and compare environments.",
    help="""Show the evaluated configuration, and compare environments.

    \b
    Example:
      reconciler config render examples/acme
      reconciler config diff staging production
    """,
)


@click.command("render", short_help="Print the project with every expression evaluated.")
@shared.project()
@shared.output()
@click.pass_obj
def render_command(screen: Screen, /, **parameters: Any) -> None:
    """Print the project with every expression replaced by its value. A comment next to each value shows its expression, and the file
    and line it comes from if that is another file. Values from environment variables are hidden, except those that --public-var names.
    Secrets are hidden and not decrypted.

    \b
    Example:
      reconciler config render examples/acme --var brand=Beta
      reconciler config render --env staging
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    loaded(screen, options, kinds, decrypt=False)  # reports all errors, and hides secrets
    files = rendered(options.project, kinds, **load_options(options.operation))
    shape = document(kinds, TOP)
    texts = [f"# {log(name)}\n\n{layout(text, shape)}" for name, text in files.items()]
    screen.raw("\n".join("".join(f"{terminal(line)}\n" for line in text.splitlines()) for text in texts))


@click.command("diff", short_help="Show what differs between two environments.")
@shared.compared()
@shared.output()
@click.pass_obj
def diff_command(screen: Screen, /, one: str, other: str, named: Any, **parameters: Any) -> None:
    """Show what differs between two environments of a project: settings, ids, fields, resources that only one of them has, order.
    Sends no requests.

    \b
    Example:
      reconciler config diff staging production
      reconciler config diff staging production examples/environments
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    projects = [loaded(screen, replace(options, env=name), kinds) for name in (one, other)]
    lines = list(differences(kinds, *projects))
    screen.out("".join(f"{terminal(line)}\n" for line in lines))
    screen.say(f"{count(len(lines), 'difference')} between {one} and {other}.")
