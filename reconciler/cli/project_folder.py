"""The project of a command without one: that of the current folder, or of the nearest one above it.

The search ends at the top of a repository, the home directory or a file system, and never uses another user's file: on a machine with many
users, anybody can put a project into a folder above.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PROJECT_FILE: Final = "reconciler.yaml"


def nearest(here: Path) -> Path:
    """The folder of the project as a relative path; the current folder if there is none above it."""
    try:
        status = here.stat()
        home = _home()
        for folder in (here, *here.parents):
            if (folder / PROJECT_FILE).is_file():
                owned = (folder / PROJECT_FILE).stat().st_uid in (status.st_uid, os.getuid())
                return Path(os.path.relpath(folder, here)) if owned or folder == here else Path()
            if (folder / ".git").exists() or folder == home or folder.parent.stat().st_dev != status.st_dev:
                break
    except OSError:  # a folder that cannot be read
        pass
    return Path()


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None
