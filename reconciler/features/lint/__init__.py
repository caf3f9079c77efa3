"""Lint: find what is allowed in a project and probably a mistake. One small function for each rule, which reads the resources once. Pure.

In: the project as loaded, today's date, the state if there is one. Out: findings. No rule knows a kind: the fields it
checks are declared (`choice`, `derived`, `key`, `expires`, `whom`, `differs`, `missed`).
"""

from __future__ import annotations

from typing import Final

from reconciler.config.sections import Section
from reconciler.features.lint.accepted import findings, in_environments, in_order, variables_of
from reconciler.features.lint.rules import LintFacts

SECTION: Final = Section("lint", lambda reading, desired: desired)  # `config.settings.read_ignores` reads it

__all__ = ["SECTION", "LintFacts", "findings", "in_environments", "in_order", "variables_of"]
