"""Markdown and HTML: what they hold, what they never cut, and that nothing in them is markup but our own."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reconciler.model import Action, Cause, Delta, Plan, StepStatus, Unmanaged
from reconciler.model.drift import Drift, Drifted, DriftWord, Share
from reconciler.report.drift import drift_sheet
from reconciler.report.html import html as page
from reconciler.report.markdown import LIMIT, markdown, marker
from reconciler.report.outcome import outcome_sheet
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from tests import browser
from tests.report.made import at, change, delta, outcome, plan, result, the_example

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
EVIL = '``` <script>alert(1)</script> @all [x](http://evil.example) </pre> \u202e\x1b[31m & "quoted"'


def html(sheet: Sheet) -> str:
    return page(sheet, created_at=NOW)


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


def test_a_comment_says_which_report_it_is_so_that_it_can_be_updated_in_place() -> None:
    first, second = plan_sheet(the_example()), plan_sheet(Plan("acme-docs", None))
    assert markdown(first).splitlines()[0] == markdown(second).splitlines()[0] == "<!-- reconciler:plan:acme-docs -->"
    assert marker(drift_sheet(drifted())) == "<!-- reconciler:drift:acme-docs/staging -->"
    assert marker(plan_sheet(Plan("a--><b>", None))).count("--") == 2


def test_markdown_says_what_the_text_says() -> None:
    text = markdown(plan_sheet(the_example()))
    assert "**Plan: 1 to update, 1 to move, 1 to restore, 1 to adopt; 14 objects unmanaged. 3 requests.**" in text
    assert "@@ acme/site/docs/section/guides @@  sites/docs.yaml:12\n! ~ title  Guide -> Guides\n" in text
    text = markdown(drift_sheet(drifted()))
    assert "! ~ type  basic -> ultimate  (the YAML changed too: premium; cannot be changed on an existing site)" in text
    assert "| space | 3 | 4 | 75 % |" in text
    assert markdown(outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, "400")))).count("update: 400") == 1


@pytest.mark.parametrize(("many", "gone"), [(5_000, 20), (5_000, 900), (10, 1_200)])
def test_a_comment_fits_and_no_deletion_is_cut(many: int, gone: int) -> None:
    calm = [change(f"acme/space/n{number}", Action.UPDATE, fields=(delta(f"f{number}", "a" * 40, "b"),)) for number in range(many)]
    deletes = [change(f"acme/space/gone-{number}", Action.DELETE, title="T" * 50, id=f"spc_{number}") for number in range(gone)]
    text = markdown(plan_sheet(plan(*calm, *deletes)))
    assert len(text) <= LIMIT
    assert all(f"acme/space/gone-{number}" in text for number in range(gone))
    if many > 10:
        assert re.search(r"\d+ entries more do not fit here", text)


def test_more_deletions_than_a_comment_can_name_are_counted() -> None:
    text = markdown(plan_sheet(plan(*(change(f"acme/space/{number:090}", Action.DELETE) for number in range(2_000)))))
    assert len(text) <= LIMIT
    assert "2,000 × delete: too many to list here" in text


def test_no_text_from_outside_leaves_the_block_of_a_comment() -> None:
    text = markdown(plan_sheet(plan(change("acme/space/a", Action.UPDATE, fields=(delta("title", EVIL, "b"),)), notes=(EVIL,))))
    fence = next(line for line in text.splitlines() if line.startswith("`"))
    inside, outside = text.split(fence[:-4])[1], text.split(fence[:-4])[2]
    assert len(fence) > len("```diff")
    assert "<script>" in inside
    assert not re.search(r"<script>|@all|\[x\]|http://", outside)
    assert "\x1b" not in text
    assert "\u202e" not in text


class Tags(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href", "action") or name.startswith("on")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "sheet",
    [
        plan_sheet(the_example()), plan_sheet(Plan("p", None)), drift_sheet(drifted()), drift_sheet(Drift("p", None)),
        outcome_sheet(outcome(result(1, "acme/team/a", StepStatus.FAILED, EVIL))),
        plan_sheet(plan(change("acme/space/a", Action.UPDATE, fields=(delta("title", EVIL, "b"),)), notes=(EVIL,))),
    ],
)  # fmt: skip
def test_a_page_is_well_formed_fetches_nothing_and_runs_nothing(sheet: Sheet) -> None:
    text = html(sheet)
    tags = Tags(text)
    assert tags.open == []
    assert tags.links == []
    assert not tags.names & {"script", "link", "img", "iframe", "object", "form"}
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import", text)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_picture_shows_what_the_summary_says(tmp_path: Path) -> None:
    file = tmp_path / "drift.html"
    file.write_text(html(drift_sheet(drifted())), encoding="utf-8")
    shown = browser.document(file.as_uri())
    assert "<title>1 changed, 1 deleted, 1 unmanaged, 10 as applied</title>" in shown
    assert "<title>Managed: space 75 %, site 100 %</title>" in shown
    picture = browser.picture(file.as_uri(), tmp_path / "drift.png").read_bytes()
    blank = tmp_path / "blank.html"
    blank.write_text("<!doctype html><title>x</title>", encoding="utf-8")
    assert len(picture) > 3 * len(browser.picture(blank.as_uri(), tmp_path / "blank.png").read_bytes())
