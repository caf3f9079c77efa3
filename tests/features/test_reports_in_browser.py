"""HTML reports in a browser: axe finds nothing, and nothing is wider than the screen, on a phone as on a desk, light and dark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.features.drift.report.sheet import drift_sheet
from reconciler.features.health.site.report import site_sheet
from reconciler.model import Action, Blocked, Plan, Severity, Source, Violation
from reconciler.report.formats.html import html
from reconciler.report.plan import plan_sheet
from reconciler.report.sheet import Sheet
from reconciler.resource import UNSET
from tests import browser
from tests.features.drift.test_report import drifted
from tests.features.health.made import site_page
from tests.plan.edits import NOW
from tests.proofs import costly
from tests.report.made import at, change, delta, plan
from tests.report.test_gathering import broken, exposure

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")
    pytest.importorskip("axe_playwright_python")


def everything() -> Plan:
    """A plan with an entry under each heading."""
    return plan(
        change("acme/space/new", Action.CREATE, fields=(delta("title", UNSET, "N" * 90),), source=Source("content.yaml", 4)),
        change("acme/site/docs", Action.UPDATE, fields=(delta("basename", "docs", "manual"),), source=Source("sites/docs.yaml", 12)),
        change("acme/site/docs/group/g", Action.REPLACE, fields=(delta("title", UNSET, "G"),)),
        change("acme/space/old", Action.DELETE, id="spc_1", title="Old", reason="no longer declared"),
        exposures=(exposure("acme/space/salaries", "anyone", path=("space salaries", "site-space docs/salaries", "site docs")),),
        broken=(broken("acme/site/docs", "https://docs.example.com/a/very/long/path/to/a/page", "https://docs.example.com/manual"),),
        blocked=(Blocked(at("acme/space/b"), "is protected", "protect: false", id="RC-protected"),),
        violations=(
            Violation("policy", "emoji", at("acme/space/new"), "has no emoji", Severity.WARNING, id="RC-rule-violated"),
            Violation("policy", "two-admins", None, "one admin", remedy="add another", id="RC-rule-violated"),
        ),
        notes=("A remark.",),
    )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as started:
        yield started


@costly
@pytest.mark.parametrize(
    ("scheme", "width"),
    [("dark", 360), *(pytest.param(scheme, width, marks=pytest.mark.proof) for scheme in ("light", "dark") for width in (360, 768, 1440))],
)
@pytest.mark.parametrize("name", ["plan", "drift", "nothing", "site"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    chromium: Browser, tmp_path: Path, name: str, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    site = site_sheet(site_page("A site whose title is as long as the service allows " * 2), made_at=NOW)
    sheets: dict[str, Sheet] = {
        "plan": plan_sheet(everything()), "drift": drift_sheet(drifted()), "nothing": plan_sheet(plan()), "site": site,
    }  # fmt: skip
    file = tmp_path / f"{name}.html"
    file.write_text(html(sheets[name], created_at=NOW), encoding="utf-8")
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(file.as_uri())
    found = [f"{rule['id']}: {node['target']}" for rule in Axe().run(page).response["violations"] for node in rule["nodes"]]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    small = page.evaluate("Math.min(...[...document.querySelectorAll('main *')].map(e => parseFloat(getComputedStyle(e).fontSize)))")
    context.close()
    assert (found, wide <= 0, small >= 12) == ([], True, True)
