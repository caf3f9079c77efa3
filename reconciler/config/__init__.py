"""From a project directory to `Desired`: reading, expressions, variables, references, every problem at once."""

from reconciler.config.project import load
from reconciler.config.schema import schema
from reconciler.config.settings import Project, Settings

__all__ = ["Project", "Settings", "load", "schema"]
