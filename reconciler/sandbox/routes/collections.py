"""Collections: folders of spaces and of other collections, in one order with the spaces beside them."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import CollectionCreate, CollectionPatch, ContentMove, Transfer
from reconciler.sandbox.content.tree import collection_container, container_of, delete_collection, give, move_content
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.organization.levels import GRANTS, granted_to
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.views import View

router = Router(tags=["Collections"])


@router.get("/collections/{collectionId}")
async def get_collection(collectionId: str, caller: Caller = Calling) -> Any:
    return View(caller).collection(caller.get("collection", collectionId))


@router.delete("/collections/{collectionId}", status_code=204)
async def remove_collection(collectionId: str, caller: Caller = Calling) -> None:
    with caller.store.write():
        if caller.store.find("collection", collectionId) is not None:
            caller.creator(caller.get("collection", collectionId)["organization"])
            delete_collection(caller.store, collectionId)


@router.patch("/collections/{collectionId}")
async def change_collection(collectionId: str, body: CollectionPatch, caller: Caller = Calling) -> Any:
    with caller.store.write():
        collection = caller.get("collection", collectionId)
        caller.creator(collection["organization"])
        collection |= body.given()
        if not collection.get("description"):
            collection.pop("description", None)
        caller.store.save("collection", collection)
    return View(caller).collection(collection)


@router.get("/collections/{collectionId}/spaces")
async def list_collection_spaces(collectionId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    caller.get("collection", collectionId)
    spaces = caller.store.rows("space", container=container_of(collectionId), alive=True)
    return listing(spaces, paging, View(caller).space)


@router.post("/collections/{collectionId}/move")
async def move_collection(collectionId: str, body: ContentMove, caller: Caller = Calling) -> Any:
    with caller.store.write():
        collection = caller.get("collection", collectionId)
        caller.creator(collection["organization"])
        collection = move_content(caller, "collection", collection, body)
    return View(caller).collection(collection)


@router.post("/collections/{collectionId}/transfer")
async def transfer_collection(collectionId: str, body: Transfer, caller: Caller = Calling) -> Any:
    with caller.store.write():
        collection = caller.get("collection", collectionId)
        caller.admin(collection["organization"])
        caller.admin(body.organization)
        if body.organization == collection["organization"]:
            raise Fault(409, f"collection {collectionId} belongs to {body.organization} already")
        collection = give(caller.store, "collection", collection, body.organization)
    return View(caller).collection(collection)


@router.get("/orgs/{organizationId}/collections")
async def list_collections(organizationId: str, nested: bool = True, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    by_parent: dict[str | None, list[dict[str, Any]]] = {}
    for item in caller.store.select("collection", organization=organizationId):
        by_parent.setdefault(item.get("parent"), []).append(item)
    ordered: list[dict[str, Any]] = []
    waiting = list(reversed(by_parent.get(None, [])))
    while waiting:
        ordered.append(waiting.pop())
        if nested:
            waiting += reversed(by_parent.get(ordered[-1]["id"], []))
    return listing(ordered, paging, View(caller).collection)


@router.post("/orgs/{organizationId}/collections", status_code=201)
async def create_collection(organizationId: str, body: CollectionCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        collection: dict[str, Any] = {
            "id": caller.store.new_id("col"),
            "title": body.given().get("title") or "Untitled",
            "organization": organizationId,
            "defaultLevel": "inherit",
            GRANTS: granted_to(caller.user),
        }
        if body.parent is not None:
            caller.get("collection", body.parent, organizationId)
            collection["parent"] = body.parent
        caller.store.add("collection", organizationId, collection_container(organizationId, body.parent), collection)
    return View(caller).collection(collection)
