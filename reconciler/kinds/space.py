"""Spaces: where pages live; made as copies of another space, deleted softly, restored within seven days."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Len

from reconciler.address import Address
from reconciler.kinds._values import MemberRole, MergeRules
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Api,
    Listing,
    Node,
    One,
    Resource,
    Sighting,
    To,
    field,
    inside,
    seed,
    within,
)


class Space(
    Resource,
    kind="space",
    place=Node("space", {"organization": "content", "collection": "content"}),
    protected=True,
    deleted_at="deletedAt",
    restore_days=7,
):
    """A container of pages and files. The service makes one only as a copy of another."""

    reads = (
        Listing("/collections/{collection}/spaces", each="collection", ordered=True),
        Sighting("site-space", at="space"),
        One("/spaces/{id}"),
        Listing("/orgs/{organization}/members/{lister}/spaces", item="space", lister=True),
    )
    api = Api(
        create=POST("/spaces/{duplicateOf}/duplicate", copies="duplicateOf", fingerprint="/spaces/{id}/content/pages"),
        restore=POST("/spaces/{id}/restore"),
        update=PATCH("/spaces/{id}"),
        move=POST("/spaces/{id}/move", anchor={"type": "space", "space": "{id}"}, anchors=("space",)),
        delete=DELETE("/spaces/{id}"),
    )

    organization = within("organization")
    parent = inside("collection", on="move", key=True)
    duplicateOf: Annotated[Address, To("space")] = seed("The space it starts as a copy of.", "space", label="duplicate")
    title: Annotated[str, Len(0, 50)] = field("Its name.", on="update", key=True, required=True)
    emoji: Annotated[str, Len(1, 50)] = field("Shown beside the title.", on="update")
    editMode: Literal["live", "locked"] = field("Whether people may edit directly.", on="update", usual="live")
    defaultLevel: MemberRole = field("What members may do with it.", on="update")
    language: str = field("The language of its content.", on="update", usual="en")
    mergeRules: MergeRules = field("Who must review a change request.", on="update", usual={"type": "inherit"})
