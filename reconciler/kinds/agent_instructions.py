"""Agent instructions: what an organization asks of its agents; one document, which cannot be deleted."""

from __future__ import annotations

from reconciler.kinds._shapes import RichText, written_instructions
from reconciler.resource import PUT, One, Permission, Resource, SingleValue, Verbs, field, one_per


class AgentInstructions(
    Resource,
    kind="agent-instructions",
    place=SingleValue("agentInstructions", value_is="instructions"),
    permission=Permission("admin", of="organization"),
):
    """Instructions for agents of the organization: a text, or a rich document in the form of the service."""

    reads = (One("/orgs/{organization}/agent-instructions"),)
    api = Verbs(
        # The organization always has the document, empty at first; the PUT replaces it.
        create=PUT("/orgs/{organization}/agent-instructions", upsert=True),
        update=PUT("/orgs/{organization}/agent-instructions"),
    )

    organization = one_per("organization")
    instructions: RichText = field("The whole document.", read=written_instructions, required=True, lossy=True)
