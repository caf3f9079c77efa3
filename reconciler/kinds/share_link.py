"""Share links: secret URLs of a site that is not public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Audience,
    Exposes,
    Grant,
    Keyed,
    Len,
    Listing,
    Permission,
    PublishedField,
    Resource,
    Verbs,
    field,
    within,
)
from reconciler.resource.risks import LINK_HOLDERS


def _holders(values: Mapping[str, Any]) -> Iterator[Grant]:
    """Everybody who has the link, while it is active."""
    if values.get("active") is True:
        yield Grant(LINK_HOLDERS, own=True)


class ShareLink(
    Resource,
    kind="share-link",
    place=Keyed("shareLinks", bare="name"),
    access="everybody with the link can read the site",
    # The URL contains the key: whoever reads it can read the site.
    published=PublishedField("urls.published", unless=("active", False), secret=True),
    permission=Permission("createContent", of="organization"),
    audience=Audience(gates=("active",), grants=_holders, opens="site", unread=LINK_HOLDERS),
):
    """A secret URL of a site. The secret itself is never shown or stored."""

    reads = (Listing("/orgs/{organization}/sites/{site}/share-links"),)
    api = Verbs(
        create=POST("/orgs/{organization}/sites/{site}/share-links", marker="name"),
        update=PATCH("/orgs/{organization}/sites/{site}/share-links/{id}"),
        delete=DELETE("/orgs/{organization}/sites/{site}/share-links/{id}"),
    )

    site = within("site")
    # Nothing but the name says who a link was given to, or until when: lint reads both in it.
    name: Annotated[str, Len(1, 50)] = field("Who it is for.", key=True, required=True, whom=True, expires="until")
    # The create takes a name only, and the link that it creates is active.
    active: bool = field(
        "Enable the link.",
        on="update",
        initial=True,
        exposes=Exposes("everybody with the link can read the site"),
        opens=(True,),
    )
