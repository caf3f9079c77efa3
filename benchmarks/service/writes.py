"""What POST, PUT, PATCH and DELETE do: the writes that an apply of the benchmarks' projects sends."""

from __future__ import annotations

from typing import Any

from benchmarks.service import objects
from benchmarks.service.memory import Key, Memory, NoSuchObject, Object, inside, level, variants
from benchmarks.service.reads import IN_SITE, KINDS, LISTED

Answer = tuple[int, str, Object | None]
"""A status, what shows the object, and the object."""

TYPES = {"site-section": "section", "site-section-group": "group"}
CLEARED = {"collection": ("description",), "section": ("condition", "icon", "description"), "site-space": ("condition",)}


def write(memory: Memory, method: str, parts: tuple[str, ...], body: Any) -> Answer:
    """Do what a request asks. Raises `NoSuchObject`."""
    match method, parts:
        case "POST", ("orgs", _, "collections"):
            return 201, "collection", objects.collection(memory, body.get("title") or "Untitled", body.get("parent"))
        case "PUT", ("orgs", _, "teams"):
            return 201, "team", objects.team(memory, body["title"], body.get("members", []))
        case "POST", ("orgs", _, "sites"):
            return 201, "site", objects.site(memory, body)
        case "POST", ("orgs", _, "sites", site, *rest):
            return _in_site(memory, memory.get("site", site), tuple(rest), body)
        case "POST", ("spaces", id, "duplicate"):
            return 201, "space", objects.duplicate(memory, memory.get("space", id))
        case "POST", ("spaces", id, "restore"):
            memory.get("space", id).pop("deletedAt", None)
            memory.changed()
            return 200, "space", memory.get("space", id)
        case "POST", (("collections" | "spaces") as name, id, "move"):
            return 200, KINDS[name], _move_content(memory, KINDS[name], memory.get(KINDS[name], id), body)
        case (("PATCH" | "DELETE"), _):
            kind, id = _named(parts)
            if method == "DELETE":
                _delete(memory, kind, id)
                return 204, kind, None
            return 200, kind, _change(memory, kind, memory.get(kind, id), body)
    raise NoSuchObject(f"this service has no {method} /{'/'.join(parts)}")


def _named(parts: tuple[str, ...]) -> Key:
    match parts:
        case ("orgs", id):
            return "organization", id
        case ("orgs", _, name, id) if name in LISTED:
            return LISTED[name], id
        case ("orgs", _, "sites", _, name, id) if name in IN_SITE:
            return IN_SITE[name], id
        case (name, id) if name in KINDS:
            return KINDS[name], id
    raise NoSuchObject(f"this service has no /{'/'.join(parts)}")


def _in_site(memory: Memory, site: Object, rest: tuple[str, ...], body: Any) -> Answer:
    match rest:
        case ("publish",):
            return 200, "site", _change(memory, "site", site, {"published": True})
        case ("sections",):
            return 201, "section", objects.section(memory, site, body)
        case ("section-groups",):
            return 201, "group", objects.group(memory, site, body)
        case ("share-links",):
            return 201, "share-link", objects.share_link(memory, site, body)
        case ("site-spaces",):
            shown, section = memory.get("space", body["spaceId"]), body.get("sectionId")
            return 201, "site-space", objects.site_space(memory, site, shown, section)
        case ("section-groups", id, "sections"):
            group = memory.get("group", id)
            objects.join(memory, site, group, memory.get("section", body["sectionId"]))
            return 201, "group", group
        case (("sections" | "section-groups" | "site-spaces") as name, id, "move"):
            kind = IN_SITE[name]
            data = memory.get(kind, id)
            at = variants(site["id"], data.get("section")) if kind == "site-space" else level(site["id"], data.get("sectionGroup"))
            memory.place(kind, data, at, **_anchors(body))
            return 200, kind, data
    raise NoSuchObject(f"this service has no POST /{'/'.join(rest)}")


def _anchors(body: Any) -> dict[str, Key | None]:
    """The sibling of a position: what is beside its type is its id."""
    anchors: dict[str, Key | None] = {}
    for side, anchor in (body or {}).get("position", {}).items():
        if anchor is not None:
            anchors[side] = (TYPES.get(anchor["type"], anchor["type"]), next(value for key, value in anchor.items() if key != "type"))
    return anchors


def _move_content(memory: Memory, kind: str, data: Object, body: Any) -> Object:
    parent = body["parent"] if "parent" in body else data.get("parent")
    if parent is not None:
        memory.get("collection", parent)
    memory.place(kind, data, inside(parent), **_anchors(body))
    data.pop("parent", None)
    if parent is not None:
        data["parent"] = parent
    if kind == "space" and data["visibility"] in ("private", "in-collection"):
        data["visibility"] = "private" if parent is None else "in-collection"
    return data


def _change(memory: Memory, kind: str, data: Object, body: Any) -> Object:
    memory.changed()
    body = dict(body)
    for name, other in (("defaultSiteSection", "section"), ("defaultSiteSpace", "site-space")):
        if name in body:
            chosen = memory.get(other, body.pop(name))
            for sibling in memory.of(chosen["_row"], other):
                sibling["default"] = sibling is chosen
    if "spaceId" in body:
        data["_space"] = memory.get("space", body.pop("spaceId"))["id"]
    data |= body
    if kind == "space":
        data["emoji"] = data["emoji"] or ""
    for name in CLEARED.get(kind, ()):
        if not data.get(name):
            data.pop(name, None)
    return data


def _delete(memory: Memory, kind: str, id: str) -> None:
    if kind == "space" and id in memory.all(kind):
        memory.get(kind, id)["deletedAt"] = memory.stamp()
        memory.changed()
        return
    for inner, data in list(memory.row(f"{kind}:{id}")):
        _delete(memory, inner, data["id"])
    memory.remove(kind, id)
