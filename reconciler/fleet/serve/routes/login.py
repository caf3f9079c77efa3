"""Log in and out: with the link that `fleet serve` printed, or with the provider."""

from __future__ import annotations

import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reconciler import __version__
from reconciler.fleet.pages import links, render
from reconciler.fleet.pages.views import Frame
from reconciler.fleet.people import Person
from reconciler.fleet.serve.callers import Acting, Caller, Fields, find, identity_of, person_of
from reconciler.fleet.serve.errors import PageError, sentence, shown
from reconciler.fleet.serve.grants import ClaimsGrant, seal, unseal
from reconciler.fleet.serve.guard import first_cookie
from reconciler.fleet.serve.oidc import BegunLogin, LoginFailed, Provider
from reconciler.fleet.serve.single import WAY as SINGLE
from reconciler.fleet.serve.site import Dashboard, site_of
from reconciler.fleet.store import audit, people
from reconciler.fleet.store.dashboard import sessions
from reconciler.fleet.store.projects import clock

CALLBACK: Final = "/login/callback"
BEGUN_SECONDS: Final = 600
FRESH: Final = timedelta(minutes=5)  # in which the groups of a login are those of now
NO_PROVIDER: Final = "Write dashboard.oidc in it, or serve the dashboard on its own machine: fleet serve without --host."
router = APIRouter(include_in_schema=False)
provider = Provider()


@router.get(links.LOGIN)
def login(request: Request, token: str = "", back: str = "/") -> Response:
    """The page to log in on; with the token of the link, the login itself."""
    site = site_of(request)
    if token:
        return _exchanged(request, site, token, back)
    if find(request) is not None:
        return RedirectResponse(links.to(_inside(back)), 303)
    oidc = site.settings().oidc if site.single is None else None
    if site.single is None and oidc is None:
        return shown(request, PageError(503, "Nobody can log in: the fleet file no longer names a provider.", NO_PROVIDER))
    name = urlsplit(oidc.issuer).hostname or "" if oidc is not None else ""
    frame = Frame(datetime.now(UTC), version=__version__)
    return HTMLResponse(render.render_login(frame, provider=name, back=_inside(back)))


@router.post(links.LOGIN)
async def login_with_token(request: Request, fields: Fields) -> Response:
    """The same with the token in a form."""
    return await run_in_threadpool(_exchanged, request, site_of(request), fields.get("token", ""), fields.get("back", "/"))


def _exchanged(request: Request, site: Dashboard, token: str, back: str) -> Response:
    if site.single is None or not site.single.exchange(token.strip()):
        if find(request) is not None:  # the browser that used the link follows it again
            return RedirectResponse(links.to(_inside(back)), 303)
        remedy = (
            "Open the newest link that `fleet serve` printed: each works once." if site.single is not None else "Log in with the provider."
        )
        return shown(request, PageError(401, "This token logs nobody in.", remedy))
    site.show(f"Somebody logged in. To log in elsewhere: {site.single.link(site.url)}")
    return _begin(site, {"way": SINGLE, "name": site.single.name}, _inside(back))


def _begin(site: Dashboard, person: dict[str, Any], back: str, grant: ClaimsGrant | None = None) -> Response:
    """Begin a session. `grant`: what reads the person's claims again."""
    with site.database.transaction() as connection:
        cookie = sessions.begin(connection, person, partial(seal, grant=grant) if grant is not None else None)
        if person["way"] != SINGLE:
            people.see(connection, identity_of(person), person["name"], person["values"])
        about = {"issuer": person["way"], "subject": person["subject"]} if person["way"] != SINGLE else {}
        audit.write(connection, audit.AuditRecord(str(person["name"]), "login", details=about))
    response = RedirectResponse(site.root + back, 303)
    lasts = int(sessions.LASTS.total_seconds())
    # a link in a message must find the session of a site that others link to; nobody links to a loopback address
    same: Literal["strict", "lax"] = "strict" if site.single is not None else "lax"
    response.set_cookie(site.cookie, cookie, max_age=lasts, httponly=True, secure=site.is_secure, samesite=same, path=f"{site.root}/")
    return response


