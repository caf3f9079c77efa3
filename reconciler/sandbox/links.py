"""Links in the text of pages: where they lead, and whether that is there.

`/files/ID` leads to a file, `/spaces/ID` to a space and `/spaces/ID/pages/ID` to a page of it; an address of the service's own app is
`in-app`; any other address of the web is no link of ours. All else is the path of a page of the space, from its top, or from the page
itself where it begins with a dot; `#part`, `?query` and `.md` do not count.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reconciler.sandbox.merging import flat
from reconciler.sandbox.service import Caller, Paging, listing
from reconciler.sandbox.store import Object

LINK = re.compile(r"\[[^\[\]]*+\]\(<?([^()<>\s]++)>?[^()]*+\)")
FOREIGN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")


@dataclass(frozen=True)
class Link:
    """One link: the page it stands on, what it leads to and whether that is there."""

    page: str
    kind: str
    space: str
    target: str
    status: str


@dataclass
class Book:
    """The links of one content of a space."""

    caller: Caller
    space: Object
    revision: Object
    pages: dict[str, Object] = field(init=False)

    def __post_init__(self) -> None:
        self.pages = flat(self.revision["_pages"])[0]
        self._paths = {str(one.get("path") or one.get("slug")): id for id, one in self.pages.items()}
        self._files = {str(one["id"]) for one in self.revision["_files"]}
        self._seen: dict[str, tuple[str, set[str]] | None] = {self.space["id"]: (str(self.revision["id"]), set(self.pages))}

    def links(self, page: str | None = None) -> list[Link]:
        """All links in the order of their pages, or those of one page."""
        return [link for id in self.pages if page in (None, id) for link in self._of(id)]

    def to(self, kind: str, target: str) -> list[Object]:
        """The pages that lead to a page or a file, each once."""
        found = dict.fromkeys(one.page for one in self.links() if (one.kind, one.space, one.target) == (kind, self.space["id"], target))
        return [self.reference("page", self.space["id"], id) for id in found]

    def reference(self, kind: str, space: str, target: str) -> Object:
        made: Object = {"kind": kind, "organization": self.space["organization"], "space": space}
        there = self._inside(space)
        if there is not None:
            made["versionContext"] = {"type": "revision", "revision": there[0]}
        return made if kind == "space" else {**made, kind: target}

    def shown(self, link: Link) -> Object:
        here = self.reference("page", self.space["id"], link.page)
        target = self.reference(link.kind, link.space, link.target)
        return {"status": link.status, "relation": "reference", "targetReference": target, "locationReferences": [here]}

    def _of(self, id: str) -> Iterator[Link]:
        page = self.pages[id]
        text = page.get("markdown")
        for address in LINK.findall(text) if isinstance(text, str) else ():
            link = self._link(id, str(page.get("path") or page.get("slug") or ""), address)
            if link is not None:
                yield link

    def _link(self, page: str, path: str, address: str) -> Link | None:
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
            there = self._inside(parts[1])
            return Link(page, "page", parts[1], parts[3], _said(there is not None and parts[3] in there[1]))
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), plain) if plain.startswith(".") else plain.strip("/"))
        wanted = wanted.removesuffix(".md")
        found = self._paths.get(wanted)
        return Link(page, "page", own, found or wanted, _said(found is not None))

    def _inside(self, space: str) -> tuple[str, set[str]] | None:
        """The revision and the pages of a space of the organization that is not deleted."""
        if space not in self._seen:
            found = self.caller.store.find("space", space)
            self._seen[space] = None
            if found is not None and found["organization"] == self.space["organization"] and not found.get("deletedAt"):
                self._seen[space] = str(found["revision"]), set(flat(found.get("_pages"))[0])
        return self._seen[space]


def _said(there: bool) -> str:
    return "ok" if there else "broken"


def listed(book: Book, paging: Paging, status: str | None = None, page: str | None = None, main: Book | None = None) -> Any:
    """A list of links with its `stats`, which count without the filter; `main`: the space's own content, for a change request."""
    links = book.links(page)
    broken = [(one.page, one.kind, one.space, one.target) for one in links if one.status == "broken"]
    before = {(one.page, one.kind, one.space, one.target) for one in main.links() if one.status == "broken"} if main else set(broken)
    shown = [one for one in links if status in (None, one.status)]
    stats = {"total": len(links), "broken": {"total": len(broken), "changeRequest": sum(one not in before for one in broken)}}
    return {**listing(shown, paging, book.shown), "stats": stats}
