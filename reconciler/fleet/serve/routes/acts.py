"""The endpoints of the pages' forms.

Each is a function of `reconciler.fleet.acts`, which checks the role and writes the audit log.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from reconciler.errors import StalePlan, UsageError
from reconciler.fleet import acts
from reconciler.fleet.model import ChangeClass
from reconciler.fleet.pages import links
from reconciler.fleet.serve.callers import Acting, Caller, Fields
from reconciler.fleet.serve.routes.login import confirmed
from reconciler.fleet.serve.routes.pages import MOVED
from reconciler.fleet.serve.site import site_of
from reconciler.fleet.store.projects import clock

PAUSES: Final = {
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": acts.PAUSE_MAX,
}
LAST_SECOND: Final = time(23, 59, 59)
router = APIRouter(include_in_schema=False)
Act = Callable[[Connection], object]


def _done(request: Request, name: str, action: str, act: Act) -> Response:
    """Act in one transaction, and show the project again; also if its plan changed meanwhile, which decided nothing."""
    try:
        with site_of(request).database.transaction() as connection:
            act(connection)
    except StalePlan:
        action = MOVED
    return RedirectResponse(f"{links.project(name)}?done={action}", 303)


@router.post("/projects/{name}/sync")
def sync(request: Request, name: str, caller: Acting) -> Response:
    return _done(request, name, "sync", lambda connection: acts.sync(connection, caller.person, [name]))


@router.post("/projects/{name}/pause")
def pause(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    lasts = PAUSES.get(fields.get("until", ""))
    if lasts is None:
        raise UsageError("the pause has no end", id="RC-option-value", hint="Choose how long the pause lasts.")
    return _done(request, name, "pause", lambda connection: _pause(connection, caller, name, lasts, fields.get("reason", "")))


def _pause(connection: Connection, caller: Caller, name: str, lasts: timedelta, reason: str) -> None:
    acts.pause(connection, caller.person, [name], until=clock(connection) + lasts, reason=reason)


@router.post("/projects/{name}/resume")
def resume(request: Request, name: str, caller: Acting) -> Response:
    return _done(request, name, "resume", lambda connection: acts.resume(connection, caller.person, [name]))


@router.post("/projects/{name}/revert")
def revert(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    digest, addresses, person = fields.get("digest", ""), _chosen(fields), confirmed(request, caller)
    return _done(request, name, "revert", lambda connection: acts.revert(connection, person, name, digest=digest, addresses=addresses))


@router.post("/projects/{name}/ignore")
def ignore(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    try:
        day = date.fromisoformat(fields.get("until", ""))
    except ValueError:
        raise UsageError(
            "no day is chosen until which it is ignored", id="RC-option-value", hint="Choose one of the next 90 days."
        ) from None
    until, person = datetime.combine(day, LAST_SECOND, UTC), confirmed(request, caller)
    digest, reason, addresses = fields.get("digest", ""), fields.get("reason", ""), _chosen(fields)

    def act(connection: Connection) -> object:
        return acts.ignore(connection, person, name, digest=digest, until=until, reason=reason, addresses=addresses)

    return _done(request, name, "ignore", act)


def _chosen(fields: Fields) -> list[str]:
    """The chosen resources; none if the page let nobody choose, which means all of them."""
    chosen = fields.getlist("address")
    if fields.get("choose") and not chosen:
        raise UsageError("no resource is chosen", id="RC-option-value", hint="Choose what you decide on.")
    return chosen


@router.post("/projects/{name}/rehearse")
def rehearse(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    digest = fields.get("digest", "")
    return _done(request, name, "rehearse", lambda connection: acts.rehearse(connection, caller.person, name, digest=digest))


@router.post("/projects/{name}/approve")
def approve(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    chosen = [change for change in ChangeClass if change.value in fields.getlist("change")]
    if not chosen:
        raise UsageError("nothing is chosen", id="RC-option-value", hint="Choose what you approve in the plan.")
    digest, rehearsal, person = fields.get("digest", ""), fields.get("rehearsal", ""), confirmed(request, caller)
    unplanned = "allow-unplanned" in fields

    def act(connection: Connection) -> object:
        return acts.approve(connection, person, name, digest=digest, changes=chosen, rehearsal=rehearsal, allow_unplanned=unplanned)

    return _done(request, name, "approve", act)


@router.post("/projects/{name}/reject")
def reject(request: Request, name: str, caller: Acting, fields: Fields) -> Response:
    digest, reason = fields.get("digest", ""), fields.get("reason", "")
    return _done(request, name, "reject", lambda connection: acts.reject(connection, caller.person, name, digest=digest, reason=reason))
