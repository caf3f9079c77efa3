"""`reconciler graph`: resources or steps as mermaid or dot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.kinds import load as load_kinds
from reconciler.report import graph
from reconciler.run import stages as run
from reconciler.run.connecting import connect, open_store
from reconciler.run.loading import load
from reconciler.run.unseen import warn_unseen


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
    kinds = load_kinds()
    project = load(screen, options, kinds)
    if not steps:
        screen.out(graph.graph_text(graph.resources(screen.masked_data(project.desired)), format))
        return
    with connect(screen, options, project, kinds) as service:
        with open_store(screen, options, project, service, create=False) as store:
            state, kinds = store.read(), kinds.with_digest_key(store.digest_key(), project.sensitive)
            warn_unseen(screen, options, project, service, store)
        planned = run.read_only(Narration(screen), service, kinds, replace(project.desired, access=()), state, options.operation)
    screen.out(graph.graph_text(graph.steps(screen.masked_data(planned.plan), screen.masked_data(project.desired)), format))
