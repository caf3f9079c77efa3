"""Site spaces: spaces in a site; the variants of a section, or the whole of a site without sections."""

from __future__ import annotations

from typing import Annotated

from reconciler.kinds._values import CONDITION, Condition, Path, is_hidden, is_shown, path_of_title, slug, visitor_condition
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Address,
    Audience,
    Derived,
    Listing,
    ListItem,
    Missed,
    Permission,
    PublishedField,
    Resource,
    Sighting,
    To,
    Verbs,
    field,
    inside,
    output,
    within,
)


class SiteSpace(
    Resource,
    kind="site-space",
    place=ListItem("space", {"site": "structure", "section": "spaces"}, bare=True, alone=True),
    replaceable=True,
    published=PublishedField("urls.published"),
    permission=Permission("createContent", of="organization"),
    audience=Audience(
        gates=("condition",),
        condition=visitor_condition,
        inherits=("section", "site"),
        asks=is_shown,
        unlisted=is_hidden,
        shows=("space",),
    ),
):
    """A space in a site."""

    # A section contains all its site spaces (the API reference, "Site section"): a site with sections needs no listing of them.
    reads = (Listing("/orgs/{organization}/sites/{site}/site-spaces", ordered=True), Sighting("section", at="siteSpaces", all=True))
    api = Verbs(
        create=POST("/orgs/{organization}/sites/{site}/site-spaces"),
        update=PATCH("/orgs/{organization}/sites/{site}/site-spaces/{id}"),
        move=POST(
            "/orgs/{organization}/sites/{site}/site-spaces/{id}/move",
            anchors={"site-space": {"type": "site-space", "siteSpace": "{id}"}},
        ),
        delete=DELETE("/orgs/{organization}/sites/{site}/site-spaces/{id}"),
    )

    site = within("site")
    # The API reference has no request that moves a site space to another section: only a new one can be there.
    section = inside("section", on="create", wire="sectionId", on_change="replace", cascade=True, key=True)
    space: Annotated[Address, To("space")] = field(
        "The space that it shows.",
        wire="spaceId",
        read="space.id",  # the answer contains the whole space
        key=True,
        required=True,
        missed=Missed("space", "space-on-no-site", "is on no site"),
    )
    # The service derives it from the title of the space, and no create can name it.
    path: Path = field(
        "Its path in the published URL.",
        on="update",
        unique=True,
        usual=path_of_title,
        derived=Derived("space.title", slug),
        synced=True,
        address="segment",
    )
    condition: Condition | None = field("The condition for visitors to see it.", on="update", clear=True, condition=True, exposes=CONDITION)
    # The reference has no request that changes them; the service of autumn 2026 shows them.
    draft = output(incidental=True)
    hidden = output(incidental=True)
