"""The documentation as a site: it builds without a warning, asks no other host for anything, and its search finds what it contains."""

from __future__ import annotations

import asyncio
import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.generate import SITE
from docs.site import llms
from reconciler.cli.commands.schema import write_all
from tests import browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    if find_spec("mkdocs") is None:
        if "docs" in os.environ.get(browser.REQUIRE, ""):
            pytest.fail(f"{browser.REQUIRE} asks for the site, but MkDocs is not installed: install the extra docs")
        pytest.skip("MkDocs is not installed: install the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    environ.pop("REPOSITORY_URL", None)
    built = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return folder


class Page(HTMLParser):
    """What a page loads, where its links lead, and what it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        words = {name: value or "" for name, value in attrs}
        self.names |= {words["id"]} if "id" in words else set()
        if "src" in words:
            self.loads.append(words["src"])
        if tag == "link" and words.get("rel") != "canonical":
            self.loads.append(words["href"])
        if tag == "a" and "href" in words:
            self.links.append(words["href"])
        assert "mermaid" not in words.get("class", "").split(), "the theme would load Mermaid from another host"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    return {str(path.relative_to(site)): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_of_the_docs_is_on_the_site(pages: dict[str, Page]) -> None:
    expected = {str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md")}
    expected |= {name.removesuffix(".md") + ".html" for name in SITE}
    expected |= {f"reference/problems/{page.stem}.html" for page in (ROOT / "reconciler" / "problems").glob("*.md")}
    assert expected | {"index.html", "changelog.html", "contributing.html"} == set(pages) - {"404.html"}


def test_every_schema_is_on_the_site_and_links_to_options_lead_to_their_texts(site: Path, pages: dict[str, Page], tmp_path: Path) -> None:
    write_all(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if (site / "schemas" / path.name).read_bytes() != path.read_bytes()] == []
    assert "../schemas/plan.schema.json" in pages["reference/documents.html"].links
    assert "reference/commands.html#mcp" in pages["agents.html"].links


def test_no_page_loads_anything_from_another_host(site: Path, pages: dict[str, Page]) -> None:
    loaded = {target for page in pages.values() for target in page.loads}
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        loaded |= {found.strip("\"'") for found in re.findall(r"url\(([^)]*)\)", text) + re.findall(r"@import ([^;]*)", text)}
    assert [target for target in loaded if re.match(r"\w+:|//", target) and not target.startswith("data:")] == []


def test_every_link_of_the_site_leads_to_a_file_of_the_site(site: Path, pages: dict[str, Page]) -> None:
    broken = []
    for name, page in pages.items():
        for link in page.links:
            path, _, fragment = link.partition("#")
            if name == "404.html" or re.match(r"[a-z]+:", link) or path in ("", "."):
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(name), path))
            if not (site / target).exists() or (fragment and target in pages and fragment not in pages[target].names):
                broken.append(f"{name}: {link}")
    assert broken == []


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The site over HTTP."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


SEARCH = """
new Promise(resolve => {
  const look = () => {
    const links = [...document.querySelectorAll("a.md-search-result__link")].map(link => link.href)
    links.length ? resolve(links) : requestAnimationFrame(look)
  }
  look()
})
"""


@pytest.mark.proof
@pytest.mark.parametrize(("words", "expected"), [("forEach", "how-to/generate-resources.html"), ("share%20link", "share-link")])
def test_a_search_in_a_browser_finds_the_page_and_asks_no_other_host(address: str, words: str, expected: str) -> None:
    links, asked = asyncio.run(browser.visit(f"{address}/index.html?q={words}", SEARCH))
    assert any(expected in link for link in links), links
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


SCHEMES = {"light": "default", "dark": "slate"}
"""What the theme calls them."""


@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_every_page_is_accessible_and_no_wider_than_the_screen(address: str, pages: dict[str, Page], scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    wrong: list[str] = []
    with browser.chromium() as chromium:
        tab = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}).new_page()
        tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("requestfailed", lambda request: wrong.append(request.url))
        for name in (*sorted(pages), "index.html?q=lease"):
            tab.goto(f"{address}/{name}", wait_until="load")
            if "?q=" in name:
                tab.locator("a.md-search-result__link").first.wait_for()
            assert tab.evaluate("document.body.dataset.mdColorScheme") == SCHEMES[scheme]
            wider = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            wrong += [f"{name}: {wider} pixels too wide"] if wider > 0 else []
            violations = axe.run(tab, options={"resultTypes": ["violations"]}).response["violations"]
            wrong += [f"{name}: {rule['id']}: {node['target']}" for rule in violations for node in rule["nodes"]]
    assert wrong == []


def test_the_list_for_agents_has_a_page_for_each_how_to_guide() -> None:
    guides = sorted((ROOT / "docs" / "how-to").glob("*.md"))
    text = llms(guides, "Reconciler", "Manage a documentation organization as code.", "https://docs.example/")
    assert text.startswith("# Reconciler\n\n> ")
    lines = [line for line in text.splitlines() if "how-to/" in line]
    assert len(lines) == len(guides)
    assert all(re.fullmatch(r"- \[.+\]\(https://docs\.example/how-to/[a-z-]+\.md\): [^#].+\.", line) for line in lines)
