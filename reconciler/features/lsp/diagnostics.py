"""Findings as diagnostics: a range in the text, a severity, and a link to the page of the cause. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from lsprotocol import types

from reconciler.config.keys import PROJECT_FILE
from reconciler.features.lsp.text import Text
from reconciler.model import Finding, Severity
from reconciler.text.escape import terminal
from reconciler.text.pages import FOLDER, pages

SOURCE: Final = "reconciler"
DIAGNOSTICS_MAX: Final = 500  # of one file; an editor that shows thousands is slow, and nobody reads them
_SEVERITIES: Final = {Severity.ERROR: types.DiagnosticSeverity.Error, Severity.WARNING: types.DiagnosticSeverity.Warning}


def by_file(findings: Iterable[Finding], text_of: Callable[[str], Text | None], repository: str) -> Mapping[str, list[types.Diagnostic]]:
    """The diagnostics of each file of a project by its name. A finding about no file of it is at the project file.

    `repository`: where this version of the program is shown in a browser; "" if that is unknown."""
    diagnostics: dict[str, list[types.Diagnostic]] = defaultdict(list)
    left: dict[str, int] = defaultdict(int)
    for finding in findings:
        name = finding.source.file if finding.source is not None else PROJECT_FILE
        text = text_of(name)
        line, column = (finding.source.line, finding.source.column) if finding.source is not None and text is not None else (0, 0)
        if text is None:
            name = PROJECT_FILE
            text = text_of(name) or Text("")
        if len(diagnostics[name]) < DIAGNOSTICS_MAX:
            diagnostics[name].append(_diagnostic(finding, text.token(line, column), repository))
        else:
            left[name] += 1
    for name, count in left.items():
        more = f"{count:,} more are not shown; reconciler validate --lint prints all"
        diagnostics[name].append(types.Diagnostic(types.Range(types.Position(0, 0), types.Position(0, 0)), more, source=SOURCE))
    return diagnostics


def _diagnostic(finding: Finding, range: types.Range, repository: str) -> types.Diagnostic:
    about = f"{finding.address}: " if finding.address and not finding.message.startswith(finding.address) else ""
    remedy = f"\n{finding.remedy}" if finding.remedy else ""
    link = page_link(finding.id, repository)
    return types.Diagnostic(
        range,
        "\n".join(map(terminal, f"{about}{finding.message}{remedy}".split("\n"))),
        severity=_SEVERITIES[finding.severity],
        code=finding.name,
        code_description=types.CodeDescription(link) if link else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.fix is not None else None,
    )


def page_link(id: str, repository: str) -> str:
    """The page of a cause: in the repository, or, if that is unknown, the file that is installed with the program."""
    page = pages().get(id)
    if page is None:
        return ""
    return f"{repository}/{page.path}" if repository else f"{(FOLDER / page.area).with_suffix('.md').as_uri()}#{page.id.lower()}"
