"""What creates objects: the defaults of each kind, as the sandbox has them."""

from __future__ import annotations

from typing import Any

from benchmarks.service.memory import Memory, Object, free_path, inside, level, variants

NONE = {"comments": 0, "changeRequests": 0, "changeRequestsOpen": 0, "changeRequestsDraft": 0}


def empty(organization: str, title: str) -> Memory:
    """An organization with its title, one admin and the space `spc_blank`."""
    memory = Memory(organization)
    memory.add(
        "organization",
        "organizations",
        {
            "id": organization,
            "title": title,
            "createdAt": memory.stamp(),
            "emailDomains": [],
            "hostname": organization.lower().replace("_", "-")[:32],
            "type": "business",
            "useCase": "internalDocs",
            "defaultRole": "read",
            "sso": False,
            "ai": False,
            "inviteLinks": True,
            "plan": "free_2024",
            "mergeRules": {"type": "none"},
        },
    )
    member(memory, "usr_ada", "ada@acme.example", "admin")
    space(memory, "Blank", id="spc_blank")
    return memory


def member(memory: Memory, id: str, email: str, role: str | None) -> Object:
    data = {"id": id, "email": email, "displayName": email.split("@")[0], "role": role, "joinedAt": memory.stamp()}
    return memory.add("member", "members", data)


def team(memory: Memory, title: str, members: list[str]) -> Object:
    data = {"id": memory.new_id("team"), "title": title, "createdAt": memory.stamp(), "_members": members}
    return memory.add("team", "teams", data)


def collection(memory: Memory, title: str, parent: str | None) -> Object:
    if parent is not None:
        memory.get("collection", parent)
    data: Object = {"id": memory.new_id("col"), "title": title, "organization": memory.id, "defaultLevel": "inherit"}
    if parent is not None:
        data["parent"] = parent
    return memory.add("collection", inside(parent), data)


def space(memory: Memory, title: str, *, id: str | None = None, parent: str | None = None, **more: Any) -> Object:
    data: Object = {
        "id": id or memory.new_id("spc"),
        "title": title,
        "emoji": "",
        "visibility": "in-collection" if parent else "private",
        "createdAt": memory.stamp(),
        "updatedAt": memory.stamp(),
        "editMode": "live",
        "mergeRules": {"type": "inherit"},
        "organization": memory.id,
        "language": "en",
        "revision": memory.new_id("rev"),
        "defaultLevel": None,
        **NONE,
        "_page": memory.new_id("pag"),
        **more,
    }
    if parent is not None:
        data["parent"] = parent
    return memory.add("space", inside(parent), data)


def duplicate(memory: Memory, source: Object) -> Object:
    """A copy beside its source."""
    kept = {
        name: value for name, value in source.items() if name not in ("id", "title", "deletedAt", "parent", "_page", "revision", "_row")
    }
    return space(memory, f"Copy of {source['title']}"[:50], parent=source.get("parent"), **kept)


def site(memory: Memory, body: Object) -> Object:
    title = body.get("title", "Untitled")
    taken = memory.names.setdefault("basename", set())
    data: Object = {
        "id": memory.new_id("site"),
        "type": body.get("type", "basic"),
        "title": title,
        "basename": free_path(title, taken),
        "visibility": body.get("visibility", "public"),
        "published": False,
        "createdAt": memory.stamp(),
        "adaptiveContent": {"enabled": False},
        "ads": {"status": "pending", "submittable": False},
        "agentsContext": "excluded",
        "features": [],
    }
    taken.add(data["basename"])
    memory.add("site", "sites", data)
    for id in body.get("spaces", ()):
        site_space(memory, data, memory.get("space", id), None)
    return data


def site_space(memory: Memory, site: Object, space: Object, section: str | None) -> Object:
    """Put a space into a section or at the root of a site; the first in its row becomes the default."""
    siblings = memory.of(variants(site["id"], section), "site-space")
    data: Object = {
        "id": memory.new_id("sitesp"),
        "path": free_path(space["title"], {sibling["path"] for sibling in siblings}),
        "default": not siblings,
        "_site": site["id"],
        "_space": space["id"],
    }
    if section is not None:
        data["section"] = section
    return memory.add("site-space", variants(site["id"], section), data)


def section(memory: Memory, site: Object, body: Object) -> Object:
    """A section with its first variant. Raises `NoSuchObject` where its space does not exist."""
    shown = memory.get("space", body["spaceId"])
    title = body.get("title", "Untitled")
    taken = memory.names.setdefault(site["id"], set())
    data: Object = {
        "id": memory.new_id("sitesc"),
        "title": title,
        "path": free_path(title, taken),
        "default": not taken,
        "_site": site["id"],
    }
    taken.add(data["path"])
    if body.get("icon"):
        data["icon"] = body["icon"]
    memory.add("section", level(site["id"]), data)
    site_space(memory, site, shown, data["id"])
    return data


def group(memory: Memory, site: Object, body: Object) -> Object:
    data: Object = {"id": memory.new_id("sitesg"), "title": body.get("title", "Untitled"), "_site": site["id"]}
    if body.get("icon"):
        data["icon"] = body["icon"]
    if body.get("parent"):
        data["sectionGroup"] = body["parent"]
    return memory.add("group", level(site["id"], body.get("parent")), data)


def join(memory: Memory, site: Object, group: Object, section: Object) -> None:
    """Put a section into a group, after those in it."""
    section["sectionGroup"] = group["id"]
    memory.place("section", section, level(site["id"], group["id"]))


def share_link(memory: Memory, site: Object, body: Object) -> Object:
    data: Object = {
        "id": memory.new_id("link"),
        "createdAt": memory.stamp(),
        "name": body["name"],
        "active": True,
        "_site": site["id"],
        "_secret": memory.new_id("secret"),
    }
    return memory.add("share-link", f"links:{site['id']}", data)
