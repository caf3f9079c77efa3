"""SAML providers: single sign-on of an organization."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from reconciler.kinds._values import ROLES, MemberRole, Uri
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
    WireForm,
    field,
    within,
)

_PEM: Final = re.compile(r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")
_BARE: Final = re.compile(r"\A\s*(MI[A-Za-z0-9+/\s]{200,}={0,2})\s*\Z")


def _team(raw: Mapping[str, Any]) -> Any:
    """The id of the team, which the service shows as a whole object."""
    team = raw.get("defaultTeam", UNSET)
    return team.get("id", UNSET) if isinstance(team, Mapping) else team


def certificate_content(value: Any) -> Any:
    """Certificates in one wrapping: LF, lines of 64 characters, one line break at the end. Anything else is unchanged."""
    text = value if isinstance(value, str) else ""
    bodies = ("".join(block.split()) for block in _PEM.findall(text) or _BARE.findall(text))
    lines = ("\n".join(body[at : at + 64] for at in range(0, len(body), 64)) for body in bodies)
    return "".join(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n" for text in lines) or value


def _other(before: Any, after: Any) -> bool:
    return bool(before != after)


_ELSEWHERE = Exposes("another provider decides who may sign in", when=_other)


class Saml(
    Resource,
    kind="saml",
    place=Keyed("saml"),
    seeds="saml",
    object="saml-provider",
    protected=True,
    loses="people can no longer sign in through it",
    needed=Needed("sso", True),
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
    label: Annotated[str, Len(1, 30)] = field("The name on the sign-in page.", required=True)
    entityID: Annotated[str, Len(1, 1024)] = field("The identifier of the provider.", key=True, required=True)
    ssoURL: Uri = field("The URL where members sign in.", required=True, lossy=True, exposes=_ELSEWHERE)
    certificate: Annotated[str, Len(1, 10_000), WireForm(body=certificate_content, show=certificate_content)] = field(
        "The certificate of the provider, in PEM format.", required=True, lossy=True, exposes=_ELSEWHERE, expires="certificate"
    )
    defaultTeam: Annotated[Address, To("team")] = field(
        "The team that new members join.", read=_team, exposes=Exposes("new members join another team", when=_other)
    )
    defaultRole: MemberRole = field("The role of new members.", initial=None, exposes=Exposes("new members may do more", ROLES))
