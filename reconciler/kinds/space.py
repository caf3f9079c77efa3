"""Spaces: containers of pages; created as copies of another space; can be restored for seven days after a delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from reconciler.kinds._values import (
    BLANK_IS_NULL,
    LOOSER,
    NODES,
    OWN_ROLES,
    READERS,
    Language,
    Level,
    MergeRules,
    inherits_level,
    level_of_members,
)
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Address,
    Audience,
    CountedWork,
    Exposes,
    Grant,
    Len,
    LinkList,
    Listing,
    ListItem,
    One,
    Pages,
    Permission,
    PublishedField,
    Resource,
    Sighting,
    SyncedFrom,
    To,
    Verbs,
    field,
    inside,
    local,
    output,
    seed,
    within,
)
from reconciler.resource.risks import AGENTS, ANYONE


def _readers(values: Mapping[str, Any]) -> Iterator[Grant]:
    """Members by its level, everybody if it is a template, and the readers that its own visibility admits."""
    yield from level_of_members(values)
    template = values.get("template") is True
    who = ANYONE if template else READERS.get(str(values.get("visibility")))
    if who is not None:
        yield Grant(who, conditional=False)
    if template:
        yield Grant(AGENTS, conditional=False)


def _requests(noun: str, number: str, status: str) -> CountedWork:
    """The change requests with a status. A list without one shows those that are open."""
    return CountedWork(
        noun,
        number,
        "/spaces/{id}/change-requests",
        title="subject",
        author="createdBy.displayName",
        since="createdAt",
        query={"status": status},
        counts=("status", (status,)),
    )


_COMMENTS = CountedWork(
    "open comment",
    "comments",
    "/spaces/{id}/comments",
    title="body.markdown",
    author="postedBy.displayName",
    since="postedAt",
    query={"status": "open"},
    counts=("status", ("open",)),
)


class Space(
    Resource,
    kind="space",
    place=ListItem("space", {"organization": "content", "collection": "content"}),
    seeds="spaces",
    protected=True,
    deleted_at="deletedAt",
    # "deleted within the last 7 days": the API reference, "States and transitions".
    restore_days=7,
    published=PublishedField("urls.published"),
    # Pages of the type `document` have a text; one of the type `group` is a heading above others, `link` and `computed` have no path.
    pages=Pages(tree="/spaces/{id}/content/pages", revision="revision", heading="group", document="document", condition="condition"),
    synced=SyncedFrom("gitSync", name="gitSync.repoName", url="gitSync.url"),
    permission=Permission("edit"),
    create_permission=Permission("createContent", of="organization"),
    audience=Audience(
        gates=("defaultLevel", "template", "visibility"),
        grants=_readers,
        inherits=("parent",),
        asks=inherits_level,
        at_top=OWN_ROLES,
    ),
    counted=(
        _requests("open change request", "changeRequestsOpen", "open"),
        _requests("draft change request", "changeRequestsDraft", "draft"),
        _COMMENTS,
    ),
    links=LinkList(
        "link from another space",
        "/spaces/{id}/links",
        to="targetReference.space",
        title="locationReferences.0.page.title",
        broken=("status", "broken"),
        broken_number="stats.broken.total",
    ),
):
    """A container of pages and files. The service creates one only as a copy of another."""

    # No list shows every space. Spaces at the top level are in no collection, so what one member can see is asked for as well: a member who
    # can see everything. A site space contains its space, which proves that it exists.
    reads = (
        Listing("/collections/{collection}/spaces", each="collection", ordered=True),
        Sighting("site-space", at="space"),
        One("/spaces/{id}"),
        Listing("/orgs/{organization}/members/{lister}/spaces", item="space", lister=True),
    )
    api = Verbs(
        # The only way to create one. The service names and places the copy as it likes; an interrupted create is recognized by its pages.
        create=POST("/spaces/{duplicateOf}/duplicate", copies="duplicateOf", fingerprint="/spaces/{id}/content/pages"),
        restore=POST("/spaces/{id}/restore"),
        update=PATCH("/spaces/{id}"),
        move=POST("/spaces/{id}/move", anchors=NODES),
        transfer=POST("/spaces/{id}/transfer"),
        delete=DELETE("/spaces/{id}"),
    )

    organization = within("organization", on="transfer")
    parent = inside("collection", on="move", key=True)
    duplicateOf: Annotated[Address, To("space")] = seed("The space to copy.", "space", label="duplicate")
    title: Annotated[str, Len(0, 50)] = field("The name.", on="update", key=True, required=True, synced=True)
    emoji: Annotated[Annotated[str, Len(1, 50)] | None, BLANK_IS_NULL] = field("Shown beside the title.", on="update", clear=True)
    editMode: Literal["live", "locked"] = field(
        "Allow edits (`live`) or lock all of them (`locked`).",
        on="update",
        usual="live",
        locks=("locked",),
        exposes=Exposes("people may edit it again", ("locked", "live"), rule=True),
    )
    defaultLevel: Level = field("What members may do with it.", on="update", exposes=Exposes("members may do more with it"))
    language: Language = field("The language of its content.", on="update", usual="en")
    mergeRules: MergeRules = field("Who must review a change request.", on="update", usual={"type": "inherit"}, exposes=LOOSER)
    template: bool = local(
        "Declare that the content is not confidential, so copies of it may be published.",
        exposes=Exposes("copies of it may be published without further consent", (True,)),
    )
    # The reference has no request that changes it.
    visibility = output()
