"""Adaptive schemas: what a site may know of its visitors; one JSON Schema a site, which cannot be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import Field

from reconciler.resource import PUT, One, Permission, Resource, SingleValue, Verbs, field, one_per
from reconciler.resource.conditions import UNSIGNED

_CLAIM = {"type": "boolean", "description": "Tries what is new"}
_EXAMPLE = {"type": "object", "properties": {"isBeta": _CLAIM}, "additionalProperties": False}


def _claims(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The claims that visitors cannot set themselves, each with the schema of its values."""
    schema = values.get("jsonSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return {name: rule for name, rule in properties.items() if name != UNSIGNED} if isinstance(properties, Mapping) else {}


class AdaptiveSchema(
    Resource,
    kind="adaptive-schema",
    place=SingleValue("adaptiveSchema", value_is="jsonSchema"),
    object="site-adaptive-schema",
    permission=Permission("createContent", of="organization"),
    claims=_claims,
):
    """The attributes of visitors that conditions may name: a JSON Schema, draft-07."""

    reads = (One("/orgs/{organization}/sites/{site}/adaptive-schema"),)
    api = Verbs(
        create=PUT("/orgs/{organization}/sites/{site}/adaptive-schema", upsert=True),
        update=PUT("/orgs/{organization}/sites/{site}/adaptive-schema"),
    )

    site = one_per("site")
    jsonSchema: Annotated[dict[str, Any], Len(1), Field(examples=[_EXAMPLE])] = field("The whole schema.", required=True)
