"""Spaces: made as copies, moved, deleted softly, restored."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.bodies import ContentMove, SpacePatch, Transfer
from reconciler.sandbox.content.tree import delete_space, duplicate, give, move_content, restore
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault
from reconciler.sandbox.sites.visitors import space_reader
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(tags=["Spaces"])


def _active(caller: Caller, id: str) -> Object:
    space = caller.get("space", id)
    caller.creator(space["organization"])
    if space.get("deletedAt"):
        raise Fault(404, f"space {id} is deleted")
    return space


@router.get("/spaces/{spaceId}")
async def get_space(spaceId: str, shareKey: str | None = None, caller: Caller = Calling) -> Any:
    caller = space_reader(caller, spaceId, shareKey)
    return View(caller).space(caller.get("space", spaceId))


@router.delete("/spaces/{spaceId}", status_code=204)
async def remove_space(spaceId: str, caller: Caller = Calling) -> None:
    with caller.store.write():
        if caller.store.find("space", spaceId) is not None:
            space = caller.get("space", spaceId)
            caller.creator(space["organization"])
            delete_space(caller.store, space)


@router.patch("/spaces/{spaceId}")
async def change_space(spaceId: str, body: SpacePatch, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = _active(caller, spaceId)
        space |= body.given()
        space["emoji"] = space.get("emoji") or ""
        space["updatedAt"] = caller.store.stamp()
        caller.store.save("space", space)
    return View(caller).space(space)


@router.post("/spaces/{spaceId}/duplicate", status_code=201)
async def duplicate_space(spaceId: str, caller: Caller = Calling) -> Any:
    with caller.store.write():
        copied = duplicate(caller.store, _active(caller, spaceId), caller.user)
    return View(caller).space(copied)


@router.post("/spaces/{spaceId}/restore")
async def restore_space(spaceId: str, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = caller.get("space", spaceId)
        caller.creator(space["organization"])
        space = restore(caller.store, space)
    return View(caller).space(space)


@router.post("/spaces/{spaceId}/move")
async def move_space(spaceId: str, body: ContentMove, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = move_content(caller, "space", _active(caller, spaceId), body)
    return View(caller).space(space)


@router.post("/spaces/{spaceId}/transfer")
async def transfer_space(spaceId: str, body: Transfer, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = _active(caller, spaceId)
        caller.admin(space["organization"])
        caller.admin(body.organization)
        if body.organization == space["organization"]:
            raise Fault(409, f"space {spaceId} belongs to {body.organization} already")
        space = give(caller.store, "space", space, body.organization)
    return View(caller).space(space)
