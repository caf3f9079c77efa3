"""`reconciler fmt`: the canonical layout of a project's files."""

from __future__ import annotations

import difflib
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.source.includes import texts
from reconciler.features.edits.writer import formatted
from reconciler.files import path_from_here, rewrite
from reconciler.kinds import load as load_kinds
from reconciler.report.words import count
from reconciler.text.escape import terminal


@click.command("fmt", short_help="Format the files of a project.")
@shared.project_argument()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change, and exit with 1 if a file would.")
@shared.output()
@click.pass_obj
def command(screen: Screen, /, check: bool, diff: bool, **parameters: Any) -> int:
    """Format the project file and the files that it includes: order of keys, indentation, blank lines, quotes.

    Their meaning and their comments stay the same. Prints the files that changed.

    \b
    Example:
      reconciler fmt --check examples/acme
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    root, before = texts(options.project, kinds)
    changed = formatted(kinds, before)
    if not check and not diff:
        rewrite(root, changed)
    for name, text in changed.items():
        screen.out(_diff(name, before[name], text) if diff else f"{path_from_here(root / name)}\n")
    screen.say(_summary(len(before), len(changed), written=not check and not diff))
    return exits.FAILED if changed and (check or diff) else exits.DONE


def _diff(name: str, before: str, after: str) -> str:

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    return "".join(f"{terminal(line)}\n" for line in lines)


def _summary(files: int, changed: int, *, written: bool) -> str:

    if not changed:
        return f"{count(files, 'file')} already formatted."
    return f"{changed} of {count(files, 'file')} {'reformatted' if written else 'would change'}."
