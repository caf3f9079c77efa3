"""Served sites in a browser: axe finds nothing, nothing is wider than the screen, nothing runs, and all works without a script."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.sandbox.header import SECRET
from reconciler.sandbox.server import Embedded, embedded
from tests import browser
from tests.proofs import costly, spread
from tests.sandbox.served.organizations import HOSTILE_TEXT, hostile, looked_at

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")
    pytest.importorskip("axe_playwright_python")

PATHS = {
    "page": "docs",
    "visitor": 'docs/guides/v2/install?as=visitor&claims={"staff":true,"plan":"pro"}',
    "menu": "docs/api-reference",
    "missing": "docs/staff",
    "search": "docs?q=in",
    "nothing": "unknown",
}
CASES = [(name, width, scheme) for name in PATHS for width in (360, 768, 1440) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    made = looked_at(tmp_path_factory.mktemp("docs"))
    made.store.close()
    with embedded(made.store.db) as service:
        yield service


def opened(chromium: Browser, service: Embedded, path: str, **words: Any) -> tuple[Page, list[str]]:
    """A page, and what is wrong with it: messages, dialogs, requests for anything but pages of this service."""
    page = chromium.new_context(extra_http_headers={SECRET: service.token}, **words).new_page()
    wrong: list[str] = []
    # the browser notes each answer that is 404 as an error
    page.on("console", lambda message: wrong.append(message.text) if "404 (Not Found)" not in message.text else None)
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss())[1])
    page.on("request", lambda request: None if request.resource_type == "document" else wrong.append(request.url))
    page.goto(f"{service.base_url}/published/{path}")
    return page, wrong


def violations(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    answer = Axe().run(page).response
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in answer["violations"] for node in rule["nodes"]]


@costly
@pytest.mark.parametrize(("name", "width", "scheme"), spread(CASES, 6))
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    chromium: Browser, docs: Embedded, name: str, width: int, scheme: Any
) -> None:
    page, wrong = opened(chromium, docs, PATHS[name], color_scheme=scheme, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    # of one name, only one is open at a time
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.removeAttribute('name'); part.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(page) == []
    assert wrong == []
    page.context.close()


@costly
def test_hostile_texts_run_nothing_and_fetch_nothing(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    made = hostile(tmp_path_factory.mktemp("hostile"))
    made.store.close()
    assert "evil.example" in HOSTILE_TEXT
    with embedded(made.store.db) as service:
        for path in ("evil", "evil?as=visitor"):
            page, wrong = opened(chromium, service, path, viewport={"width": 360, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
            assert violations(page) == []
            assert wrong == []
            page.context.close()


@costly
def test_a_person_chooses_a_reader_in_the_bar_and_stays_that_reader(chromium: Browser, docs: Embedded) -> None:
    page, wrong = opened(chromium, docs, "docs", viewport={"width": 360, "height": 800}, java_script_enabled=False)
    assert page.get_by_role("link", name="Staff").count() == 0
    page.get_by_text("Read as", exact=True).click()
    page.get_by_label("Works at Acme").check()
    page.get_by_role("button", name="Read as this visitor").click()
    page.get_by_role("link", name="Staff", exact=True).click()
    assert page.get_by_role("heading", name="Prices for staff").is_visible()
    page.get_by_role("link", name="Guides", exact=True).click()
    page.get_by_role("link", name="Pages", exact=True).click()
    page.get_by_role("link", name="Troubleshooting").click()
    assert page.get_by_role("heading", name="Troubleshooting").is_visible()
    page.get_by_label("Search titles").fill("staff")
    page.get_by_label("Search titles").press("Enter")
    assert page.get_by_role("link", name="Prices for staff").is_visible()
    assert wrong == []
    page.context.close()
