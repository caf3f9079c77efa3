"""Pages for people: `/` shows what the service holds, `/docs` what it can be asked."""

from reconciler.sandbox.pages import page, reference

ROUTERS = (page.router, reference.router)
