"""Site spaces: spaces in a site; the variants of a section, or the whole of a site without sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from reconciler.kinds._values import CONDITION, Condition, Path, path_of_title, slug, visitor_condition
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    UNSET,
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
    within,
)


def _space(raw: Mapping[str, Any]) -> Any:
    """The id of the space, which the service shows as a whole object."""
    space = raw.get("space")
    return space.get("id", UNSET) if isinstance(space, Mapping) else UNSET


class SiteSpace(
    Resource,
    kind="site-space",
    place=ListItem("space", {"site": "structure", "section": "spaces"}, bare=True, alone=True),
    replaceable=True,
    published=PublishedField("urls.published"),
    permission=Permission("createContent", of="organization"),
    audience=Audience(gates=("condition",), condition=visitor_condition, inherits=("section", "site"), shows=("space",)),
):
    """A space in a site."""

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
    section = inside("section", on="create", wire="sectionId", on_change="replace", cascade=True, key=True)
    space: Annotated[Address, To("space")] = field(
        "The space that it shows.",
        wire="spaceId",
        read=_space,
        key=True,
        required=True,
        missed=Missed("space", "space-on-no-site", "is on no site"),
    )
    path: Path = field(
        "Its path in the published URL.",
        on="update",
        unique=True,
        usual=path_of_title,
        derived=Derived("space.title", slug),
        address="segment",
    )
    condition: Condition | None = field("The condition for visitors to see it.", on="update", clear=True, condition=True, exposes=CONDITION)
