"""Help texts: options under headings, the exit codes of the command, and the location of its documentation.

The repository of the documentation is known only to a release, from its metadata. Otherwise the file in the repository is named.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Collection, Sequence
from typing import Final

import click

from reconciler import __version__, exits
from reconciler.cli.declare import SharedOption
from reconciler.cli.option_table import HEADINGS

PAGE: Final = "docs/reference/options.md"
BESIDE: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # the package
METADATA: Final = os.path.join(BESIDE, f"docs_reconciler-{__version__}.dist-info", "METADATA")
ENVIRONMENT: Final = "Options can be set in the environment: --log-format is RECONCILER_LOG_FORMAT. Consent cannot."
OWN: Final = "Options"
WIDTH: Final = 76  # columns; the text is indented by two, and click does not wrap it again
UNGROUPED_MAX: Final = 12  # options under one heading
SOURCE: Final = "Project-URL: Source, "


def end(path: Sequence[str], codes: Collection[int]) -> str:
    """The last paragraphs of a help text. `path`: the words of the command. `codes`: its exit codes besides those of every command."""
    listed = sorted({*exits.ALWAYS, *codes})
    meanings = [(f"  {code:<4} ", exits.MEANINGS[code].replace("`", "")) for code in listed]
    lines = [textwrap.fill(meaning, WIDTH, initial_indent=first, subsequent_indent=" " * len(first)) for first, meaning in meanings]
    fragment = f"#{'-'.join(path)}" if path else ""
    return "\n".join(["\b", "Exit codes:", *lines, "", ENVIRONMENT, "", f"Documentation: {page(PAGE)}{fragment}"])


def options(command: click.Command, ctx: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """The options of a command under their headings: each with its names and its text. Under one heading where they are few."""
    given = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    records = [(param, record) for param in given if (record := param.get_help_record(ctx)) is not None]
    few = len(records) <= UNGROUPED_MAX
    by_heading: dict[str, list[tuple[str, str]]] = {OWN: [], **{heading: [] for heading in HEADINGS.values()}}
    for param, (names, text) in records:
        by_heading[OWN if few else heading(param)].append((names, with_ranges_in_words(text)))
    return [(name, rows) for name, rows in by_heading.items() if rows]


def heading(param: click.Parameter) -> str:
    """The heading of an option: that of its group, or `OWN`."""
    if isinstance(param, SharedOption):
        return HEADINGS.get(param.group, OWN)
    return HEADINGS["output"] if "--help" in param.opts else OWN


def with_ranges_in_words(text: str) -> str:
    """The text of an option with the bounds of a number as a sentence: click writes `[1<=x<=1000]`."""
    text = re.sub(r"  \[default: ([^\];]+)(?:; |\]  \[)([^\]]*x[^\]]*)\]$", r" [\2]  [default: \1]", text)
    text = re.sub(r" *\[x>=?0\]", "", text)
    text = re.sub(r" *\[x>=(\d+)\]", r" At least \1.", text)
    return re.sub(r" *\[(\d+)<=x<=(\d+)\]", r" From \1 to \2.", text)


def page(name: str) -> str:
    """The location of a page of the documentation: a URL in a release, else the name of its file in the repository."""
    files = release_files()
    return f"{files}/{name}" if files else name


def release_files() -> str:
    """The URL of the files of this version, of which the documentation is a part; "" if this is not a release."""
    source = repository(METADATA)
    return f"{source}/blob/v{__version__}" if source else ""


def repository(metadata: str) -> str:
    """The URL of the repository in the metadata of a distribution; "" if unknown."""
    try:
        with open(metadata, encoding="utf-8") as file:
            for line in file:
                if line.startswith(SOURCE):
                    return line.removeprefix(SOURCE).strip()
                if not line.strip():
                    break
    except (OSError, ValueError):
        pass
    return ""
