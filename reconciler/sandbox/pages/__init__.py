"""Pages for people: `/` shows what the service holds, `/docs` its API reference."""

from reconciler.sandbox.pages import overview, reference

ROUTERS = (overview.router, reference.router)
