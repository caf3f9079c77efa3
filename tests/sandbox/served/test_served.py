"""Each reader gets the pages that `SitePages` gives them, and no others; what strangers wrote stays text."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import httpx2
import pytest

from reconciler.sandbox.app import Sandbox, create_app
from reconciler.sandbox.served.look import DARK, LIGHT, readable
from reconciler.sandbox.served.page import page_of, visible_pages
from reconciler.sandbox.sites.audience import audience
from reconciler.sandbox.sites.moment import moment
from reconciler.sandbox.sites.pages import SitePages
from reconciler.sandbox.sites.readers import HEADER, Reader, Shown
from reconciler.sandbox.sites.structure import published_url
from reconciler.sandbox.store import Object, Store
from tests.proofs import costly, spread
from tests.sandbox.served.organizations import HOSTILE, ORGANIZATION, SECRET, Writer, hostile, looked_at, organization

BASE = "http://127.0.0.1"
READERS: dict[str, dict[str, Any]] = {
    "anyone": {},
    "anyone-with-the-address": {"address": True},
    "link": {"address": True, "shareKey": "key-0"},
    "visitor": {"claims": {}},
    "staff": {"claims": {"staff": True, "plan": "pro"}, "unsigned": {"beta": True}},
    "agent": {"agent": True},
}


class Page(HTMLParser):
    """The links, the form and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._in_link = False
        self._silent = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag == "style"
        if tag == "a":
            self._in_link = True
            self.links.append((str(dict(attrs)["href"]), ""))

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag == "style"
        self._in_link = self._in_link and tag != "a"

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data
        if self._in_link:
            url, words = self.links[-1]
            self.links[-1] = url, (words + data).lstrip()

    def url(self, words: str) -> str | None:
        """Where the first link with these words leads."""
        return next((url for url, own in self.links if own == words), None)

    @property
    def title(self) -> str:
        return " ".join(self.text.split("·")[0].split())


class Browser:
    """Opens pages of a sandbox over HTTP, as one reader."""

    def __init__(self, app: Sandbox) -> None:
        self.app = app

    def open(self, path: str, reader: Mapping[str, Any] | None = None, *, method: str = "GET", **headers: str) -> httpx2.Response:
        if reader is not None:
            headers[HEADER] = json.dumps(reader)
        return asyncio.run(self._send(method, path, headers))

    async def _send(self, method: str, path: str, headers: dict[str, str]) -> httpx2.Response:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=BASE) as client:
            return await client.request(method, path, headers=headers)

    def page(self, path: str, reader: Mapping[str, Any] | None = None) -> Page:
        answer = self.open(path, reader)
        assert answer.status_code == 200, answer.text
        return Page(answer.text)


def opened(made: Writer) -> Browser:
    made.store.close()
    return Browser(create_app(made.store.db, control_token="control", base=BASE))


@pytest.fixture
def docs(tmp_path: Path) -> Iterator[Browser]:
    browser = opened(looked_at(tmp_path))
    yield browser
    browser.app.state.service.store.close()


def allowed(store: Store, site: Object, reader: Reader) -> SitePages | None:
    shown = Shown(store, site, reader)
    return SitePages(store, shown) if shown.gate.opens(reader) else None


# -- who gets which page -----------------------------------------------------------------------------------------------------------


@costly
@pytest.mark.parametrize("seed", spread(range(40), 6))
def test_a_crawler_reaches_the_pages_that_each_reader_may_read_and_everything_else_is_404(tmp_path: Path, seed: int) -> None:
    made = organization(tmp_path, seed)
    store = made.store
    sites = store.select("site", organization=ORGANIZATION)
    everything = {site["id"]: SitePages(store, Shown(store, site, None)).answers() for site in sites}
    readable = {
        (entry["id"], reader["reader"]) for entry in audience(store, ORGANIZATION) if entry["kind"] == "site" for reader in entry["readers"]
    }
    for site in sites:
        name = quote(str(site.get("basename") or site["id"]))
        for reader_name, given in READERS.items():
            reader = Reader.model_validate(given)
            pages = allowed(store, site, reader)
            if reader_name in ("anyone", "anyone-with-the-address", "visitor", "agent"):
                assert (pages is not None) == ((site["id"], reader_name) in readable)
            answers = pages.answers() if pages else {}
            for path in {*everything[site["id"]], *answers, "nothing", "v2/nothing"}:
                status, html = page_of(store, BASE, name, path, reader)
                assert status == (200 if path in answers else 404), (reader_name, path)
                if path in answers:
                    assert f'<p class="lead">{answers[path].page.data["description"]}</p>' in html
            reached = crawled(store, name, reader)
            assert listed(pages) <= reached <= listed(pages) | landings(pages)


