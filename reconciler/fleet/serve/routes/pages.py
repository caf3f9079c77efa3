"""The pages. Each reads only what its person may see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from reconciler import __version__
from reconciler.errors import UsageError
from reconciler.fleet import acts, drift
from reconciler.fleet.facts import Judged
from reconciler.fleet.health import HealthWord
from reconciler.fleet.model import Mode
from reconciler.fleet.pages import links, render, views
from reconciler.fleet.pages.assets import assets
from reconciler.fleet.pages.query import PAGE_SIZE, AuditQuery, Query
from reconciler.fleet.refresh import generation
from reconciler.fleet.serve import filled
from reconciler.fleet.serve.callers import Caller, Known, record_view
from reconciler.fleet.serve.site import Dashboard, site_of
from reconciler.fleet.store import audit, projects as rows, quarantines, runs, samples
from reconciler.fleet.store.dashboard import listing, views as store
from reconciler.fleet.store.projects import ProjectRow, clock
from reconciler.text.names import utc_text

DRIFT_SINCE: Final = timedelta(days=30)
MOVED: Final = "moved"
DONE: Final = {
    MOVED: "The plan changed before your decision arrived, so nothing was decided. Read the new plan, and decide on that one.",
    "sync": "The project is run as soon as a worker is free.",
    "pause": "The project is paused.",
    "resume": "The project is run again.",
    "revert": "Your decision is stored: the next run reverts it, as soon as a worker is free.",
    "ignore": "Your decision is stored: the next run no longer counts it.",
    "rehearse": "The plan is rehearsed as soon as a worker is free.",
    "approve": "Your approval is stored.",
    "reject": "Your rejection is stored: this plan is not applied.",
}
"""The message after an action, by the word in its URL."""
YEARS_BEFORE: Final = 1
YEARS_AFTER: Final = 5
"""The last year of the calendar's links, from now."""
MOST_BROKEN: Final = 10  # broken projects that the overview names
FOR_GOOD: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
router = APIRouter(include_in_schema=False)


def _frame(connection: Connection, caller: Caller, done: str = "") -> views.Frame:
    viewer = views.Viewer(caller.person.name, caller.csrf, is_admin=caller.is_admin, can_log_out=bool(caller.session))
    now, workers = clock(connection), runs.count_alive(connection)
    return views.Frame(now, viewer, version=__version__, workers=workers, notice=DONE.get(done, ""), failed=done == MOVED)


def _generators(connection: Connection, caller: Caller) -> views.GeneratorsView | None:
    """The problems of the generators: they name repositories, so only viewers who see every tenant get them."""
    return filled.generators_view(generation.state(connection)) if caller.tenants is None else None


def _is_part(request: Request) -> bool:
    """Whether htmx requests a part of a page, and not the whole page after the Back button."""
    headers = request.headers
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"


def _page(text: str) -> Response:
    return HTMLResponse(text, headers={"Vary": "HX-Request, Cookie"})


def selection(query: Query) -> listing.ProjectSelection:
    return listing.ProjectSelection(
        query.text, query.status, query.health, query.tenant, query.mode, query.sort, query.order == "down", query.offset, PAGE_SIZE
    )


@router.get(links.LIST)
def projects(request: Request, caller: Known) -> Response:
    """The list."""
    query = Query.of(dict(request.query_params))
    with site_of(request).database.transaction() as connection:
        listed = listing.listed(connection, selection(query), caller.tenants)
        tenants = listing.tenants_of(connection, caller.tenants)
        frame, generators = _frame(connection, caller), _generators(connection, caller)
    rows = [filled.row_view(row) for row in listed.rows]
    view = views.ListView(frame, query, rows, listed.matching, listed.total, listed.counts, tenants, generators)
    return _page(render.render_table(view) if _is_part(request) else render.render_list(view))


