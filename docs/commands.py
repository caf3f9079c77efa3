"""The reference of commands, from the declarations of the command line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from reconciler.assembled import main
from reconciler.cli.environment import long_name, variable
from reconciler.cli.help import heading, with_ranges_in_words
from reconciler.cli.option_table import HEADINGS

COMMON = ("--color", "--quiet", "--verbose", "--log-format", "--log-file", "--help")
"""Options of every command: they are listed once."""

Row = tuple[str, str]  # the cells of an option: its names, and what it means

HELP = click.Option(["-h", "--help"], is_flag=True, help="Show this message and exit.")

INTRO = """\
# Commands

Generated from the command line; `reconciler COMMAND --help` prints the same. `PROJECT` is the directory of a project or its project file;
by default it is that of the current directory, or of the nearest directory above it. Every command ends with one of
the [exit codes](exit-codes.md). A variable in a table says the same as its option
([set options once](../how-to/set-options-once.md)).
"""

DIRECTORY = "`-C DIR`, before the command, runs it in another directory: the paths of all other options are relative to it.\n"

SHARED = """\
Several commands have these options. The section of a command links to their tables, and names
the options where it does not have all of them.
"""


def page() -> str:
    """Every command with its options, in the order of `reconciler --help`; what several commands have is listed once, before them."""
    commands = listed()
    common = shared(commands)
    parts = [
        INTRO,
        "## Options of every command\n",
        table([*common[HEADINGS["output"]].values()]),
        DIRECTORY,
        "## Common options\n",
        SHARED,
    ]
    parts += [f"### {name}\n\n{table([*options.values()])}" for name, options in common.items() if name != HEADINGS["output"] and options]
    parts += [_section(command, context, common) for command, context in commands]
    return "\n".join(parts)


Shared = dict[str, dict[str, Row]]
"""The rows of common options by their heading and name."""


def listed() -> list[tuple[click.Command, click.Context]]:
    """Every command with its context, in the order of `reconciler --help`."""
    return list(_commands(main, click.Context(main, info_name="reconciler")))


def shared(commands: list[tuple[click.Command, click.Context]]) -> Shared:
    """The options of the groups; of an option with several texts the first."""
    by_heading: Shared = {name: {} for name in HEADINGS.values()}
    for _, context in commands:
        for option in options(context):
            name = heading(option)
            if name in by_heading and (name != HEADINGS["output"] or _is_common(option)):
                by_heading[name].setdefault(long(option), row(option, context))
    return by_heading


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A group's commands, each group before its own."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=140, terminal_width=140)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _section(command: click.Command, context: click.Context, common: Shared) -> str:
    path = context.command_path.removeprefix("reconciler ")
    level = "##" if " " not in path else "###"
    usage = f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    parts = [f"{level} {path}\n", usage, _prose(command.help or "")]
    given = [(option, row(option, context)) for option in options(context)]
    own = [cells for option, cells in given if common.get(heading(option), {}).get(long(option)) != cells]
    if own:
        parts.append(table(own))
    links = []
    for name, rows in common.items():
        here = [long(option) for option, cells in given if rows.get(long(option)) == cells and heading(option) == name]
        if here and name != HEADINGS["output"]:
            named = f" ({', '.join(f'`{option}`' for option in here)})" if len(here) < len(rows) else ""
            links.append(f"[{name.lower()}](#{name.lower().replace(' ', '-')}){named}")
    if links:
        parts.append(f"Common options: {', '.join(links)}.\n")
    return "\n".join(parts)


def long(option: click.Option) -> str:
    """The long name of an option."""
    return long_name(option) or option.opts[0]


def _prose(text: str) -> str:
    """The help text as Markdown: what follows a backspace is printed as it is, an example as a block of shell."""
    parts = []
    text = inspect.cleandoc(text)
    for paragraph in re.sub(r" *\x08 *\n", "\b", text).split("\n\n"):
        if not paragraph.startswith("\b"):
            parts.append(" ".join(paragraph.split()) + "\n")
            continue
        head, *lines = paragraph.removeprefix("\b").splitlines()
        shell = all(line.startswith(("  reconciler ", "    ")) for line in lines)
        if head.endswith(":") and lines:
            parts.append(f"{head}\n")
        else:
            lines = [f"  {head}", *lines]
        body = "\n".join(line.removeprefix("  ") for line in lines)
        parts.append(f"```{'sh' if shell else 'text'}\n{body}\n```\n")
    return "\n".join(parts)


def options(context: click.Context) -> list[click.Option]:
    """The options of a command that its help shows."""
    own = [param for param in context.command.params if isinstance(param, click.Option) and not param.hidden]
    return [*own, HELP]  # click's own depends on which context asked for it first


def _is_common(param: click.Option) -> bool:
    return any(name in COMMON for name in param.opts)


def table(rows: list[Row]) -> str:
    """Options and what they mean, as a table."""
    return "\n".join(["| option | meaning |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)]) + "\n"


def row(option: click.Option, context: click.Context) -> Row:
    """The cells of an option."""
    record = option.get_help_record(context)
    assert record is not None
    name, text = (re.sub(r"\s+", " ", part) for part in (record[0], with_ranges_in_words(record[1])))
    if "--help" in option.opts:
        name = "-h, --help"  # whichever context asked for this option first decides what click calls it
    if isinstance(option.type, click.Choice) and option.metavar is None:  # a bar would end the cell
        name = name.partition(" [")[0]
        text += f" One of {', '.join(f'`{choice}`' for choice in option.type.choices)}."
    text = _cell(text)
    known = variable(option)
    if known is not None and known not in text and "--help" not in option.opts:
        text += f" Variable: `{known}`."
    return f"`{name}`", text


def _cell(text: str) -> str:
    """A help text in a cell: ranges in words, and nothing that Markdown would take for its own."""
    text = re.sub(r"\[default: (.+?)\]", r"Default: `\1`.", text).replace("[required]", "Required.")
    return re.sub(r" +", " ", text.replace("<", "&lt;").replace("|", "\\|")).strip()
