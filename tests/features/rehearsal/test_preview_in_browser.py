"""The preview in a browser: nothing is wider than the screen, axe finds nothing, the keyboard is enough, and hostile titles stay text."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.features.rehearsal.model import Rehearsal
from reconciler.features.rehearsal.moments import Moments
from reconciler.features.rehearsal.page.page import page as page_of
from reconciler.features.rehearsal.preview import preview_of, rehearsed_sites
from reconciler.features.rehearsal.report import rehearsal_document
from tests import browser, processes
from tests.audience import test_page_conditions as page_conditions
from tests.command_line import Cli
from tests.features.rehearsal.previewed import HOSTILE, SANDBOX, FakePicture, applied, save, written
from tests.plan.edits import NOW
from tests.proofs import costly

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")
    pytest.importorskip("axe_playwright_python")

SHOWN = """async () => {
  const began = performance.now();
  location.hash = "#/site/site_19";
  await new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done))));
  return performance.now() - began;
}"""
VIEWS = ("#/", "#/requests", "#/readers", "#/readers/0", "#/site", "Docs", "Partners")
WIDTHS = (360, 768, 999, 1000, 1440, 1920)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A project with hostile titles and texts, and the file of its preview."""
    with tempfile.TemporaryDirectory() as folder:
        project = Cli(Path(folder))
        applied(project)
        save(Path(folder), written(project, "--content").html)
        yield Path(folder)


@pytest.fixture(scope="module")
def preview(folder: Path) -> str:
    """The URL of the file."""
    return (folder / "preview.html").as_uri()


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of a preview of a site with a page that has a condition of its own, before and after it counts no longer."""
    with tempfile.TemporaryDirectory() as folder:
        project = page_conditions.applied(Cli(Path(folder)), page_conditions.GUARDED)
        page_conditions.write(project, page_conditions.turned_off)
        project("rehearse", "--report", "html=preview.html")
        yield (Path(folder) / "preview.html").as_uri()


@pytest.fixture(scope="module")
def chromium(preview: str, guarded: str) -> Iterator[Browser]:  # whose loop would not let the files be written after it started
    with browser.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    """The URL that `rehearse --serve` prints."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECONCILER_")}
    command = [sys.executable, "-m", "reconciler", "rehearse", ".", *SANDBOX, "--serve"]
    with processes.Popen(
        command, cwd=folder, env={**environ, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True
    ) as running:
        yield next(line for line in running.stdout if "http://127.0.0.1:" in line).split()[-1]
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0


class Opened:
    """A page, and what it asked for or complained about."""

    def __init__(self, chromium: Browser, url: str, *, width: int = 1440, scheme: Any = "light") -> None:
        self.context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog {dialog.message}"))
        self.page.on(
            "request", lambda request: self.wrong.append(request.url) if not request.url.startswith(url.partition("#")[0]) else None
        )
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")

    def view(self, name: str) -> None:
        """Open a view by its fragment, or a site by its title."""
        if name.startswith("#"):
            self.page.evaluate("fragment => { location.hash = fragment }", name)
        else:
            self.page.evaluate("location.hash = '#/site'")
            self.page.get_by_role("link", name=name).click()
        self.page.wait_for_timeout(30)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *raised: object) -> None:
        self.context.close()


