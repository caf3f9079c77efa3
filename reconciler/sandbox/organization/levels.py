"""What members may do with spaces and collections: what is set nearest to an object counts, not what allows the most.

    the space  ->  its collection  ->  the collection around that  ->  …  ->  the organization

At each of these, for one person: what they were given there; else the highest role that one of their teams was given there; else the
`defaultLevel`. A role there counts for everybody, guests included; null admits nobody; `inherit` asks the next one, and the organization
gives each member their own role, which guests do not have. Admins may do everything, and whoever is disabled nothing. Whoever creates a
collection or a space is given `admin` there, as by a grant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from reconciler.sandbox.service import RANKS
from reconciler.sandbox.store import Object, Store

ADMIN, INHERIT = "admin", "inherit"
GRANTS: Final = "_grants"
"""The field of a space or a collection with what single people and teams were given there: `{member, role}` and `{team, role}`."""


class Access(NamedTuple):
    """What members may do with an object. `level`: without a grant; `inherit` is their own role, None nothing. `granted`: by person."""

    level: str | None
    granted: Mapping[str, str]

    def of_role(self, role: str | None) -> str | None:
        """The level of a member with a role and without a grant. `role`: None for a guest."""
        return role if role == ADMIN or self.level == INHERIT else self.level

    def of(self, member: Object) -> str | None:
        """The level of one member; None where they reach nothing."""
        if member.get("disabled"):
            return None
        return ADMIN if member["role"] == ADMIN else self.granted.get(member["id"]) or self.of_role(member["role"])


TOP: Final = Access(INHERIT, {})
OWNER: Final = "owner"


def role_in(team: Object, user: str) -> str:
    """The role in a team of somebody who is in it, or who created it."""
    return OWNER if user == team["_owner"] else str(team.get("_roles", {}).get(user, "read"))


class Levels:
    """The levels of one organization's members. Collections and teams are read once."""

    def __init__(self, collections: Iterable[Object], teams: Iterable[Object]) -> None:
        self._collections = {collection["id"]: collection for collection in collections}
        self._teams = {team["id"]: team["_members"] for team in teams}
        self._known: dict[str | None, Access] = {}

    @classmethod
    def of(cls, store: Store, organization: str) -> Levels:
        return cls(store.select("collection", organization=organization), store.select("team", organization=organization))

    def access(self, data: Object) -> Access:
        """What members may do with a space that is not deleted, or with a collection."""
        inside: list[Object] = []
        at, around = data, data.get("parent")
        while around in self._collections and around not in self._known and all(around != inner["id"] for inner in inside):
            at = self._collections[around]
            inside.append(at)
            around = at.get("parent")
        access = self._known.get(around, TOP)
        for collection in reversed(inside):
            access = self._known[collection["id"]] = self._at(collection, access)
        return self._at(data, access)

    def level(self, member: Object, space: Object) -> str | None:
        """The level of a member in a space; nobody has any in a deleted one."""
        return None if space.get("deletedAt") else self.access(space).of(member)

    def _at(self, data: Object, around: Access) -> Access:
        """What one object gives, inside of what gives `around`."""
        # A person's own grant comes last and counts, and of those of teams the highest.
        grants = sorted(data.get(GRANTS, ()), key=lambda grant: ("member" in grant, RANKS.index(grant["role"])))
        granted = {user: grant["role"] for grant in grants for user in self._people(grant)}
        level = data.get("defaultLevel")
        if level == INHERIT:
            return Access(around.level, {**around.granted, **granted})
        return Access(level if level in RANKS else None, granted)

    def _people(self, grant: Object) -> Iterable[str]:
        people: Iterable[str] = [grant["member"]] if "member" in grant else self._teams.get(grant["team"], ())
        return people


class SpaceCounts:
    """How many spaces each member of an organization reaches. `spaces`: those that are not deleted."""

    def __init__(self, levels: Levels, spaces: Iterable[Object]) -> None:
        accesses = [levels.access(space) for space in spaces]
        self._levels = Counter(access.level for access in accesses)
        self._granted: dict[str, Counter[str | None]] = {}
        for access in accesses:
            for user in access.granted:
                self._granted.setdefault(user, Counter())[access.level] += 1

    @classmethod
    def of_organization(cls, store: Store, organization: str) -> SpaceCounts:
        return cls(Levels.of(store, organization), store.parts("space", organization, "id", "parent", "defaultLevel", GRANTS))

    def of(self, member: Object) -> int:
        """How many spaces one member reaches."""
        if member.get("disabled"):
            return 0
        by_role = [level for level in self._levels if Access(level, {}).of_role(member["role"]) is not None]
        granted = self._granted.get(member["id"], Counter())
        return sum(self._levels[level] for level in by_role) + sum(granted[level] for level in granted if level not in by_role)


def granted_to(user: str | None) -> list[Object]:
    """The grants of what somebody creates. `user`: None for the control token, which is nobody."""
    return [{"member": user, "role": ADMIN}] if user is not None else []


def forget(store: Store, organization: str, user: str) -> None:
    """Take back what somebody was given who leaves the organization."""
    for kind in ("collection", "space"):
        for data in store.select(kind, organization=organization):
            kept = [grant for grant in data.get(GRANTS, ()) if grant.get("member") != user]
            if len(kept) < len(data.get(GRANTS, ())):
                data[GRANTS] = kept
                store.save(kind, data)
