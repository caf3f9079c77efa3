"""Links in the text of pages: where they lead, and whether that exists.

`/files/ID` leads to a file, `/spaces/ID` to a space and `/spaces/ID/pages/ID` to a page of it; an address of the service's own app is
`in-app`; any other address of the web is ignored. All else is the path of a page of the space, from its top, or from the page
itself where it begins with a dot; `#part`, `?query` and `.md` do not count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reconciler.sandbox.content.merging import flat
from reconciler.sandbox.content.revisions import current
from reconciler.sandbox.content.views import ContentView, Flags
from reconciler.sandbox.service import Caller, Paging, listing
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

LINK = re.compile(r"\[[^\[\]]*+\]\(<?([^()<>\s]++)>?[^()]*+\)")
FOREIGN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


@dataclass(frozen=True)
class Link:
    """One link: the page that contains it, what it leads to and whether that exists."""

    page: str
    kind: str
    space: str
    target: str
    status: str


@dataclass(frozen=True)
class Embedded:
    """A space as answers show it, with what it contains."""

    organization: Object
    space: Object
    revision: Object
    pages: dict[str, Object]
    files: dict[str, Object]


@dataclass
class Book:
    """The links of one content of a space."""

    caller: Caller
    space: Object
    revision: Object
    pages: dict[str, Object] = field(init=False)
    _shown: dict[str, Embedded | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.pages = flat(self.revision["_pages"])[0]
        self._paths = {str(item.get("path") or item.get("slug")): id for id, item in self.pages.items()}
        self._files = {str(item["id"]) for item in self.revision["_files"]}
        self._seen: dict[str, tuple[str, set[str]] | None] = {self.space["id"]: (str(self.revision["id"]), set(self.pages))}

    def links(self, page: str | None = None) -> list[Link]:
        """All links in the order of their pages, or those of one page."""
        return [link for id in self.pages if page in (None, id) for link in self._of(id)]

    def to(self, kind: str, target: str) -> list[Object]:
        """The pages that lead to a page or a file, each once."""
        pages = dict.fromkeys(
            reference.page
            for reference in self.links()
            if (reference.kind, reference.space, reference.target) == (kind, self.space["id"], target)
        )
        return [reference for id in pages if (reference := self.reference("page", self.space["id"], id)) is not None]

    def reference(self, kind: str, space: str, target: str) -> Object | None:
        """What is referred to, with all that it is in; None where it does not exist."""
        if kind == "url":
            return {"kind": kind, "url": target}
        embedded = self._embedded(space)
        if embedded is None:
            return None
        answer = {"kind": kind, "organization": embedded.organization, "space": embedded.space}
        if kind == "space":
            return answer
        part = (embedded.pages if kind == "page" else embedded.files).get(target)
        context = {"type": "revision", "revision": embedded.revision}
        return {**answer, "versionContext": context, kind: part} if part is not None else None

    def shown(self, link: Link) -> Object:
        here, target = self.reference("page", self.space["id"], link.page), self.reference(link.kind, link.space, link.target)
        answer: Object = {"status": link.status, "relation": "reference", "locationReferences": [here] if here is not None else []}
        return answer if target is None else {**answer, "targetReference": target}

    def _embedded(self, space: str) -> Embedded | None:
        """A space as answers show it; None where it does not exist."""
        if space not in self._shown:
            self._shown[space] = self._embed(space) if self._inside(space) is not None else None
        return self._shown[space]

    def _embed(self, space: str) -> Embedded:
        store, view = self.caller.store, View(self.caller)
        other = self.space if space == self.space["id"] else store.find("space", space)
        assert other is not None
        content = ContentView(self.caller, other, self.revision if other is self.space else current(store, other), Flags())
        revision = content.revision()
        organization = store.find("organization", other["organization"])
        assert organization is not None
        pages: dict[str, Object] = {}
        waiting = [*revision["pages"]]
        while waiting:
            page = waiting.pop()
            pages[str(page["id"])] = page
            waiting += page["pages"]
        files = {str(file["id"]): file for file in revision["files"]}
        return Embedded(view.organization(organization), view.space(other), revision, pages, files)

    def _of(self, id: str) -> Iterator[Link]:
        page = self.pages[id]
        text = page.get("markdown")
        path = str(page.get("path") or page.get("slug") or "")
        if isinstance(text, str):
            yield from filter(None, (self.link(id, path, address) for address in LINK.findall(text)))

    def link(self, page: str, path: str, address: str) -> Link | None:
        """Where an address in the text of a page leads; None for another address of the web. `path`: the page's own."""
        own = self.space["id"]
        if address.startswith(f"{self.caller.service.base}/app/"):
            return Link(page, "url", own, address, "in-app")
        if FOREIGN.match(address):
            return None
        plain = re.split(r"[?#]", address, maxsplit=1)[0]
        parts = plain.strip("/").split("/")
        if parts[0] == "files" and len(parts) == 2:
            return Link(page, "file", own, parts[1], _said(parts[1] in self._files))
        if parts[0] == "spaces" and len(parts) == 2:
            return Link(page, "space", parts[1], parts[1], _said(self._inside(parts[1]) is not None))
        if parts[0] == "spaces" and len(parts) == 4 and parts[2] == "pages":
            inside = self._inside(parts[1])
            return Link(page, "page", parts[1], parts[3], _said(inside is not None and parts[3] in inside[1]))
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), plain) if plain.startswith(".") else plain.strip("/"))
        wanted = wanted.removesuffix(".md")
        target = self._paths.get(wanted)
        return Link(page, "page", own, target or wanted, _said(target is not None))

    def _inside(self, space: str) -> tuple[str, set[str]] | None:
        """The revision and the pages of a space of the organization that is not deleted."""
        if space not in self._seen:
            other = self.caller.store.find("space", space)
            self._seen[space] = None
            if other is not None and other["organization"] == self.space["organization"] and not other.get("deletedAt"):
                self._seen[space] = str(other["revision"]), set(flat(other.get("_pages"))[0])
        return self._seen[space]


def _said(exists: bool) -> str:
    return "ok" if exists else "broken"


def listed(book: Book, paging: Paging, status: str | None = None, page: str | None = None, main: Book | None = None) -> Any:
    """A list of links with its `stats`, which count without the filter; `main`: the space's own content, for a change request."""
    links = book.links(page)
    broken = [(link.page, link.kind, link.space, link.target) for link in links if link.status == "broken"]
    before = {(link.page, link.kind, link.space, link.target) for link in main.links() if link.status == "broken"} if main else set(broken)
    shown = [link for link in links if status in (None, link.status)]
    stats = {"total": len(links), "broken": {"total": len(broken), "changeRequest": sum(link not in before for link in broken)}}
    return {**listing(shown, paging, book.shown), "stats": stats}
