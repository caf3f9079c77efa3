"""The document about a project itself: that of `validate --format json`."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from reconciler.model import Severity
from reconciler.report.schemas import types as t


class FindingsSummaryData(t.Record):
    error: t.Count
    warning: t.Count
    fixable: Annotated[t.Count, t.doc("How many `validate --fix` corrects.")]


class PlaceData(t.Record):
    """Where something is written."""

    file: Annotated[t.Text, t.doc("Relative to the project; the name of an option where the command line is meant.")]
    line: Annotated[t.Number | None, t.doc("From 1; null where the whole file is meant.")]
    column: Annotated[t.Number | None, t.doc("From 1; null where the whole file is meant.")]


class FindingData(t.Record):
    id: Annotated[t.CauseId, t.doc("The cause; of lint, `RC-` and the name of the rule.")]
    rule: NotRequired[Annotated[t.Text | None, t.doc("The violated rule of the project, such as `policy/NAME`; null for others.")]]
    severity: Annotated[str, t.OneOf(Severity)]
    message: t.Text
    address: Annotated[t.Text | None, t.doc("The resource, or a setting such as `vars.brand`.")]
    source: PlaceData | None
    remedy: Annotated[t.Text | None, t.doc("What to do.")]
    fix: Annotated[t.Text | None, t.doc("What `validate --fix` does; null where a person must decide.")]


class FindingsDocument(t.Record):
    """What is wrong with a project, or probably a mistake, by place."""

    format: Literal["reconciler.findings/1"]
    project: Annotated[t.Text | None, t.doc("The name of the project; null where it cannot be loaded.")]
    environment: t.Text | None
    summary: FindingsSummaryData
    findings: t.Items[FindingData]
