"""Ways into an organization: by the domain of an e-mail address, and links that invite."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.organization import accounts
from reconciler.sandbox.service import Caller, Calling, Fault
from reconciler.sandbox.sites.visitors import OUTSIDER, is_member, visiting
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(tags=["Organizations"])
PRIVATE = ("billing", "trial", "blocked", "internal_billingMigration")


@router.delete("/orgs/{organizationId}/link-invites/{inviteId}", status_code=204)
async def remove_link_invite(organizationId: str, inviteId: str, caller: Caller = Calling) -> None:
    caller.admin(organizationId)
    with caller.store.write():
        invite = caller.store.find("link-invite", inviteId)
        if invite is not None and invite["organization"] == organizationId:
            caller.store.remove("link-invite", inviteId)


@router.post("/orgs/{organizationId}/join", status_code=204)
async def join_organization(organizationId: str, caller: Caller = Calling) -> None:
    with caller.store.write():
        organization = caller.store.find("organization", organizationId)
        if organization is not None and caller.belongs(organizationId):
            return
        person = accounts.account(caller.store, caller.user)
        if organization is None or person is None or not accounts.lets_in(organization, accounts.domain(person["email"])):
            raise Fault(404, f"organization {organizationId} not found")
        member = {
            "_pk": f"{organizationId}:{person['id']}",
            "_organization": organizationId,
            **person,
            "role": organization.get("defaultRole"),
            "joinedAt": caller.store.stamp(),
        }
        caller.store.add("member", organizationId, f"members:{organizationId}", member)


@router.get("/email-domains/{emailDomain}/orgs")
async def list_organizations_of_domain(emailDomain: str, caller: Caller = Calling) -> Any:
    at = emailDomain.lower()
    organizations = [item for item in caller.store.select("organization") if accounts.lets_in(item, at)]
    may_join = accounts.own_domain(caller) == at
    return {"organizations": [_shown(caller, item) for item in organizations if may_join or is_member(caller, item["id"])]}


def _shown(caller: Caller, organization: Object) -> Object:
    """The organization; without its money for those who could join it and have not."""
    if is_member(caller, organization["id"]):
        return View(caller).organization(organization)
    outsider = visiting(caller, organization["id"], OUTSIDER)
    return View(outsider).organization({key: value for key, value in organization.items() if key not in PRIVATE})
