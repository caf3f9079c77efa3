"""The page for people at `/`: what the service holds, as one would look at it, and what was asked of it lately."""

from reconciler.sandbox.people.page import router

__all__ = ["router"]
