"""SAML providers: single sign-on of an organization."""

from __future__ import annotations

from collections.abc import Mapping
from operator import ne
from typing import Annotated, Any

from reconciler.kinds._values import ROLES, Certificate, MemberRole, Uri
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    UNSET,
    Address,
    Exposes,
    Keyed,
    Len,
    Listing,
    Needed,
    One,
    Permission,
    Resource,
    To,
    Verbs,
    field,
    within,
)


def _team(raw: Mapping[str, Any]) -> Any:
    """The id of the team, which the service shows as a whole object."""
    team = raw.get("defaultTeam", UNSET)
    return team.get("id", UNSET) if isinstance(team, Mapping) else team


def _another_team(before: Any, after: Any) -> bool:
    """Whether new members join a team, and not that of before. Without a team they join none."""
    return after not in (UNSET, None) and after != before


_ELSEWHERE = Exposes("another provider decides who may sign in", when=ne)


class Saml(
    Resource,
    kind="saml",
    place=Keyed("saml"),
    seeds="saml",
    object="saml-provider",
    protected=True,
    loses="people can no longer sign in through it",
    grants="whoever it signs in may join the organization",
    # Who enforced single sign-on without a provider would lock everybody out, the token's owner included.
    needed=Needed("sso", True, of=("member",)),
    permission=Permission("admin", of="organization"),
):
    """An identity provider that members sign in with."""

    reads = (Listing("/orgs/{organization}/saml"), One("/orgs/{organization}/saml/{id}"))
    api = Verbs(
        create=POST("/orgs/{organization}/saml"),
        update=PATCH("/orgs/{organization}/saml/{id}"),
        delete=DELETE("/orgs/{organization}/saml/{id}"),
    )

    organization = within("organization")
    # Labels may be the same and may change: the identifier that the provider itself has is the identity.
    label: Annotated[str, Len(1, 30)] = field("The name on the sign-in page.", required=True)
    entityID: Annotated[str, Len(1, 1024)] = field("The identifier of the provider.", key=True, required=True, exposes=_ELSEWHERE)
    ssoURL: Uri = field("The URL where members sign in.", required=True, lossy=True, exposes=_ELSEWHERE)
    # The service stores a certificate without the text around it, so what it shows is not what was sent.
    certificate: Certificate = field(
        "The certificate of the provider, in PEM format; of a chain, its own first. Text around it is dropped.",
        required=True,
        lossy=True,
        exposes=_ELSEWHERE,
        expires="certificate",
    )
    defaultTeam: Annotated[Address, To("team")] = field(
        "The team that new members join.", read=_team, exposes=Exposes("new members join another team", when=_another_team)
    )
    defaultRole: MemberRole = field("The role of new members.", initial=None, exposes=Exposes("new members may do more", ROLES))
