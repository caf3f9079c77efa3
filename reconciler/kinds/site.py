"""Sites: published documentation, made of sections or of spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from typing_extensions import TypedDict

from reconciler.kinds._values import Path
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    UNSET,
    Api,
    Exposes,
    Keyed,
    Leave,
    Listing,
    One,
    Published,
    Resource,
    choice,
    field,
    within,
)


class AdaptiveContent(TypedDict):
    """Whether content adapts to the visitor."""

    enabled: bool


def _proxy(raw: Mapping[str, Any]) -> Any:
    """The service shows `{origin, target}` for the string it was given; the origin is that string."""
    proxy = raw.get("proxy", UNSET)
    return proxy.get("origin", UNSET) if isinstance(proxy, Mapping) else proxy


class Site(
    Resource,
    kind="site",
    place=Keyed("sites"),
    protected=True,
    published=Published("urls.published", unless=("published", False)),
    leave=Leave("createContent", of="organization"),
):
    """Published documentation."""

    reads = (Listing("/orgs/{organization}/sites"), One("/orgs/{organization}/sites/{id}"))
    api = Api(
        create=POST("/orgs/{organization}/sites"),
        update=PATCH("/orgs/{organization}/sites/{id}"),
        publish=POST("/orgs/{organization}/sites/{id}/publish"),
        delete=DELETE("/orgs/{organization}/sites/{id}"),
    )

    organization = within("organization")
    title: Annotated[str, Len(2, 128)] = field("Its name.", key=True, required=True)
    type: str = field("basic, premium, ultimate, …; set when the site is made.", on="create", on_change="refuse")
    visibility: Literal["public", "unlisted", "share-link", "visitor-auth"] = field(
        "Who can read it.",
        initial="public",
        exposes=Exposes("more people can read it", ("visitor-auth", "share-link", "unlisted", "public")),
        opens=("public", "unlisted"),
    )
    basename: Path = field("Its place in the published address.", on="update", unique=True, address="segment")
    published: bool = field(
        "Once published it stays published.",
        on="publish",
        one_way=True,
        initial=False,
        exposes=Exposes("its readers can read it, and that cannot be taken back", (False, True)),
    )
    agentsContext: Literal["included", "excluded"] = field(
        "Whether agents may read it.", on="update", initial="excluded", exposes=Exposes("agents can read it", ("excluded", "included"))
    )
    adaptiveContent: AdaptiveContent = field(
        "Content that depends on the visitor.",
        on="update",
        usual={"enabled": False},
        initial={"enabled": False},
        exposes=Exposes("conditions no longer hide anything", ({"enabled": True}, {"enabled": False})),
    )
    proxy: Annotated[str, Len(1, 512)] | None = field(
        "Host and path it is served under; no scheme.", on="update", clear=True, read=_proxy, lossy=True, address="whole"
    )
    defaultSiteSection = choice("section", flag="default", on="update")
    defaultSiteSpace = choice("site-space", flag="default", on="update")