def found(connection: Connection, name: str, caller: Caller) -> ProjectRow:
    """A project that the caller sees; for others it does not exist."""
    row = listing.find(connection, name, caller.tenants)
    if row is None:
        raise HTTPException(404)
    return row


@router.get("/projects/{name}")
def project(request: Request, name: str, caller: Known, done: str = "") -> Response:
    """The page of a project."""
    site = site_of(request)
    with site.database.transaction() as connection:
        view = _project(connection, name, caller, done)
        record_view(site, connection, caller, name, view.row.tenant)
    return _page(render.render_project(view))


@router.get(links.RUNS + "{id}")
def run(request: Request, id: Annotated[int, Path(ge=1, le=2**62)], caller: Known) -> Response:
    """A run by its id in the fleet: in the history of its project."""
    with site_of(request).database.transaction() as connection:
        place = store.place_of_run(connection, id)
        if place is None:
            raise HTTPException(404)
        found(connection, place[0], caller)
    return RedirectResponse(links.run(*place), status_code=303)


def _project(connection: Connection, name: str, caller: Caller, done: str) -> views.ProjectView:
    row, frame = found(connection, name, caller), _frame(connection, caller, done)
    plan = filled.plan_view(store.plan_of(connection, row.id))
    held = quarantines.opened(connection, [row.id]).get(row.id, [])
    _, _, decided = acts.outside(connection, caller.person, name)
    judged = _judged(connection, row, caller) if plan is not None else None
    reverts, decisions = bool(drift.reverts(decided)), store.decisions_of(connection, row.id)
    return views.ProjectView(
        frame=frame,
        row=filled.row_view(row, whole=True),
        source=filled.source_view(row),
        may=filled.may(caller.person, row.project.tenant),
        read_at=row.read_at,
        next_due=row.next_due,
        failures=row.failures,
        error=row.error,
        plan=plan,
        approvals=filled.approvals_view(judged, decisions, caller.person, row, reverts=reverts) if judged is not None else None,
        rehearsal=_rehearsal(connection, row, caller, judged, whole=True),
        samples=samples.chart(connection, row.id, DRIFT_SINCE),
        runs=[filled.run_view(run) for run in store.runs_of(connection, row.id)],
        quarantines=held,
        drift=filled.drift_view(row, decided),
        first_apply=filled.first_apply(row),
    )


def _judged(connection: Connection, row: ProjectRow, caller: Caller) -> Judged | None:
    try:
        return acts.plan(connection, caller.person, row.project.name)
    except UsageError:  # its mode applies nothing
        return None


def _rehearsal(
    connection: Connection, row: ProjectRow, caller: Caller, judged: Judged | None, *, whole: bool = False
) -> views.RehearsalView | None:
    """The rehearsal of a plan that people decide on. `whole`: with what it shows."""
    if judged is None or row.project.mode is not Mode.APPLY or row.orphaned or not judged.plan.changes:
        return None
    return filled.rehearsal_view(judged, acts.rehearsal_document(connection, caller.person, row.project.name) if whole else None)


@router.get("/projects/{name}/status")
def project_status(request: Request, name: str, caller: Known, digest: str = "", rehearsal: str = "", seen: str = "") -> Response:
    """The part of a project's page that is updated by events."""
    with site_of(request).database.transaction() as connection:
        row, frame = found(connection, name, caller), _frame(connection, caller)
        plan = filled.plan_view(store.plan_of(connection, row.id))
        judged = _judged(connection, row, caller) if plan is not None else None
        rehearsed = _rehearsal(connection, row, caller, judged)
    view = views.ProjectView(
        frame, filled.row_view(row, whole=True), filled.source_view(row), read_at=row.read_at, next_due=row.next_due, failures=row.failures,
        error=row.error, plan=plan, rehearsal=rehearsed, shown=digest, shown_rehearsal=rehearsal, seen=seen[:200],
    )  # fmt: skip
    return _page(render.render_project_status(view))


