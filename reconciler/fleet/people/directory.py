"""What the fleet knows about people: those that its file declares, and those who logged in. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.fleet.people.identity import OPERATOR, Identity, canonical
from reconciler.fleet.people.roles import Person, Role, RoleRule, granted

Token = tuple[str, str]
"""One name of a person: an issuer and a subject, or an address."""
_ADDRESS: Final = ""  # in place of the issuer


@dataclass(frozen=True)
class DeclaredPerson:
    """A person of the fleet file. `subject`: None for somebody who is known by their addresses only."""

    subject: str | None
    addresses: frozenset[str]


@dataclass(frozen=True)
class SeenPerson:
    """Somebody who logged in. `values`: the values of the claim that gives roles, as read last."""

    identity: Identity
    values: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Directory:
    """`issuer`: of the provider that people log in with, None for none. `rules`: what gives roles there, as of today."""

    issuer: str | None = None
    rules: tuple[RoleRule, ...] = ()
    declared: tuple[DeclaredPerson, ...] = ()
    seen: tuple[SeenPerson, ...] = ()

    def is_known(self, address: str) -> bool:
        """Whether it is known whose address this is: it is declared, or the provider verified it."""
        own = canonical(address)
        return any(own in person.addresses for person in self.declared) or any(own in person.identity.addresses for person in self.seen)

    def may_approve(self, identity: Identity, tenant: str) -> bool:
        """Whether somebody is an approver of a tenant today. A user of the commands is: they could write every row anyway."""
        if identity.issuer == OPERATOR:
            return True
        if identity.issuer != self.issuer:
            return False
        values = {value for person in self.seen if person.identity.key == identity.key for value in person.values}
        return Person("", granted(self.rules, values)).may(Role.APPROVER, tenant)

    def people(self, identities: Iterable[Identity]) -> SamePeople:
        """Which of these identities, and of all that is known, are the same person."""
        return SamePeople([*self._known(), *(_tokens(identity) for identity in identities)])

    def _known(self) -> Iterator[set[Token]]:
        for person in self.declared:
            own = {(_ADDRESS, address) for address in person.addresses}
            yield own | ({(self.issuer, person.subject)} if person.subject is not None and self.issuer is not None else set())
        for seen in self.seen:
            yield _tokens(seen.identity)


class SamePeople:
    """People, each with all names that are known to be theirs: whoever shares one name is the same person."""

    def __init__(self, groups: Iterable[Collection[Token]]) -> None:
        self._parents: dict[Token, Token] = {}
        for group in groups:
            first, *others = sorted(group)
            for token in others or [first]:
                self._parents[self._root(token)] = self._root(first)

    def of(self, identity: Identity) -> Token:
        """The same value for every identity of one person."""
        return self._root(identity.key)

    def by_address(self, address: str) -> Token:
        """The person with an address."""
        return self._root((_ADDRESS, canonical(address)))

    def _root(self, token: Token) -> Token:
        while (parent := self._parents.setdefault(token, token)) != token:
            token = parent
        return token


def _tokens(identity: Identity) -> set[Token]:
    return {identity.key, *((_ADDRESS, address) for address in identity.addresses)}


def of_settings(settings: Mapping[str, Any], seen: Iterable[SeenPerson]) -> Directory:
    """The directory that follows from the settings of a fleet file (`reconciler.fleet.declared`), and from who logged in."""
    dashboard = settings.get("dashboard") or {}
    oidc = dashboard.get("oidc")
    return Directory(
        issuer=oidc["issuer"] if oidc is not None else None,
        rules=tuple(RoleRule(rule["value"], Role(rule["role"]), tuple(rule["tenants"])) for rule in dashboard.get("roles") or ()),
        declared=tuple(
            DeclaredPerson(person["subject"], frozenset(map(canonical, person["addresses"]))) for person in settings.get("people") or ()
        ),
        seen=tuple(seen),
    )
