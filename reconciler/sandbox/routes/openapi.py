"""OpenAPI specifications: documents the service fetches and processes by and by."""

from __future__ import annotations

import re
from typing import Any

from reconciler.sandbox.bodies import SpecCreate, SpecPatch, SpecPut, SpecSource
from reconciler.sandbox.endpoints import Response, Router
from reconciler.sandbox.integrations import specs
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.sites.visitors import spec_reader
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(prefix="/orgs/{organizationId}/openapi", tags=["OpenAPI specifications"])


def _find(caller: Caller, organization: str, slug: str) -> Object | None:
    caller.member(organization)
    return next((item for item in caller.store.select("openapi", organization=organization) if item["slug"] == slug), None)


def _get(caller: Caller, organization: str, slug: str) -> Object:
    spec = _find(caller, organization, slug)
    if spec is None:
        raise Fault(404, f"OpenAPI specification {slug} not found")
    return spec


def _create(caller: Caller, organization: str, slug: str, source: SpecSource) -> Object:
    spec = {
        "id": caller.store.new_id("spec"),
        "slug": slug,
        "createdAt": caller.store.stamp(),
        "visibility": "private",
        "organization": organization,
    }
    return caller.store.add("openapi", organization, f"openapi:{organization}", specs.begin(caller.store, spec, source.url, source.text))


@router.get("")
async def list_specs(organizationId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    view = View(caller)
    documents = caller.store.select("openapi", organization=organizationId)
    return listing(documents, paging, lambda item: specs.show(caller, item, view))


@router.post("", status_code=201)
async def create_spec(organizationId: str, body: SpecCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        if _find(caller, organizationId, body.slug) is not None:
            raise Fault(400, f"slug: {body.slug} is taken")
        spec = _create(caller, organizationId, body.slug, body.source)
    return specs.show(caller, spec)


@router.get("/{specSlug}")
async def get_spec(organizationId: str, specSlug: str, caller: Caller = Calling) -> Any:
    caller = spec_reader(caller, organizationId, specSlug)
    return specs.show(caller, _get(caller, organizationId, specSlug))


@router.put("/{specSlug}")
async def put_spec(organizationId: str, specSlug: str, body: SpecPut, response: Response, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        spec = _find(caller, organizationId, specSlug)
        if spec is None:
            if not re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*", specSlug) or len(specSlug) > 100:
                raise Fault(400, "slug: alphanumeric groups separated by single hyphens, 1 to 100 characters")
            response.status_code = 201
            spec = _create(caller, organizationId, specSlug, body.source)
        else:
            spec = specs.begin(caller.store, spec, body.source.url, body.source.text)
            caller.store.save("openapi", spec)
    return specs.show(caller, spec)


@router.delete("/{specSlug}", status_code=204)
async def remove_spec(organizationId: str, specSlug: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        spec = _find(caller, organizationId, specSlug)
        if spec is not None:
            specs.keep_file(caller.store, spec)
            caller.store.remove("openapi", spec["id"])


@router.patch("/{specSlug}")
async def change_spec(organizationId: str, specSlug: str, body: SpecPatch, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        spec = _get(caller, organizationId, specSlug)
        spec |= body.given()
        spec["updatedAt"] = caller.store.stamp()
        caller.store.save("openapi", spec)
    return specs.show(caller, spec)
