"""What lint adds to the kernel's reading of project files: its key."""

from __future__ import annotations

from typing import Final

from reconciler.config.sections import ProjectSection

# The kernel reads what is accepted (`config.settings.read_ignores`): it has warnings of its own.
SECTION: Final = ProjectSection("lint", lambda reading, desired: desired)
