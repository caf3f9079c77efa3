"""What every endpoint needs: who calls, what they may see, pages of a list, and how a refusal is said."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Annotated, Any, TypeVar

from reconciler.sandbox.door import NO_TOKEN, UNKNOWN_TOKEN, bearer
from reconciler.sandbox.endpoints import Needs, Query, Request
from reconciler.sandbox.store import Object, Store

T = TypeVar("T")
PAGE = 100  # items of a page where no limit is given
PAGE_MAX = 1000
READINGS = 500  # remembered of those that were asked
RANKS = ("read", "comment", "edit", "review", "create", "admin")


class Fault(Exception):
    """A refusal: an HTTP status and a sentence that names the field or the object."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class Service:
    """One running service: its store, the token that opens the control endpoints, its own base address, and what was read lately."""

    store: Store
    control: str | None
    base: str = "http://127.0.0.1"
    readings: list[dict[str, Any]] = field(default_factory=list)

    def is_control(self, token: str) -> bool:
        return self.control is not None and compare_digest(token.encode(errors="replace"), self.control.encode())

    def knows(self, token: str) -> bool:
        """Whether a token is one of the service."""
        return self.is_control(token) or self.store.has_token(token)


@dataclass(frozen=True)
class Caller:
    """Who calls. `user` is None for the control token, which acts as the first admin of every organization."""

    service: Service
    user: str | None
    access: str
    # whether spaces at the root of a site get a section around them, as a fault rule says
    wraps: bool = field(default=False, kw_only=True)

    @property
    def store(self) -> Store:
        return self.service.store

    def member(self, organization: str) -> Object:
        """The caller's membership. Raises 404 where the organization is not theirs or does not exist, 403 where it is disabled."""
        if self.store.find("organization", organization) is not None:
            if self.user is not None:
                member = self.store.find("member", f"{organization}:{self.user}")
            else:
                members = self.store.select("member", organization=organization)
                admins = (candidate for candidate in members if candidate["role"] == "admin" and not candidate.get("disabled"))
                member = next(admins, None) or {"id": "nobody", "role": "admin"}
            if member is not None:
                return enabled(member, organization)
        # a stranger gets the same 404 as for an id that nobody has, so an answer never says that somebody else's organization exists
        raise Fault(404, f"organization {organization} not found")

    def rank(self, organization: str) -> int:
        """How much the caller may do, from -1 (guest) to 5 (admin)."""
        role = self.member(organization)["role"]
        return RANKS.index(role) if role in RANKS else -1

    def admin(self, organization: str) -> None:
        """Raise 403 unless the caller administrates the organization."""
        self._needs("admin", organization)

    def creator(self, organization: str) -> None:
        """Raise 403 unless the caller may create content."""
        self._needs("create", organization)

    def lister(self, organization: str) -> None:
        """Raise 403 unless the caller may list members and teams, as `listMembers` and `listTeams` of the organization say."""
        self.member(organization)
        self._needs("read", organization)

    def _needs(self, role: str, organization: str) -> None:
        if self.rank(organization) < RANKS.index(role):
            raise Fault(403, f"you need the role {role} for this")

    def get(self, kind: str, id: str, organization: str | None = None, container: str | None = None) -> Object:
        """An object the caller may see. Raises 404 for all others."""
        object_ = self.store.find(kind, id)
        if (
            object_ is None
            or (organization is not None and object_["organization"] != organization)
            or (container is not None and object_.get("site") != container)
            or not self.belongs(str(object_.get("organization", object_["id"])))
        ):
            raise Fault(404, f"{kind} {id} not found")
        return object_

    def belongs(self, organization: str) -> bool:
        """Whether the caller is a member of an organization. Raises 403 where their membership is disabled."""
        if self.user is None:
            return True
        member = self.store.find("member", f"{organization}:{self.user}")
        return member is not None and bool(enabled(member, organization))


def enabled(member: Object, organization: str) -> Object:
    """The member. Raises 403 for a disabled one."""
    if member.get("disabled"):
        raise Fault(403, f"your membership of organization {organization} is disabled")
    return member


def who(service: Service, authorization: str, method: str) -> Caller:
    """The caller behind the bearer token. Raises 401 without or with an unknown token, 403 for a read token's write."""
    token = bearer(authorization)
    if not token:
        raise Fault(401, NO_TOKEN)
    known = service.store.token(token)
    if known is not None:
        calling = Caller(service, known[0], known[2])
    # tests and the command line have no seeded person to act as, so the token that started the server stands for the first admin
    elif service.is_control(token):
        calling = Caller(service, None, "write")
    else:
        raise Fault(401, UNKNOWN_TOKEN)
    if calling.access != "write" and method not in ("GET", "HEAD"):
        raise Fault(403, "this access token is read-only")
    return calling


async def caller(request: Request) -> Caller:
    """The caller, known before the request was looked at."""
    calling: Caller = request.scope["caller"]
    return calling


Calling: Any = Needs(caller)


@dataclass(frozen=True)
class Paging:
    """What a list was asked for."""

    page: str | None
    limit: int


async def paging(page: str | None = None, limit: Annotated[int, Query(ge=1, le=PAGE_MAX)] = PAGE) -> Paging:
    return Paging(page, limit)


Paged: Any = Needs(paging)


def listing(items: Sequence[T], paging: Paging, show: Any = None) -> dict[str, Any]:
    """One page of a list in the service's envelope; page tokens are opaque."""
    start = 0
    if paging.page is not None:
        try:
            start = int(base64.urlsafe_b64decode(paging.page.encode()).decode().removeprefix("from:"))
        except ValueError as error:
            raise Fault(400, "page is not a page token of this service") from error
        if start < 0:
            raise Fault(400, "page is not a page token of this service")
    part: Iterable[Any] = items[start : start + paging.limit]
    answer: dict[str, Any] = {"items": [show(item) for item in part] if show else list(part), "count": len(items)}
    if start + paging.limit < len(items):
        # clients must not compute with the token, so it looks like nothing: the service may change what is in it at any time
        token = base64.urlsafe_b64encode(f"from:{start + paging.limit}".encode()).decode()
        answer = {"next": {"page": token}, **answer}
    return answer


# -- what was asked lately: writes are kept in the file, readings only while the service runs --------------------------------------------

WRITES = 500  # kept in the file
_KEYS = ("at", "method", "path", "status")
_READING = ("GET", "HEAD", "OPTIONS")


def note(service: Service, method: str, path: str, status: int) -> None:
    """Note one request that is being answered."""
    store = service.store
    request = {"at": store.stamp(), "method": method, "path": path[:400], "status": status}
    if method in _READING:
        service.readings.append(request)
        del service.readings[:-READINGS]
        return
    with store.write():
        store.connection.execute("insert into requests (at, method, path, status) values (:at, :method, :path, :status)", request)
        store.connection.execute("delete from requests where id <= (select max(id) from requests) - ?", (WRITES,))


def newest(service: Service, count: int) -> list[dict[str, Any]]:
    """The last requests, newest first."""
    rows = service.store.connection.execute("select at, method, path, status from requests order by id desc limit ?", (count,))
    writes = [dict(zip(_KEYS, row, strict=True)) for row in rows]
    return sorted([*writes, *service.readings[-count:][::-1]], key=lambda request: str(request["at"]), reverse=True)[:count]
