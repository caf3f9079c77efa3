"""Control endpoints, outside /v1: the file's identity, its clock, who can read what. Only for the token the server was given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from reconciler.sandbox.bodies import ClockSet
from reconciler.sandbox.door import bearer
from reconciler.sandbox.endpoints import Needs, Query, Request, Router
from reconciler.sandbox.service import Fault, Service
from reconciler.sandbox.sites.audience import audience

router = Router(prefix="/_sandbox", include_in_schema=False)


async def service(request: Request) -> Service:
    """The service, for whoever holds the control token."""
    running: Service = request.app.state.service
    if not running.is_control(bearer(request.headers.get("authorization", ""))):
        raise Fault(401, "control endpoints require the token that the server was started with")
    return running


Controlled: Any = Needs(service)


def _sane(field: str, moment: datetime) -> datetime:
    """A moment with room on both sides for what is computed from it. Raises 400 for all others."""
    if not 1970 <= moment.year < 9000:
        raise Fault(400, f"{field}: that moment is out of range")
    return moment


@router.get("/identity")
async def identity(running: Service = Controlled) -> Any:
    return {"identity": running.store.identity}


@router.get("/readers")
async def readers(
    organization: str | None = None,
    condition: Annotated[list[str] | None, Query()] = None,
    running: Service = Controlled,
) -> Any:
    """Who can read every object. `condition`: ask about visitors for whom it is true too, beside the conditions on the way to an object."""
    if organization is not None and running.store.find("organization", organization) is None:
        raise Fault(400, f"organization: unknown organization {organization}")
    return {"items": audience(running.store, organization, [frozenset([claim]) for claim in condition or ()])}


@router.get("/clock")
async def clock(running: Service = Controlled) -> Any:
    return {"now": running.store.stamp(), "still": running.store.meta("clock") is not None}


@router.put("/clock")
async def set_clock(body: ClockSet, running: Service = Controlled) -> Any:
    """`now` stops the clock at a moment; `advance` moves it by seconds, standing or running."""
    store = running.store
    if body.now is not None:
        try:
            moment = datetime.fromisoformat(body.now)
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (OverflowError, ValueError) as error:
            raise Fault(400, "now: expected an ISO 8601 time") from error
        store.set_meta("clock", _sane("now", moment).isoformat())
    if body.advance is not None:
        try:
            if store.meta("clock") is not None:
                store.set_meta("clock", _sane("advance", store.now() + timedelta(seconds=body.advance)).isoformat())
            else:
                _sane("advance", store.now() + timedelta(seconds=body.advance))
                store.set_meta("offset", str(float(store.meta("offset") or 0) + body.advance))
        except (OverflowError, ValueError) as error:
            raise Fault(400, "advance: that moment is out of range") from error
    return {"now": store.stamp(), "still": store.meta("clock") is not None}
