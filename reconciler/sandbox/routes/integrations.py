"""Integrations: publishing them, installing them, what they reach and the events they were sent."""

from __future__ import annotations

from typing import Annotated, Any

from reconciler.sandbox.endpoints import Query, Response, Router
from reconciler.sandbox.integrations import installations, integrations
from reconciler.sandbox.integrations.publishing import Install, Publish, Tunnel
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(prefix="/integrations", tags=["Integrations"])


@router.get("")
async def list_integrations(
    search: str | None = None,
    category: str | None = None,
    blockDomain: Annotated[list[str] | None, Query()] = None,
    blocks: bool | None = None,
    contentSources: bool | None = None,
    owner: str | None = None,
    scope: str | None = None,
    target: str | None = None,
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    wanted = {"search": search, "category": category, "blockDomain": blockDomain, "blocks": blocks}
    wanted |= {"contentSources": contentSources, "owner": owner, "scope": scope, "target": target}
    view = View(caller)

    def listed(one: Object) -> bool:
        return one["visibility"] == "public" or integrations.belongs(caller, one["_organization"])

    found = [one for one in caller.store.select(integrations.KIND) if integrations.matches(one, wanted) and listed(one)]
    return listing(found, paging, lambda one: integrations.show(caller, one, view))


@router.get("/{integrationName}")
async def get_integration(integrationName: str, caller: Caller = Calling) -> Any:
    return integrations.show(caller, integrations.get(caller, integrationName))


@router.post("/{integrationName}")
async def publish_integration(integrationName: str, body: Publish, caller: Caller = Calling) -> Any:
    with caller.store.write():
        made = integrations.publish(caller, integrationName, body)
    return integrations.show(caller, made)


@router.delete("/{integrationName}", status_code=204)
async def remove_integration(integrationName: str, caller: Caller = Calling) -> Response:
    with caller.store.write():
        integrations.remove(caller, integrationName)
    return Response(status_code=204)


@router.get("/{integrationName}/installations")
async def list_installations(integrationName: str, externalId: str | None = None, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    integration = integrations.get(caller, integrationName)
    found = installations.listed(caller, integrationName, externalId)
    return listing(found, paging, lambda one: installations.show(caller, integration, one))


@router.post("/{integrationName}/installations", status_code=201)
async def install_integration(integrationName: str, body: Install, caller: Caller = Calling) -> Any:
    with caller.store.write():
        integration = integrations.get(caller, integrationName)
        caller.admin(body.organization)
        made = installations.install(caller, integration, body.organization)
    return installations.show(caller, integration, made)


@router.get("/{integrationName}/events")
async def list_integration_events(integrationName: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    integrations.get(caller, integrationName)
    return listing(installations.events(caller, integrationName), paging, installations.show_event)


@router.get("/{integrationName}/events/{eventId}")
async def get_integration_event(integrationName: str, eventId: str, caller: Caller = Calling) -> Any:
    integrations.get(caller, integrationName)
    found = caller.store.find(integrations.EVENT, eventId)
    known = found is not None and found["integrationId"] == integrationName
    if found is None or not known or not integrations.administrates(caller, found["organization"]):
        raise Fault(404, f"integration event {eventId} not found")
    return {"event": installations.show_event(found), "trace": {"logs": found["_logs"]}}


@router.get("/{integrationName}/spaces")
async def list_integration_spaces(
    integrationName: str, externalId: str | None = None, extended: bool = False, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    reached = installations.reached(caller, integrations.get(caller, integrationName), "space", externalId)
    view = View(caller)
    return listing(reached, paging, lambda pair: installations.show_item(view, "space", extended, pair))


@router.get("/{integrationName}/sites")
async def list_integration_sites(
    integrationName: str, externalId: str | None = None, extended: bool = False, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    reached = installations.reached(caller, integrations.get(caller, integrationName), "site", externalId)
    view = View(caller)
    return listing(reached, paging, lambda pair: installations.show_item(view, "site", extended, pair))


@router.put("/{integrationName}/dev", status_code=204)
async def tunnel_integration(integrationName: str, body: Tunnel, caller: Caller = Calling) -> Response:
    with caller.store.write():
        found = integrations.own(caller, integrationName)
        found["_dev"] = {"tunnelUrl": body.tunnelUrl, "all": body.all}
        caller.store.save(integrations.KIND, found)
    return Response(status_code=204)
