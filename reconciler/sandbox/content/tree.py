"""The tree of collections and spaces: where things stand, moves, copies, deletes and the seven days after."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from reconciler.sandbox.bodies import CollectionAnchor, ContentMove, SpaceAnchor
from reconciler.sandbox.content import revisions
from reconciler.sandbox.organization.levels import GRANTS, granted_to
from reconciler.sandbox.service import Caller, Fault
from reconciler.sandbox.sites.structure import remove_site_space
from reconciler.sandbox.store import Object, Store

RETENTION = timedelta(days=7)


def container_of(collection: str) -> str:
    return f"collection:{collection}"


def collection_container(organization: str, parent: str | None) -> str:
    """The name of the row of siblings below a parent, or at the root."""
    return container_of(parent) if parent else f"root:{organization}"


def inside_of(store: Store, collection: str) -> Iterator[tuple[str, Object]]:
    """Everything in a collection, at any depth."""
    waiting = [collection]
    while waiting:
        for kind, item in store.mixed(container_of(waiting.pop())):
            yield kind, item
            if kind == "collection":
                waiting.append(item["id"])


def leave_sites(store: Store, space: str, organization: str) -> None:
    """Take a space out of the sites of an organization."""
    for site_space in store.select("site-space", organization=organization):
        if site_space["_space"] == space:
            remove_site_space(store, site_space)


def give(store: Store, kind: str, data: Object, organization: str) -> Object:
    """Give a collection or a space to another organization, with all it contains: it comes last at the top there."""
    data.pop("parent", None)
    store.place(kind, data["id"], f"root:{organization}")
    if kind == "space":
        # "in-collection" means nothing at the root, and the new organization has its own collections
        data["visibility"] = _visibility(data.get("visibility", "private"), None)
        data["updatedAt"] = store.stamp()
    given = owner(store, kind, data, organization)
    if kind == "collection":
        for inner, item in inside_of(store, data["id"]):
            owner(store, inner, item, organization)
    return given


def owner(store: Store, kind: str, data: Object, organization: str) -> Object:
    """Give an object to another organization; a space leaves the sites of the one it had."""
    if kind == "space":
        leave_sites(store, data["id"], data["organization"])
        revisions.give_away(store, data["id"], organization)
    data["organization"] = organization
    data.pop(GRANTS, None)  # to people and teams of the organization that it had
    store.save(kind, data)
    store.own(kind, data["id"], organization)
    return data


def move_content(caller: Caller, kind: str, data: Object, body: ContentMove) -> Object:
    """Move a collection or a space; `parent` absent stays, null is the root; no position is the end."""
    store, organization = caller.store, data["organization"]
    given = body.given()
    parent = given["parent"] if "parent" in given else data.get("parent")
    if parent is not None:
        caller.get("collection", parent, organization)
        at: str | None = parent
        # a collection inside itself would be in no list any more, and nothing could move it out again
        while at is not None and kind == "collection":
            if at == data["id"]:
                raise Fault(400, "parent is the collection itself or inside it")
            at = (store.find("collection", at) or {}).get("parent")
    before, after = body.position.before, body.position.after
    if before is not None and after is not None:
        raise Fault(400, "position has both before and after")
    anchors = {"before": _anchor(before), "after": _anchor(after)}
    if (kind, data["id"]) in anchors.values():
        raise Fault(400, "position names the moved object itself")
    if parent is None:
        data.pop("parent", None)
    else:
        data["parent"] = parent
    if not store.place(kind, data["id"], collection_container(organization, parent), **anchors):
        raise Fault(400, "position names an object that is not a sibling")
    if kind == "space":
        data["visibility"] = _visibility(data.get("visibility", "private"), parent)
        data["updatedAt"] = store.stamp()
    store.save(kind, data)
    return data


def _anchor(named: SpaceAnchor | CollectionAnchor | None) -> tuple[str, str] | None:
    if named is None:
        return None
    return ("space", named.space) if isinstance(named, SpaceAnchor) else ("collection", named.collection)


def _visibility(now: str, parent: str | None) -> str:
    if parent is None and now == "in-collection":
        return "private"
    return "in-collection" if parent is not None and now == "private" else now


def delete_collection(store: Store, collection: str) -> None:
    """Delete a collection with all it holds; the spaces in it softly."""
    for kind, item in list(inside_of(store, collection)):
        if kind == "space":
            delete_space(store, item)
        else:
            store.remove("collection", item["id"])
    store.remove("collection", collection)


def delete_space(store: Store, data: Object) -> None:
    if not data.get("deletedAt"):
        # the API reference deletes spaces softly: they are read and restored for seven days, so only the purge removes the row
        data["deletedAt"] = store.stamp()
        store.save("space", data)


def purge(store: Store) -> None:
    """Remove the spaces whose seven days are over, and their places in sites."""
    limit = store.now() - RETENTION
    # every request passes here: it must not take the write lock unless there is something to remove
    if not _due(store, limit):
        return
    with store.write():
        for item in _due(store, limit):
            store.remove("space", item["id"])
            revisions.forget(store, item["id"])
            leave_sites(store, item["id"], item["organization"])


def _due(store: Store, limit: datetime) -> list[Object]:
    return [item for item in store.deleted() if datetime.fromisoformat(item["deletedAt"]) <= limit]


def restore(store: Store, data: Object) -> Object:
    """Put a deleted space back where it was, or at the root if its collection was deleted."""
    data.pop("deletedAt", None)
    parent = data.get("parent")
    # the collection may have been deleted while the space waited to be restored
    if parent is not None and store.find("collection", parent) is None:
        data.pop("parent")
        data["visibility"] = _visibility(data["visibility"], None)
        store.place("space", data["id"], f"root:{data['organization']}")
    store.save("space", data)
    return data


def new_space(store: Store, organization: str, title: str, *, id: str | None = None, parent: str | None = None) -> Object:
    """A space with one page, not yet in the store."""
    now = store.stamp()
    space: Object = {
        "id": id or store.new_id("spc"),
        "title": title,
        "emoji": "",
        "visibility": "in-collection" if parent else "private",
        "createdAt": now,
        "updatedAt": now,
        "editMode": "live",
        "mergeRules": {"type": "inherit"},
        "organization": organization,
        "language": "en",
        "revision": store.new_id("rev"),
        "defaultLevel": None,
        **revisions.NONE,
        "_pages": [{"id": store.new_id("pag"), "title": "Page", "slug": "page", "path": "page", "type": "document", "pages": []}],
    }
    if parent is not None:
        space["parent"] = parent
    return space


def duplicate(store: Store, source: Object, user: str | None = None) -> Object:
    """A copy beside its source, after the siblings, with the content and with new ids. What people were given there is not copied; `user`,
    who makes the copy, is given it."""
    copied = copy.deepcopy(source)
    now = store.stamp()
    copied |= {"id": store.new_id("spc"), "title": f"Copy of {source['title']}"[:50], "createdAt": now, "updatedAt": now}
    copied |= {"revision": store.new_id("rev"), **revisions.NONE, GRANTS: granted_to(user)}
    copied["_pages"] = fresh(store, copied["_pages"])
    copied.pop("deletedAt", None)
    return store.add("space", copied["organization"], collection_container(copied["organization"], copied.get("parent")), copied)


def fresh(store: Store, pages: list[Any]) -> list[Any]:
    """The pages with new ids."""
    return [{**page, "id": store.new_id("pag"), "pages": fresh(store, page.get("pages", []))} for page in pages]
