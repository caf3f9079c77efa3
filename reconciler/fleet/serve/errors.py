"""Errors as a page for people and as `application/problem+json` for programs. Neither shows internals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from reconciler import __version__
from reconciler.errors import ReconcilerError, Refused, StalePlan, StateError, UsageError
from reconciler.fleet.pages import links, render
from reconciler.fleet.pages.views import ErrorView, Frame
from reconciler.fleet.serve.callers import Forged, NotLoggedIn

PROGRAMS: Final = ("/api/", "/webhooks/", "/healthz", "/readyz", "/metrics", "/events")
TITLES: Final = {
    400: "This request cannot be understood",
    401: "Nobody is logged in",
    403: "This is not allowed",
    404: "There is no such page",
    405: "This cannot be done here",
    408: "The request was not complete in time",
    409: "This changed in the meantime",
    413: "The request is too large",
    422: "This cannot be done",
    421: "This is not the host of the dashboard",
    429: "Too much is open at once",
    503: "The dashboard cannot answer this now",
}


@dataclass(frozen=True)
class PageError:
    """`says`: a sentence. `remedy`: what to do. `id`: of the cause, "" for none."""

    code: int
    says: str
    remedy: str = ""
    id: str = ""

    @property
    def title(self) -> str:
        return TITLES.get(self.code, "This request failed")

    @property
    def data(self) -> dict[str, Any]:
        """The JSON of RFC 9457."""
        more = {"remedy": self.remedy, "id": self.id}
        about = {"type": "about:blank", "title": self.title, "status": self.code, "detail": self.says}
        return about | {key: value for key, value in more.items() if value}


def of_error(error: ReconcilerError) -> PageError:
    """The page of an error."""
    if isinstance(error, StateError):
        return PageError(503, "The database of the fleet cannot be used now.", "Try again in a moment.", error.id)
    if error.id == "RC-no-fleet-project":
        return PageError(404, "There is no such project.", "The list shows the projects that you can see.", error.id)
    code = {UsageError: 422, Refused: 403, StalePlan: 409}.get(type(error), 500)
    if code == 500:
        return PageError(500, "This request failed.", "Try again.", error.id)
    return PageError(code, sentence(error.message), error.hint or "", error.id)


def sentence(message: str) -> str:
    """A message as a sentence. A message that begins with a name, such as an e-mail address, is not changed."""
    first = message.partition(" ")[0]
    return f"{message[:1].upper() if first.isalpha() else message[:1]}{message[1:]}."


def is_for_programs(request: Request) -> bool:
    return request.url.path.startswith(PROGRAMS)


def shown(request: Request, wrong: PageError) -> Response:
    """The response to a request that failed."""
    if is_for_programs(request):
        return JSONResponse(wrong.data, wrong.code, media_type="application/problem+json")
    frame = Frame(datetime.now(UTC), version=__version__)
    acted = request.path_params.get("name", "") if request.method == "POST" and wrong.code != 404 else ""
    page = render.render_error(ErrorView(frame, wrong.code, wrong.title, wrong.says, wrong.remedy, wrong.id, project=acted))
    return HTMLResponse(page, wrong.code)


def install(app: FastAPI) -> None:
    """Answer every error in these two forms."""

    @app.exception_handler(ReconcilerError)
    def reconciler_error(request: Request, error: ReconcilerError) -> Response:
        return shown(request, of_error(error))

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        response = shown(request, PageError(error.status_code, f"{TITLES.get(error.status_code, 'This request failed')}."))
        for name, value in (error.headers or {}).items():
            response.headers[name] = value
        return response

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        places = sorted({".".join(str(part) for part in problem["loc"]) for problem in error.errors()})
        return shown(request, PageError(422, f"Not valid: {', '.join(places)[:500]}.", "The OpenAPI document says what is."))

    @app.exception_handler(NotLoggedIn)
    def not_logged_in(request: Request, error: NotLoggedIn) -> Response:
        if not is_for_programs(request) and request.method == "GET":
            if request.headers.get("hx-request"):
                return Response(status_code=401, headers={"HX-Redirect": links.to(links.LOGIN)})
            path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            login = links.to(links.LOGIN)
            return RedirectResponse(f"{login}?back={quote(path, safe='')}" if path != "/" else login, 303)
        response = shown(request, PageError(401, "Nobody is logged in.", "Log in, or send the token as Authorization: Bearer."))
        response.headers["WWW-Authenticate"] = "Bearer"
        return response

    @app.exception_handler(Forged)
    def forged(request: Request, error: Forged) -> Response:
        return shown(request, PageError(403, "The form is not one of this session.", "Open the page again, and send its form."))
