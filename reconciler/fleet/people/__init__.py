"""The people of a fleet: who they are, whose addresses are whose, and what they may do in which tenant. Pure."""

from __future__ import annotations

from reconciler.fleet.people.directory import Directory
from reconciler.fleet.people.identity import OPERATOR, Identity, canonical, operator
from reconciler.fleet.people.roles import ALL, FOREIGN, Person, Role, RoleRule, granted

__all__ = [
    "ALL",
    "FOREIGN",
    "OPERATOR",
    "Directory",
    "Identity",
    "Person",
    "Role",
    "RoleRule",
    "canonical",
    "granted",
    "operator",
]
