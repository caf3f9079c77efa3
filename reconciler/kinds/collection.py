"""Collections: folders of spaces and of other collections."""

from __future__ import annotations

from typing import Annotated, Any

from reconciler.kinds._values import NODES, OWN_ROLES, Level, blank_to_null, inherits_level, level_of_members
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Audience,
    Exposes,
    Len,
    Listing,
    ListItem,
    One,
    Permission,
    Resource,
    Verbs,
    WireForm,
    field,
    inside,
    within,
)


def _null_to_blank(value: Any) -> Any:
    """A description is cleared by an empty text: the service accepts nothing else."""
    return "" if value is None else value


class Collection(
    Resource,
    kind="collection",
    place=ListItem("collection", {"organization": "content", "collection": "content"}),
    seeds="collections",
    protected=True,
    permission=Permission("create"),
    create_permission=Permission("createContent", of="organization"),
    audience=Audience(
        gates=("defaultLevel",),
        grants=level_of_members,
        inherits=("parent",),
        asks=inherits_level,
        at_top=OWN_ROLES,
    ),
):
    """A group of spaces and of other collections."""

    reads = (Listing("/orgs/{organization}/collections"), One("/collections/{id}"))
    api = Verbs(
        create=POST("/orgs/{organization}/collections", marker="title"),
        update=PATCH("/collections/{id}"),
        move=POST("/collections/{id}/move", anchors=NODES),
        transfer=POST("/collections/{id}/transfer"),
        delete=DELETE("/collections/{id}"),
    )

    organization = within("organization", on="transfer")
    # Part of the identity, because two collections in different parents may have one title.
    parent = inside("collection", on=("create", "move"), key=True)
    title: Annotated[str, Len(0, 50)] = field("The name.", key=True, required=True)
    # The create does not take it (the API reference, "Collection"): an update after the create sets it.
    description: Annotated[Annotated[str, Len(0, 100)] | None, WireForm(body=_null_to_blank, show=blank_to_null)] = field(
        "A one-line description.", on="update", clear=True, initial=""
    )
    defaultLevel: Level = field(
        "What members may do with its contents.",
        on="update",
        # "The service's default for new content": its public documentation, "Permissions and inheritance".
        initial="inherit",
        exposes=Exposes("members may do more with what it contains"),
    )
