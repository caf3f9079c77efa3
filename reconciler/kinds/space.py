"""Spaces: containers of pages; created as copies of another space; can be restored for seven days after a delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from reconciler.kinds._values import BLANK_IS_NULL, LOOSER, NODES, Language, Level, MergeRules, level_of_members
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Address,
    Audience,
    Exposes,
    Grant,
    Len,
    Listing,
    ListItem,
    One,
    Permission,
    PublishedField,
    Resource,
    Sighting,
    To,
    Verbs,
    field,
    inside,
    local,
    output,
    seed,
    within,
)
from reconciler.resource.audience import AGENTS, ANYONE, ANYONE_WITH_THE_URL, VISITORS

_READERS = {"public": ANYONE, "unlisted": ANYONE_WITH_THE_URL, "visitor-auth": VISITORS}


def _readers(values: Mapping[str, Any]) -> Iterator[Grant]:
    """Members by its level, everybody if it is a template, and the readers that its own visibility admits."""
    yield from level_of_members(values)
    template = values.get("template") is True
    who = ANYONE if template else _READERS.get(str(values.get("visibility")))
    if who is not None:
        yield Grant(who, conditional=False)
    if template:
        yield Grant(AGENTS, conditional=False)


class Space(
    Resource,
    kind="space",
    place=ListItem("space", {"organization": "content", "collection": "content"}),
    seeds="spaces",
    protected=True,
    deleted_at="deletedAt",
    restore_days=7,
    published=PublishedField("urls.published"),
    permission=Permission("edit"),
    create_permission=Permission("createContent", of="organization"),
    audience=Audience(gates=("defaultLevel", "template", "visibility"), grants=_readers, inherits=("parent",)),
):
    """A container of pages and files. The service creates one only as a copy of another."""

    reads = (
        Listing("/collections/{collection}/spaces", each="collection", ordered=True),
        Sighting("site-space", at="space"),
        One("/spaces/{id}"),
        Listing("/orgs/{organization}/members/{lister}/spaces", item="space", lister=True),
    )
    api = Verbs(
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
    title: Annotated[str, Len(0, 50)] = field("The name.", on="update", key=True, required=True)
    emoji: Annotated[Annotated[str, Len(1, 50)] | None, BLANK_IS_NULL] = field("Shown beside the title.", on="update", clear=True)
    editMode: Literal["live", "locked"] = field(
        "Allow direct edits (`live`) or require change requests (`locked`).",
        on="update",
        usual="live",
        exposes=Exposes("people may edit without a change request", ("locked", "live")),
    )
    defaultLevel: Level = field("What members may do with it.", on="update", exposes=Exposes("members may do more with it"))
    language: Language = field("The language of its content.", on="update", usual="en")
    mergeRules: MergeRules = field("Who must review a change request.", on="update", usual={"type": "inherit"}, exposes=LOOSER)
    template: bool = local(
        "Declare that the content is not confidential, so copies of it may be published.",
        exposes=Exposes("copies of it may be published without further consent", (True,)),
    )
    visibility = output()
