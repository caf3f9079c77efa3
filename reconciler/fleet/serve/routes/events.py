"""Server-sent events: the changed projects of the tenants that the caller sees. A page then requests its contents again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from sse_starlette.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from reconciler.fleet.pages import links
from reconciler.fleet.serve.callers import Known, find
from reconciler.fleet.serve.feed import Changed, Follower, Full
from reconciler.fleet.serve.site import Dashboard, site_of

CHECK_SECONDS: Final = 15.0  # after which the session is checked again
QUIET_SECONDS: Final = 5.0  # between two events
NAMES_MAX: Final = 100
AGAIN_MILLISECONDS: Final = 3_000
router = APIRouter(include_in_schema=False)


@router.get(links.EVENTS)
async def events(request: Request, caller: Known, project: Annotated[str, Query(max_length=200)] = "") -> EventSourceResponse:
    """An event `changed` with the names of projects that changed, at most one in 5 seconds, until the session ends. `project`: only of this
    one."""
    site, follower = site_of(request), (caller.person.name, caller.session)
    try:
        site.feed.check(follower)
    except Full as full:
        raise HTTPException(429 if full.own else 503, headers={"Retry-After": "60"}) from None
    return EventSourceResponse(_events(site, request, follower, project), ping=CHECK_SECONDS, send_timeout=CHECK_SECONDS)


async def _events(site: Dashboard, request: Request, follower: Follower, project: str) -> AsyncIterator[dict[str, Any]]:
    """The events. Ends at once if others began to follow since it was checked."""
    with suppress(Full):
        async with site.feed.follow(follower) as queue:
            async for event in _followed(queue, request, project):
                yield event


async def _followed(queue: asyncio.Queue[Changed | None], request: Request, project: str) -> AsyncIterator[dict[str, Any]]:
    loop = asyncio.get_running_loop()
    yield {"event": "ready", "data": "", "retry": AGAIN_MILLISECONDS}
    names: set[str] = set()
    sent = -QUIET_SECONDS
    while (caller := await run_in_threadpool(find, request)) is not None:
        check = loop.time() + CHECK_SECONDS
        while (now := loop.time()) < check:
            if names and now >= sent + QUIET_SECONDS:
                yield {"event": "changed", "data": json.dumps(sorted(names)[:NAMES_MAX])}
                names, sent = set(), now
            until = min(check, sent + QUIET_SECONDS) if names else check
            try:
                changed = await asyncio.wait_for(queue.get(), max(0.0, until - now))
            except TimeoutError:
                continue
            if changed is None:
                return
            names |= _seen(changed, caller.tenants, project)


def _seen(changed: Changed, tenants: tuple[str, ...] | None, project: str) -> frozenset[str]:
    """The names that a caller who sees these tenants may receive."""
    if tenants is not None and changed.tenant not in tenants:
        return frozenset()
    return changed.names & {project} if project else changed.names
