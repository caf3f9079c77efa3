"""The shapes of everything the service answers, continued: pages, change requests, comments, integrations, conversations, translations."""

from __future__ import annotations

from typing import Final

from reconciler.sandbox.document.words import (
    FLAG,
    FREE,
    NUMBER,
    TEXT,
    TIME,
    URL,
    Schema,
    by_name,
    envelope,
    fields,
    flags,
    many,
    numbers,
    one_of,
    ref,
    text,
    thing,
    urls,
)  # fmt: skip

_REACTIONS: Final = many(fields("emoji count", emoji=TEXT, count=NUMBER, users=many(fields(user=ref("user"), reactedAt=TIME))))
_GIT: Final = fields(oid=TEXT, path=TEXT)
_INSTALLED: Final[dict[str, Schema]] = {
    "integration": TEXT, "installation": TEXT, "status": TEXT, "configuration": FREE, "externalIds": many(TEXT),
    "urls": urls("location", "publicEndpoint"),
}  # fmt: skip
_SECTION: Final = fields(id=TEXT, title=TEXT, path=TEXT, body=TEXT, urls=urls("app"))

MORE: Final[dict[str, Schema]] = {
    "document": thing(
        "document", "A rich document.", "", data=FREE, nodes=many(FREE),
    ),
    "change-request": thing(
        "change-request", "Proposed edits to a space.",
        "id number status subject createdAt updatedAt space revision revisionInitial comments outdated", id=TEXT, number=NUMBER,
        status=one_of("draft", "open", "archived", "merged"), subject=text(most=100), description=ref("document"), createdBy=ref("user"),
        createdAt=TIME, updatedAt=TIME, space=TEXT, revision=TEXT, revisionInitial=TEXT, revisionMergedAncestor=TEXT,
        revisionMerged=TEXT, comments=NUMBER, outdated=FLAG, conversationsIssuesCluster=TEXT, urls=urls("app", "location"),
    ),
    "merge-result": fields("revision result", revision=TEXT, result=one_of("merge", "update", "conflicts")),
    "pdf": fields("url", url=URL),
    "revision": thing(
        "revision", "The content of a space at one time.", "id", id=TEXT, parents=many(TEXT), pages=many(ref("page")),
        files=many(ref("file")),
        reusableContents=many(FREE), variables=by_name(TEXT), createdAt=TIME, git=FREE, urls=urls("app", "published", "public"), type=TEXT,
        mergedFrom=ref("change-request"),
    ),
    "page": fields(
        "id title layout", id=TEXT, title=TEXT, emoji=TEXT, icon=TEXT, createdAt=TIME, updatedAt=TIME, markdown=TEXT, type=TEXT,
        urls=urls("app"), slug=TEXT, path=TEXT, description=TEXT, pages=many(ref("page")), git=_GIT, layout=FREE, cover=FREE,
        hidden=FLAG, noIndex=FLAG, noRobotsIndex=FLAG, computed=FREE, computedSeed=TEXT,
    ),
    "pages": fields("pages", pages=many(ref("page"))),
    "file": fields(
        "id name", id=TEXT, name=TEXT, contentType=TEXT, downloadURL=TEXT, size=NUMBER, dimensions=fields(width=NUMBER, height=NUMBER),
        git=_GIT,
    ),
    "reference": fields(
        "kind", kind=one_of("page", "file", "space", "url"), organization=ref("organization"), space=ref("space"),
        versionContext=fields("type revision", type=TEXT, revision=ref("revision")), page=ref("page"), file=ref("file"), url=TEXT,
    ),
    "link": fields(
        "status relation locationReferences", status=one_of("ok", "broken", "in-app"), relation=TEXT, targetReference=ref("reference"),
        locationReferences=many(ref("reference")),
    ),
    "links": envelope(
        ref("link"), stats=fields(total=NUMBER, broken=fields(total=NUMBER, changeRequest=NUMBER)),
    ),
    "search-result": fields(
        "id title", id=TEXT, title=TEXT, path=TEXT, sections=many(_SECTION), ancestors=many(fields(title=TEXT)), urls=urls("app"),
    ),
    "organization-search-result": fields("id title pages", id=TEXT, title=TEXT, pages=many(ref("search-result"))),
    "comment": thing(
        "comment", "A comment on a space or a change request.", "id postedBy postedAt body status", id=TEXT, postedBy=ref("user"),
        postedAt=TIME, editedAt=TIME, reactions=_REACTIONS, replies=NUMBER,
        repliers=many(fields(updatedAt=TIME, count=NUMBER, user=ref("user"))), body=FREE, target=FREE, urls=urls("location"),
        permissions=flags("view", "edit", "reply", "delete"), status=one_of("open", "resolved"), resolvedAt=TIME, resolvedBy=ref("user"),
    ),
    "comment-reply": thing(
        "comment-reply", "A reply to a comment.", "id postedBy postedAt body", id=TEXT, postedBy=ref("user"), postedAt=TIME, editedAt=TIME,
        reactions=_REACTIONS, body=FREE, urls=urls("location"), permissions=flags("view", "edit", "reply", "delete"),
    ),
    "integration": thing(
        "integration", "An integration.", "name version title", name=text(pattern=r"^[A-Za-z0-9_.-]+$"),
        version=NUMBER, title=TEXT, description=TEXT, summary=TEXT, previewImages=many(TEXT), target=TEXT, verified=FLAG, visibility=TEXT,
        scopes=many(TEXT), categories=many(TEXT), blocks=many(FREE), contentSources=many(FREE), configurations=FREE,
        externalLinks=many(fields(url=TEXT, label=TEXT)), owner=ref("organization"),
        urls=urls("location", "icon", "app", "assets", "publicEndpoint"), permissions=flags("admin"), contentSecurityPolicy={},
    ),
    "installation": fields(
        "id status", id=TEXT, status=one_of("active", "pending", "paused", open=True), space_selection=TEXT, site_selection=TEXT,
        spaces=NUMBER, configuration=FREE, createdAt=TIME, updatedAt=TIME, urls=urls("location", "app", "publicEndpoint"),
        externalIds=many(TEXT), target=fields(organization=TEXT),
    ),
    "installation-space": fields("space", space={"anyOf": [TEXT, ref("space")]}, **_INSTALLED),
    "installation-site": fields("site", site={"anyOf": [TEXT, ref("site")]}, **_INSTALLED),
    "integration-event": fields(
        "id", id=TEXT, integrationId=TEXT, installationId=TEXT, createdAt=TIME,
        payload=fields(eventId=TEXT, type=TEXT, installationId=TEXT, status=TEXT, previous=FREE), status=TEXT,
    ),
    "event-trace": fields(
        "event trace", event=ref("integration-event"), trace=fields(logs=many(fields(message=TEXT, timestamp={}, level=TEXT))),
    ),
    "translation": thing(
        "translation", "A space in another language.", "id status source language", id=TEXT,
        status=one_of("pending", "running", "completed", open=True), source=fields("space", space=TEXT, language=TEXT), language=TEXT,
        instructions=ref("document"), result=fields(space=TEXT, revision=TEXT), createdAt=TIME, updatedAt=TIME,
        stats=numbers("runs", "totalWords", "totalPages", "totalDuration", "latestRunDuration", "latestPages", "latestWords"),
        permissions=flags("view", "edit"), urls=urls("location"),
    ),
    "issues-cluster": thing(
        "issues-cluster", "Issues that are alike.", "id label weeklyPulse", id=TEXT, label=TEXT, createdAt=TIME, updatedAt=TIME,
        icon=text(most=50), summary=TEXT, weeklyPulse={**many(NUMBER), "minItems": 13, "maxItems": 13}, sources=by_name(NUMBER),
        stats=fields(issues=NUMBER, conversations=NUMBER), urls=urls("location"),
    ),
    "conversation": thing(
        "conversation", "A conversation that was ingested.", "id", id=TEXT, subject=TEXT, createdAt=TIME, processedAt=TIME, source=TEXT,
        urls=urls("location", "source"),
    ),
    "conversation-issue": thing(
        "conversation-issue", "Something that conversations are about.", "id title", id=TEXT, title=TEXT, summary=TEXT, createdAt=TIME,
        ingestedAt=TIME, conversation=TEXT, cluster=TEXT, urls=urls("location"),
    ),
    "issue-conversation": fields("issue conversation", issue=ref("conversation-issue"), conversation=ref("conversation")),
    "conversation-parts": fields(
        "conversation parts metadata", conversation=ref("conversation"), parts=many(fields(type=TEXT, role=TEXT, body=TEXT)), metadata=FREE,
    ),
}  # fmt: skip
