"""What GET answers: lists in the order of the service, and single objects."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.service.memory import ROOT, Memory, NoSuchObject, Object, inside, level, variants

LISTED = {"members": "member", "teams": "team", "sites": "site"}
KINDS = {"collections": "collection", "spaces": "space"}
IN_SITE = {"sections": "section", "section-groups": "group", "site-spaces": "site-space", "share-links": "share-link"}


class Listed(list[tuple[str, Object]]):
    """Objects of a list with what shows them; one page of them is sent."""


def read(memory: Memory, parts: tuple[str, ...]) -> Listed | tuple[str, Object]:
    """What a path names. Raises `NoSuchObject`."""
    match parts:
        case ("orgs",):
            return Listed([("organization", memory.get("organization", memory.id))])
        case ("orgs", id):
            return "organization", memory.get("organization", id)
        case ("orgs", _, "collections"):
            return Listed(("collection", data) for data in _nested(memory))
        case ("orgs", _, ("openapi" | "saml")):
            return Listed()
        case ("orgs", _, ("members" | "teams" | "sites") as name):
            return Listed((LISTED[name], data) for data in reversed(memory.all(LISTED[name]).values()))
        case ("orgs", _, ("members" | "teams" | "sites") as name, id):
            return LISTED[name], memory.get(LISTED[name], id)
        case ("orgs", _, "members", user, "spaces"):
            memory.get("member", user)
            return Listed(("reached", data) for data in reversed(memory.all("space").values()) if "deletedAt" not in data)
        case ("orgs", _, "sites", site, name) if name in IN_SITE:
            memory.get("site", site)
            return Listed((IN_SITE[name], data) for data in _in_site(memory, site, IN_SITE[name]))
        case (("collections" | "spaces") as name, id):
            return KINDS[name], memory.get(KINDS[name], id)
        case ("collections", id, "spaces"):
            memory.get("collection", id)
            return Listed(("space", data) for _, data in memory.row(inside(id), "space") if "deletedAt" not in data)
        case ("spaces", id, "content", "pages"):
            page = memory.get("space", id)["_page"]
            return "pages", {"pages": [{"id": page, "title": "Page", "slug": "page", "path": "page", "type": "document", "pages": []}]}
    raise NoSuchObject(f"this service has no /{'/'.join(parts)}")


def _nested(memory: Memory) -> Iterator[Object]:
    """The collections, each before those in it."""
    waiting = [data for _, data in memory.row(ROOT, "collection")][::-1]
    while waiting:
        data = waiting.pop()
        yield data
        waiting += [inner for _, inner in memory.row(inside(data["id"]), "collection")][::-1]


def _in_site(memory: Memory, site: str, kind: str) -> Iterator[Object]:
    if kind == "share-link":
        yield from memory.of(f"links:{site}", kind)[::-1]
    elif kind == "site-space":
        yield from memory.of(variants(site), kind)
        for section in _tree(memory, site, "section"):
            yield from memory.of(variants(site, section["id"]), kind)
    else:
        yield from _tree(memory, site, kind)


def _tree(memory: Memory, site: str, kind: str) -> Iterator[Object]:
    """The sections or the groups of a site in the order of its visitors."""
    waiting = list(memory.row(level(site)))[::-1]
    while waiting:
        found, data = waiting.pop()
        if found == kind:
            yield data
        if found == "group":
            waiting += list(memory.row(level(site, data["id"])))[::-1]
