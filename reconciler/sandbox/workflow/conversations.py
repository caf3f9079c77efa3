"""Conversations, the issue each is about, and the clusters of issues with the same subject; a cluster follows from what was ingested."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from reconciler.sandbox.service import Caller
from reconciler.sandbox.store import Object, Store
from reconciler.sandbox.workflow.ingestion import Conversation

KIND = "ingested-conversation"
WEEKS = 13  # of a cluster's pulse, the last one ends now
SUMMARY, LABEL = 200, 100  # characters
ICON = "comments"


def ingest(store: Store, organization: str, body: Conversation) -> None:
    """Keep a conversation; one with the same id is replaced where it stands."""
    key = f"{organization}:{body.id}"
    last = store.find(KIND, key)
    now = store.stamp()
    created = body.metadata.createdAt or (last["createdAt"] if last else now)
    kept: Object = {
        "_pk": key,
        "id": body.id,
        "subject": body.subject,
        "createdAt": created,
        "processedAt": now,
        "source": _source(body, organization),
        "organization": organization,
        "_url": body.metadata.url,
        "_parts": [part.model_dump(exclude_unset=True) for part in body.parts],
        "_metadata": body.metadata.model_dump(exclude_unset=True, exclude_none=True) | {"createdAt": created},
    }
    if last is None:
        store.add(KIND, organization, f"{KIND}:{organization}", kept)
    else:
        store.save(KIND, kept)


def _source(body: Conversation, organization: str) -> str:
    """`email`, or the integration that it came from: what the conversation says of its source, else the host of its address."""
    try:
        host = urlsplit(body.metadata.url or "").hostname
    except ValueError:
        host = None
    source = body.metadata.attributes.get("source") or host or "api"
    if source == "email" or re.fullmatch("integration:[^:]+:[^:]+", source):
        return source
    return f"integration:{source.replace(':', '-')}:{organization}"


def of(caller: Caller, organization: str) -> list[Object]:
    """All conversations of an organization, the newest first."""
    caller.member(organization)
    return caller.store.select(KIND, container=f"{KIND}:{organization}", newest=True)


def show(caller: Caller, conversation: Object) -> Object:
    urls = {"location": _location(caller, conversation["organization"], "conversations", conversation["id"])}
    if conversation["_url"] is not None:
        urls["source"] = conversation["_url"]
    kept = {key: value for key, value in conversation.items() if not key.startswith("_") and key != "organization"}
    return {"object": "conversation", **kept, "urls": urls}


def _location(caller: Caller, organization: str, name: str, id: str) -> str:
    return f"{caller.service.base}/v1/orgs/{organization}/{name}/{quote(id, safe='')}"


# -- issues --------------------------------------------------------------------------------------------------------------------------


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _said(conversation: Object) -> str:
    return next((str(part["body"]).strip() for part in conversation["_parts"] if part["body"].strip()), "")


def title(conversation: Object) -> str:
    """The subject, else the first line that was said."""
    text = conversation["subject"].strip() or _said(conversation).partition("\n")[0].strip()
    return text[:LABEL] or "Untitled"


def issue_id(conversation: Object) -> str:
    return f"iss_{_digest(conversation['organization'], conversation['id'])}"


def cluster_id(conversation: Object) -> str:
    """Subjects are the same whatever their case, punctuation and the marks of replies."""
    bare = re.sub(r"^((re|fwd?|aw|wg)\s*:\s*)+", "", title(conversation).casefold())
    plain = " ".join(re.findall(r"\w+", bare))
    return f"clu_{_digest(conversation['organization'], plain or bare)}"


def show_issue(caller: Caller, conversation: Object) -> Object:
    """The issue of a conversation, with the conversation."""
    id = issue_id(conversation)
    issue = {
        "object": "conversation-issue",
        "id": id,
        "title": title(conversation),
        "summary": _said(conversation)[:SUMMARY],
        "createdAt": conversation["createdAt"],
        "ingestedAt": conversation["processedAt"],
        "conversation": conversation["id"],
        "cluster": cluster_id(conversation),
        "urls": {"location": _location(caller, conversation["organization"], "conversations-issues", id)},
    }
    return {"issue": issue, "conversation": show(caller, conversation)}


# -- clusters ------------------------------------------------------------------------------------------------------------------------


def clusters(conversations: list[Object]) -> list[list[Object]]:
    """The conversations of each cluster, the oldest first."""
    groups: dict[str, list[Object]] = {}
    for conversation in sorted(conversations, key=lambda conversation: (conversation["createdAt"], conversation["id"])):
        groups.setdefault(cluster_id(conversation), []).append(conversation)
    return list(groups.values())


def order_of(by: str) -> Any:
    """The key that orders clusters by one of their fields."""
    keys: dict[str, Any] = {
        "updatedAt": lambda group: max(conversation["processedAt"] for conversation in group),
        "createdAt": lambda group: group[0]["createdAt"],
        "label": lambda group: title(group[0]).casefold(),
    }
    return lambda group: (keys[by](group), cluster_id(group[0]))


def _pulse(now: datetime, group: list[Object]) -> list[int]:
    """How many issues came up in each of the last weeks."""
    weeks = [0] * WEEKS
    for conversation in group:
        ago = (now - datetime.fromisoformat(conversation["createdAt"])) // timedelta(weeks=1)
        if 0 <= ago < WEEKS:
            weeks[WEEKS - 1 - ago] += 1
    return weeks


def show_cluster(caller: Caller, group: list[Object]) -> Object:
    first, count = group[0], len(group)
    id, label = cluster_id(first), title(first)
    return {
        "object": "issues-cluster",
        "id": id,
        "label": label,
        "createdAt": first["createdAt"],
        "updatedAt": max(conversation["processedAt"] for conversation in group),
        "icon": ICON,
        "summary": f"{count} conversation{'' if count == 1 else 's'} about: {label}",
        "weeklyPulse": _pulse(caller.store.now(), group),
        "sources": dict(Counter(conversation["source"] for conversation in group)),
        "stats": {"issues": count, "conversations": count},
        "urls": {"location": _location(caller, first["organization"], "conversations-clusters", id)},
    }
