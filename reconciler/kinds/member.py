"""Members: people of an organization; nobody is invited, and members are removed only with `prune`."""

from __future__ import annotations

from reconciler.kinds._values import ROLES, Email, MemberRole
from reconciler.resource import (
    DELETE,
    PATCH,
    POST,
    Exposes,
    Keyed,
    Listing,
    One,
    Permission,
    PersonalList,
    Resource,
    Verbs,
    field,
    output,
    within,
)


class Member(
    Resource,
    kind="member",
    place=Keyed("members", bare="role", key_is="email"),
    seeds="members",
    # People are invited and removed by people: a file that omits somebody says nothing about them.
    prune="none",
    undeclared=True,
    inactive="disabled",
    personal=(
        PersonalList("space", "/orgs/{organization}/members/{id}/spaces", item="space", level="permission"),
        PersonalList("team", "/orgs/{organization}/members/{id}/teams", item="team", level="member.role", number="teams"),
    ),
    access="may sign in to the organization",
    # A member's id is the user's, which is the same in every organization.
    local_ids=True,
    permission=Permission("admin", of="organization"),
):
    """A person in an organization, known by e-mail."""

    reads = (Listing("/orgs/{organization}/members"), One("/orgs/{organization}/members/{id}"))
    api = Verbs(
        # The reference has no request that adds a member: they join by invitation, by domain or by single sign-on.
        update=PATCH("/orgs/{organization}/members/{id}"),
        enroll=POST("/orgs/{organization}/members/{id}/sso"),
        delete=DELETE("/orgs/{organization}/members/{id}"),
    )

    organization = within("organization")
    email: Email = field(on=(), key=True, caseless=True, read="user.email")
    role: MemberRole = field(
        "The role of the member.",
        scarce="admin",
        exposes=Exposes("may do everything in the organization", ("admin",), grades=ROLES),
    )
    # A disabled member can do nothing: neither an admin who counts nor a reader.
    disabled = output(incidental=True)
    # How many teams they are in.
    teams = output(incidental=True)
    # The endpoint only enrolls; nothing takes a member out of single sign-on.
    sso: bool = field("Add the member to single sign-on. Nobody can be taken out of it.", on="enroll", one_way=True, usual=False)
