"""Revisions of a space and change requests: what each holds, how one comes after another, merging and updating."""

from __future__ import annotations

from collections import Counter
from typing import Any

from reconciler.sandbox.content.merging import files_together, together
from reconciler.sandbox.service import RANKS, Caller, Fault
from reconciler.sandbox.store import Object, Store

REVISION, REQUEST, COMMENT, REPLY = "revision", "change-request", "comment", "comment-reply"
NONE: Object = {"comments": 0, "changeRequests": 0, "changeRequestsOpen": 0, "changeRequestsDraft": 0}  # a space without any
DIGITS = 9  # of the greatest number a change request is looked for by


def requests_of(space: str) -> str:
    """The name of the row of change requests of a space."""
    return f"requests:{space}"


def comments_of(space: str, request: str | None = None) -> str:
    """The name of the row of comments on a space or on one of its change requests."""
    return f"comments:{space}:{request}" if request else f"comments:{space}"


def replies_to(comment: str) -> str:
    return f"replies:{comment}"


# -- finding -----------------------------------------------------------------------------------------------------------------------


def space_of(caller: Caller, id: str, needs: str | None = None) -> Object:
    """A space to read, or one that is not deleted for whoever has at least the role in `needs`."""
    space = caller.get("space", id)
    if needs is not None:
        if caller.rank(space["organization"]) < RANKS.index(needs):
            raise Fault(403, f"you need the role {needs} for this")
        if space.get("deletedAt"):
            raise Fault(404, f"space {id} is deleted")
    return space


def find_request(store: Store, space: str, id: str) -> Object | None:
    """A change request of a space by its id or its number."""
    request = store.find(REQUEST, id)
    if request is not None and request["space"] == space:
        return request
    if id.isascii() and id.isdigit() and len(id) <= DIGITS:
        rows = store.rows(REQUEST, container=requests_of(space))
        # no change request is ever removed, so the nth of the row has the number n
        return rows[int(id) - 1] if 0 < int(id) <= len(rows) else None
    return None


def request_of(caller: Caller, space: Object, id: str) -> Object:
    request = find_request(caller.store, space["id"], id)
    if request is None:
        raise Fault(404, f"change request {id} not found")
    return request


# -- revisions ---------------------------------------------------------------------------------------------------------------------


def current(store: Store, space: Object) -> Object:
    """The revision a space shows, with its pages and files."""
    id = str(space["revision"])
    kept = store.find(REVISION, f"{space['id']}:{id}") or {"id": id, "parents": [], "createdAt": space["createdAt"], "type": "edits"}
    return {**kept, "_space": space["id"], "_pages": space.get("_pages", []), "_files": space.get("_files", [])}


def revision(store: Store, space: Object, id: str) -> Object:
    """Any revision of a space."""
    return store.find(REVISION, f"{space['id']}:{id}") or {**current(store, space), "id": id}


def _keep(store: Store, space: Object, kept: Object) -> Object:
    data = {**kept, "_pk": f"{space['id']}:{kept['id']}"}
    if store.find(REVISION, data["_pk"]) is None:
        return store.add(REVISION, space["organization"], f"revisions:{space['id']}", data)
    store.save(REVISION, data)
    return data


def _after(store: Store, space: Object, parents: list[str], kind: str, pages: list[Any], files: list[Any]) -> Object:
    data = {"id": store.new_id("rev"), "parents": parents, "createdAt": store.stamp(), "type": kind}
    return _keep(store, space, {**data, "_space": space["id"], "_pages": pages, "_files": files})


def write(store: Store, space: Object, pages: list[Any], files: list[Any], kind: str = "edits", other: str | None = None) -> str:
    """Give a space another content. Raises 409 where it is locked."""
    if space.get("editMode") == "locked":
        raise Fault(409, f"space {space['id']} is locked")
    return rewrite(store, space, pages, files, kind, other)


def rewrite(store: Store, space: Object, pages: list[Any], files: list[Any], kind: str = "edits", other: str | None = None) -> str:
    """The same, locked or not: what the service itself writes."""
    parents = [str(space["revision"]), *([other] if other else [])]
    after = _after(store, space, parents, kind, pages, files)
    space |= {"revision": after["id"], "updatedAt": after["createdAt"], "_pages": pages, "_files": files}
    store.save("space", space)
    return str(after["id"])


# -- change requests -----------------------------------------------------------------------------------------------------------------


def propose(store: Store, space: Object, user: str, fields: Object) -> Object:
    """A new change request of a member, with the content the space has now."""
    # the revision that a space shows is not stored until something refers to it: most spaces of a large seed are never edited
    base = _keep(store, space, current(store, space))
    began = _after(store, space, [base["id"]], "edits", base["_pages"], base["_files"])
    request: Object = {
        "id": store.new_id("chg"),
        "number": len(store.rows(REQUEST, container=requests_of(space["id"]))) + 1,
        "status": "draft",
        **fields,
        "createdAt": fields.get("createdAt", began["createdAt"]),
        "updatedAt": fields.get("updatedAt", began["createdAt"]),
        "space": space["id"],
        "revision": began["id"],
        "revisionInitial": base["id"],
        "comments": 0,
        "_by": user,
        "_contributors": [user],
    }
    store.add(REQUEST, space["organization"], requests_of(space["id"]), request)
    recount(store, space)
    return request


