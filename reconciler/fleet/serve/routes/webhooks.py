"""Webhooks: a signed push makes the projects of its repository and branch due. Unsigned requests are ignored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from reconciler.fleet.refresh import generation
from reconciler.fleet.secrets import MissingSecret, resolved
from reconciler.fleet.serve import pushes
from reconciler.fleet.serve.errors import PageError, shown
from reconciler.fleet.serve.pushes import Push
from reconciler.fleet.serve.site import Dashboard, site_of
from reconciler.fleet.store import audit
from reconciler.fleet.store import projects as rows

router = APIRouter(include_in_schema=False)
Reader = Callable[[Mapping[str, Any]], Push | None]
Signed = Callable[[bytes, Mapping[str, str], str], bool]
GITHUB: Final = "github"
GITLAB: Final = "gitlab"


@router.post("/webhooks/github")
async def github(request: Request) -> Response:
    """A webhook of GitHub."""
    event = request.headers.get("x-github-event", "")
    return await _received(request, GITHUB, pushes.is_signed_by_github, pushes.of_github if event == "push" else _nothing)


@router.post("/webhooks/gitlab")
async def gitlab(request: Request) -> Response:
    """A webhook of GitLab."""
    return await _received(request, GITLAB, _signed_now, pushes.of_gitlab)


def _signed_now(body: bytes, headers: Mapping[str, str], secret: str) -> bool:
    return pushes.is_signed_by_gitlab(body, headers, secret, time.time())


def _nothing(data: Mapping[str, Any]) -> Push | None:
    """The push of a ping, and of every other event: None."""
    return None


async def _received(request: Request, forge: str, signed: Signed, reader: Reader) -> Response:
    site, body = site_of(request), await request.body()
    secret = await run_in_threadpool(_secret, site, forge)
    if secret is None or not signed(body, request.headers, secret):
        return shown(
            request, PageError(401, "The signature is wrong, or no secret is known.", f"Compare the secret with webhooks.{forge}.")
        )
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    push = reader(data) if isinstance(data, dict) else None
    number = await run_in_threadpool(_made_due, site, forge, push) if push is not None else 0
    return JSONResponse({"due": number}, 202)


def _secret(site: Dashboard, forge: str) -> str | None:
    """The secret of a forge; None if there is none."""
    reference = site.settings().webhooks.get(forge)
    if reference is None:
        return None
    try:
        return resolved(reference, f"webhooks.{forge}.secret", where="this machine")
    except MissingSecret as error:
        site.say(error.message)
        return None


def _made_due(site: Dashboard, forge: str, push: Push) -> int:
    """Make the projects of a push due, and record it in the audit log, once for each tenant."""
    with site.database.transaction() as connection:
        names = rows.make_due(connection, push.repositories, push.concerns)
        generation.hurry(connection, push.concerns)
        for tenant, projects in names.items():
            details = {"ref": push.ref, "projects": len(projects), "first": sorted(projects)[:20]}
            audit.write(connection, audit.AuditRecord(f"webhook:{forge}", "push", None, tenant, details))
    return sum(len(projects) for projects in names.values())
