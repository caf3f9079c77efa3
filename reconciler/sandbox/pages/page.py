"""`/`: what the service holds and what was asked of it lately; the page looks again every two seconds by itself."""

from __future__ import annotations

from typing import Final

from starlette.responses import HTMLResponse

from reconciler.sandbox.endpoints import Request, Router
from reconciler.sandbox.pages.overview import Sketch
from reconciler.sandbox.pages.render import rendered
from reconciler.sandbox.recent import newest
from reconciler.sandbox.service import Service

router = Router(include_in_schema=False)
SHOWN: Final = 40  # requests


@router.get("/")
async def page(request: Request) -> HTMLResponse:
    service: Service = request.app.state.service
    return rendered("page.html", Sketch(service.store).whole(newest(service, SHOWN)))
