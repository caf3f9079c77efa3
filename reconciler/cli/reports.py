"""`--format` and `--report FORMAT=FILE`: one result in several formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from reconciler.report.formats.annotations import code_quality, github, github_findings, junit, of_sheet, sarif
from reconciler.report.formats.brief import brief
from reconciler.report.formats.html import html
from reconciler.report.formats.markdown import markdown
from reconciler.report.formats.spreadsheet import spreadsheet
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


@dataclass(frozen=True)
class Report:
    """One result, for every format. `folder`: the directory of the project, relative to the current one. `page`: its own HTML, where the
    usual page is not enough. `rows`: of a CSV file, where there is one. `findings`: for formats of other programs, where the lines of the
    sheet are none; `junit`: its own cases."""

    document: Mapping[str, Any]
    sheet: Callable[[], Sheet]
    created_at: datetime
    folder: str = ""
    page: Callable[[], str] | None = None
    rows: Callable[[], Iterable[Sequence[str]]] | None = None
    findings: Sequence[Finding] | None = None
    junit: Callable[[], str] | None = None

    def rendered(self, name: str) -> str:
        """The result in one of `FORMATS`."""
        match name:
            case "json":
                return as_json(self.document) + "\n"
            case "csv" if self.rows is not None:
                return spreadsheet(self.rows())
            case "brief":
                return brief(self.sheet())
            case "markdown":
                return markdown(self.sheet())
            case "github" if self.findings is not None:
                return github_findings(self.findings, folder=self.folder)
            case "github":
                return github(self.sheet(), folder=self.folder)
            case "junit" if self.junit is not None:
                return self.junit()
            case "junit" | "sarif" | "codequality":
                report = self.sheet()
                findings = of_sheet(report) if self.findings is None else self.findings
                return checked(name, findings, title=report.title, summary=report.summary, folder=self.folder)
            case _:
                return self.page() if self.page is not None else html(self.sheet(), created_at=self.created_at.astimezone(HERE))

    def show(self, screen: Screen, name: str) -> None:
        """Print it in the format `name`; `text` is that of a screen."""
        if name == "json":
            screen.document(self.document)
        elif name in (*FORMATS, "csv"):
            screen.raw(self.rendered(name))
        else:
            show_sheet(screen, self.sheet())

    def write(self, screen: Screen, asked: Sequence[tuple[str, Path]]) -> None:
        """Write the files of `--report`. Raises `ReconcilerError` if one cannot be written."""
        masked = replace(self, document=screen.masked_data(self.document)) if asked else self
        for name, file in asked:
            write_report(file, screen.masked(masked.rendered(name)))
        if asked:
            screen.say(f"Wrote {', '.join(str(file) for _, file in asked)}.")


def checked(name: str, findings: Sequence[Finding], *, title: str, summary: str, folder: str) -> str:
    """Findings in one of `CHECKS`. `title` and `summary`: those of the report that contains them."""
    if name == "junit":
        return junit(findings, title=title, summary=summary, folder=folder)
    if name == "sarif":
        return as_json(sarif(findings, folder=folder, repository=release_files())) + "\n"
    return as_json(code_quality(findings, folder=folder)) + "\n"


def show_sheet(screen: Screen, sheet: Sheet) -> None:
    """Print a report as wide as the screen."""
    screen.spans(sheet_text(sheet, width=screen.width))


def write_report(file: Path, text: str) -> None:
    """Write one report. Raises `ReconcilerError` if it cannot be written."""
    try:
        write_out(file, text)
    except OSError as error:
        wrong = f"the report {file} cannot be written: {os_reason(error)}"
        raise ReconcilerError(wrong, id="RC-file-not-written", hint="The directory must exist.") from None
