"""People and their permissions, by tenant. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from reconciler.fleet.people.identity import Identity, operator

ALL: Final = "*"  # every tenant
FOREIGN: Final = "another tenant"  # replaces a name that only its own tenant may read


class Role(StrEnum):
    """The permissions of a person. Each role includes the one before."""

    VIEWER = "viewer"  # sees the projects of a tenant
    APPROVER = "approver"  # approves and rejects plans, runs projects now
    ADMIN = "admin"  # pauses, resumes, reads the audit log


_ORDER: Final = tuple(Role)


@dataclass(frozen=True)
class Person:
    """`name`: for people to read. `roles`: by tenant; `*` is every tenant. `login`: who a provider says that this is; None for a user of
    the commands."""

    name: str
    roles: Mapping[str, Role] = field(default_factory=dict)
    login: Identity | None = None

    @property
    def identity(self) -> Identity:
        """Who this is, whatever the name."""
        # a user of the commands is known by the account of the machine, which no provider vouches for
        return self.login if self.login is not None else operator(self.name)

    @property
    def about(self) -> Mapping[str, str]:
        """Who this is, for the audit log, where a name alone could be anybody's."""
        return {"issuer": self.login.issuer, "subject": self.login.subject} if self.login is not None else {}

    def may(self, role: Role, tenant: str) -> bool:
        """Whether this person has a role, or one above it, in a tenant."""
        return any(_ORDER.index(self.roles[scope]) >= _ORDER.index(role) for scope in (tenant, ALL) if scope in self.roles)

    @property
    def tenants(self) -> tuple[str, ...] | None:
        """The tenants that this person sees; None for all."""
        return None if ALL in self.roles else tuple(sorted(self.roles))


@dataclass(frozen=True)
class RoleRule:
    """People with a value of the claim have a role in these tenants."""

    value: str
    role: Role
    tenants: tuple[str, ...] = (ALL,)


def granted(rules: Iterable[RoleRule], values: Collection[str]) -> dict[str, Role]:
    """The roles that follow from the values of a claim: the highest in each tenant."""
    roles: dict[str, Role] = {}
    for rule in rules:
        if rule.value in values:
            for tenant in rule.tenants:
                # several values of the claim may give roles in one tenant; the order of the rules must not decide which one counts
                roles[tenant] = max(roles.get(tenant, Role.VIEWER), rule.role, key=_ORDER.index)
    return roles