def listed(pages: SitePages | None) -> set[tuple[str, str]]:
    """The pages that answer and are not hidden, each by its variant and its id."""
    return {
        (answer.variant["id"], answer.page.data["id"])
        for answer in (pages.answers().values() if pages else ())
        if any(answer.page is page for page in visible_pages(pages.pages(answer.variant)))
    }


def landings(pages: SitePages | None) -> set[tuple[str, str]]:
    """The first page of each variant, which answers at the variant's own path though it may be hidden."""
    variants = [variant for section in (pages.tabs() if pages else ()) for variant in pages.variants(section)]
    return {(variant["id"], page.data["id"]) for variant in variants for page in [page for page in pages.pages(variant) if page.path][:1]}


def crawled(store: Store, name: str, reader: Reader) -> set[tuple[str, str]]:
    """Follow every link of every page from the first one; each page by its variant and its id."""
    site = store.find("site", name) or store.find("site", str(store.site_at(ORGANIZATION, unquote(name))))
    assert site is not None
    pages = allowed(store, site, reader)
    answers = pages.answers() if pages else {}
    waiting, seen, reached = [f"/published/{name}"], set(), set()
    while waiting:
        url = waiting.pop()
        if url in seen:
            continue
        seen.add(url)
        path = unquote(urlsplit(url).path).removeprefix(f"/published/{unquote(name)}").strip("/")
        status, html = page_of(store, BASE, name, path, reader)
        # the site may have no page at its own URL, which is where a reader begins; all other links lead to a page
        assert status == 200 or path == "", url
        if status == 200:
            reached.add((answers[path].variant["id"], answers[path].page.data["id"]))
        waiting += [url for url, _ in Page(html).links if url.startswith("/published/")]
    return reached


def test_what_has_a_published_url_answers_over_http(docs: Browser) -> None:
    store = docs.app.state.service.store
    urls = moment(store, BASE, [ORGANIZATION]).urls
    agent = {url: docs.open(quote(url.removeprefix(BASE)), READERS["agent"]) for url in urls}
    assert {answer.status_code for answer in agent.values()} == {200}
    anyone = {url for url in urls if docs.open(quote(url.removeprefix(BASE)), {}).status_code == 200}
    assert {url for url in urls if "/staff" in url} == urls.keys() - anyone


def test_a_site_has_its_basename_and_its_id_and_a_library_gives_what_http_gives(docs: Browser) -> None:
    store = docs.app.state.service.store
    site = store.select("site", organization=ORGANIZATION)[0]
    named = docs.open("/published/docs/guides/v2/welcome", {}).text
    assert named == page_of(store, BASE, "docs", "guides/v2/welcome", Reader()).html
    assert named.replace("/published/docs", f"/published/{site['id']}") == docs.open(f"/published/{site['id']}/guides/v2/welcome", {}).text
    assert docs.open("/published/unknown").status_code == 404


def test_a_copy_is_served_here_though_its_urls_are_those_of_its_original(tmp_path: Path) -> None:
    made = looked_at(tmp_path)
    site = made.store.select("site", organization=ORGANIZATION)[0]
    made.store.save("site", site | {"_published": "https://docs.acme.example", "_named": False})
    assert published_url(BASE, made.store.find("site", site["id"]) or {}) == "https://docs.acme.example"
    space = made.store.find("space", made.store.select("site-space", organization=ORGANIZATION)[0]["_space"])
    assert space is not None
    space["_pages"][0]["markdown"] = "[here](https://docs.acme.example/guides/v2/install#top) [gone](https://docs.acme.example/guides/x)"
    made.store.save("space", space)
    page = Page(page_of(made.store, BASE, "docs", "", Reader()).html)
    assert page.url("here") == "/published/docs/guides/v2/install#top"
    assert page.url("gone") is None
    assert not any(url.startswith("https://docs.acme.example") for url, _ in page.links)


# -- the page ----------------------------------------------------------------------------------------------------------------------


