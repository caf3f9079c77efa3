"""`reconciler sandbox clock`, `export` and `reset`: commands on a whole sandbox."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.sandboxes.control import Control, where
from reconciler.cli.sandboxes.embedded import read_seed
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError, os_reason
from reconciler.links import check_read
from reconciler.report.words import count


@click.command("clock", short_help="Show, stop or move the clock.")
@click.option("--now", metavar="TIME", help="Stop the clock at this time (ISO 8601).")
@click.option("--advance", type=float, metavar="SECONDS", help="Move the clock forward, without starting or stopping it.")
@where()
@shared.output(formats=("text", "json"))
@click.pass_obj
def clock_command(screen: Screen, /, now: str | None, advance: float | None, **parameters: Any) -> None:
    """Show, stop or move the clock of a sandbox, which controls timestamps, retention, processing and rate limits.

    \b
    Example:
      reconciler sandbox clock --db sandbox.db --advance 3600
    """
    control = _control(screen, parameters)
    clock = control("GET", "/clock") if now is None and advance is None else control("PUT", "/clock", {"now": now, "advance": advance})
    if parameters["format"] == "json":
        screen.document(clock)
    else:
        screen.out(f"{clock['now']} ({'stopped' if clock['still'] else 'running'})\n")


@click.command("export", short_help="Export everything as JSON.")
@where()
@shared.output()
@click.pass_obj
def export_command(screen: Screen, /, **parameters: Any) -> None:
    """Print the contents of a sandbox as JSON, including tokens and secrets. `sandbox reset --export` restores them.

    \b
    Example:
      reconciler sandbox export --db sandbox.db > sandbox.json
    """
    screen.document(_control(screen, parameters)("GET", "/export"))


@click.command("reset", short_help="Reset the sandbox.")
@click.option("--seed", type=click.Path(path_type=Path), metavar="SEED.yaml", help="Load this seed afterwards.")
@click.option("--export", type=click.Path(path_type=Path), metavar="FILE", help="Restore an export.")
@where()
@shared.output()
@click.pass_obj
def reset_command(screen: Screen, /, seed: Path | None, export: Path | None, **parameters: Any) -> None:
    """Delete everything in a sandbox: objects, tokens, faults, clock settings. Its identity is kept, so states still recognize it.

    \b
    Example:
      reconciler sandbox reset --db sandbox.db --seed seed.yaml
    """
    control = _control(screen, parameters)
    if seed is not None and export is not None:
        raise UsageError("--seed and --export cannot be combined", id="RC-options-conflict", hint="Pass one of them.")
    body = {"seed": read_seed(seed) if seed is not None else None, "export": _exported(export) if export is not None else None}
    answer = control("POST", "/reset", body)
    screen.say(f"It contains {count(answer['objects'], 'object')} now.")


def _control(screen: Screen, parameters: dict[str, Any]) -> Control:
    Options.of(screen, parameters)
    return Control(screen, db=parameters["db"], base_url=parameters["base_url"], token=parameters["token"])


def _exported(path: Path) -> Any:

    try:
        check_read(path)
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os_reason(error)}", id="RC-file-not-read") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not what sandbox export printed", id="RC-not-a-sandbox-export") from error