def _overview(request: Request, caller: Caller) -> views.OverviewView:
    with site_of(request).database.transaction() as connection:
        seen, cells = store.workers_of(connection) if caller.tenants is None else (), listing.cells(connection, caller.tenants)
        # The cells say which are broken: asking for that again would take as long as all of them.
        broken = [cell.name for cell in cells if cell.health is HealthWord.BROKEN and not cell.orphaned][:MOST_BROKEN]
        return views.OverviewView(
            _frame(connection, caller),
            cells,
            views.QueueView(**store.queue(connection, caller.tenants)),
            [filled.worker_view(worker) for worker in seen],
            [filled.budget_view(budget) for budget in store.budgets_of(connection, caller.tenants)],
            _generators(connection, caller),
            [filled.row_view(row) for row in rows.read(connection, broken)] if broken else [],
        )


@router.get(links.OVERVIEW)
def overview(request: Request, caller: Known) -> Response:
    """The fleet as a picture."""
    return _page(render.render_overview(_overview(request, caller)))


@router.get(links.FIGURES)
def figures(request: Request, caller: Known) -> Response:
    """The part of the overview that is updated by events."""
    return _page(render.render_figures(_overview(request, caller)))


@router.get(links.CALENDAR)
def calendar(request: Request, caller: Known, month: str = "") -> Response:
    """The expiries of a month."""
    with site_of(request).database.transaction() as connection:
        frame = _frame(connection, caller)
        expiries = [filled.pause_expiry(row) for row in store.pauses(connection, caller.tenants)]
        expiries += [filled.expiry(row) for row in store.concerns(connection, caller.tenants)]
    today = frame.now.date().replace(day=1)
    try:
        first = date.fromisoformat(f"{month}-01")
    except ValueError:
        first = today
    first = min(max(first, today.replace(year=today.year - YEARS_BEFORE)), today.replace(year=today.year + YEARS_AFTER))
    return _page(render.render_calendar(filled.calendar_view(frame, first, expiries)))


@router.get(links.AUDIT)
def audit_log(request: Request, caller: Known) -> Response:
    """The audit log of the tenants of which the caller is an admin."""
    if not caller.is_admin:
        raise HTTPException(404)
    query = AuditQuery.of(dict(request.query_params))
    equal = {name: value for name in ("person", "action", "project") if (value := getattr(query, name))}
    with site_of(request).database.transaction() as connection:
        frame, size = _frame(connection, caller), store.LINES
        rows = store.lines(connection, caller.audited, equal=equal, before=query.before, after=query.after, limit=size + 1)
    more = len(rows) > size
    rows = (rows[1:] if query.after else rows[:size]) if more else rows
    older = rows[-1]["id"] if rows and (more or query.after) else None
    newer = rows[0]["id"] if rows and ((more and query.after) or query.before) else None
    return _page(render.render_audit(views.AuditView(frame, query, [audit.AuditRecord(**row) for row in rows], older, newer)))


@router.get(links.AUDIT_EXPORT)
def audit_export(request: Request, caller: Known, after: int = 0) -> Response:
    """The same as JSON lines, oldest first. `after`: the id of the last line that was exported before."""
    if not caller.is_admin:
        raise HTTPException(404)
    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(
        _exported(site_of(request), caller, max(0, min(after, 2**62))), media_type="application/jsonl", headers=headers
    )


def _exported(site: Dashboard, caller: Caller, after: int) -> Iterator[str]:
    with site.database.transaction() as connection:
        for line in audit.read(connection, after=after, tenants=caller.audited, settled=True):
            data = {**vars(line), "at": utc_text(line.at) if line.at is not None else None}
            yield json.dumps(data, ensure_ascii=True) + "\n"


@router.get(links.STATIC + "{name}")
def static(name: str) -> Response:
    """A file of the package."""
    known = assets().get(name)
    if known is None:
        raise HTTPException(404)
    return Response(known.content, media_type=known.type, headers=FOR_GOOD)
