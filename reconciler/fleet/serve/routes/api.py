"""The JSON API. Documents that a command prints are the same here; the others are in `documents`."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from reconciler.fleet import acts
from reconciler.fleet.documents import FleetStatusDocument
from reconciler.fleet.facts import judged_plans
from reconciler.fleet.reports import status_document
from reconciler.fleet.serve import documents
from reconciler.fleet.serve.callers import Acting, Caller, Known, record_view
from reconciler.fleet.serve.documents import Selected
from reconciler.fleet.serve.routes.login import confirmed
from reconciler.fleet.serve.routes.pages import found
from reconciler.fleet.serve.site import site_of
from reconciler.fleet.store import audit, runs
from reconciler.fleet.store.dashboard import listing, views as store
from reconciler.fleet.store.projects import ProjectRow, clock

PREFIX: Final = "/api/v1"
ABOUT: Final = (
    "What the dashboard shows and does, for programs. A program sends the token that `fleet serve --api-token` was given as "
    "`Authorization: Bearer TOKEN`; a page sends the cookie of its session, and with each POST the header `X-CSRF-Token`. "
    "There are no other tokens. What a person may not see does not exist for them (404)."
)
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
Name = Annotated[str, Path(pattern=NAME, description="The name of the project in the fleet.")]
_bearer = HTTPBearer(auto_error=False, description="The token of the single user.")
_cookie = APIKeyCookie(
    name="reconciler", scheme_name="Session", auto_error=False, description="The session of a page; POST needs X-CSRF-Token."
)
_problem = {"model": documents.Problem, "content": {"application/problem+json": {}}}
WRONG: Final[dict[int | str, dict[str, Any]]] = {
    401: {"description": "Nobody is logged in", **_problem},
    403: {"description": "This person may not do that", **_problem},
    404: {"description": "There is no such project", **_problem},
    409: {"description": "The plan moved", **_problem},
    422: {"description": "The request is not valid, or cannot be done", **_problem},
    503: {"description": "The database cannot be used now", **_problem},
}
ACTED: Final[dict[int | str, dict[str, Any]]] = {code: WRONG[code] for code in (403, 404)}
Before = Annotated[int | None, Query(ge=1, le=2**62, description="An id of a run.")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the run in its project.")]
router = APIRouter(
    prefix=PREFIX,
    dependencies=[Depends(_bearer), Security(_cookie)],
    responses={code: WRONG[code] for code in (401, 422, 503)},
)


@router.get("/projects", tags=["projects"], operation_id="listProjects")
def projects(request: Request, response: Response, caller: Known, selected: Annotated[Selected, Query()]) -> FleetStatusDocument:
    """List projects, as `fleet status --format json` does. `X-Total-Count` is how many match; `Link` leads to the next page."""
    with site_of(request).database.transaction() as connection:
        listed = listing.listed(connection, selected.selection, caller.tenants)
        workers, now, judged = runs.count_alive(connection), clock(connection), judged_plans(connection, listed.rows)
    response.headers["X-Total-Count"] = str(listed.matching)
    if selected.page * selected.size < listed.matching:
        following = request.url.include_query_params(page=selected.page + 1)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    return status_document(listed.rows, workers, now, judged)


@router.get("/projects/{name}", tags=["projects"], operation_id="getProject", responses={404: WRONG[404]})
def project(request: Request, name: Name, caller: Known) -> FleetStatusDocument:
    """Get one project, as `fleet status NAME --format json` does."""
    with site_of(request).database.transaction() as connection:
        row = _seen(request, connection, name, caller)
        return status_document([row], runs.count_alive(connection), row.now, judged_plans(connection, [row]))


def _seen(request: Request, connection: Connection, name: str, caller: Caller) -> ProjectRow:
    row = found(connection, name, caller)
    record_view(site_of(request), connection, caller, name, row.project.tenant)
    return row


@router.get("/projects/{name}/runs", tags=["projects"], operation_id="listRuns", responses={404: WRONG[404]})
def project_runs(
    request: Request, name: Name, caller: Known, before: Before = None, size: Annotated[int, Query(ge=1, le=500)] = 50
) -> documents.Runs:
    """List the runs of a project, the newest first. Pass the id of the last one as `before` to continue."""
    with site_of(request).database.transaction() as connection:
        row = _seen(request, connection, name, caller)
        rows = store.runs_of(connection, row.id, before=before, limit=size)
    return documents.Runs(runs=[documents.run(run) for run in rows])


@router.get("/projects/{name}/runs/{number}", tags=["projects"], operation_id="getRun", responses={404: WRONG[404]})
def project_run(request: Request, name: Name, number: Number, caller: Known) -> documents.Run:
    """Get a run of a project by its number there."""
    with site_of(request).database.transaction() as connection:
        row = store.run_of(connection, _seen(request, connection, name, caller).id, number)
    if row is None:
        raise HTTPException(404)
    return documents.run(row)


@router.get("/projects/{name}/plan", tags=["plans"], operation_id="getPlan", responses={404: WRONG[404]})
def project_plan(request: Request, name: Name, caller: Known) -> dict[str, Any]:
    """Get the last plan of a project, as `plan --format json` prints it."""
    with site_of(request).database.transaction() as connection:
        row = _seen(request, connection, name, caller)
        plan = store.plan_of(connection, row.id)
    if plan is None:
        raise HTTPException(404)
    document: dict[str, Any] = plan["document"]
    return document


@router.get("/projects/{name}/approvals", tags=["plans"], operation_id="getApprovals", responses={404: WRONG[404]})
def project_approvals(request: Request, name: Name, caller: Known) -> documents.Approvals:
    """Get what the last plan of a project needs, and what people decided on it."""
    with site_of(request).database.transaction() as connection:
        _seen(request, connection, name, caller)
        return documents.approvals(acts.plan(connection, caller.person, name))


@router.get("/projects/{name}/rehearsal", tags=["plans"], operation_id="getRehearsal", responses={404: WRONG[404]})
def project_rehearsal(request: Request, name: Name, caller: Known) -> dict[str, Any]:
    """Get what the last rehearsal of the plan of a project showed, as `rehearse --format json` prints it. 404 without a result."""
    with site_of(request).database.transaction() as connection:
        _seen(request, connection, name, caller)
        document = acts.rehearsal_document(connection, caller.person, name)
    if document is None:
        raise HTTPException(404)
    return dict(document)


@router.get("/projects/{name}/proposal", tags=["plans"], operation_id="getProposal", responses={404: WRONG[404]})
def project_proposal(request: Request, name: Name, caller: Known) -> dict[str, Any]:
    """Get what was changed outside Reconciler in a project, as files: what `drift --propose --proposal FILE` opens as a pull request. 404
    if no file can take anything in."""
    with site_of(request).database.transaction() as connection:
        _seen(request, connection, name, caller)
        document = acts.proposal_document(connection, caller.person, name)
    if document is None:
        raise HTTPException(404)
    return dict(document)


@router.post("/projects/{name}/sync", tags=["acts"], operation_id="sync", responses=ACTED)
def sync(request: Request, name: Name, caller: Acting) -> documents.Accepted:
    """Run a project now, before others of the same tenant."""
    with site_of(request).database.transaction() as connection:
        acts.sync(connection, caller.person, [name])
    return documents.Accepted(project=name, action="sync")


@router.post("/projects/{name}/pause", tags=["acts"], operation_id="pause", responses=ACTED)
def pause(request: Request, name: Name, caller: Acting, body: documents.Pause) -> documents.Accepted:
    """Stop running a project until a time."""
    with site_of(request).database.transaction() as connection:
        acts.pause(connection, caller.person, [name], until=body.until, reason=body.reason)
    return documents.Accepted(project=name, action="pause")


@router.post("/projects/{name}/resume", tags=["acts"], operation_id="resume", responses=ACTED)
def resume(request: Request, name: Name, caller: Acting) -> documents.Accepted:
    """End the pause and the quarantines of a project; it is run at once."""
    with site_of(request).database.transaction() as connection:
        acts.resume(connection, caller.person, [name])
    return documents.Accepted(project=name, action="resume")


@router.post("/projects/{name}/revert", tags=["acts"], operation_id="revert", responses={**ACTED, 409: WRONG[409]})
def revert(request: Request, name: Name, caller: Acting, body: documents.Revert) -> documents.Accepted:
    """Let the next run take back what was changed outside Reconciler, with the approvals that its plan needs."""
    person = confirmed(request, caller)
    with site_of(request).database.transaction() as connection:
        acts.revert(connection, person, name, digest=body.digest, addresses=body.addresses)
    return documents.Accepted(project=name, action="revert")


@router.post("/projects/{name}/ignore", tags=["acts"], operation_id="ignore", responses={**ACTED, 409: WRONG[409]})
def ignore(request: Request, name: Name, caller: Acting, body: documents.Ignore) -> documents.Accepted:
    """Ignore what was changed outside Reconciler until a time."""
    person = confirmed(request, caller)
    with site_of(request).database.transaction() as connection:
        acts.ignore(connection, person, name, digest=body.digest, until=body.until, reason=body.reason, addresses=body.addresses)
    return documents.Accepted(project=name, action="ignore")


@router.post("/projects/{name}/rehearse", tags=["acts"], operation_id="rehearse", responses={**ACTED, 409: WRONG[409]})
def rehearse(request: Request, name: Name, caller: Acting, body: documents.Asked) -> documents.Approvals:
    """Let a worker rehearse the plan with a digest. The result is part of getApprovals, and its document is getRehearsal."""
    with site_of(request).database.transaction() as connection:
        acts.rehearse(connection, caller.person, name, digest=body.digest)
        return documents.approvals(acts.plan(connection, caller.person, name))


@router.post("/projects/{name}/approve", tags=["acts"], operation_id="approve", responses={**ACTED, 409: WRONG[409]})
def approve(request: Request, name: Name, caller: Acting, body: documents.Approval) -> documents.Approvals:
    """Approve the plan with a digest. A plan that moved has another digest: read it again."""
    person = confirmed(request, caller)
    with site_of(request).database.transaction() as connection:
        acts.approve(
            connection,
            person,
            name,
            digest=body.digest,
            changes=body.classes,
            rehearsal=body.rehearsal,
            allow_unplanned=body.allowUnplanned,
        )
        return documents.approvals(acts.plan(connection, person, name))


@router.post("/projects/{name}/reject", tags=["acts"], operation_id="reject", responses={**ACTED, 409: WRONG[409]})
def reject(request: Request, name: Name, caller: Acting, body: documents.Rejection) -> documents.Approvals:
    """Reject the plan with a digest: it is not applied, whoever approves it."""
    with site_of(request).database.transaction() as connection:
        acts.reject(connection, caller.person, name, digest=body.digest, reason=body.reason)
        return documents.approvals(acts.plan(connection, caller.person, name))


@router.get("/audit", tags=["audit"], operation_id="getAudit", responses={403: WRONG[403]})
def audit_log(
    request: Request, caller: Known, after: Annotated[int, Query(ge=0, le=2**62)] = 0, size: Annotated[int, Query(ge=1, le=1000)] = 100
) -> documents.AuditLog:
    """List lines of the audit log, oldest first, of the tenants of which the caller is an admin."""
    if not caller.is_admin:
        raise HTTPException(403)
    with site_of(request).database.transaction() as connection:
        lines = list(islice(audit.read(connection, after=after, tenants=caller.audited, settled=True), size))
    return documents.AuditLog(lines=[documents.line(line) for line in lines])
