"""Pages of a fleet in a browser: nothing of others runs, axe finds nothing, and they work by keyboard, on a phone and without a script."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests import browser
from tests.fleet.pages import samples
from tests.fleet.pages.site import Site, site
from tests.proofs import costly

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")
    pytest.importorskip("axe_playwright_python")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def pages() -> Iterator[Site]:
    with site() as shown:
        yield shown


def opened(chromium: Browser, pages: Site, path: str, **words: Any) -> tuple[Page, list[str]]:
    """A page, and what is wrong with it: messages, failed requests, requests to others."""
    page = chromium.new_context(**words).new_page()
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss())[1])
    page.on("request", lambda request: None if request.url.startswith(pages.url) else wrong.append(request.url))
    page.goto(pages.url + path)
    return page, wrong


def violations(page: Page) -> list[str]:
    """What axe finds."""
    from axe_playwright_python.sync_playwright import Axe

    answer = Axe().run(page).response
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in answer["violations"] for node in rule["nodes"]]


@costly
def test_a_page_full_of_hostile_texts_runs_nothing_asks_nobody_and_is_accessible(chromium: Browser, pages: Site) -> None:
    page, wrong = opened(chromium, pages, "/pages/project-hostile", color_scheme="dark", viewport={"width": 360, "height": 800})
    assert page.evaluate("document.querySelectorAll('img, iframe, script:not([src])').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate("typeof htmx") == "object"
    assert wrong == []
    page.context.close()


@pytest.mark.proof
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 768), ("light", 360), ("dark", 360)])
@pytest.mark.parametrize("name", samples.PAGES)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(chromium: Browser, pages: Site, name: str, scheme: str, width: int) -> None:
    page, wrong = opened(chromium, pages, f"/pages/{name}", color_scheme=scheme, viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert wrong == []
    page.context.close()


@pytest.mark.proof
def test_ten_thousand_cells_are_seen_within_seconds_and_lead_to_their_projects(chromium: Browser, pages: Site) -> None:
    page, wrong = opened(chromium, pages, "/picture")
    assert page.locator(".map a:has(rect)").count() == 1_000
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert timing < 10_000  # 200 measured
    assert page.evaluate("document.getElementsByTagName('*').length") < 10_000  # layout and styles follow from that
    page.locator(".map a:has(rect)").nth(711).click()
    assert "/projects/" in page.url
    page.go_back()
    page.locator(".map a:not(:has(rect))").first.click(position={"x": 3, "y": 3})
    assert "/?tenant=" in page.url
    assert wrong == []
    page.context.close()


@pytest.mark.proof
def test_the_filter_replaces_the_table_keeps_the_focus_and_the_url(chromium: Browser, pages: Site) -> None:
    page, wrong = opened(chromium, pages, "/?live=off")
    page.locator("#text").focus()
    page.keyboard.type("globex")
    page.locator("tbody tr").nth(1).wait_for(state="detached")
    assert (page.locator("tbody tr").count(), page.evaluate("document.activeElement.id")) == (1, "text")
    assert "text=globex" in page.url
    assert "live=off" in page.url
    assert "1 project" in (page.locator("#announce").text_content() or "")
    page.reload()
    assert page.locator("tbody tr").count() == 1
    page.go_back()
    page.locator("tbody tr").nth(2).wait_for()
    assert wrong == []
    page.context.close()


@pytest.mark.proof
def test_sorting_by_keyboard_keeps_the_focus_on_the_heading(chromium: Browser, pages: Site) -> None:
    page, wrong = opened(chromium, pages, "/?live=off")
    page.locator("#sort-age").focus()
    for order in ("ascending", "descending"):
        page.keyboard.press("Enter")
        page.locator(f"th.c-age[aria-sort={order}]").wait_for()
        assert page.evaluate("document.activeElement.id") == "sort-age"
    assert page.locator("input[name=order][value=down]").count() == 1  # the filter keeps the order
    assert wrong == []
    page.context.close()


@pytest.mark.proof
def test_an_event_updates_the_list_and_says_so_politely(chromium: Browser, pages: Site) -> None:
    with page_of_events(chromium, pages, "/") as (page, wrong):
        assert page.locator("#announce").text_content() == ""
        pages.unknown = 13
        pages.changes += 1
        page.locator("a.s-unknown .number", has_text="13").wait_for()
        assert "13 Unknown" in (page.locator("#announce").text_content() or "")
        assert page.locator("#announce").get_attribute("role") == "status"
        assert wrong == []


@pytest.mark.proof
def test_an_event_says_that_the_plan_moved_and_keeps_what_is_being_typed(chromium: Browser, pages: Site) -> None:
    with page_of_events(chromium, pages, "/projects/globex-docs") as (page, wrong):
        page.locator("#approve-reason").fill("as agreed")
        page.locator("#change-delete").check()
        pages.changes += 1
        page.locator("#status .notice").wait_for()
        assert page.locator("#approve-reason").input_value() == "as agreed"
        assert page.locator("#change-delete").is_checked()
        assert "its plan has changed" in (page.locator("#announce").text_content() or "")
        assert wrong == []


class page_of_events:  # noqa: N801  a context
    """A page that listens to the events of the site."""

    def __init__(self, chromium: Browser, pages: Site, path: str) -> None:
        self.arguments = (chromium, pages, path)

    def __enter__(self) -> tuple[Page, list[str]]:
        chromium, pages, path = self.arguments
        before = sum(asked.startswith("/events") for asked in pages.asked)
        self.page, wrong = opened(chromium, pages, path)
        while sum(asked.startswith("/events") for asked in pages.asked) == before:
            self.page.wait_for_timeout(20)
        return self.page, wrong

    def __exit__(self, *words: object) -> None:
        self.page.context.close()


@pytest.mark.proof
def test_everything_works_without_a_script(chromium: Browser, pages: Site) -> None:
    page, wrong = opened(chromium, pages, "/", java_script_enabled=False)
    page.locator("#text").fill("globex")
    page.locator("form.filters button").click()
    assert page.locator("tbody tr").count() == 1
    page.locator("a#p-globex-docs").click()
    assert page.url.endswith("/projects/globex-docs")
    assert page.locator("form[action$='/approve'] button").is_enabled()
    assert wrong == []
    page.context.close()


@pytest.mark.proof
@pytest.mark.parametrize("name", ["list", "project", "overview", "calendar"])
def test_the_keyboard_reaches_everything_once_sees_where_it_is_and_leaves(chromium: Browser, pages: Site, name: str) -> None:
    page, _ = opened(chromium, pages, f"/pages/{name}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.evaluate(
        "document.activeElement.blur(); history.replaceState(null, '', location.pathname); window.getSelection().removeAllRanges()"
    )
    reachable = page.evaluate(
        """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]')]
          .filter(element => element.tabIndex >= 0 && element.checkVisibility()).length"""
    )
    page.reload()
    seen: list[str] = []
    for _ in range(reachable + 3):
        page.keyboard.press("Tab")
        where = page.evaluate(
            """() => { const element = document.activeElement; if (element === document.body) return ''
              const all = [...document.querySelectorAll('*')]
              return all.indexOf(element) + ' ' + getComputedStyle(element).outlineStyle }"""
        )
        if not where:
            break
        seen.append(where)
    assert len(seen) == len(set(seen)) == reachable
    assert [where for where in seen if not re.search(r"solid|auto", where)] == []
    page.context.close()


@pytest.mark.proof
def test_a_printed_page_has_what_counts_and_no_navigation(chromium: Browser, pages: Site) -> None:
    page, _ = opened(chromium, pages, "/pages/project")
    page.emulate_media(media="print")
    assert page.locator("pre.plan").is_visible()
    assert page.locator(".top nav").is_hidden()
    assert page.locator("form[action$='/sync'] button").is_hidden()
    page.context.close()
