"""One page of a published site as one reader gets it: a status and HTML, without HTTP.

In: a store, the name of a site (its basename or id), a path in it, a reader. Out: 200 with the page that `SitePages` puts at the path, 404
with a page where nothing is there for this reader. Links begin with `/published`, whatever `urls.published` begins with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlencode

from reconciler.sandbox.content.links import FOREIGN, Book
from reconciler.sandbox.content.revisions import current
from reconciler.sandbox.content.views import ContentView, Flags
from reconciler.sandbox.pages.overview import emoji
from reconciler.sandbox.pages.render import html
from reconciler.sandbox.routes.published import customization
from reconciler.sandbox.served.choice import Choice, choices, claim_fields, claims_text
from reconciler.sandbox.served.look import Look, look_of
from reconciler.sandbox.served.text import OPENED, Text, text_of
from reconciler.sandbox.service import Caller, Service
from reconciler.sandbox.sites.conditions import UNSIGNED
from reconciler.sandbox.sites.pages import PublishedPage, SitePage, SitePages, plain
from reconciler.sandbox.sites.readers import Reader, Shown
from reconciler.sandbox.sites.structure import levels, published_url
from reconciler.sandbox.store import Object, Store

ROOT: Final = "/published"
MISSING: Final = "Page not found"
RESULTS_MAX: Final = 100
VISIBILITIES: Final = {
    "public": "anyone on the web",
    "unlisted": "whoever knows its URL",
    "share-link": "whoever has an active share link",
    "visitor-auth": "visitors who are signed in",
}


class Answer(NamedTuple):
    status: int
    html: str


@dataclass
class Entry:
    """A link of a page, or a title where `url` is None. `current`: the page is it, or in it. `where`: what a match is in."""

    title: str
    url: str | None = None
    emoji: str = ""
    current: bool = False
    inside: list[Entry] = field(default_factory=list)
    where: str = ""


def site_named(store: Store, name: str) -> Object | None:
    """The site with an id or a basename."""
    site = store.find("site", name)
    if site is not None:
        return site
    # basenames are unique in an organization; the index answers for one at a time
    ids = (store.site_at(organization["id"], name) for organization in store.select("organization"))
    id = next(filter(None, ids), None)
    return store.find("site", id) if id is not None else None


def page_of(
    store: Store,
    base: str,
    site: str,
    path: str,
    reader: Reader,
    *,
    choice: Choice | None = None,
    search: str | None = None,
    above: str = "",
) -> Answer:
    """The page at a path of a site. `base`: what published URLs begin with. `search`: show the titles that contain this instead.

    `choice`: show the bar in which people choose the reader; without it, the page is all that the reader gets. `above`: the path below
    which this person gets the sandbox.
    """
    data = site_named(store, site)
    query = choice.query if choice else ()
    served = ServedSite(store, base, data, reader, name=site, query=query, above=above) if data is not None else None
    bar = served.bar(choice, path) if served is not None and choice is not None else None
    if served is None or not served.opens:
        return problem(404, MISSING, "No site at this URL is open to this reader.", bar)
    answer = served.at(path)
    if answer is None:
        body: dict[str, Any] = {"kind": "missing", "title": MISSING}
    else:
        body = served.page(answer) if search is None else served.results(search)
    whole = {"title": f"{body['title']} · {served.look.title}", "bar": bar, "site": served.frame(answer, search), "page": body}
    return Answer(404 if answer is None else 200, html("site.html", whole))


def problem(status: int, title: str, text: str, bar: Mapping[str, Any] | None = None) -> Answer:
    """A page that says of no site more than this."""
    return Answer(status, html("site.html", {"title": title, "site": None, "bar": bar, "problem": {"status": status, "text": text}}))


@dataclass
class ServedSite:
    """Composes the pages of one site for one reader. `name`: as its URLs name it. `query`: what every link keeps. `above`: the path that
    every link begins with."""

    store: Store
    base: str
    site: Object
    reader: Reader
    name: str
    query: Sequence[tuple[str, str]] = ()
    above: str = ""
    opens: bool = field(init=False)

    def __post_init__(self) -> None:
        shown = Shown(self.store, self.site, self.reader)
        self.opens = shown.gate.opens(self.reader)
        self.pages = SitePages(self.store, shown)
        self.answers = self.pages.answers() if self.opens else {}
        # the first path of a page is the one with every segment, unless another page has that one
        self._paths: dict[tuple[str, int], str] = {}
        self._places: dict[tuple[str, str], str] = {}
        for path, answer in self.answers.items():
            space = answer.variant["_space"]
            if self._paths.setdefault((answer.variant["id"], id(answer.page)), path) == path:
                self._places.setdefault((space, str(answer.page.data.get("id"))), path)
                self._places.setdefault((space, ""), path)
        self._begins: list[tuple[str, str]] | None = None

    def at(self, path: str) -> PublishedPage | None:
        """What answers at a path for this reader."""
        return self.answers.get(plain(path))

    # -- URLs ----------------------------------------------------------------------------------------------------------------------

    def url(self, path: str, *, query: Sequence[tuple[str, str]] | None = None) -> str:
        """The URL of a path on this host, with the reader."""
        address = "/".join(filter(None, [f"{self.above}{ROOT}", quote(self.name, safe=""), quote(path)]))
        pairs = urlencode(self.query if query is None else query)
        return f"{address}?{pairs}" if pairs else address

    def page_url(self, variant: Object, page: SitePage) -> str | None:
        path = self._paths.get((variant["id"], id(page)))
        return None if path is None or {".", ".."} & set(path.split("/")) else self.url(path)

    def home(self) -> str | None:
        """The path with which the site begins for this reader."""
        return "" if "" in self.answers else next(iter(self.answers), None)

    def begin(self, section: Object | None, variants: Sequence[Object]) -> str | None:
        """The path of a section: its own, or else that of its first variant that answers."""
        own = [section["path"]] if section is not None else []
        paths = [*own, *(self.pages.begin(section, variant) for variant in variants)]
        ids = {variant["id"] for variant in variants}
        return next((path for path in paths if path in self.answers and self.answers[path].variant["id"] in ids), None)

    def target(self, address: str, book: Book | None = None, page: SitePage | None = None) -> str | None:
        """Where an address in a text or in the customization leads; None where it leads nowhere for this reader."""
        if address.startswith("#"):
            return address
        fragment = "#" + address.partition("#")[2] if "#" in address else ""
        if address.startswith(("http://", "https://")):
            for begin, root in self._published():
                rest = re.split(r"[?#]", address.removeprefix(begin), maxsplit=1)[0]
                if address.startswith(begin) and (not rest or rest.startswith("/")):
                    if root != self.url("", query=()):
                        return f"{root}{rest}{fragment}"
                    path = unquote(rest).strip("/")
                    return self.url(path) + fragment if path in self.answers else None
        if FOREIGN.match(address):
            return address if address.lower().startswith(OPENED) else None
        link = book.link(str(page.data.get("id")), page.path, address) if book is not None and page is not None else None
        if link is None or link.kind not in ("page", "space"):
            return None
        place = self._places.get((link.space, link.target if link.kind == "page" else ""))
        return None if place is None else self.url(place) + fragment

    def _published(self) -> list[tuple[str, str]]:
        """What the published URLs of the organization's sites begin with, and the same on this host."""
        if self._begins is None:
            sites = self.store.select("site", organization=self.site["organization"])
            own = [(published_url(self.base, self.site), self.url("", query=()))]
            root = f"{self.above}{ROOT}"
            others = [(published_url(self.base, site), f"{root}/{quote(str(site.get('basename') or site['id']))}") for site in sites]
            self._begins = own + [pair for pair in others if pair[0] != own[0][0]]
        return self._begins

    # -- parts of a page -----------------------------------------------------------------------------------------------------------

    @cached_property
    def look(self) -> Look:
        """The look of the site, with the links that this reader sees."""
        title = str(self.site["title"])
        own = self.site.get("_look")
        shown = own if isinstance(own, Mapping) else customization(title, f"{self.base}/files", published_url(self.base, self.site))
        return look_of(shown, title, self._reference, has_logo=shown is own)

    def _reference(self, item: Mapping[str, Any]) -> str | None:
        """Where a link of the customization leads, where this reader sees it."""
        to = item.get("to")
        condition = item.get("condition")
        if not isinstance(to, Mapping) or not self.reader.passes(self.pages.shown.gate.conditions({"condition": str(condition or "")})):
            return None
        if isinstance(to.get("url"), str):
            return self.target(to["url"])
        place = (str(to.get("space")), str(to.get("page") or ""))
        return self.url(self._places[place]) if place in self._places else None

    def frame(self, answer: PublishedPage | None, search: str | None) -> dict[str, Any]:
        """What all pages of the site have around them."""
        home = self.home()
        return {
            "look": self.look,
            "home": self.url(home) if home is not None else None,
            "search": {"url": self.url(home, query=()), "query": self.query, "text": search or ""} if home is not None else None,
            "tabs": self._level(answer.section if answer else None, None, levels(self.store, self.site["id"])),
            "variants": self._variants(answer) if answer else [],
            "tree": self._tree(answer) if answer else [],
        }

    def _level(self, here: Object | None, group: str | None, rows: Mapping[str | None, list[tuple[str, Object]]]) -> list[Entry]:
        """Tabs and menus of one level; a menu without a section that this reader sees is left out."""
        entries: list[Entry] = []
        seen = {section["id"] for section in self.pages.sections}
        for kind, part in rows.get(group, []):
            if self.pages.shown.is_hidden(part):
                continue
            if kind == "group":
                inside = self._level(here, part["id"], rows)
                entries += [Entry(part["title"], inside=inside, current=any(entry.current for entry in inside))] if inside else []
            elif part["id"] in seen:
                begin = self.begin(part, self.pages.variants(part))
                url = self.url(begin) if begin is not None else None
                entries.append(Entry(part["title"], url, current=here is not None and part["id"] == here["id"]))
        return entries

    def _variants(self, answer: PublishedPage) -> list[Entry]:
        """The variants of a section; each leads to the same page where it lists one."""
        entries = []
        for variant in (variant for variant in self.pages.variants(answer.section) if not variant.get("hidden")):
            rows = visible_pages(self.pages.pages(variant))
            url = next((self.page_url(variant, page) for page in rows if page.path and page.path == answer.page.path), None)
            begin = self.pages.begin(answer.section, variant)
            if url is None and begin in self.answers and self.answers[begin].variant["id"] == variant["id"]:
                url = self.url(begin)
            entries.append(Entry(self.pages.title(variant), url, current=variant["id"] == answer.variant["id"]))
        return entries

    def _tree(self, answer: PublishedPage) -> list[Entry]:
        """The pages of a variant, nested, as its readers see them at its side."""
        rows: list[list[Entry]] = [[]]
        for page in visible_pages(self.pages.pages(answer.variant)):
            del rows[page.depth + 1 :]
            entry = self._entry(answer.variant, page)
            entry.current = page is answer.page
            rows[page.depth].append(entry)
            rows.append(entry.inside)
        return rows[0]

    def page(self, answer: PublishedPage) -> dict[str, Any]:
        """A page with its text, and what is beside it."""
        rows = list(visible_pages(self.pages.pages(answer.variant)))
        linked = [page for page in rows if page.path and self.page_url(answer.variant, page) is not None]
        index = next((index for index, page in enumerate(linked) if page is answer.page), None)
        before = linked[index - 1] if index else None
        after = linked[index + 1] if index is not None and index + 1 < len(linked) else None
        text = self._text(answer)
        start = next((index for index, page in enumerate(rows) if page is answer.page), None)
        description = answer.page.data.get("description")
        return {
            "kind": "page",
            "title": title_of(answer.page),
            "entry": self._entry(answer.variant, answer.page),
            "description": description if isinstance(description, str) else "",
            "above": [self._entry(answer.variant, page) for page in _above(self.pages.pages(answer.variant), answer.page)],
            "section": answer.section["title"] if answer.section is not None else None,
            "text": text,
            "outline": [heading for heading in text.headings if heading.level <= 3],
            "below": [self._entry(answer.variant, page) for page in _children(rows, start)] if start is not None else [],
            "before": self._entry(answer.variant, before) if before else None,
            "after": self._entry(answer.variant, after) if after else None,
        }

    def _entry(self, variant: Object, page: SitePage) -> Entry:
        own = page.data.get("emoji")
        return Entry(title_of(page), self.page_url(variant, page), _emoji(own) if isinstance(own, str) else "")

    def _text(self, answer: PublishedPage) -> Text:
        caller = Caller(Service(self.store, None, self.base), None, "read")
        space = self.pages.spaces[answer.variant["_space"]]
        revision = current(self.store, space)
        markdown = ContentView(caller, space, revision, Flags()).evaluated(answer.page.data, "true")["markdown"]
        book = Book(caller, space, revision)
        files = {f"/files/{file['id']}": str(file.get("name") or file["id"]) for file in revision["_files"]}
        return text_of(markdown, lambda address: self.target(address, book, answer.page), files)

    def results(self, search: str) -> dict[str, Any]:
        """The pages whose titles contain every word that is searched for."""
        wanted = search.casefold().split()
        matches: list[Entry] = []
        for section in self.pages.tabs() if wanted else ():
            for variant in self.pages.variants(section):
                if self.pages.shown.is_hidden(variant):
                    continue
                where = [section["title"]] if section is not None else []
                where += [self.pages.title(variant)] if len(self.pages.variants(section)) > 1 or section is None else []
                for page in visible_pages(self.pages.pages(variant)):
                    entry = self._entry(variant, page)
                    if entry.url is not None and all(word in entry.title.casefold() for word in wanted):
                        entry.where = " › ".join(where)
                        matches.append(entry)
        more = max(0, len(matches) - RESULTS_MAX)
        return {"kind": "results", "title": "Search", "text": search, "matches": matches[:RESULTS_MAX], "count": len(matches), "more": more}

    # -- the bar -------------------------------------------------------------------------------------------------------------------

    def bar(self, choice: Choice, path: str) -> dict[str, Any]:
        """Who reads the page, and who else can be chosen. It belongs to the sandbox, so it may say what the reader is not told."""
        reader = choice.reader
        claims = {**(reader.claims or {}), UNSIGNED: reader.unsigned}
        return {
            "name": choice.name,
            "up": f"{self.above}/",
            "claims": claims_text(choice),
            "reason": "" if self.at(path) else self._reason(reader, path),
            "choices": [
                Entry(entry.name, self.url(path, query=entry.query), current=entry.id == choice.id)
                for entry in choices(self.store, self.site)
            ],
            "visitor": {
                "url": self.url(path, query=()),
                "current": choice.id == "visitor",
                "fields": [(item, item.texts(claims)) for item in claim_fields(self.site)],
            },
        }

    def _reason(self, reader: Reader, path: str) -> str:
        """Why this reader gets no page."""
        if self.opens:
            exists = SitePages(self.store, Shown(self.store, self.site, None)).at(path) is not None
            return "A page exists here, but conditions hide it from this reader." if exists else "No page has this URL."
        if reader.agent:
            return "Agents read this site only if its agentsContext is “included”."
        if not self.site["published"]:
            return "This site is not published."
        visibility = str(self.site["visibility"])
        return f"This site is “{visibility}”: only {VISIBILITIES.get(visibility, 'others')} can read it."


