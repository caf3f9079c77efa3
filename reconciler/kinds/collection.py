"""Collections: folders of spaces and of other collections."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Len

from reconciler.kinds._values import NODES, MemberRole, level_of_members
from reconciler.resource import DELETE, PATCH, POST, Api, Audience, Exposes, Leave, Listing, Node, One, Resource, field, inside, within


class Collection(
    Resource,
    kind="collection",
    place=Node("collection", {"organization": "content", "collection": "content"}),
    protected=True,
    leave=Leave("create"),
    leave_to_make=Leave("createContent", of="organization"),
    audience=Audience(gates=("defaultLevel",), grants=level_of_members, inherits=("parent",)),
):
    """A group of spaces and of other collections."""

    reads = (Listing("/orgs/{organization}/collections"), One("/collections/{id}"))
    api = Api(
        create=POST("/orgs/{organization}/collections", marker="title"),
        update=PATCH("/collections/{id}"),
        move=POST("/collections/{id}/move", anchors=NODES),
        delete=DELETE("/collections/{id}"),
    )

    organization = within("organization")
    parent = inside("collection", on=("create", "move"), key=True)
    title: Annotated[str, Len(0, 50)] = field("Its name.", key=True, required=True)
    description: Annotated[str, Len(0, 100)] = field("One line about it.", on="update")
    defaultLevel: MemberRole = field(
        "What members may do with what stands in it.",
        on="update",
        initial=None,
        exposes=Exposes("members may do more with what it contains"),
    )
