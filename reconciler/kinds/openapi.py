"""OpenAPI specifications: API descriptions from which pages are generated, identified by their slug."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from reconciler.kinds._values import WITH_A_ROLE, Uri
from reconciler.resource import (
    DELETE,
    PATCH,
    PUT,
    UNSET,
    Audience,
    Checked,
    Exposes,
    Grant,
    JsonSchema,
    Keyed,
    Len,
    Listing,
    One,
    Permission,
    ProcessingField,
    PublishedField,
    Resource,
    Verbs,
    WithheldError,
    field,
    within,
)
from reconciler.resource.risks import ANYONE

_DOCUMENT = re.compile(r"(?:^|[{,\s])[\"']?(?:openapi|swagger)[\"']?\s*:")


def _described(text: str) -> str:
    if _DOCUMENT.search(text) is None:
        raise WithheldError("is not an OpenAPI document: expected YAML or JSON with the key openapi or swagger")
    return text


class DocumentSource(TypedDict):
    """Where the document is fetched from, or the document itself."""

    url: NotRequired[Uri]
    text: NotRequired[Annotated[str, Len(1), Checked(_described)]]


def _either(source: DocumentSource) -> DocumentSource:
    if len(source) != 1:
        raise ValueError("expected either {url: https://…} or {text: …}, the document itself")
    return source


def _source(raw: Mapping[str, Any]) -> Any:
    """The source as written: the service shows `source.url` as `sourceURL`, and nothing of a document that was sent as text."""
    return {"url": raw["sourceURL"]} if "sourceURL" in raw else UNSET


_SLUG = r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*"


def _slug(value: str) -> str:
    if re.fullmatch(_SLUG, value) is None:
        raise ValueError(f"expected letters and digits with single hyphens between them{_nearest(value)}")
    return value


def _nearest(value: str) -> str:
    """A slug that resembles a text."""
    near = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")
    return f", such as {near}" if near else ""


Slug = Annotated[str, Len(1, 100), Checked(_slug), JsonSchema({"pattern": f"^{_SLUG}$", "examples": ["payments-v2"]})]

_EITHER = JsonSchema({"minProperties": 1, "maxProperties": 1, "examples": [{"url": "https://acme.example/openapi.json"}]})


class OpenApi(
    Resource,
    kind="openapi",
    place=Keyed("openapi", key_is="slug"),
    seeds="openapi",
    object="openapi-spec",
    published=PublishedField("urls.published", unless=("visibility", "private")),
    permission=Permission("edit"),
    create_permission=Permission("createOpenAPISpec", of="organization"),
    # The service fetches and reads the document after the answer (`processingState`: the API reference, "OpenAPI spec").
    work=ProcessingField("processingState", done=("complete",), changed_at="updatedAt", error="lastProcessErrorCode"),
    audience=Audience.by("visibility", {"public": Grant(ANYONE)}, otherwise=WITH_A_ROLE),
):
    """An OpenAPI document that the service fetches and shows."""

    reads = (Listing("/orgs/{organization}/openapi"), One("/orgs/{organization}/openapi/{slug}"))
    api = Verbs(
        create=PUT("/orgs/{organization}/openapi/{slug}", upsert=True),
        update=PATCH("/orgs/{organization}/openapi/{slug}"),
        # The same request as the create. It restarts processing even with the same URL, so it is sent for a changed source only.
        refresh=PUT("/orgs/{organization}/openapi/{slug}"),
        delete=DELETE("/orgs/{organization}/openapi/{slug}"),
    )

    organization = within("organization")
    slug: Slug = field(on=(), key=True, caseless=True)
    # A document that was sent as text is not shown again; a URL may contain a password.
    source: Annotated[DocumentSource, Checked(_either), _EITHER] = field(
        "The URL of the document, or the document itself.", on=("create", "refresh"), read=_source, required=True, secret_allowed=True
    )
    visibility: Literal["private", "public"] = field(
        "Who can see it.",
        on="update",
        initial="private",
        exposes=Exposes("anyone can read it"),
        opens=("public",),
    )
