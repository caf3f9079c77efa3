"""A report as entries instead of lines: the source of the markdown and HTML pages. The words are those of the text reports.

In: a plan, an outcome or drift. Out: `Sheet`; its texts are unescaped, each format has its own encoder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from reconciler.model import Outcome, Plan, StepStatus
from reconciler.plan.drift import Drift, DriftWord, Share
from reconciler.report import drift as drifts
from reconciler.report import outcome as outcomes
from reconciler.report import text as plans
from reconciler.report.layout import VALUE, ReportPage, Style
from reconciler.report.words import STYLES, TOLD


@dataclass(frozen=True)
class ReportLine:
    """One line of an entry. `id`: of its cause, "" if it has none."""

    style: Style
    symbol: str
    name: str
    value: str
    note: str = ""
    id: str = ""


@dataclass
class ReportEntry:
    """The entry of one address; `where` is its position in the files, or a note."""

    title: str
    where: str = ""
    lines: list[ReportLine] = field(default_factory=list)

    @property
    def destructive(self) -> bool:
        """Whether it reports a deletion or another destructive change."""
        return any(line.style is Style.DELETE for line in self.lines)


@dataclass(frozen=True)
class PicturePart:
    """One part of the summary's picture."""

    word: str
    number: int
    style: Style


@dataclass(frozen=True)
class Sheet:
    """A report. `kind`: `plan`, `drift` or `outcome`. `summary`: its last line. `notes`: sentences. `coverage`: by kind, of drift."""

    kind: str
    project: str
    environment: str | None
    summary: str
    entries: tuple[ReportEntry, ...]
    notes: tuple[str, ...]
    parts: tuple[PicturePart, ...]
    coverage: Mapping[str, Share] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """`Plan for acme-docs (staging)`."""
        return f"{self.kind.capitalize()} for {self.project}" + (f" ({self.environment})" if self.environment else "")


class _Recorder(ReportPage):
    """A page that records entries."""

    def __init__(self, zone: tzinfo | None = UTC) -> None:
        super().__init__(100, zone=zone)
        self.entries: list[ReportEntry] = []
        self.lines: list[str] = []

    def head(self, title: str, right: str = "", style: Style = Style.DIM) -> None:
        self.entries.append(ReportEntry(title, right))

    def field(
        self, style: Style, symbol: str, name: str, value: str, note: str = "", *, column: int = VALUE, mark: Style | None = None
    ) -> None:
        self.entries[-1].lines.append(ReportLine(style, symbol, name, value, note))

    def cause(self, id: str) -> None:
        self.entries[-1].lines[-1] = replace(self.entries[-1].lines[-1], id=id)

    def line(self, text: str, style: Style = Style.PLAIN) -> None:
        self.lines.append(text)


def plan_sheet(plan: Plan, *, full: bool = False, zone: tzinfo | None = UTC) -> Sheet:
    """A plan as entries. `full`: equal changes are not folded. `zone`: of its times."""
    page = _Recorder(zone=zone)
    plans.write(page, plan, full=full)
    counts = Counter(action for change in plan.changes for action in change.actions)
    parts = [PicturePart(action.value, counts[action], STYLES[action]) for action in TOLD if counts[action]]
    parts += [PicturePart("blocked", len(plan.blocked), Style.BLOCKED)] if plan.blocked else []
    return _sheet("plan", plan.project, plan.environment, page, parts)


def outcome_sheet(outcome: Outcome) -> Sheet:
    """What an apply did, as entries."""
    page = _Recorder()
    outcomes.write(page, outcome)
    outcomes.withheld(page, outcome)
    styles = {
        StepStatus.DONE: Style.CREATE,
        StepStatus.FAILED: Style.DELETE,
        StepStatus.IN_DOUBT: Style.BLOCKED,
        StepStatus.STALE: Style.DRIFT,
        StepStatus.SKIPPED: Style.DIM,
    }
    parts = [PicturePart(status.value, outcome.count(status), style) for status, style in styles.items() if outcome.count(status)]
    refused = len(outcome.withheld.refused) if outcome.withheld is not None else 0
    parts += [PicturePart("refused", refused, Style.BLOCKED)] if refused else []
    return _sheet("outcome", outcome.plan.project, outcome.plan.environment, page, parts)


def drift_sheet(drift: Drift, *, full: bool = False, zone: tzinfo | None = UTC) -> Sheet:
    """Drift as entries. `full`: all unmanaged objects are listed."""
    page = _Recorder()
    drifts.write(page, drift, full=full, zone=zone)
    page.entries = [entry for entry in page.entries if entry.title != drifts.COVERAGE]
    parts = [PicturePart(status.value, drift.count(status), drifts.STYLES[status]) for status in DriftWord if drift.count(status)]
    parts += [PicturePart("exposures", len(drift.exposures), Style.DELETE)] if drift.exposures else []
    parts += [PicturePart("assertions not met", len(drift.violations), Style.BLOCKED)] if drift.violations else []
    parts += [PicturePart("unmanaged", len(drift.unmanaged), Style.DIM)] if drift.unmanaged else []
    calm = drift.managed - len(drift.resources)
    parts += [PicturePart("as applied", calm, Style.CREATE)] if parts and calm > 0 else []
    return _sheet("drift", drift.project, drift.environment, page, parts, drift.coverage if drift.whole else {})


def _sheet(
    kind: str, project: str, environment: str | None, page: _Recorder, parts: list[PicturePart], coverage: Mapping[str, Share] | None = None
) -> Sheet:
    *notes, summary = page.lines
    return Sheet(kind, project, environment, summary, tuple(page.entries), tuple(notes), tuple(parts), coverage or {})
