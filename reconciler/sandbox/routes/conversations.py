"""Conversations with customers, the issues they raise and the clusters these form."""

from __future__ import annotations

from typing import Any, Literal

from reconciler.sandbox.endpoints import Router
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
    groups = conversations.clusters(conversations.of(caller, organizationId))
    groups.sort(key=conversations.order_of(orderBy), reverse=order == "desc")
    return listing(groups, paging, lambda group: conversations.show_cluster(caller, group))


@router.get("/conversations")
async def list_conversations(organizationId: str, source: str | None = None, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    items = [item for item in conversations.of(caller, organizationId) if source is None or item["source"] == source]
    return listing(items, paging, lambda item: conversations.show(caller, item))


@router.post("/conversations", status_code=204)
async def ingest_conversations(organizationId: str, body: Ingested, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    given: Any = body
    with caller.store.write():
        for conversation in given:
            assert isinstance(conversation, Conversation)
            conversations.ingest(caller.store, organizationId, conversation)


@router.get("/conversations/{conversationId}")
async def get_conversation(organizationId: str, conversationId: str, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    item = caller.store.find(KIND, f"{organizationId}:{conversationId}")
    if item is None:
        raise Fault(404, f"conversation {conversationId} not found")
    return {"conversation": conversations.show(caller, item), "parts": item["_parts"], "metadata": item["_metadata"]}


@router.get("/conversations-issues")
async def list_issues(
    organizationId: str, cluster: str | None = None, conversation: str | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    items = conversations.of(caller, organizationId)
    items = [item for item in items if conversation is None or item["id"] == conversation]
    items = [item for item in items if cluster is None or conversations.cluster_id(item) == cluster]
    return listing(items, paging, lambda item: conversations.show_issue(caller, item))


@router.get("/conversations-issues/{issueId}")
async def get_issue(organizationId: str, issueId: str, caller: Caller = Calling) -> Any:
    item = next((candidate for candidate in conversations.of(caller, organizationId) if conversations.issue_id(candidate) == issueId), None)
    if item is None:
        raise Fault(404, f"issue {issueId} not found")
    return conversations.show_issue(caller, item)
