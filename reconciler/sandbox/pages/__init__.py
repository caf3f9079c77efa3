"""Pages for people: `/` shows what the service holds, `/docs` what it can be asked."""

from fastapi import APIRouter

from reconciler.sandbox.pages import page, reference

router = APIRouter()
router.include_router(page.router)
router.include_router(reference.router)