def ancestor(request: Object) -> str:
    """The latest revision of the space that a change request knows."""
    return str(request.get("revisionMergedAncestor") or request["revisionInitial"])


def outdated(request: Object, space: Object) -> bool:
    return request["status"] != "merged" and ancestor(request) != str(space["revision"])


def _still_open(request: Object) -> None:
    if request["status"] not in ("draft", "open"):
        raise Fault(409, f"change request {request['id']} is {request['status']}")


def edit(caller: Caller, space: Object, request: Object, pages: list[Any], files: list[Any], kind: str = "edits") -> str:
    """Give a change request another content. Raises 409 where it is merged or archived."""
    _still_open(request)
    store, user = caller.store, caller.member(space["organization"])["id"]
    after = _after(store, space, [request["revision"]], kind, pages, files)
    request |= {"revision": after["id"], "updatedAt": after["createdAt"]}
    request["_contributors"] = list(dict.fromkeys([*request["_contributors"], user]))
    store.save(REQUEST, request)
    return str(after["id"])


def _joined(store: Store, space: Object, request: Object) -> tuple[list[Any], list[Any], list[str]]:
    base, ours = revision(store, space, ancestor(request)), revision(store, space, request["revision"])
    theirs = current(store, space)
    pages, conflicts = together(base["_pages"], ours["_pages"], theirs["_pages"])
    return pages, files_together(base["_files"], ours["_files"], theirs["_files"]), conflicts


def merge(store: Store, space: Object, request: Object) -> Object:
    """Put a change request into its space. Where both changed the same, nothing happens and the answer says so."""
    _still_open(request)
    pages, files, conflicts = _joined(store, space, request)
    # the API reference describes a conflict as an answer 200 with a result, not as an error: a client must look into the body
    if conflicts and outdated(request, space):
        return {"revision": request["revision"], "result": "conflicts"}
    merged = write(store, space, pages, files, "merge", request["revision"])
    _keep(store, space, {**revision(store, space, merged), "_request": request["id"]})
    request |= dict.fromkeys(("revision", "revisionMerged", "revisionMergedAncestor"), merged)
    request |= {"status": "merged", "updatedAt": store.stamp()}
    store.save(REQUEST, request)
    recount(store, space)
    return {"revision": merged, "result": "merge"}


def update(caller: Caller, space: Object, request: Object) -> Object:
    """Pull the space's content into a change request, which keeps what it changed itself, also where both did."""
    _still_open(request)
    if not outdated(request, space):
        return {"revision": request["revision"], "result": "update"}
    pages, files, conflicts = _joined(caller.store, space, request)
    base = _keep(caller.store, space, current(caller.store, space))
    after = edit(caller, space, request, pages, files, "update")
    request["revisionMergedAncestor"] = base["id"]
    caller.store.save(REQUEST, request)
    return {"revision": after, "result": "conflicts" if conflicts else "update"}


# -- what a space counts and takes with it -----------------------------------------------------------------------------------------


def recount(store: Store, space: Object) -> None:
    """Count a space's change requests and its open comments again."""
    status = Counter(request["status"] for request in store.select(REQUEST, container=requests_of(space["id"])))
    space |= {"changeRequests": status.total(), "changeRequestsOpen": status["open"], "changeRequestsDraft": status["draft"]}
    space["comments"] = count_comments(store, comments_of(space["id"]))
    store.save("space", space)


def count_comments(store: Store, container: str) -> int:
    return sum(comment["status"] == "open" for comment in store.select(COMMENT, container=container))


def _all_of(store: Store, space: str) -> list[tuple[str, str]]:
    """Everything that belongs to a space, by kind and key."""
    requests = [data["id"] for data in store.select(REQUEST, container=requests_of(space))]
    keys = [(REQUEST, id) for id in requests]
    keys += [(REVISION, data["_pk"]) for data in store.select(REVISION, container=f"revisions:{space}")]
    for row in (comments_of(space), *(comments_of(space, id) for id in requests)):
        for comment in store.select(COMMENT, container=row):
            keys.append((COMMENT, comment["id"]))
            keys += [(REPLY, data["id"]) for data in store.select(REPLY, container=replies_to(comment["id"]))]
    return keys


def give_away(store: Store, space: str, organization: str) -> None:
    """What belongs to a space goes with it to another organization."""
    for kind, key in _all_of(store, space):
        store.own(kind, key, organization)


def forget(store: Store, space: str) -> None:
    """What belongs to a space goes when it is purged."""
    for kind, key in _all_of(store, space):
        store.remove(kind, key)
