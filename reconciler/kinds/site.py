"""Sites: published documentation, made of sections or of spaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from typing_extensions import TypedDict

from reconciler.kinds._values import READERS, Path, Proxy, path_of_title, slug
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    UNSET,
    Audience,
    Derived,
    Exposes,
    Grant,
    Keyed,
    Known,
    Len,
    Listing,
    Lookup,
    One,
    Permission,
    PlanLimit,
    PublishedField,
    Resource,
    SyncedFrom,
    Verbs,
    choice,
    field,
    within,
)
from reconciler.resource.risks import AGENTS, ANYONE
from reconciler.text.names import quoted


class AdaptiveContent(TypedDict):
    """Whether content adapts to the visitor."""

    enabled: bool


SiteType = Annotated[str, Known("basic", "premium", "ultimate", "sponsored", "legacy-basic", "legacy-premium")]
"""The type of a site; the service may add some."""


def _proxy(raw: Mapping[str, Any]) -> Any:
    """The proxy as written: the service shows it as `{origin, target}`, and the origin is that string."""
    proxy = raw.get("proxy", UNSET)
    return proxy.get("origin", UNSET) if isinstance(proxy, Mapping) else proxy


def _unconditional(values: Mapping[str, Any]) -> bool:
    """Whether conditions hide nothing, because the site's content does not adapt to the visitor."""
    adaptive = values.get("adaptiveContent")
    return not (isinstance(adaptive, Mapping) and adaptive.get("enabled") is True)


def _readers(values: Mapping[str, Any]) -> Iterator[Grant]:
    """The readers that its visibility admits once it is published, and agents; see `_admits` for share links."""
    who = READERS.get(str(values.get("visibility")))
    if values.get("published") is True and who is not None:
        yield Grant(who, conditional=not _unconditional(values))
    if values.get("agentsContext") == "included":
        yield Grant(AGENTS, conditional=False, of="organization")


def _admits(values: Mapping[str, Any]) -> bool:
    """Whether a share link gives access to it."""
    return values.get("published") is True and values.get("visibility") != "visitor-auth"


def _closed(values: Mapping[str, Any]) -> dict[str, str]:
    """Why it admits nobody, by class of readers."""
    people = {} if values.get("published") is True else {ANYONE: "is not published"}
    return people if values.get("agentsContext") == "included" else {**people, AGENTS: "excludes agents (agentsContext)"}


def _limits(raw: Mapping[str, Any]) -> Iterator[PlanLimit]:
    """Which of its features the service has frozen."""
    features = raw.get("features")
    for feature in features if isinstance(features, list) else ():
        if isinstance(feature, Mapping) and feature.get("frozen") is True:
            plan = feature.get("plan")
            requires = f", which requires the plan {quoted(plan)}" if isinstance(plan, str) and plan else ""
            name = feature.get("id")
            yield PlanLimit(f"has a feature that is frozen{f': {quoted(name)}' if isinstance(name, str) and name else ''}{requires}")


CHECKOUT: Final = (
    "nothing is published until somebody pays in the service, if the plan of the organization does not include its type "
    "and its visibility; then apply again"
)


class Site(
    Resource,
    kind="site",
    place=Keyed("sites"),
    seeds="sites",
    protected=True,
    published=PublishedField("urls.published", unless=("published", False)),
    permission=Permission("createContent", of="organization"),
    limited=_limits,
    synced=SyncedFrom("gitSync", name="gitSync.repoName", url="gitSync.url"),
    audience=Audience(
        gates=("visibility", "published", "agentsContext", "adaptiveContent"),
        grants=_readers,
        admits=_admits,
        unconditional=_unconditional,
        closed=_closed,
    ),
):
    """Published documentation."""

    reads = (
        Listing("/orgs/{organization}/sites"),
        One("/orgs/{organization}/sites/{id}"),
        # A space does not say which sites show it.
        Lookup("/orgs/{organization}/sites", by="space", query="space"),
    )
    api = Verbs(
        create=POST("/orgs/{organization}/sites"),
        update=PATCH("/orgs/{organization}/sites/{id}"),
        publish=POST("/orgs/{organization}/sites/{id}/publish", instead={"checkout": CHECKOUT}),
        delete=DELETE("/orgs/{organization}/sites/{id}"),
    )

    organization = within("organization")
    title: Annotated[str, Len(2, 128)] = field("The name.", key=True, required=True, synced=True)
    # The PATCH does not take it (the API reference, "Docs sites"), and a site is too valuable to be replaced. The service's own choice was
    # the lowest type once and the highest later, which costs money.
    type: SiteType = field(
        "basic, premium, ultimate, …; set when the site is created: basic if it is not written.",
        on="create",
        on_change="refuse",
        default="basic",
    )
    visibility: Literal["public", "unlisted", "share-link", "visitor-auth"] = field(
        "Who can read it.",
        initial="public",
        exposes=Exposes("more people can read it"),
        opens=("public", "unlisted"),
    )
    basename: Path = field(
        "Its path in the published URL.",
        on="update",
        unique=True,
        usual=path_of_title,
        derived=Derived("title", slug),
        address="segment",
    )
    # "POST publish": the reference has no request for the way back.
    published: bool = field(
        "Publish the site. A published site cannot be unpublished.",
        on="publish",
        one_way=True,
        initial=False,
        exposes=Exposes("its readers can read it, and this cannot be undone"),
    )
    # Of people it says nothing: agents read an included site even if it is not published.
    agentsContext: Literal["included", "excluded"] = field(
        "Allow agents to read it.", on="update", initial="excluded", exposes=Exposes("agents can read it")
    )
    adaptiveContent: AdaptiveContent = field(
        "Content that depends on the visitor.",
        on="update",
        usual={"enabled": False},
        initial={"enabled": False},
        exposes=Exposes("conditions no longer hide anything"),
    )
    proxy: Proxy | None = field(
        "The host and path that serve it, without a scheme.", on="update", clear=True, read=_proxy, lossy=True, address="whole"
    )
    defaultSiteSection = choice("section", flag="default", on="update")
    defaultSiteSpace = choice("site-space", flag="default", on="update")
