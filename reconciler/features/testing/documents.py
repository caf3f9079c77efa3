"""The document of `reconciler test`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.runs import PlaceData
from reconciler.report.schemas.types import CauseId, Count, OneOf, Record, SourceData, Text, doc


class MismatchData(Record):
    message: Text
    expected: Text | None
    actual: Text | None
    lines: Annotated[list[Text], doc("What else helps to understand it, such as a difference between two texts.")]
    source: PlaceData
    id: CauseId


class ProjectTestData(Record):
    name: Text
    sort: Annotated[str, OneOf(("test", "access", "policy")), doc("A test, the access of the project, or an example of a policy.")]
    environment: Text | None
    source: SourceData
    passed: bool
    mismatches: list[MismatchData]
    left: Annotated[list[MismatchData], doc("What only a plan can judge, because no file says what people were given.")]


class TestedSummaryData(Record):
    passed: Count
    failed: Count


class TestsDocument(Record):
    format: Literal["reconciler.tests/1"]
    project: Text
    summary: TestedSummaryData
    tests: list[ProjectTestData]


DOCUMENTS: Final = (PrintedDocument("test-results", "What tests found", TestsDocument),)