@costly
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("dark", 360), ("light", 1000),
        *(pytest.param(scheme, width, marks=pytest.mark.proof) for scheme in ("light", "dark") for width in WIDTHS),
    ],
)  # fmt: skip
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(chromium: Browser, preview: str, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with Opened(chromium, preview, width=width, scheme=scheme) as opened:
        for view in VIEWS:
            opened.view(view)
            found = [f"{rule['id']}: {node['target']}" for rule in Axe().run(opened.page).response["violations"] for node in rule["nodes"]]
            wide = opened.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert (view, found, wide <= 0) == (view, [], True)
        assert opened.wrong == []


@costly
def test_titles_and_texts_stay_text_in_every_view(chromium: Browser, preview: str) -> None:
    with Opened(chromium, preview) as opened:
        for view in VIEWS:
            opened.view(view)
        opened.view("Docs")
        opened.page.get_by_role("region", name="After").get_by_role("link", name="Guides").click()
        opened.page.get_by_role("link", name="</script>").first.click()
        assert HOSTILE.replace("\u202e", "\\u202e") in opened.page.inner_text("h3 >> nth=0")
        assert opened.page.get_by_text("Hello").count() > 0
        assert opened.page.locator("img, iframe, [onerror], main script, a[href^='javascript']").count() == 0
        assert opened.page.get_by_role("link", name="link", exact=True).first.get_attribute("href") == "https://other.example/"
        assert opened.wrong == []


@costly
def test_before_and_after_are_side_by_side_from_1000_pixels(chromium: Browser, preview: str) -> None:
    for width, both in ((1000, True), (999, False)):
        with Opened(chromium, preview, width=width) as opened:
            opened.view("Docs")
            before, after = opened.page.get_by_role("region", name="Before"), opened.page.get_by_role("region", name="After")
            assert (before.is_visible(), after.is_visible()) == (both, True)
            if both:
                left, right = before.bounding_box(), after.bounding_box()
                assert left is not None
                assert right is not None
                assert left["y"] == right["y"]
            else:
                opened.page.get_by_role("button", name="Before").click()
                assert (before.is_visible(), after.is_visible()) == (True, False)


def test_a_dead_url_shows_404_and_leads_to_its_content(chromium: Browser, preview: str) -> None:
    with Opened(chromium, preview) as opened:
        opened.view("Docs")
        before = opened.page.get_by_role("region", name="Before")
        before.get_by_role("link", name="Guides").click()
        before.get_by_role("link", name="Deep").click()
        after = opened.page.get_by_role("region", name="After")
        assert "404" in after.inner_text()
        after.get_by_role("link", name="/docs/use").click()
        assert after.get_by_role("heading", name="Deep").is_visible()
        assert "/docs/guides" in opened.page.get_by_role("region", name="Before").inner_text()


def test_each_reader_is_one_click_and_sees_other_differences(chromium: Browser, preview: str) -> None:
    with Opened(chromium, preview) as opened:
        opened.view("Docs")
        assert "newly readable" in opened.page.get_by_role("region", name="After").inner_text()
        opened.view("Partners")
        chips = opened.page.get_by_role("navigation", name="Read as").get_by_role("link")
        assert any("share link" in text for text in chips.all_inner_texts())
        assert "gone" in opened.page.inner_text("main")
        chips.filter(has_text="agents").click()
        closed = opened.page.get_by_role("region", name="After").get_by_text("This reader cannot open the site")
        closed.first.wait_for()  # the page is drawn again after the click
        assert closed.count() > 0
        chips.filter(has_text="share link").click()
        opened.page.get_by_role("region", name="After").get_by_role("link", name="Plans").first.click()
        opened.page.get_by_text("Who else sees this page?").last.click()
        assert "whoever has the share link" in opened.page.locator("details[open]").inner_text()


def test_a_page_with_a_condition_of_its_own_is_shown_only_to_readers_who_meet_it(chromium: Browser, guarded: str) -> None:
    with Opened(chromium, guarded) as opened:
        opened.view("Docs")
        before, after = (opened.page.get_by_role("region", name=name) for name in ("Before", "After"))
        assert ("Staff" in before.inner_text(), "Staff" in after.inner_text()) == (False, True)
        opened.page.get_by_role("navigation", name="Read as").get_by_role("link").filter(has_text="staff holds").click()
        before.get_by_role("link", name="Staff").first.wait_for()
        before.get_by_role("link", name="Staff").first.click()
        opened.page.get_by_text("Who else sees this page?").first.click()
        shown = opened.page.locator("details[open]").first.inner_text()
        assert "anyone only after" in " ".join(shown.split())


def test_the_readers_of_an_object_follow_the_requests(chromium: Browser, preview: str) -> None:
    with Opened(chromium, preview) as opened:
        opened.view("#/readers")
        opened.page.get_by_label("Find").fill("acme/space/plans")
        opened.page.get_by_role("link", name="Plans").click()
        number = opened.page.get_by_label("After request", exact=True).first
        number.fill("0")
        assert "anyone\n" not in opened.page.inner_text("main")
        number.fill(str(number.get_attribute("max")))
        assert "anyone newly readable" in " ".join(opened.page.inner_text("main").replace("!", "").split())


@costly
def test_the_keyboard_alone_opens_a_site_a_reader_and_a_page(chromium: Browser, preview: str) -> None:
    with Opened(chromium, preview) as opened:
        focused = "document.activeElement.innerText || document.activeElement.ariaLabel || ''"

        def tab_to(text: str) -> None:
            for _ in range(60):
                opened.page.keyboard.press("Tab")
                if text in opened.page.evaluate(focused):
                    return
            pytest.fail(f"Tab does not lead to {text}")

        tab_to("Skip to the content")
        tab_to("Partners")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_selector("h1:has-text('Partners')")
        assert opened.page.evaluate("document.activeElement.tagName") == "H1"
        tab_to("agents")
        opened.page.keyboard.press("Enter")
        opened.page.wait_for_timeout(50)
        assert "agents" in opened.page.evaluate(focused)
        assert "Differences for agents" in opened.page.inner_text("main")


@costly
def test_a_served_page_reads_texts_of_pages_when_they_are_opened(chromium: Browser, served: str) -> None:
    base = served.partition("/open/")[0]
    context = chromium.new_context()
    page, asked, wrong = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(served)
    page.wait_for_selector("html[data-ready]")
    assert page.url == f"{base}/"
    assert not [url for url in asked if "/text" in url]
    page.get_by_role("link", name="Docs").click()
    page.get_by_role("region", name="After").get_by_text("Hello").wait_for()
    assert [url for url in asked if not url.startswith(base)] == []
    assert wrong == []
    context.close()


def large(seed: int = 1) -> str:
    """A file of 10,000 objects: 20 sites, 1,000 sections with a space each, and 7,000 pages, of which 1,750 move; after 100 requests."""
    before, after = FakePicture(20, 50, 7), FakePicture(20, 50, 7, shift="-moved")
    start, end, rng = before.moment(), after.moment(), random.Random(seed)
    moves = sorted(url for url in start.urls if url not in end.urls)
    rng.shuffle(moves)
    moments = Moments(lambda: start)
    for request in range(1, 101):
        gone = set(moves[: len(moves) * request // 100])
        now = replace(start, urls={url: page for url, page in start.urls.items() if url not in gone})
        moments.look = partial(copy, end if request == 100 else now)
        moments.after("PATCH /x", None, "update path: a -> b")
    rehearsal = Rehearsal(
        "large", None, "0" * 64, "1" * 64, 9, 100, (), (), True, (), (), (), len(start.urls), len(end.urls),
        moments.dead(), moments.moved(), tuple(moments.rows), False, (), (), (), (), sites=rehearsed_sites(moments, before, after, {}),
    )  # fmt: skip
    return page_of(rehearsal_document(rehearsal), preview_of(moments, before, after, {}), created_at=NOW)


@pytest.mark.proof
def test_the_first_paint_of_10_000_objects_takes_less_than_a_second(chromium: Browser, tmp_path: Path) -> None:
    html = large()
    with Opened(chromium, save(tmp_path, html)) as opened:
        paint = opened.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = opened.page.evaluate("performance.now()")
        shown = opened.page.evaluate(SHOWN)
        print(f"{len(html):,} bytes; first paint {paint:.0f} ms, data read {ready:.0f} ms, a site {shown:.0f} ms")
        assert "moved" in opened.page.inner_text("main")
        assert opened.page.locator("*").count() < 3_000
        opened.view("#/site")
        assert opened.page.locator("main li a:visible").count() == 20
        assert paint < 1_000
        assert shown < 1_000
