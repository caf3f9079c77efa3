"""Sections: the tabs of a site, each with one or more variants."""

from __future__ import annotations

from typing import Annotated

from reconciler.kinds._values import (
    BLANK_IS_NULL,
    CONDITION,
    Condition,
    Icon,
    Path,
    is_hidden,
    is_shown,
    path_of_title,
    slug,
    visitor_condition,
)
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Audience,
    Derived,
    Len,
    Listing,
    ListItem,
    Permission,
    PublishedField,
    Resource,
    Verbs,
    choice,
    field,
    first,
    member_of,
    output,
    within,
)


class Section(
    Resource,
    kind="section",
    place=ListItem("section", {"site": "structure", "group": "structure"}),
    object="site-section",
    published=PublishedField("urls.published"),
    permission=Permission("createContent", of="organization"),
    audience=Audience(
        gates=("condition",),
        condition=visitor_condition,
        inherits=("site",),
        asks=is_shown,
        unlisted=is_hidden,
    ),
):
    """A part of a site, shown as a tab; its variants are site spaces."""

    reads = (Listing("/orgs/{organization}/sites/{site}/sections", ordered=True),)
    api = Verbs(
        create=POST(
            "/orgs/{organization}/sites/{site}/sections",
            brings={"site-space": "siteSpaces"},
            # The first section of a site takes the site spaces that had no section, and the last one leaves them behind.
            reshapes=("site-space",),
        ),
        update=PATCH("/orgs/{organization}/sites/{site}/sections/{id}"),
        move=POST(
            "/orgs/{organization}/sites/{site}/sections/{id}/move",
            anchors={"section": {"type": "site-section", "siteSection": "{id}"}},
        ),
        delete=DELETE("/orgs/{organization}/sites/{site}/sections/{id}", reshapes=("site-space",)),
    )

    site = within("site")
    # The body of a create or an update has no group; joining and leaving are requests of the group.
    sectionGroup = member_of(
        "group",
        join=POST("/orgs/{organization}/sites/{site}/section-groups/{group}/sections"),
        leave=DELETE("/orgs/{organization}/sites/{site}/section-groups/{group}/sections/{id}"),
        wire="sectionId",
    )
    # The create names the space of the first variant (the API reference, "Site sections"), and its answer shows the site space that was
    # created with the section.
    spaceId = first("site-space", "space")
    title: Annotated[str, Len(2, 128)] = field("The name.", key=True, required=True, synced=True)
    icon: Icon = field("The name of an icon.", clear=True)
    path: Path = field(
        "Its path in the published URL.",
        on="update",
        unique=True,
        usual=path_of_title,
        derived=Derived("title", slug),
        synced=True,
        address="segment",
    )
    description: Annotated[Annotated[str, Len(0, 256)] | None, BLANK_IS_NULL] = field("A one-line description.", on="update", clear=True)
    condition: Condition | None = field("The condition for visitors to see it.", on="update", clear=True, condition=True, exposes=CONDITION)
    # The reference has no request that changes them; the service of autumn 2026 shows them.
    draft = output(incidental=True)
    hidden = output(incidental=True)
    defaultSiteSpace = choice("site-space", flag="default", on="update")
