"""The adaptive schema of a site: what may be known of its visitors, and the conditions that follow from it."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.body import Open
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Fault
from reconciler.sandbox.sites import structure, visitor_schema
from reconciler.sandbox.store import Object

router = Router(prefix="/orgs/{organizationId}/sites/{siteId}/adaptive-schema", tags=["Site adaptive schema"])


class SchemaPut(Open):
    jsonSchema: dict[str, Any]


def _show(kept: Object) -> Object:
    return {"object": "site-adaptive-schema", **kept}


@router.get("")
async def get_adaptive_schema(organizationId: str, siteId: str, caller: Caller = Calling) -> Any:
    site = structure.site_of(caller, organizationId, siteId)
    if "_adaptiveSchema" not in site:
        raise Fault(404, f"site {siteId} has no adaptive schema")
    return _show(site["_adaptiveSchema"])


@router.put("")
async def put_adaptive_schema(organizationId: str, siteId: str, body: SchemaPut, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        site = structure.site_of(caller, organizationId, siteId)
        visitor_schema.check(body.jsonSchema)
        site["_adaptiveSchema"] = {"jsonSchema": body.jsonSchema, "updatedAt": caller.store.stamp()}
        caller.store.save("site", site)
    return _show(site["_adaptiveSchema"])


@router.get("/template-conditions")
async def list_template_conditions(organizationId: str, siteId: str, caller: Caller = Calling) -> Any:
    site = structure.site_of(caller, organizationId, siteId)
    schema = site.get("_adaptiveSchema")
    return {"items": visitor_schema.conditions(schema["jsonSchema"]) if schema else []}
