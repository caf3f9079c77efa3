"""The rules that a plan violates, in every format."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime

from reconciler.model import Severity, Source, Violation
from reconciler.report.annotations import github
from reconciler.report.documents import plan_document
from reconciler.report.html import html
from reconciler.report.layout import plain
from reconciler.report.markdown import markdown
from reconciler.report.plan import plan_sheet
from tests.documents import valid
from tests.report.made import at, plan, plan_text

NOW = datetime(2026, 11, 23, tzinfo=UTC)
OPEN = Violation(
    "access", "salaries", at("acme/space/salaries"), "anyone can read it", path=("acme/space/salaries", "acme/site/docs (public)"),
    source=Source("reconciler.yaml", 9), declared=Source("content.yaml", 3), remedy="close the site", id="RC-access-violated",
)  # fmt: skip
WARNED = Violation(
    "policy", "few", None, "more than 2 deletes", Severity.WARNING, source=Source("reconciler.yaml", 20), id="RC-policy-violated"
)
BOTH = plan(violations=(OPEN, WARNED))


def test_the_text_names_each_rule_where_it_is_written_and_sums_up() -> None:
    assert plain(plan_text(BOTH)) == (
        """\
the whole plan
  ! warning     policy few: more than 2 deletes (reconciler.yaml:20)
acme/space/salaries                      content.yaml:3
  ! violation   access salaries: anyone can read it (reconciler.yaml:9)
                by acme/space/salaries -> acme/site/docs (public)

No changes. 20 objects managed, 0 unmanaged. 1 violation, 1 warning.
"""
    )


def test_many_resources_that_violate_one_rule_are_folded() -> None:
    many = plan(violations=tuple(dataclasses.replace(OPEN, address=at(f"acme/space/s{number}"), path=()) for number in range(11)))
    assert "11 resources" in plain(plan_text(many))
    assert plain(plan_text(many, full=True)).count("! violation") == 11


def test_the_pages_and_annotations_have_them() -> None:
    sheet = plan_sheet(BOTH)
    for page in (markdown(sheet), html(sheet, created_at=NOW)):
        assert "access salaries: anyone can read it" in page
        assert "policy few: more than 2 deletes" in page
    annotations = github(sheet).splitlines()
    assert annotations[0] == "::warning title=the whole plan::warning: policy few: more than 2 deletes (reconciler.yaml:20)"
    assert annotations[1].startswith("::error file=content.yaml,line=3,title=acme/space/salaries::violation: access salaries")


def test_the_document_has_them() -> None:
    document = plan_document(BOTH, created_at=NOW)
    valid(document, "plan")
    assert json.loads(json.dumps(document["violations"])) == [
        {
            "sort": "access", "rule": "salaries", "address": "acme/space/salaries", "level": "error", "message": "anyone can read it",
            "path": ["acme/space/salaries", "acme/site/docs (public)"], "remedy": "close the site",
            "source": {"file": "reconciler.yaml", "line": 9}, "declared": {"file": "content.yaml", "line": 3},
            "id": "RC-access-violated",
        },
        {
            "sort": "policy", "rule": "few", "address": None, "level": "warning", "message": "more than 2 deletes", "path": [],
            "remedy": "", "source": {"file": "reconciler.yaml", "line": 20}, "declared": None,
            "id": "RC-policy-violated",
        },
    ]  # fmt: skip
