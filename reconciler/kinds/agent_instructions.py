"""Agent instructions: what an organization tells its agents; one document, which cannot be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.kinds._rich_text import RichText, has_content
from reconciler.resource import PUT, UNSET, Api, One, Permission, Resource, Single, field, one_per


def _instructions(raw: Mapping[str, Any]) -> Any:
    """The service shows an empty document where nobody wrote one."""
    document = raw.get("instructions", UNSET)
    return document if has_content(document) else UNSET


class AgentInstructions(
    Resource,
    kind="agent-instructions",
    place=Single("agentInstructions", value_is="instructions"),
    permission=Permission("admin", of="organization"),
):
    """Instructions for agents of the organization: a text, or a rich document in the form of the service."""

    reads = (One("/orgs/{organization}/agent-instructions"),)
    api = Api(
        create=PUT("/orgs/{organization}/agent-instructions", upsert=True),
        update=PUT("/orgs/{organization}/agent-instructions"),
    )

    organization = one_per("organization")
    instructions: RichText = field("The whole document.", read=_instructions, required=True, lossy=True)
