"""Integrations: publishing them, installing them, what they reach and the events they were sent."""

from __future__ import annotations

from typing import Annotated, Any

from reconciler.sandbox.endpoints import Query, Router
from reconciler.sandbox.integrations import installations, integrations
from reconciler.sandbox.integrations.publishing import Install, Publish, Tunnel
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites.visitors import is_member
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

    def listed(integration: Object) -> bool:
        return integration["visibility"] == "public" or is_member(caller, integration["_organization"])

    published = [item for item in caller.store.select(integrations.KIND) if integrations.matches(item, wanted) and listed(item)]
    return listing(published, paging, lambda integration: integrations.show(caller, integration, view))


@router.get("/{integrationName}")
async def get_integration(integrationName: str, caller: Caller = Calling) -> Any:
    return integrations.show(caller, integrations.get(caller, integrationName))


@router.post("/{integrationName}")
async def publish_integration(integrationName: str, body: Publish, caller: Caller = Calling) -> Any:
    with caller.store.write():
        integration = integrations.publish(caller, integrationName, body)
    return integrations.show(caller, integration)


@router.delete("/{integrationName}", status_code=204)
async def remove_integration(integrationName: str, caller: Caller = Calling) -> None:
    with caller.store.write():
        integrations.remove(caller, integrationName)


@router.get("/{integrationName}/installations")
async def list_installations(integrationName: str, externalId: str | None = None, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    integration = integrations.get(caller, integrationName)
    items = installations.listed(caller, integrationName, externalId)
    return listing(items, paging, lambda installation: installations.show(caller, integration, installation))


@router.post("/{integrationName}/installations", status_code=201)
async def install_integration(integrationName: str, body: Install, caller: Caller = Calling) -> Any:
    with caller.store.write():
        integration = integrations.get(caller, integrationName)
        caller.admin(body.organization)
        installation = installations.install(caller, integration, body.organization)
    return installations.show(caller, integration, installation)


@router.get("/{integrationName}/events")
async def list_integration_events(integrationName: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    integrations.get(caller, integrationName)
    return listing(installations.events(caller, integrationName), paging, installations.show_event)


@router.get("/{integrationName}/events/{eventId}")
async def get_integration_event(integrationName: str, eventId: str, caller: Caller = Calling) -> Any:
    integrations.get(caller, integrationName)
    event = caller.store.find(integrations.EVENT, eventId)
    known = event is not None and event["integrationId"] == integrationName
    if event is None or not known or not integrations.administrates(caller, event["organization"]):
        raise Fault(404, f"integration event {eventId} not found")
    return {"event": installations.show_event(event), "trace": {"logs": event["_logs"]}}


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
async def tunnel_integration(integrationName: str, body: Tunnel, caller: Caller = Calling) -> None:
    with caller.store.write():
        integration = integrations.own(caller, integrationName)
        integration["_dev"] = {"tunnelUrl": body.tunnelUrl, "all": body.all}
        caller.store.save(integrations.KIND, integration)
