"""`/`: what the service contains and its recent requests; the page refreshes itself every two seconds.

As plain data: each organization with its people, its content tree and its sites as visitors would see them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from starlette.responses import HTMLResponse

from reconciler.sandbox.content.tree import RETENTION, collection_container, container_of
from reconciler.sandbox.endpoints import Request, Router
from reconciler.sandbox.pages.render import rendered
from reconciler.sandbox.service import Service, newest
from reconciler.sandbox.sites.audience import AGENT, GENERAL
from reconciler.sandbox.sites.readers import Gate
from reconciler.sandbox.sites.structure import level, published_url, row
from reconciler.sandbox.store import Object, Store

router = Router(include_in_schema=False)
REQUESTS_MAX: Final = 40
SHOWN_MAX: Final = 400  # entries of one list; the rest is counted
DEPTH_MAX: Final = 20
_CODES: Final = re.compile(r"[0-9a-fA-F]{4,6}(-[0-9a-fA-F]{4,6})*")  # fewer digits are a text: `42`


def emoji(text: str) -> str:
    """An emoji, also if it is stored as its code: `1f4d6`, or several with hyphens. Any other text is unchanged."""
    if not _CODES.fullmatch(text):
        return text
    codes = [int(code, 16) for code in text.split("-")]
    return "".join(map(chr, codes)) if all(map(_is_character, codes)) else text


def _is_character(code: int) -> bool:
    return code <= sys.maxunicode and not 0xD800 <= code <= 0xDFFF  # the halves of characters cannot be sent


class Sketch:
    """Reads one store for one page."""

    def __init__(self, store: Store, base: str = "") -> None:
        self.store, self.base = store, base
        self.left = 0
        self.more = 0

    def whole(self, requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Everything the template names. `requests`: the last ones, newest first."""
        return {
            "clock": self.store.stamp(),
            "still": self.store.meta("clock") is not None,
            "file": self.store.db.name,
            "organizations": [self._organization(item) for item in self.store.select("organization")],
            "requests": requests,
        }

    def _organization(self, data: Object) -> dict[str, Any]:
        id = data["id"]
        self.left, self.more = SHOWN_MAX, 0
        members, teams = self.store.select("member", organization=id), self.store.select("team", organization=id)
        names = {item["id"]: item["displayName"] for item in members}
        content = self._level(collection_container(id, None), 0)
        sites = self.store.select("site", organization=id, newest=True)
        return {
            "id": id,
            "title": data["title"],
            "members": members[:SHOWN_MAX],
            "members_more": max(0, len(members) - SHOWN_MAX),
            "teams": [
                {"title": item["title"], "people": [names.get(user, user) for user in item["_members"]]} for item in teams[:SHOWN_MAX]
            ],
            "teams_more": max(0, len(teams) - SHOWN_MAX),
            "content": content,
            "content_more": self.more,
            "spaces": self.store.count("space", id),
            "sites": [self._site(item) for item in sites[:SHOWN_MAX]],
            "sites_more": max(0, len(sites) - SHOWN_MAX),
            "saml": self.store.select("saml", organization=id),
            "specs": self.store.select("openapi", organization=id),
        }

    def _level(self, container: str, depth: int) -> list[dict[str, Any]]:
        """One row of siblings of the content tree, with the contents of the collections among them."""
        nodes = []
        row = self.store.mixed(container, most=self.left)
        self.left -= len(row)
        self.more += self.store.count_in(container) - len(row)
        for kind, item in row:
            node = {
                "kind": kind,
                "id": item["id"],
                "title": item["title"],
                "emoji": emoji(item.get("emoji") or ""),
                "gone": self._left_of(item),
            }
            if kind == "collection" and depth < DEPTH_MAX:
                node["inside"] = self._level(container_of(item["id"]), depth + 1)
            nodes.append(node)
        return nodes

    def _left_of(self, data: Object) -> str:
        """Of a deleted space, how long it can still be restored."""
        if not data.get("deletedAt"):
            return ""
        left = datetime.fromisoformat(data["deletedAt"]) + RETENTION - self.store.now()
        days = ceil(left / timedelta(days=1))
        return f"deleted; {days} day{'s' if days != 1 else ''} left to restore it"

    def _site(self, data: Object) -> dict[str, Any]:
        id, gate = data["id"], Gate.of(self.store, data)
        inside = [name for name, reader in GENERAL.items() if gate.opens(reader)]
        return {
            "id": id,
            "title": data["title"],
            "name": data.get("basename") or id,
            "readers": [name for name in inside if name in (inside[0], AGENT)],
            "type": data["type"],
            "visibility": data["visibility"],
            "published": data["published"],
            "address": data.get("_proxy") or published_url(self.base, data),
            "tabs": self._tabs(level(id), 0),
            "pages": self._variants(row(id)),
            "links": [item for _, item in self.store.in_site(id, "share-link")],
        }

    def _tabs(self, container: str, depth: int) -> list[dict[str, Any]]:
        """Sections and groups in the order of the page's top."""
        nodes = []
        for kind, item in self.store.mixed(container):
            node = {"kind": kind, "title": item["title"], "default": item.get("default", False), "condition": item.get("condition") or ""}
            if kind == "group":
                node["inside"] = self._tabs(level("", item["id"]), depth + 1) if depth < DEPTH_MAX else []
            else:
                node |= {"path": item["path"], "pages": self._variants(row("", item["id"]))}
            nodes.append(node)
        return nodes

    def _variants(self, container: str) -> list[dict[str, Any]]:
        placed = self.store.select("site-space", container=container)
        spaces = self.store.find_all("space", (item["_space"] for item in placed))
        return [
            {
                "title": spaces[item["_space"]]["title"] if item["_space"] in spaces else "a deleted space",
                "gone": item["_space"] not in spaces or bool(spaces[item["_space"]].get("deletedAt")),
                "path": item["path"],
                "default": item["default"],
                "condition": item.get("condition") or "",
            }
            for item in placed
        ]


@router.get("/")
async def page(request: Request) -> HTMLResponse:
    service: Service = request.app.state.service
    return rendered("page.html", request, Sketch(service.store, service.base).whole(newest(service, REQUESTS_MAX)))
