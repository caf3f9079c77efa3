"""Webhooks: a signed push makes the projects of its repository and branch due. Unsigned requests are ignored, and their bodies not read:
whoever has no secret cannot make the dashboard store anything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from reconciler.fleet.people import ALL
from reconciler.fleet.refresh import generation
from reconciler.fleet.secrets import MissingSecret, resolved
from reconciler.fleet.serve import pushes
from reconciler.fleet.serve.errors import PageError, shown
from reconciler.fleet.serve.pushes import Push
from reconciler.fleet.serve.site import Dashboard, site_of
from reconciler.fleet.store import audit, projects as rows

router = APIRouter(include_in_schema=False)
Headers = Mapping[str, str]
REPEATED: Final = timedelta(days=30)  # in which a delivery counts once; forges repeat one for 3 days at most
ACTION: Final = "push"


@dataclass(frozen=True)
class WebhookForge:
    """A forge. `may`: whether headers can belong to a signed body. `signed`: whether a body is signed. `push`: the push in a body.
    `delivery`: the identity of a delivery."""

    name: str
    may: Callable[[Headers, str, float], bool]
    signed: Callable[[bytes, Headers, str], bool]
    push: Callable[[Mapping[str, Any]], Push | None]
    delivery: Callable[[bytes, Headers], str]


GITHUB: Final = WebhookForge("github", pushes.may_be_signed_by_github, pushes.is_signed_by_github, pushes.of_github, pushes.github_delivery)
GITLAB: Final = WebhookForge("gitlab", pushes.may_be_signed_by_gitlab, pushes.is_signed_by_gitlab, pushes.of_gitlab, pushes.gitlab_delivery)


@router.post("/webhooks/github")
async def github(request: Request) -> Response:
    """A webhook of GitHub."""
    return await _received(request, GITHUB, is_push=request.headers.get("x-github-event", "") == "push")


@router.post("/webhooks/gitlab")
async def gitlab(request: Request) -> Response:
    """A webhook of GitLab."""
    return await _received(request, GITLAB, is_push=True)


async def _received(request: Request, forge: WebhookForge, *, is_push: bool) -> Response:
    site, headers, now = site_of(request), request.headers, time.time()
    secrets = await run_in_threadpool(_secrets, site, forge)
    secrets = [(text, tenants) for text, tenants in secrets if forge.may(headers, text, now)]
    body = await request.body() if secrets else b""
    tenants = {tenant for text, own in secrets if forge.signed(body, headers, text) for tenant in own}
    if not tenants:
        remedy = f"Compare the secret with webhooks.{forge.name}."
        return shown(request, PageError(401, "The signature is wrong, or no secret is known.", remedy))
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    push = forge.push(data) if is_push and isinstance(data, dict) else None
    if push is None:
        return JSONResponse({"due": 0}, 202)
    number = await run_in_threadpool(_made_due, site, forge, push, tenants, forge.delivery(body, headers))
    return JSONResponse({"due": number}, 202)


def _secrets(site: Dashboard, forge: WebhookForge) -> Sequence[tuple[str, tuple[str, ...]]]:
    """The secrets of a forge that exist on this machine, each with the tenants whose projects it makes due."""
    known = []
    for secret, tenants in site.settings().webhooks.get(forge.name, ()):
        try:
            text = resolved(secret, f"webhooks.{forge.name}.secret", where="this machine")
        except MissingSecret as error:
            if site.is_first("secret", error.message):  # whoever sends requests does not fill the log
                site.say(error.message)
        else:
            known.append((text, tenants))
    return known


def _made_due(site: Dashboard, forge: WebhookForge, push: Push, tenants: set[str], delivery: str) -> int:
    """Make the projects of a push due, and record it in the audit log, once for each tenant; nothing for a delivery that is repeated."""
    selected = None if ALL in tenants else tenants
    with site.database.transaction() as connection:
        if audit.has(connection, ACTION, {"delivery": delivery}, within=REPEATED):
            return 0
        names = rows.make_due(connection, push.repositories, push.concerns, tenants=selected)
        if selected is None:  # generators make projects of any tenant
            generation.hurry(connection, push.concerns)
        for tenant, projects in names.items():
            details = {"ref": push.ref, "projects": len(projects), "first": sorted(projects)[:20], "delivery": delivery}
            audit.write(connection, audit.AuditRecord(f"webhook:{forge.name}", ACTION, None, tenant, details))
    return sum(len(projects) for projects in names.values())