def test_a_page_has_tabs_menus_variants_its_tree_and_its_neighbors(docs: Browser) -> None:
    page = docs.page("/published/docs/guides/v2/install")
    assert page.url("Guides") == "/published/docs/guides"
    assert page.url("API reference") == "/published/docs/api-reference"
    assert page.url("API 1.0") == "/published/docs/api-1-0"
    assert page.url("Staff") is None
    assert page.url("Version 1") == "/published/docs/guides/v1/install"
    assert page.url("On Linux") == page.url("NextOn Linux") == "/published/docs/guides/v2/install/on-linux"
    assert "Draft of a page" not in page.text
    assert docs.page("/published/docs/guides/v2/draft-of-a-page").title == "Draft of a page"
    assert ("a", "prev") in [(tag, attributes.get("rel")) for tag, attributes in page.tags]


def test_links_in_a_text_lead_where_the_reader_may_go(docs: Browser) -> None:
    welcome = docs.page("/published/docs")
    assert welcome.url("how it is installed") == "/published/docs/guides/v2/install"
    assert welcome.url("prices") is None
    staff = docs.page("/published/docs", READERS["staff"])
    assert staff.url("prices") == "/published/docs/staff/prices/prices-for-staff"
    assert "crate.png · The crate, opened" in welcome.text
    assert not {"img", "script", "iframe", "object"} & {tag for tag, _ in welcome.tags}


def test_a_search_finds_titles_that_the_reader_may_read(docs: Browser) -> None:
    page = docs.page("/published/docs?q=LINUX")
    assert page.url("On Linux") == "/published/docs/guides/v2/install/on-linux"
    assert "1 page with “LINUX” in the title" in page.text
    assert "0 pages with" in docs.page("/published/docs?q=staff").text
    assert "1 page with" in docs.page("/published/docs?q=prices+staff", READERS["staff"]).text
    assert "0 pages with" in docs.page("/published/docs?q=draft").text
    assert docs.open("/published/docs/nothing?q=linux").status_code == 404


def test_a_closed_site_says_nothing_of_itself_but_its_bar_says_why(tmp_path: Path) -> None:
    made = looked_at(tmp_path)
    site = made.store.select("site", organization=ORGANIZATION)[0]
    made.store.save("site", site | {"visibility": "share-link"})
    closed = page_of(made.store, BASE, "docs", "", Reader())
    assert closed.status == 404
    assert "Acme Docs" not in closed.html
    browser = opened(made)
    answer = browser.open("/published/docs")
    assert answer.status_code == 404
    assert "This site is “share-link”: only whoever has an active share link can read it." in answer.text


# -- who reads ---------------------------------------------------------------------------------------------------------------------


def test_the_bar_offers_every_reader_and_keeps_the_choice(docs: Browser) -> None:
    page = docs.page("/published/docs/guides/v2/install")
    offered = {words: url for url, words in page.links if "as=" in url}
    assert offered == {
        "Anyone with the URL": "/published/docs/guides/v2/install?as=address",
        "Share link “Partners”": offered["Share link “Partners”"],
        "Agents": "/published/docs/guides/v2/install?as=agent",
    }
    assert offered["Share link “Partners”"].startswith("/published/docs/guides/v2/install?as=link%3Alink_")
    agents = docs.page("/published/docs?as=agent")
    assert agents.url("Staff") == "/published/docs/staff?as=agent"
    assert "Read as" not in docs.page("/published/docs", {}).text


def test_the_form_of_a_visitor_is_made_from_the_adaptive_schema(docs: Browser) -> None:
    page = docs.page("/published/docs?as=visitor")
    inputs = {str(attributes.get("name")): (tag, attributes.get("type")) for tag, attributes in page.tags if tag in ("input", "select")}
    assert inputs["claim/staff"] == ("input", "checkbox")
    assert inputs["claim/plan"] == ("select", None)
    assert inputs["claim/groups"] == ("input", "checkbox")
    assert inputs["claim/company/name"] == ("input", None)
    sent = "claim/staff=true&claim/plan=pro&claim/groups=docs&claim/groups=ops&claim/company/seats=5&claim/unsigned/beta=true"
    visitor = docs.page(f"/published/docs?as=visitor&{sent}")
    staff = str(visitor.url("Staff"))
    assert json.loads(parse_qs(urlsplit(staff).query)["claims"][0]) == {
        "staff": True,
        "plan": "pro",
        "groups": ["docs", "ops"],
        "company": {"seats": 5},
        "unsigned": {"beta": True},
    }
    assert docs.page(staff).title == "Prices for staff"
    cleared = Page(docs.open(f"{staff}&claim/plan=free").text)
    assert cleared.url("Staff") is None
    assert parse_qs(urlsplit(str(cleared.url("Guides"))).query)["claims"] == ['{"plan":"free"}']


