"""A member says that they are there, and learns what the organization's sites may know of them."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.organization.claims import visitor_claims
from reconciler.sandbox.service import Caller, Calling

router = Router(prefix="/orgs/{organizationId}/ping", tags=["Organization members"])


@router.post("")
async def ping_organization(organizationId: str, caller: Caller = Calling) -> Any:
    with caller.store.write():
        member = caller.member(organizationId)
        # the control token acts as an admin, and is nobody who could be seen in the list of members
        if caller.user is None:
            return {}
        member["_seenAt"] = caller.store.stamp()
        caller.store.save("member", member)
    return {"serviceVisitorClaims": visitor_claims(caller.store, organizationId, member)}
