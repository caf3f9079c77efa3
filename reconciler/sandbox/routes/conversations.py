"""Conversations with customers, the issues they raise and the clusters these form."""

from __future__ import annotations

from typing import Any, Literal

from reconciler.sandbox.endpoints import Response, Router
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.workflow import conversations
from reconciler.sandbox.workflow.conversations import KIND
from reconciler.sandbox.workflow.ingestion import Conversation, Ingested

router = Router(prefix="/orgs/{organizationId}", tags=["Conversations"])


@router.get("/conversations-clusters")
async def list_clusters(
    organizationId: str,
    order: Literal["asc", "desc"] = "desc",
    orderBy: Literal["updatedAt", "createdAt", "label"] = "updatedAt",
    paging: Paging = Paged,
    caller: Caller = Calling,
) -> Any:
    found = conversations.clusters(conversations.of(caller, organizationId))
    found.sort(key=conversations.order_of(orderBy), reverse=order == "desc")
    return listing(found, paging, lambda group: conversations.show_cluster(caller, group))


@router.get("/conversations")
async def list_conversations(organizationId: str, source: str | None = None, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    found = [one for one in conversations.of(caller, organizationId) if source is None or one["source"] == source]
    return listing(found, paging, lambda one: conversations.show(caller, one))


@router.post("/conversations", status_code=204)
async def ingest_conversations(organizationId: str, body: Ingested, caller: Caller = Calling) -> Response:
    caller.creator(organizationId)
    given: Any = body
    with caller.store.write():
        for one in given:
            assert isinstance(one, Conversation)
            conversations.ingest(caller.store, organizationId, one)
    return Response(status_code=204)


@router.get("/conversations/{conversationId}")
async def get_conversation(organizationId: str, conversationId: str, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    found = caller.store.find(KIND, f"{organizationId}:{conversationId}")
    if found is None:
        raise Fault(404, f"conversation {conversationId} not found")
    return {"conversation": conversations.show(caller, found), "parts": found["_parts"], "metadata": found["_metadata"]}


@router.get("/conversations-issues")
async def list_issues(
    organizationId: str, cluster: str | None = None, conversation: str | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    found = conversations.of(caller, organizationId)
    found = [one for one in found if conversation is None or one["id"] == conversation]
    found = [one for one in found if cluster is None or conversations.cluster_id(one) == cluster]
    return listing(found, paging, lambda one: conversations.show_issue(caller, one))


@router.get("/conversations-issues/{issueId}")
async def get_issue(organizationId: str, issueId: str, caller: Caller = Calling) -> Any:
    found = next((one for one in conversations.of(caller, organizationId) if conversations.issue_id(one) == issueId), None)
    if found is None:
        raise Fault(404, f"issue {issueId} not found")
    return conversations.show_issue(caller, found)
