"""The application: its routes behind the guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import FastAPI
from starlette.types import ASGIApp

from reconciler import __version__
from reconciler.fleet.serve import errors
from reconciler.fleet.serve.feed import Feed
from reconciler.fleet.serve.guard import Guard
from reconciler.fleet.serve.routes import acts, api, events, login, pages, probes, webhooks
from reconciler.fleet.serve.single import SinglePerson
from reconciler.fleet.serve.site import Dashboard
from reconciler.fleet.store import FleetDatabase

ROUTES: Final = (login, pages, acts, api, events, webhooks, probes)
Say = Callable[[str], None]


def create_app(database: FleetDatabase, url: str, *, single: SinglePerson | None, feed: Feed, say: Say, show: Say) -> ASGIApp:
    """The dashboard of a fleet. `url`: the URL that people open. `single`: the only person; without it, the fleet file's provider
    identifies people. `feed`: the changes that pages follow; the caller ends it. `say`: for the log; `show`: for the terminal only."""

    app = FastAPI(
        title="The API of a fleet",
        version=__version__,
        description=api.ABOUT,
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.site = Dashboard(database, url.rstrip("/"), single, say, show, feed)
    errors.install(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    return Guard(app, url=url.rstrip("/"), say=say)
