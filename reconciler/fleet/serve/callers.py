"""The caller of a request: the session of a cookie, or a token, and the person with their present roles in the fleet file."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from sqlalchemy import Connection
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection

from reconciler.fleet.pages import links
from reconciler.fleet.people import Identity, Person, Role, canonical, granted
from reconciler.fleet.serve.guard import first_cookie
from reconciler.fleet.serve.single import WAY as SINGLE
from reconciler.fleet.serve.site import Dashboard, site_of
from reconciler.fleet.store import audit
from reconciler.fleet.store.dashboard import sessions

CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf"


class NotLoggedIn(Exception):
    """The caller is unknown."""


class Forged(Exception):
    """A form was not sent by a page of this session."""


@dataclass(frozen=True)
class Caller:
    """`session`: its id, "" for a token, which no browser sends by itself. `csrf`: the value in each form of the session."""

    person: Person
    session: str = ""
    csrf: str = ""

    @property
    def tenants(self) -> tuple[str, ...] | None:
        """The tenants whose projects the caller sees; None for all."""
        return self.person.tenants

    @property
    def audited(self) -> tuple[str, ...] | None:
        """The tenants whose part of the audit log the caller sees; None for all of it."""
        roles = self.person.roles
        whole = any(roles.get(scope) is Role.ADMIN for scope in ("*",))
        return None if whole else tuple(sorted(tenant for tenant, role in roles.items() if role is Role.ADMIN))

    @property
    def is_admin(self) -> bool:
        return Role.ADMIN in self.person.roles.values()


def find(request: HTTPConnection) -> Caller | None:
    """The caller; None if unknown."""
    site = site_of(request)
    header = request.headers.get("authorization", "")
    if header:
        scheme, _, token = header.partition(" ")
        known = scheme.lower() == "bearer" and site.single is not None and site.single.is_bearer(token.strip())
        return Caller(site.single.person) if known and site.single is not None else None
    cookie = first_cookie(request, site.cookie)
    if not cookie or links.ROOT.get() != site.root:
        return None
    with site.database.transaction() as connection:
        session = sessions.find(connection, sessions.digest(cookie))
    person = person_of(site, session.person) if session is not None else None
    return Caller(person, session.id, session.csrf) if person is not None and session is not None else None


def person_of(site: Dashboard, data: Mapping[str, Any]) -> Person | None:
    """The person of a session, as long as the fleet file still has the login method that they used, and the session says who they are."""
    if data["way"] == SINGLE:
        return site.single.person if site.single is not None else None
    settings = site.settings()
    if site.single is not None or settings.oidc is None or data["way"] != settings.oidc.issuer or "subject" not in data:
        return None
    return Person(data["name"], granted(settings.rules, data["values"]), identity_of(data))


def identity_of(data: Mapping[str, Any]) -> Identity:
    """Who a session says that its person is."""
    return Identity(data["way"], data["subject"], frozenset(map(canonical, data["addresses"])))


def _known(request: Request) -> Caller:
    caller = find(request)
    if caller is None:
        raise NotLoggedIn
    return caller


Known = Annotated[Caller, Depends(_known)]
"""A logged-in caller."""


async def _fields(request: Request) -> QueryParams:
    """The fields of a form; none for any other body. Characters that PostgreSQL cannot store are removed."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return QueryParams()
    try:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return QueryParams()
    return QueryParams([(name, value.replace("\0", "")) for name, value in pairs])


Fields = Annotated[QueryParams, Depends(_fields)]


def _acting(request: Request, caller: Known, fields: Fields) -> Caller:
    """A logged-in caller whose own page sent this request."""
    if caller.session:
        sent = request.headers.get(CSRF_HEADER) or fields.get(CSRF_FIELD, "")
        # a token is sent only by programs; a cookie is sent by the browser for every site, so its form must prove where it comes from
        if not hmac.compare_digest(sent.encode(), caller.csrf.encode()):
            raise Forged
    return caller


Acting = Annotated[Caller, Depends(_acting)]


def record_view(site: Dashboard, connection: Connection, caller: Caller, project: str, tenant: str) -> None:
    """Record who saw a project: once for each session and project, as far as this process remembers, so rather twice than never."""
    if site.is_first(caller.session or caller.person.name, project):
        audit.write(connection, audit.AuditRecord(caller.person.name, "view", project, tenant, caller.person.about))
