"""Pages for people: `/` shows what the service contains, `/docs` is its API reference."""

from reconciler.sandbox.pages import overview, reference

ROUTERS = (overview.router, reference.router)
