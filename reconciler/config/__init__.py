"""From a project directory to `Desired`: reading, expressions, variables, references, every problem at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reconciler.deferred import deferred

if TYPE_CHECKING:
    from reconciler.config.project import load, load_settings
    from reconciler.config.settings import Project, ProjectSettings

__all__ = ["Project", "ProjectSettings", "load", "load_settings"]

if not TYPE_CHECKING:
    __getattr__ = deferred(__name__, {"project": "load load_settings", "settings": "Project ProjectSettings"})