@router.get(links.LOGIN_START)
def start(request: Request, back: str = "/") -> Response:
    """Send the browser to the provider."""
    site = site_of(request)
    oidc = site.settings().oidc
    if oidc is None or site.single is not None:
        return RedirectResponse(links.to(links.LOGIN), 303)
    try:
        begun = provider.begin(oidc, site.url + CALLBACK)
    except LoginFailed as error:
        site.say(f"Nobody can log in: {error.__cause__ or error.message}")
        return _failed(request, error)
    kept = {"state": begun.state, "nonce": begun.nonce, "verifier": begun.verifier, "back": _inside(back)}
    response = RedirectResponse(begun.url, 303)
    value = json.dumps(kept).encode().hex()
    response.set_cookie(
        f"{site.cookie}-login", value, max_age=BEGUN_SECONDS, httponly=True, secure=site.is_secure, samesite="lax", path="/"
    )
    return response


@router.get(CALLBACK)
def callback(request: Request, state: str = "", code: str = "") -> Response:
    """The endpoint that the provider sends the browser back to."""
    site = site_of(request)
    oidc, kept = site.settings().oidc, _kept(first_cookie(request, f"{site.cookie}-login"))
    if (
        oidc is None
        or site.single is not None
        or kept is None
        or not code
        or not hmac.compare_digest(state.encode(), kept["state"].encode())
    ):
        return _failed(request, LoginFailed("this login was not begun here, or took too long", id="RC-fleet-login", hint="Log in again."))
    begun = BegunLogin("", kept["state"], kept["nonce"], kept["verifier"])
    try:
        person, grant = provider.finish(oidc, site.url + CALLBACK, begun, code=code)
    except LoginFailed as error:
        site.say(f"A login failed: {error.message}")
        return _failed(request, error)
    response = _begin(site, person, _inside(kept["back"]), grant)
    response.delete_cookie(f"{site.cookie}-login", path="/", secure=site.is_secure, httponly=True, samesite="lax")
    return response


@router.post(links.LOGOUT)
def logout(request: Request, caller: Acting) -> Response:
    """End the session, in every window."""
    site = site_of(request)
    with site.database.transaction() as connection:
        sessions.end(connection, caller.session)
        audit.write(connection, audit.AuditRecord(caller.person.name, "logout", details=caller.person.about))
    response = RedirectResponse(links.to(links.LOGIN), 303)
    response.delete_cookie(site.cookie, path=f"{site.root}/", secure=site.is_secure, httponly=True)
    return response


def confirmed(request: Request, caller: Caller) -> Person:
    """The caller with the roles that the provider and the fleet file give them at this moment. Raises `Refused`.

    Groups that a session read hours ago may be those of somebody who has left.
    """
    site = site_of(request)
    oidc, cookie = site.settings().oidc, first_cookie(request, site.cookie)
    if oidc is None or site.single is not None or caller.person.login is None:
        return caller.person
    with site.database.transaction() as connection:
        session = sessions.find(connection, caller.session)
        if session is not None and clock(connection) - session.created_at < FRESH:
            return caller.person
    grant = unseal(cookie, session.sealed) if session is not None and session.sealed is not None else None
    data, grant = provider.again(oidc, grant or ClaimsGrant(""), caller.person.login.subject)
    with site.database.transaction() as connection:
        sessions.renew(connection, caller.session, data, seal(cookie, grant))
        people.see(connection, identity_of(data), data["name"], data["values"])
    person = person_of(site, data)
    return person if person is not None else replace(caller.person, roles={})


def _failed(request: Request, error: LoginFailed) -> Response:
    return shown(request, PageError(401, sentence(error.message), error.hint or "", error.id))


def _kept(cookie: str) -> dict[str, str] | None:
    try:
        data = json.loads(bytes.fromhex(cookie))
    except ValueError:
        return None
    keys = {"state", "nonce", "verifier", "back"}
    valid = isinstance(data, dict) and data.keys() == keys and all(isinstance(value, str) and value for value in data.values())
    return data if valid else None


def _inside(back: str) -> str:
    """A path of this site; the first page for anything else."""
    inside = back.startswith("/") and not back.startswith(("//", "/\\")) and back.isprintable() and "\\" not in back
    return back if inside and not back.startswith((links.LOGIN, links.LOGOUT)) else "/"
