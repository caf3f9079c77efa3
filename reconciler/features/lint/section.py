"""What lint adds to the kernel: a key of the project file, and a check of `validate`."""

from __future__ import annotations

from typing import Final

from reconciler.config.sections import ProjectSection
from reconciler.run.validation import Linter


def linter() -> Linter:
    """What checks a project. It is imported here, because no other command than `validate` needs it."""
    from reconciler.features.lint import run

    return run


# The kernel reads what is accepted (`config.settings.read_ignores`): it has warnings of its own.
SECTION: Final = ProjectSection("lint", lambda reading, desired: desired)
