"""The listing of commands with their options, which is committed so that a review sees what a change means: at most 400 lines.

The texts of each command are in the page of the site that `commands` makes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from docs import commands
from reconciler.cli.help import heading
from reconciler.cli.option_table import HEADINGS

INTRO = """\
# Options

Every command with its options. `reconciler COMMAND --help` prints what each option means, with examples and exit codes. The site of this
documentation shows the same as *Commands*, and the keys of every JSON document as *Documents*.

`PROJECT` is the directory of a project or its project file; by default it is that of the current directory, or of the nearest directory
above it. Every command ends with one of the [exit codes](exit-codes.md). Most options [have a variable](../how-to/set-options-once.md):
`--log-format` is `RECONCILER_LOG_FORMAT`. The first of several choices is the default, if no other one is
named, and `--format` is `text`.
"""

DIRECTORY = "`-C DIR`, before the command, runs it in another directory: the paths of all other options are relative to it.\n"


def page() -> str:
    """The options that several commands have, with what they mean; then every command."""
    listed = commands.listed()
    shared = commands.shared(listed)
    parts = [INTRO]
    for name in sorted(shared, key=lambda name: name != HEADINGS["output"]):
        parts.append(f"## {name}\n\n{commands.table([(names, _without_variable(text)) for names, text in shared[name].values()])}")
        parts += [DIRECTORY] * (name == HEADINGS["output"])
    usual = {name: _usual(rows, listed) for name, rows in shared.items()}
    parts += [_command(command, context, usual) for command, context in listed]
    return "\n".join(parts)


def _usual(rows: dict[str, commands.Row], listed: Sequence[tuple[click.Command, click.Context]]) -> dict[str, commands.Row]:
    """The options of a heading without the only one that fewer than half of its commands have; with several such, all."""
    having = [[commands.long(option) for option in commands.options(context) if rows.get(commands.long(option))] for _, context in listed]
    having = [names for names in having if names]
    often = {name: row for name, row in rows.items() if 2 * sum(name in names for names in having) > len(having)}
    return often if len(rows) > 2 and len(often) == len(rows) - 1 else rows


def _command(command: click.Command, context: click.Context, shared: commands.Shared) -> str:
    """The arguments of a command, the options that only it has, and which others it has. A heading, and a line."""
    path = context.command_path.removeprefix("reconciler ")
    options = [(option, commands.row(option, context)) for option in commands.options(context)]
    own = [_with_choices(*row) for option, row in options if shared.get(heading(option), {}).get(commands.long(option)) != row]
    common = []
    for name, rows in shared.items():
        here = [commands.long(option) for option, row in options if heading(option) == name and rows.get(commands.long(option)) == row]
        missing = [f"`{option}`" for option in rows if option not in here]
        if name == HEADINGS["output"] or not here:
            continue
        if len(missing) < len(here):
            common.append(name.lower() + (f" (not {', '.join(missing)})" if missing else ""))
        else:
            own += [f"`{option}`" for option in here]
    arguments = " ".join(
        piece for piece in command.collect_usage_pieces(context) if piece not in ("[OPTIONS]", "[COMMAND] [ARGS]...", "COMMAND [ARGS]...")
    )
    texts = [f"`{arguments}`" if arguments else "", ", ".join(own), f"Also {', '.join(common)}" if common else ""]
    return f"## {path}\n{'. '.join(text for text in texts if text) or 'The commands below'}.\n"


def _with_choices(names: str, text: str) -> str:
    """The names of an option, with its choices, and its default where that is not the first of them."""
    choices = re.findall(r"`([^`]+)`", "".join(re.findall(r"One of ([^.]+)\.", text)))
    defaults = [found for found in re.findall(r"Default: (`[^`]*`)", text) if found.strip("`") not in ("text", *choices[:1])]
    if choices:
        names = f"{names[:-1]} {'|'.join(choices)}`"
    notes = [*(f"default: {found}" for found in defaults), *(["required"] if "Required." in text else [])]
    return f"{names} ({'; '.join(notes)})" if notes else names


def _without_variable(text: str) -> str:
    return re.sub(r" Variable: `\w+`\.", "", text)
