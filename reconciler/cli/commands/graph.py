"""`reconciler graph`: resources or steps as mermaid or dot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import click

from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.opening import opened
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.report import graph


@click.command("graph", short_help="Draw resources or requests as a Mermaid or Graphviz graph.")
@shared.project()
@click.option("--steps", is_flag=True, help="Draw the requests of a plan instead of the declared resources. Reads the service.")
@shared.selection()
@shared.absences()
@shared.service()
@shared.state()
@shared.output(formats=("mermaid", "dot"))
@click.pass_obj
def command(screen: Screen, /, steps: bool, format: Literal["mermaid", "dot"], **parameters: Any) -> None:
    """Draw the declared resources, or with --steps the requests of a plan and what each requires, colored by verb.

    Containers, such as sites and collections, are drawn as frames.

    \b
    Example:
      reconciler graph examples/acme --format dot | dot -Tsvg > acme.svg
    """
    options = Options.of(screen, parameters)
    if not steps:
        screen.out(graph.graph_text(graph.resources(screen.masked_data(loaded(screen, options).desired)), format))
        return
    with opened(screen, options) as run:
        run.warn_unseen()
        planned = run.plan(desired=replace(run.project.desired, access=()), pages=False)
    screen.out(graph.graph_text(graph.steps(screen.masked_data(planned.plan), screen.masked_data(run.project.desired)), format))
