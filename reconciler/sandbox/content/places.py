"""What the two families of endpoints are about: a space, or one of its change requests."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.sandbox.content import revisions
from reconciler.sandbox.endpoints import Needs
from reconciler.sandbox.service import Caller, Calling
from reconciler.sandbox.store import Object

SPACE = "/spaces/{spaceId}"
REQUEST = f"{SPACE}/change-requests/{{changeRequestId}}"


@dataclass(frozen=True)
class Found:
    """A space, and the change request where it is about one, as they were when they were looked for."""

    space: Object
    request: Object | None
    base: str

    @property
    def comments(self) -> str:
        """The name of the row of comments on it."""
        return revisions.comments_of(self.space["id"], self.request["id"] if self.request else None)


@dataclass(frozen=True)
class Place:
    """What a request names; look for it inside the transaction that changes it."""

    caller: Caller
    space: str
    request: str | None = None

    def find(self, needs: str | None = None) -> Found:
        """Raises 404 where it is not, 403 where the caller has less than the role in `needs`."""
        space = revisions.space_of(self.caller, self.space, needs)
        base = f"{self.caller.service.base}/v1/spaces/{self.space}"
        if self.request is None:
            return Found(space, None, base)
        request = revisions.request_of(self.caller, space, self.request)
        return Found(space, request, f"{base}/change-requests/{request['id']}")

    def content(self) -> tuple[Object, Object]:
        """The space and the revision that is shown of it."""
        target, store = self.find(), self.caller.store
        if target.request is None:
            return target.space, revisions.current(store, target.space)
        return target.space, revisions.revision(store, target.space, target.request["revision"])


async def space_place(spaceId: str, caller: Caller = Calling) -> Place:
    return Place(caller, spaceId)


async def request_place(spaceId: str, changeRequestId: str, caller: Caller = Calling) -> Place:
    return Place(caller, spaceId, changeRequestId)


FAMILIES = ((SPACE, Needs(space_place)), (REQUEST, Needs(request_place)))
