"""Pages for people: `/` shows what the service holds, `/docs` what it can be asked."""

from reconciler.sandbox.pages import overview, reference

ROUTERS = (overview.router, reference.router)
