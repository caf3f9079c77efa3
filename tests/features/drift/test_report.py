"""Drift as text, Markdown and a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.features.drift.model import Drift, Drifted, DriftWord
from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.model import Cause, Delta, Unmanaged
from reconciler.report.formats.markdown import markdown, marker
from reconciler.report.layout import Span, plain
from reconciler.report.sheet import Share, sheet_text
from tests import browser
from tests.proofs import costly
from tests.report.made import at
from tests.report.test_pages import assert_calm, html
from tests.report.test_text import AFTER, BEFORE


def drifted() -> Drift:
    fields = (
        Delta("title", "Handbook", "Docs", Cause.DRIFT, last="Docs"),
        Delta("type", "ultimate", "premium", Cause.BOTH, last="basic", note="cannot be changed on an existing site"),
    )
    return Drift(
        "acme-docs", "staging",
        resources=(
            Drifted(at("acme/site/docs"), "site", DriftWord.CHANGED, fields), Drifted(at("acme/space/old"), "space", DriftWord.DELETED),
        ),
        unmanaged=(Unmanaged("space", "spc_1", "Wild"),), managed=12, coverage={"space": Share(3, 4), "site": Share(1, 1)}, whole=True,
    )  # fmt: skip


@costly
def test_the_picture_shows_what_the_summary_says(tmp_path: Path) -> None:
    file = tmp_path / "drift.html"
    file.write_text(html(drift_sheet(drifted())), encoding="utf-8")
    shown = browser.document(file.as_uri())
    assert 'aria-label="1 changed, 1 deleted, 1 unmanaged, 10 as applied"' in shown
    assert "<td>3 of 4 (75 %)</td>" in shown
    picture = browser.picture(file.as_uri(), tmp_path / "drift.png").read_bytes()
    blank = tmp_path / "blank.html"
    blank.write_text("<!doctype html><title>x</title>", encoding="utf-8")
    assert len(picture) > 3 * len(browser.picture(blank.as_uri(), tmp_path / "blank.png").read_bytes())


def drift_text(drift: Drift) -> tuple[Span, ...]:
    """Drift as a screen shows it."""
    return sheet_text(drift_sheet(drift))


def test_drift_says_what_differs_inside_a_value() -> None:
    field = Delta("mergeRules", AFTER, AFTER, Cause.DRIFT, last=BEFORE)
    found = Drift("p", None, resources=(Drifted(at("acme"), "organization", DriftWord.CHANGED, (field,)),))
    assert "mergeRules.strict" in plain(drift_text(found))


def test_a_comment_says_that_it_is_about_drift() -> None:
    assert marker(drift_sheet(drifted())) == "<!-- reconciler:drift:acme-docs/staging -->"


def test_markdown_says_what_the_text_says() -> None:
    text = markdown(drift_sheet(drifted()))
    assert "! ~ type  basic -> ultimate  (the YAML changed too: premium; cannot be changed on an existing site)" in text
    assert "| space | 3 | 4 | 75 % |" in text


@pytest.mark.parametrize("drift", [drifted(), Drift("p", None)])
def test_a_page_is_well_formed_fetches_nothing_and_runs_nothing(drift: Drift) -> None:
    assert_calm(html(drift_sheet(drift)))
