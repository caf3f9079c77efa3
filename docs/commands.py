"""The reference of commands, from the declarations of the command line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from reconciler.cli import main
from reconciler.cli.environment import variable

COMMON = ("--color", "--quiet", "--verbose", "--log-format", "--log-file", "--help")
"""Options of every command: they are listed once."""

HELP = click.Option(["-h", "--help"], is_flag=True, help="Show this message and exit.")

INTRO = """\
# Commands

Generated from the command line; `reconciler COMMAND --help` prints the same. `PROJECT` is the directory of a project or its project file;
by default it is that of the current directory, or of the nearest directory above it. Every command ends with one of
the [exit codes](exit-codes.md). A variable in a table says the same as its option
([set options once](../how-to/set-options-once.md)).
"""

DIRECTORY = "`-C DIR`, before the command, runs it in another directory: the paths of all other options are relative to it.\n"


def page() -> str:
    """Every command with its options, in the order of `reconciler --help`."""
    commands = list(_commands(main, click.Context(main, info_name="reconciler")))
    common = [param for _, context in commands[:1] for param in _options(context) if _is_common(param)]
    parts = [INTRO, "## Options of every command\n", _table(common, commands[0][1]), DIRECTORY]
    parts += [_section(command, context) for command, context in commands]
    return "\n".join(parts)


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A group's commands, each group before its own."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=140, terminal_width=140)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _section(command: click.Command, context: click.Context) -> str:
    path = context.command_path.removeprefix("reconciler ")
    level = "##" if " " not in path else "###"
    usage = f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    parts = [f"{level} {path}\n", usage, _prose(command.help or "")]
    own = [param for param in _options(context) if not _is_common(param)]
    if own:
        parts.append(_table(own, context))
    return "\n".join(parts)


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


def _options(context: click.Context) -> list[click.Option]:
    own = [param for param in context.command.params if isinstance(param, click.Option) and not param.hidden]
    return [*own, HELP]  # click's own depends on which context asked for it first


def _is_common(param: click.Option) -> bool:
    return any(name in COMMON for name in param.opts)


def _table(options: list[click.Option], context: click.Context) -> str:
    lines = ["| option | meaning |", "|---|---|"]
    for option in options:
        record = option.get_help_record(context)
        assert record is not None
        name, text = (re.sub(r"\s+", " ", part) for part in record)
        if "--help" in option.opts:
            name = "-h, --help"  # whichever context asked for this option first decides what click calls it
        if isinstance(option.type, click.Choice):  # a bar would end the cell
            name = name.partition(" [")[0]
            text += f" One of {', '.join(f'`{choice}`' for choice in option.type.choices)}."
        name, text = f"`{name}`", _cell(text)
        known = variable(option)
        if known is not None and known not in text and "--help" not in option.opts:
            text += f" Variable: `{known}`."
        lines.append(f"| {name} | {text} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A help text in a cell: ranges in words, and nothing that Markdown would take for its own."""
    text = re.sub(r"\[default: ([^\]]+); ([^\]]*x[^\]]*)\]", r"[default: \1] [\2]", text)
    text = re.sub(r"\[x>=?0\]", "", text)
    text = re.sub(r"\[x>=(\d+)\]", r"At least \1.", text)
    text = re.sub(r"\[(\d+)<=x<=(\d+)\]", r"From \1 to \2.", text)
    text = re.sub(r"\[default: (.+?)\]", r"Default: `\1`.", text).replace("[required]", "Required.")
    return re.sub(r" +", " ", text.replace("<", "&lt;").replace("|", "\\|")).strip()
