"""`reconciler mcp`: a server for agents, which can read, check, plan and rehearse, and apply nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options, nearest_project
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import PROJECT_FILE, project_file
from reconciler.errors import ReconcilerError, UsageError
from reconciler.features.drift.commands.groups import lines as drift_lines
from reconciler.features.drift.run.groups import CommandLine
from reconciler.features.mcp.answers import BYTES, BYTES_MIN
from reconciler.run.operation import Operation
from reconciler.run.supervision import Supervision
from reconciler.text.install import installing_extra


@click.command("mcp", short_help="Serve agents: they read, check and plan, and apply nothing.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[PROJECT]...")
@shared.reading()
@shared.service()
@shared.state()
@click.option(
    "--answer-bytes",
    type=click.IntRange(BYTES_MIN, 1_000_000),
    default=BYTES,
    show_default=True,
    metavar="N",
    help="The most bytes of an answer, as it is sent.",
)
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path, ...], answer_bytes: int, **parameters: Any) -> None:
    """Serve the Model Context Protocol on standard input and output, for an agent that is started with this command.

    An agent can explain, find, validate, plan and rehearse. It applies nothing: the server sends only GET requests, with any token. Without
    a project, it serves those in the roots of the client, or else the nearest one. docs/agents.md shows how to connect clients.

    \b
    Examples:
      reconciler mcp examples/acme --sandbox .reconciler/acme.db
      reconciler mcp docs-a docs-b --answer-bytes 16000
    """
    screen: Screen = ctx.obj
    options = Options.of(screen, parameters)
    for path in paths:
        if path.is_dir() and not (path / PROJECT_FILE).is_file():
            raise UsageError(f"{path} has no {PROJECT_FILE}", id="RC-no-project", hint="Name a directory with a project, or its file.")
    try:
        from reconciler.features.mcp.server import serve  # imports the extra mcp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        wrong, hint = "the server for agents requires packages that are not installed: mcp", f"Install it: {installing_extra('mcp')}"
        raise ReconcilerError(wrong, id="RC-package-missing", hint=hint) from None
    nearest = nearest_project(ctx) if not paths else None

    def log(level: str, event: str, text: str, **facts: Any) -> None:
        if screen.event(level, event, text, **facts) and screen.verbose and level == "debug":
            screen.line(text)

    def lines(operation: Operation) -> tuple[CommandLine, CommandLine]:
        return drift_lines(replace(options, project=operation.project))

    known = nearest if nearest is not None and project_file(nearest).is_file() else None
    # A signal ends the server, and does not wait for what a call rehearses.
    operation = replace(options.operation, supervision=Supervision(clock=options.supervision.clock))
    serve(log, operation, lines, paths, known, answer_bytes)