def visible_pages(pages: Sequence[SitePage]) -> Iterator[SitePage]:
    """The pages that lists show: a hidden page answers, but neither it nor what is below it is listed."""
    hidden: int | None = None
    for page in pages:
        if hidden is not None and page.depth > hidden:
            continue
        hidden = page.depth if page.data.get("hidden") is True else None
        if hidden is None:
            yield page


def title_of(page: SitePage) -> str:
    title = page.data.get("title")
    return title if isinstance(title, str) and title.strip() else "Untitled"


def _emoji(text: str) -> str:
    """The emoji of a page; empty for words. Some emoji begin with a digit."""
    shown = emoji(text)
    return "" if any(character.isascii() and character not in "0123456789#*" for character in shown) else shown[:8]


def _above(pages: Sequence[SitePage], page: SitePage) -> list[SitePage]:
    """The pages and groups that a page is in, the outermost first."""
    index = next(index for index, candidate in enumerate(pages) if candidate is page)
    above: list[SitePage] = []
    depth = page.depth
    for candidate in reversed(pages[:index]):
        if candidate.depth < depth:
            above.append(candidate)
            depth = candidate.depth
    return above[::-1]


def _children(rows: Sequence[SitePage], start: int) -> Iterator[SitePage]:
    for page in rows[start + 1 :]:
        if page.depth <= rows[start].depth:
            return
        if page.depth == rows[start].depth + 1:
            yield page
