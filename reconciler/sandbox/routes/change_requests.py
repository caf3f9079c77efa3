"""Change requests: proposed edits to a space, with a number in it; changed, updated, merged."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field, StrictStr

from reconciler.sandbox.body import Body, Open
from reconciler.sandbox.content import revisions
from reconciler.sandbox.content.merging import flat
from reconciler.sandbox.content.places import REQUEST, SPACE, Place
from reconciler.sandbox.content.rich import RichDocument
from reconciler.sandbox.content.templates import Template, applied
from reconciler.sandbox.content.views import RequestView
from reconciler.sandbox.endpoints import Query, Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object

router = Router(tags=["Change requests"])
Subject = Annotated[StrictStr, Field(max_length=100)]


class RequestCreate(Body):
    subject: Subject = "Untitled"
    template: Template | None = None
    conversationsIssuesCluster: StrictStr | None = None


class RequestPatch(Open):
    subject: Subject = ""
    description: RichDocument = Field(default_factory=dict)
    status: Literal["draft", "open", "archived"] = "draft"


def _filtered(
    requests: list[Object], status: str, creator: str | None, contributor: str | None, reviewer: str | None, cluster: str | None
) -> list[Object]:
    """Those a list was asked for, the newest first. Nothing here asks anyone for a review."""
    shown = [request for request in requests if request["status"] == status and reviewer is None]
    if creator is not None:
        shown = [request for request in shown if request["_by"] == creator]
    if contributor is not None:
        shown = [request for request in shown if contributor in request["_contributors"]]
    if cluster is not None:
        shown = [request for request in shown if request.get("conversationsIssuesCluster") == cluster]
    return sorted(shown, key=lambda request: (request["createdAt"], request["space"], request["number"]), reverse=True)


Status = Literal["draft", "open", "archived", "merged"]


@router.get(f"{SPACE}/change-requests")
async def list_change_requests(
    spaceId: str,
    status: Status = "open",
    creator: str | None = None,
    contributor: str | None = None,
    requestedReviewer: str | None = None,
    conversationsIssuesCluster: str | None = None,
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    space = revisions.space_of(caller, spaceId)
    requests = caller.store.select(revisions.REQUEST, container=revisions.requests_of(spaceId))
    shown = _filtered(requests, status, creator, contributor, requestedReviewer, conversationsIssuesCluster)
    return listing(shown, paging, RequestView(caller, space).request)


@router.get("/orgs/{organizationId}/change-requests", tags=["Organizations"])
async def list_organization_change_requests(
    organizationId: str,
    status: Status = "open",
    creator: str | None = None,
    contributor: str | None = None,
    requestedReviewer: str | None = None,
    conversationsIssuesCluster: str | None = None,
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    caller.member(organizationId)
    requests = caller.store.select(revisions.REQUEST, organization=organizationId)
    spaces = caller.store.find_all("space", (request["space"] for request in requests))
    requests = [request for request in requests if request["space"] in spaces and not spaces[request["space"]].get("deletedAt")]
    shown = _filtered(requests, status, creator, contributor, requestedReviewer, conversationsIssuesCluster)
    return listing(shown, paging, RequestView(caller, *spaces.values()).request)


@router.post(f"{SPACE}/change-requests", status_code=201)
async def create_change_request(spaceId: str, body: RequestCreate | None = None, caller: Caller = Calling) -> Any:
    body = body or RequestCreate()
    with caller.store.write():
        space = revisions.space_of(caller, spaceId, "edit")
        fields = {"subject": body.subject}
        if body.conversationsIssuesCluster is not None:
            fields["conversationsIssuesCluster"] = body.conversationsIssuesCluster
        request = revisions.propose(caller.store, space, caller.member(space["organization"])["id"], fields)
        if body.template is not None:
            apply_to_request(caller, space, request, body.template, "template.")
    return RequestView(caller, space).request(request)


def apply_to_request(caller: Caller, space: Object, request: Object, template: Template, where: str = "") -> None:
    """Put a template's content into a change request."""
    now = revisions.revision(caller.store, space, request["revision"])
    pages = applied(caller.store, space, template, now["_pages"], now["_files"], where)
    revisions.edit(caller, space, request, pages, now["_files"])


@router.get(REQUEST)
async def get_change_request(spaceId: str, changeRequestId: str, caller: Caller = Calling) -> Any:
    space = revisions.space_of(caller, spaceId)
    return RequestView(caller, space).request(revisions.request_of(caller, space, changeRequestId))


@router.patch(REQUEST)
async def change_change_request(spaceId: str, changeRequestId: str, body: RequestPatch, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = revisions.space_of(caller, spaceId, "edit")
        request = revisions.request_of(caller, space, changeRequestId)
        given = body.given()
        request |= {name: given[name] for name in RequestPatch.model_fields if name in given}
        request["updatedAt"] = caller.store.stamp()
        caller.store.save(revisions.REQUEST, request)
        revisions.recount(caller.store, space)
    return RequestView(caller, space).request(request)


@router.post(f"{REQUEST}/merge")
async def merge_change_request(spaceId: str, changeRequestId: str, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = revisions.space_of(caller, spaceId, "review")
        return revisions.merge(caller.store, space, revisions.request_of(caller, space, changeRequestId))


@router.post(f"{REQUEST}/update")
async def update_change_request(spaceId: str, changeRequestId: str, caller: Caller = Calling) -> Any:
    with caller.store.write():
        space = revisions.space_of(caller, spaceId, "edit")
        return revisions.update(caller, space, revisions.request_of(caller, space, changeRequestId))


@router.get(f"{REQUEST}/pdf")
async def get_pdf(
    spaceId: str,
    changeRequestId: str,
    only: bool = False,
    page: Annotated[str | None, Query(description="The page to begin with")] = None,
    caller: Caller = Calling,
) -> Any:
    if only and page is None:
        raise Fault(400, "only: expected a page to go with it")
    _, revision = Place(caller, spaceId, changeRequestId).content()
    if page is not None and page not in flat(revision["_pages"])[0]:
        raise Fault(404, f"page {page} not found")
    asked = f"?page={quote(page, safe='')}&only={str(only).lower()}" if page is not None else ""
    return {"url": f"{caller.service.base}/pdf/{quote(spaceId)}/{revision['id']}.pdf{asked}"}
