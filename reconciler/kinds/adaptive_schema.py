"""Adaptive schemas: what a site may know about its visitors; one JSON Schema per site, which cannot be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.kinds._shapes import VisitorSchema
from reconciler.resource import PUT, One, Permission, Resource, SingleValue, Verbs, field, one_per


def _claims(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of all claims, those that visitors set themselves included."""
    schema = values.get("jsonSchema")
    return schema if isinstance(schema, Mapping) else {}


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
        # The PUT that replaces it also creates it. There is no delete: a schema without attributes is the least that a site can have.
        create=PUT("/orgs/{organization}/sites/{site}/adaptive-schema", upsert=True),
        update=PUT("/orgs/{organization}/sites/{site}/adaptive-schema"),
    )

    site = one_per("site")
    jsonSchema: VisitorSchema = field("The whole schema.", required=True)
