"""From a project directory to `Desired`: reading, expressions, variables, references, every problem at once."""

from __future__ import annotations

from reconciler.config.project import load as load, load_settings as load_settings
from reconciler.config.settings import Project as Project, ProjectSettings as ProjectSettings
