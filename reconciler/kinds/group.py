"""Groups: sections of a site under one title."""

from __future__ import annotations

from typing import Annotated

from reconciler.kinds._values import Icon
from reconciler.resource import DELETE, PATCH, POST, Len, Listing, ListItem, Permission, Resource, Verbs, field, inside, output, within


class Group(
    Resource,
    kind="group",
    place=ListItem("group", {"site": "structure", "group": "structure"}),
    object="site-section-group",
    replaceable=True,
    permission=Permission("createContent", of="organization"),
    inactive="draft",
):
    """A group of sections or of other groups."""

    reads = (Listing("/orgs/{organization}/sites/{site}/section-groups"),)
    api = Verbs(
        create=POST("/orgs/{organization}/sites/{site}/section-groups", marker="title"),
        update=PATCH("/orgs/{organization}/sites/{site}/section-groups/{id}"),
        move=POST(
            "/orgs/{organization}/sites/{site}/section-groups/{id}/move",
            # Unlike the move of a section, this one names both kinds of sibling, in the same form.
            anchors={"section": {"type": "site-section", "id": "{id}"}, "group": {"type": "site-section-group", "id": "{id}"}},
        ),
        delete=DELETE("/orgs/{organization}/sites/{site}/section-groups/{id}"),
    )

    site = within("site")
    # Only a create names the parent: the move of a group changes its place among its siblings, not the group that contains it.
    parent = inside("group", on="create", on_change="replace", read="sectionGroup")
    title: Annotated[str, Len(1, 100)] = field("The name.", key=True, required=True, synced=True)
    icon: Icon = field("The name of an icon.", clear=True)
    # As of a section: what is in a draft is shown to no reader.
    draft = output(incidental=True)
