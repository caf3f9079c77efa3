"""Options that several commands share."""

from __future__ import annotations

from reconciler.cli.options.declare import Decorator, address
from reconciler.cli.options.given import Options
from reconciler.cli.options.project import (
    compared,
    nearest_project,
    project,
    project_argument,
    project_option,
    project_path,
    project_words,
    reading,
    run_argument,
)
from reconciler.cli.options.run import absences, creating, exposures, guards, output, rules, selection, service, state, targets, yes

__all__ = [
    "Decorator", "Options", "absences", "address", "compared", "creating", "exposures", "guards", "nearest_project", "output",
    "project", "project_argument", "project_option", "project_path", "project_words", "reading", "rules", "run_argument", "selection",
    "service", "state", "targets", "yes",
]  # fmt: skip
