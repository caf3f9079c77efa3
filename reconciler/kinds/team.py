"""Teams: groups of members, whose members are set only at creation."""

from __future__ import annotations

from typing import Annotated

from reconciler.resource import (
    DELETE,
    PATCH,
    PUT,
    Address,
    Exposes,
    Keyed,
    Len,
    Listing,
    Missed,
    One,
    Permission,
    Resource,
    To,
    Verbs,
    field,
    within,
)


class Team(
    Resource,
    kind="team",
    place=Keyed("teams"),
    seeds="teams",
    permission=Permission("admin"),
    create_permission=Permission("admin", of="organization"),
):
    """A group of organization members. Who is in it is read where service.readPeople is true."""

    reads = (Listing("/orgs/{organization}/teams"), One("/orgs/{organization}/teams/{id}"))
    api = Verbs(
        # PUT, not POST (the API reference); each call creates another team all the same, so an interrupted one is looked for by its title.
        create=PUT("/orgs/{organization}/teams", marker="title"),
        update=PATCH("/orgs/{organization}/teams/{id}"),
        delete=DELETE("/orgs/{organization}/teams/{id}"),
    )

    organization = within("organization")
    title: Annotated[str, Len(1, 64)] = field("The name.", key=True, required=True)
    # Answers have only the number of members: who they are is known where the members are asked. No request of the reference changes them.
    members: frozenset[Annotated[Address, To("member")]] = field(
        "E-mails; sent when the team is created.",
        on="create",
        on_change="report",
        readable=False,
        gathered=True,
        exposes=Exposes("more people may do what the team may", added=True),
        missed=Missed("member", "member-in-no-team", "is in no team"),
    )