def test_a_share_key_opens_the_site_and_is_on_no_page(tmp_path: Path) -> None:
    made = looked_at(tmp_path)
    site = made.store.select("site", organization=ORGANIZATION)[0]
    made.store.save("site", site | {"visibility": "share-link"})
    browser = opened(made)
    for path in (f"/published/docs?key={SECRET}", "/published/docs?as=address"):
        assert SECRET not in browser.open(path).text
    opened_by_key = browser.page(f"/published/docs?key={SECRET}")
    install = str(opened_by_key.url("Install"))
    assert "as=link" in install
    assert browser.page(install).title == "Install"
    for key in ("another-key", "wrong", "ä", ""):
        assert browser.open(f"/published/docs?key={key}").status_code == 404
    assert browser.open("/published/docs", {"shareKey": SECRET}).status_code == 200
    assert browser.open(f"/published/docs?key={SECRET}", {}).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "as=nobody",
        "as=visitor&claims=[]",
        "as=visitor&claims={",
        "as=visitor&claims=NaN",
        'as=visitor&claims={"a":"%5Cud800"}',
        "as=visitor&claim/company/seats=x",
    ],
)
def test_a_reader_that_nobody_can_be_is_refused(docs: Browser, query: str) -> None:
    answer = docs.open(f"/published/docs?{query}")
    assert answer.status_code == 400
    assert re.search(r'<p class="lead">(as|claims|company\.seats): expected ', answer.text)
    header = docs.open("/published/docs", **{HEADER: "{"})
    assert (header.status_code, header.json()["error"]["message"].split(":")[0]) == (400, HEADER)


def test_only_this_machine_gets_pages_and_nothing_is_kept_or_fetched(docs: Browser) -> None:
    assert docs.open("/published/docs", host="evil.example").status_code == 403
    assert [docs.open("/published/docs", method=method).status_code for method in ("POST", "DELETE")] == [405, 405]
    headers = docs.open("/published/docs").headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "http" not in policy


# -- hostile texts -----------------------------------------------------------------------------------------------------------------


def test_hostile_titles_texts_colors_and_links_stay_text(tmp_path: Path) -> None:
    browser = opened(hostile(tmp_path))
    for path in ("/published/evil", "/published/evil?as=visitor", f"/published/evil?q={quote(HOSTILE)}", "/published/evil/a/b/none"):
        html = browser.open(path).text
        page = Page(html)
        assert not {"img", "script", "iframe", "base", "meta-refresh", "object"} & {tag for tag, _ in page.tags}, path
        assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on") or name in ("src", "style")]
        assert not [url for url, _ in page.links if not url.startswith(("/", "#", "https://", "mailto:"))], path
        assert not re.search("[\u200b\u202e]", html)
        for style in re.findall(r"<style>(.*?)</style>", html, re.DOTALL):
            assert "url(" not in style
            assert "evil" not in style
    page = browser.page("/published/evil")
    assert not any("_sandbox" in url for url, _ in page.links)
    assert page.url("https://empty.example/") == "https://empty.example/"
    headings = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_the_control_page_links_to_each_site(docs: Browser) -> None:
    html = docs.open("/").text
    assert '<a href="/published/docs">Docs</a>' in html
    assert '<a href="/docs">API reference</a>' in html


@pytest.mark.parametrize("color", ["#ffff00", "#fff", "#00000080", "red", "#fff;}", None, 5, "#FFFF0", "＃ffffff"])
@pytest.mark.parametrize("ground", [LIGHT, DARK])
def test_text_in_any_color_of_a_site_can_be_read(color: Any, ground: str) -> None:
    shown = readable(color, ground)
    assert re.fullmatch("#[0-9a-f]{6}", shown)
    assert readable(shown, ground) == shown
    assert shown != ground


def test_a_color_that_can_be_read_is_kept() -> None:
    assert readable("#0f766e", LIGHT) == "#0f766e"
    assert readable("#2DD4BF", DARK) == "#2dd4bf"
