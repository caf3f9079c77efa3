"""Agent instructions: what an organization tells its agents, one document."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.content import rich
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling
from reconciler.sandbox.store import Object

router = Router(prefix="/orgs/{organizationId}/agent-instructions", tags=["Organizations"])
KIND = "agent-instructions"


def _show(caller: Caller, organization: str, kept: Object) -> Object:
    urls = {"location": f"{caller.service.base}/v1/orgs/{organization}/agent-instructions"}
    return {"object": KIND, **{name: kept[name] for name in ("instructions", "updatedAt", "updatedBy")}, "urls": urls}


@router.get("")
async def get_agent_instructions(organizationId: str, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    kept = caller.store.find(KIND, organizationId)
    if kept is None:
        created = caller.get("organization", organizationId)["createdAt"]
        kept = {"instructions": rich.empty(), "updatedAt": created, "updatedBy": ""}
    return _show(caller, organizationId, kept)


@router.put("")
async def put_agent_instructions(organizationId: str, body: rich.InstructionsPut, caller: Caller = Calling) -> Any:
    caller.admin(organizationId)
    with caller.store.write():
        kept = {
            "id": organizationId,
            "instructions": body.instructions,
            "updatedAt": caller.store.stamp(),
            "updatedBy": caller.member(organizationId)["id"],
        }
        caller.store.add(KIND, organizationId, f"{KIND}:{organizationId}", kept)
    return _show(caller, organizationId, kept)
