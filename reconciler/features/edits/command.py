"""`reconciler propose`: change the files of a project by operations in the terms of the language, as agents and jobs do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import UsageError
from reconciler.features.edits import propose as proposals
from reconciler.features.edits.propose import ProposedChange
from reconciler.json_file import json_data, read_json
from reconciler.kinds import load as load_kinds
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import sheet_text
from reconciler.report.words import count
from reconciler.run.operation import STDIN
from reconciler.text.names import HERE

FILE_MAX: Final = 4 * 2**20  # bytes
PARTS_MAX: Final = 200_000
PLAN: Final = "plan --full"  # what shows what this report folds


@click.command("propose", short_help="Change the files by operations, all or none.")
@click.argument("operations", metavar="OPERATIONS", required=False, type=click.Path(path_type=Path, allow_dash=True))
@shared.project_option()
@click.option("--check", is_flag=True, help="Write nothing; show what would change.")
@click.option("--undo", is_flag=True, allow_from_autoenv=False, help="Restore the files as they were before the last proposal.")
@shared.output()
@click.pass_obj
def command(screen: Screen, /, operations: Path | None, check: bool, undo: bool, **parameters: Any) -> int:
    """Change the files of a project by OPERATIONS, a JSON file or -, and show what that would lead to. Sends no requests.

    Operations set, add, move, rename and remove resources. Comments and everything else are unchanged. If the result is not valid in
    every environment, no file changes. Rules, consents, secrets and expressions cannot be changed this way.

    \b
    Example:
      reconciler propose operations.json --project examples/acme --check
    with operations.json, for example:
      [{"op": "set", "address": "acme/site/docs", "fields": {"visibility": "unlisted"}}]
    """
    options = Options.of(screen, parameters)
    if undo:
        if operations is not None or check:
            raise UsageError("--undo takes neither OPERATIONS nor --check", id="RC-options-conflict", hint="Pass one of them.")
        return show_proposal(screen, proposals.undo(options.operation, TerminalVoice(screen)), "Restored")
    if operations is None:
        raise UsageError("there are no operations", id="RC-missing-argument", hint="Name a JSON file, or - for standard input.")
    data, voice = _data(operations), TerminalVoice(screen)
    return show_proposal(screen, proposals.propose(options.operation, voice, load_kinds(), data, write=not check), "Changed")


def _data(file: Path) -> Any:
    """The JSON of a file, or of standard input. Raises `UsageError`."""
    try:
        if str(file) == STDIN:
            return json_data(sys.stdin.buffer.read(FILE_MAX + 1), most=FILE_MAX, parts=PARTS_MAX)
        return read_json(file, most=FILE_MAX, parts=PARTS_MAX)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be used: {error}", id="RC-not-json") from None


def show_proposal(screen: Screen, proposal: ProposedChange, word: str) -> int:
    """Print the change of the files and what it leads to."""
    screen.raw("".join(f"{line}\n" for line in proposal.diff))
    if proposal.plan is not None:
        screen.out("\n" if proposal.diff else "")
        screen.spans(sheet_text(plan_sheet(screen.masked_data(proposal.plan), zone=HERE, more=PLAN)))
    for note in proposal.notes:
        screen.say(note)
    if not proposal.files:
        screen.say("No file changes.")
    elif proposal.written:
        screen.say(f"{word} {', '.join(proposal.files)}.")
    else:
        screen.say(f"{count(len(proposal.files), 'file')} would change: {', '.join(proposal.files)}.")
    return exits.DONE
