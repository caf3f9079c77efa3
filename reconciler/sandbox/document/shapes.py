"""The shapes of everything the service answers, by the names that `operations.tsv` uses: organizations, people, content, sites."""

from __future__ import annotations

from typing import Final

from reconciler.sandbox.document.words import (
    FLAG,
    FREE,
    LEVEL,
    NUMBER,
    ROLE,
    TEXT,
    TIME,
    URL,
    VISIBILITY,
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
)

_MERGE: Final = fields("type", type=one_of("inherit", "rules", "none", open=True), rules=many(fields("rule", rule=TEXT, users=many(TEXT))))

SHAPES: Final[dict[str, Schema]] = {
    "error": fields("error", error=fields("code message", code=NUMBER, message=TEXT)),
    "user": thing("user", "A person.", "id", id=TEXT, displayName=TEXT, email=TEXT, photoURL=TEXT, urls=urls("location")),
    "member": thing(
        "member", "A person in an organization.", "id role user", id=TEXT, role=ROLE, user=ref("user"), disabled=FLAG, joinedAt=TIME,
        lastSeenAt=TIME, sso=FLAG, spaces=NUMBER, teams=NUMBER,
    ),
    "organization": thing(
        "organization", "The owner of everything else.", "id title createdAt emailDomains type inviteLinks plan mergeRules",
        id=TEXT, title=text(least=2, most=255), createdAt=TIME, emailDomains=many(TEXT), hostname=text(least=3, most=32),
        type=one_of("business", open=True), useCase=TEXT, communityType=TEXT, defaultRole=ROLE,
        defaultContent={"anyOf": [fields("type", type=TEXT, site=TEXT), {"type": "string"}, {"type": "null"}]}, sso=FLAG, ai=FLAG,
        inviteLinks=FLAG, plan=TEXT, billing=FREE, mergeRules=_MERGE, urls=urls("location", "app", "logo"), trial=FREE,
        customHostname=TEXT, blocked=fields(source=TEXT, reason=TEXT), internal_billingMigration=FREE,
        permissions=flags(
            "view", "admin", "ownTeam", "createContent", "createOpenAPISpec", "ingestConversations", "viewBilling", "listMembers",
            "listTeams", "listIntegrations", "listInstallations", "installIntegration",
        ),
    ),
    "team": thing(
        "team", "A group of members.", "id title members", id=TEXT, title=text(least=1, most=64), members=NUMBER, spaces=NUMBER,
        createdAt=TIME, permissions=flags("admin", "view"),
    ),
    "collection": thing(
        "collection", "A group of spaces and of other collections.", "id title organization defaultLevel", id=TEXT, title=text(most=50),
        description=text(most=100), organization=TEXT, parent=TEXT, defaultLevel=LEVEL, urls=urls("location", "app"),
        permissions=flags("view", "admin", "viewInviteLinks", "create"),
    ),
    "space": thing(
        "space", "A container of pages and files.",
        "id title emoji visibility createdAt updatedAt mergeRules organization revision defaultLevel comments changeRequests "
        "changeRequestsOpen changeRequestsDraft",
        id=TEXT, title=text(most=50), emoji=text(most=50), visibility=one_of(*VISIBILITY, "in-collection", "private"), createdAt=TIME,
        updatedAt=TIME, deletedAt=TIME, editMode=one_of("live", "locked"), mergeRules=_MERGE, organization=TEXT, parent=TEXT,
        language=TEXT, gitSync=FREE, visitorAuth=fields(backend=TEXT), revision=TEXT, defaultLevel=LEVEL, comments=NUMBER,
        changeRequests=NUMBER, changeRequestsOpen=NUMBER, changeRequestsDraft=NUMBER,
        urls=urls("location", "app", "published", "public", "icon"),
        permissions=flags(
            "view", "access", "admin", "viewInviteLinks", "edit", "triggerGitSync", "comment", "merge", "review", "installIntegration",
        ),
    ),
    "site": thing(
        "site", "Published documentation.", "id type title visibility published", id=TEXT,
        type=one_of("basic", "premium", "ultimate", open=True), title=TEXT, icon=urls("light", "dark"), hostname=TEXT, basename=TEXT,
        proxy=fields("origin target", origin=TEXT, target=TEXT), visibility=one_of(*VISIBILITY), published=FLAG, siteSpaces=NUMBER,
        createdAt=TIME, adaptiveContent=flags("enabled"), ads=fields(status=TEXT, submittable=FLAG),
        agentsContext=one_of("excluded", "included"), gitSync=FREE,
        features=many(fields(id=TEXT, plan=TEXT, frozen=FLAG, customizations=many(TEXT))),
        urls=urls("location", "app", "published"),
    ),
    "site-section": thing(
        "site-section", "A part of a site, shown as a tab.", "id title path default siteSpaces", id=TEXT, title=text(least=2, most=128),
        description=text(most=256), default=FLAG, path=text(least=1, most=100), condition=text(most=1024), sectionGroup=TEXT,
        siteSpaces=many(ref("site-space")), urls=urls("published"), icon=TEXT,
    ),
    "site-section-group": thing(
        "site-section-group", "Sections and groups under one title.", "id title children", id=TEXT, title=text(least=1, most=100),
        sectionGroup=TEXT, children=many(ref("site-section")), icon=TEXT,
    ),
    "site-space": thing(
        "site-space", "A space in a site.", "id path default", id=TEXT, path=text(least=1, most=100), section=TEXT,
        space=ref("space"), title=TEXT, default=FLAG, condition=text(most=1024), hasAdvancedCustomizationFeature=FLAG,
        urls=urls("published"),
    ),
    "share-link": thing(
        "share-link", "A secret URL of a site.", "id createdAt name active", id=TEXT, createdAt=TIME, name=text(most=50), active=FLAG,
        urls=urls("published"),
    ),
    "saml-provider": thing(
        "saml-provider", "A provider of single sign-on.", "id label ssoURL entityID certificate createdAt status", id=TEXT,
        label=text(least=1, most=30), ssoURL=TEXT, entityID=TEXT, certificate=TEXT, defaultTeam=ref("team"), defaultRole=ROLE,
        createdAt=TIME, status=one_of("active", "pending", open=True), service=fields(acsURL=URL, startURL=URL, entityID=TEXT),
        urls=urls("location"),
    ),
    "openapi-spec": thing(
        "openapi-spec", "An OpenAPI specification.", "id createdAt updatedAt slug processingState visibility", id=TEXT,
        createdAt=TIME, updatedAt=TIME, slug=TEXT, sourceURL=TEXT, processingState=one_of("pending", "progress", "complete", open=True),
        visibility=one_of("private", "public"), lastVersion=TEXT, lastProcessedAt=TIME, lastProcessErrorCode=TEXT,
        lastProcessedErrors=many(fields(message=TEXT, code=TEXT)), permissions=flags("view", "edit"),
        urls=urls("location", "app", "published"),
    ),
    "member-space": fields("permission space", permission=ROLE, space=ref("space")),
    "member-team": fields("team member", team=ref("team"), member=fields("role", role=TEXT)),
    "sso-items": fields("items", items=many(fields("id label startURL", id=TEXT, label=TEXT, startURL=URL))),
    "organizations": fields("organizations", organizations=many(ref("organization"))),
    "visitor-claims": fields(serviceVisitorClaims=TEXT),
    "agent-instructions": thing(
        "agent-instructions", "Instructions for agents.", "", instructions=ref("document"), updatedAt=TIME, updatedBy=TEXT,
        urls=urls("location"),
    ),
    "site-adaptive-schema": thing(
        "site-adaptive-schema", "What is known of a site's visitors, as a JSON Schema (draft-07).", "jsonSchema", jsonSchema=FREE,
        updatedAt=TIME,
    ),
    "template-conditions": fields("items", items=many(fields("description condition", description=TEXT, condition=TEXT))),
    "published-content-site": thing(
        "published-content-site", "A site as its visitors get it.", "site structure", site=ref("site"),
        structure=fields("type structure", type=TEXT, structure=many(FREE)),
        customizations=fields(site=FREE, siteSpaces=by_name(FREE)),
        scripts=many(fields(script=URL, contentSecurityPolicy=TEXT, cookies=FLAG)),
    ),
}  # fmt: skip

_REACTIONS: Final = many(fields("emoji count", emoji=TEXT, count=NUMBER, users=many(fields(user=ref("user"), reactedAt=TIME))))
_GIT: Final = fields(oid=TEXT, path=TEXT)
_INSTALLED: Final[dict[str, Schema]] = {
    "integration": TEXT,
    "installation": TEXT,
    "status": TEXT,
    "configuration": FREE,
    "externalIds": many(TEXT),
    "urls": urls("location", "publicEndpoint"),
}
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
