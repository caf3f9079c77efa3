"""`--format` and `--report FORMAT=FILE`: one result in several formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler.cli.declare import OutputFile, SharedOption
from reconciler.cli.help import release_files
from reconciler.cli.terminal.screen import Screen
from reconciler.config import Project
from reconciler.errors import ReconcilerError, os_reason
from reconciler.files import path_from_here
from reconciler.model import Finding
from reconciler.report.annotations import code_quality, github, junit, of_sheet, sarif
from reconciler.report.brief import brief
from reconciler.report.html import html
from reconciler.report.markdown import markdown
from reconciler.report.sheet import Sheet, sheet_text
from reconciler.text.escape import as_json
from reconciler.text.names import HERE
from reconciler.writing import write_out

CHECKS: Final = ("junit", "sarif", "codequality")
FORMATS: Final = ("brief", "json", "markdown", "html", "github", *CHECKS)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(formats: Sequence[str] = FORMATS) -> Decorator:
    """The option; its value is a tuple of (format, file)."""
    return click.option(
        "--report",
        cls=SharedOption,
        group="output",
        multiple=True,
        metavar="FORMAT=FILE",
        callback=partial(_pairs, formats),
        help=f"Also write the result to a file: {', '.join(formats)}. Repeatable.",
    )


def _pairs(formats: Sequence[str], ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Path], ...]:

    pairs: list[tuple[str, Path]] = []
    for value in values:
        name, equals, file = value.partition("=")
        if not equals or not file or name not in formats:
            raise click.BadParameter(f"{value!r} is not FORMAT=FILE with {', '.join(formats)}", ctx=ctx, param=param)
        path = OutputFile().convert(file, param, ctx)
        if any(path == other for _, other in pairs):
            raise click.BadParameter(f"two reports cannot be written to the same file, {file}", ctx=ctx, param=param)
        pairs.append((name, path))
    return tuple(pairs)


def folder(project: Project) -> str:
    """The directory of the project, relative to the current one; "" if it is that one."""
    path = path_from_here(project.settings.root).as_posix()
    return "" if path == "." else path


def rendered(
    name: str,
    document: Mapping[str, Any],
    sheet: Callable[[], Sheet],
    *,
    created_at: datetime,
    folder: str = "",
    page: Callable[[], str] | None = None,
) -> str:
    """A result in one of `FORMATS`. `folder`: the directory of the project, relative to the current one. `page`: its own HTML, where the
    usual page is not enough."""
    match name:
        case "json":
            return as_json(document) + "\n"
        case "brief":
            return brief(sheet())
        case "markdown":
            return markdown(sheet())
        case "github":
            return github(sheet(), folder=folder)
        case "junit" | "sarif" | "codequality":
            report = sheet()
            return checked(name, of_sheet(report), title=report.title, summary=report.summary, folder=folder)
        case _:
            return page() if page is not None else html(sheet(), created_at=created_at.astimezone(HERE))


def checked(name: str, findings: Sequence[Finding], *, title: str, summary: str, folder: str) -> str:
    """Findings in one of `CHECKS`. `title` and `summary`: those of the report that contains them."""
    if name == "junit":
        return junit(findings, title=title, summary=summary, folder=folder)
    if name == "sarif":
        return as_json(sarif(findings, folder=folder, repository=release_files())) + "\n"
    return as_json(code_quality(findings, folder=folder)) + "\n"


def show(
    screen: Screen,
    name: str,
    document: Mapping[str, Any],
    sheet: Callable[[], Sheet],
    *,
    created_at: datetime,
    folder: str = "",
    page: Callable[[], str] | None = None,
) -> None:
    """Print a result in the format `name`; `text` is that of a screen."""
    if name == "json":
        screen.document(document)
    elif name in FORMATS:
        screen.raw(rendered(name, document, sheet, created_at=created_at, folder=folder, page=page))
    else:
        show_sheet(screen, sheet())


def show_sheet(screen: Screen, sheet: Sheet) -> None:
    """Print a report as wide as the screen."""
    screen.spans(sheet_text(sheet, width=screen.width))


def write(
    screen: Screen,
    asked: tuple[tuple[str, Path], ...],
    document: Mapping[str, Any],
    sheet: Callable[[], Sheet],
    *,
    created_at: datetime,
    folder: str = "",
    page: Callable[[], str] | None = None,
) -> None:
    """Write the files of `--report`. Raises `ReconcilerError` if one cannot be written."""
    for name, file in asked:
        text = rendered(name, screen.masked_data(document), sheet, created_at=created_at, folder=folder, page=page)
        write_report(file, screen.masked(text))


def write_report(file: Path, text: str) -> None:
    """Write one report. Raises `ReconcilerError` if it cannot be written."""
    try:
        write_out(file, text)
    except OSError as error:
        wrong = f"the report {file} cannot be written: {os_reason(error)}"
        raise ReconcilerError(wrong, id="RC-file-not-written", hint="The directory must exist.") from None
