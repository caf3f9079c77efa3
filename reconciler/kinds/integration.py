"""Integrations: programs that an organization publishes, identified by a name that is unique in the service."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from reconciler.kinds._shapes import BLOCK, CONFIGURATIONS, CONTENT_SOURCE, shaped
from reconciler.kinds._values import Uri
from reconciler.resource import (
    DELETE,
    POST,
    Audience,
    Checked,
    Exposes,
    Grant,
    JsonSchema,
    Keyed,
    Len,
    Listing,
    Matching,
    One,
    Permission,
    Resource,
    Shape,
    Verbs,
    field,
    output,
    within,
)
from reconciler.resource.risks import ANYONE, ANYONE_WITH_THE_URL


class ExternalLink(TypedDict):
    """A link that is shown beside an integration."""

    url: Uri
    label: NotRequired[str]


Name = Annotated[str, Len(1, 100), Matching(r"^[A-Za-z0-9._-]+$"), JsonSchema({"examples": ["acme-analytics"]})]
Image = Annotated[str, Matching(r"^[A-Za-z0-9+/\s]*=*\s*$"), JsonSchema({"examples": ["iVBORw0KGgo="]})]
Block = Annotated[dict[str, Any], Checked(shaped(BLOCK)), JsonSchema({**BLOCK, "examples": [{"id": "chart", "title": "Chart"}]})]
ContentSource = Annotated[
    dict[str, Any], Checked(shaped(CONTENT_SOURCE)), JsonSchema({**CONTENT_SOURCE, "examples": [{"id": "wiki", "title": "Wiki"}]})
]
Blocks = Annotated[list[Block], Shape(items=Shape(keys={"urlUnfurl": Shape(unordered=True)}, tag="id"), unordered=True)]
ContentSources = Annotated[list[ContentSource], Shape(items=Shape(tag="id"), unordered=True)]
Configuration = Annotated[
    Any, Shape(known=frozenset({"properties", "required"}), keys={"properties": Shape(every=Shape()), "required": Shape(unordered=True)})
]
Configurations = Annotated[dict[str, Configuration], Checked(shaped(CONFIGURATIONS)), JsonSchema(CONFIGURATIONS)]


class Integration(
    Resource,
    kind="integration",
    place=Keyed("integrations", key_is="name"),
    seeds="integrations",
    # Integrations have no id; names are unique in the whole service, and the list that all organizations share names the owner of each.
    id_is="name",
    owner="owner.id",
    protected=True,
    loses="it is uninstalled wherever it is installed",
    permission=Permission("admin"),
    create_permission=Permission("admin", of="organization"),
    audience=Audience.by("visibility", {"public": Grant(ANYONE), "unlisted": Grant(ANYONE_WITH_THE_URL)}),
):
    """A program that an organization publishes. Each publication is a new version, which replaces the last one."""

    reads = (Listing("/integrations"), One("/integrations/{name}"))
    api = Verbs(
        # Both are one request, which publishes a new version and replaces everything: it needs the program, which no answer shows.
        create=POST("/integrations/{name}", upsert=True, whole=("script",)),
        update=POST("/integrations/{name}", whole=("script",)),
        delete=DELETE("/integrations/{name}"),
    )

    organization = within("organization", on=("create", "update"))
    name: Name = field(on=(), key=True)
    title: Annotated[str, Len(1)] = field("The name that people see.", required=True)
    description: str = field("A one-line description.")
    summary: str = field("A long description, in Markdown.")
    icon: Image = field("An image, in base64.", readable=False)
    previewImages: list[Image] = field("Images of it, in base64.", readable=False)
    # The reference names one value of each of these enumerations, so any text is accepted.
    visibility: str = field("Who can find and install it: private, unlisted or public.", exposes=Exposes("more people can install it"))
    target: str = field("Where it can be installed: all, space or site.", usual="all")
    scopes: frozenset[str] = field("What it may do once installed.", exposes=Exposes("it may do more where it is installed", added=True))
    categories: frozenset[str] = field("Where it is listed.")
    blocks: Blocks = field("The blocks that it adds to pages.", lossy=True)
    contentSources: ContentSources = field("The sources of content that it adds.", lossy=True)
    externalLinks: list[ExternalLink] = field("Links that are shown beside it.", lossy=True)
    configurations: Configurations = field("What its installations can set: account, space and site.", lossy=True)
    contentSecurityPolicy: str | dict[str, str] = field("The policy of its pages.", lossy=True)
    runtime: str = field("The runtime of the script.", readable=False)
    script: Annotated[str, Len(1)] = field('The program: file("dist/script.js").', readable=False)
    secrets: dict[str, str] = field("Secret values that the program can read.", sensitive=True, readable=False)
    version = output()
