"""Files: their paths as a user types them, and the files of a project that are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reconciler.errors import ReconcilerError, os_reason
from reconciler.links import LinkRefused, leads_out, target
from reconciler.writing import write_whole


def path_from_here(path: Path) -> Path:
    """A path as a user would type it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path


def rewrite(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Replace files of a project, by their names below `root`, keeping their permissions; returns the names as a message shows them.

    A link to another file of the project stays a link. Raises `ReconcilerError` for the first that cannot be written.
    """
    for name, text in texts.items():
        path = target(root / name)
        reason = leads_out(root / name, root, path)
        if reason is not None:
            hint = "Replace the link by the file itself."
            raise LinkRefused(f"{path_from_here(root / name)} {reason}, and is not written", id="RC-link-not-written", hint=hint)
        try:
            write_whole(path, text, mode=None)
        except OSError as error:
            raise ReconcilerError(f"{path_from_here(path)} cannot be written: {os_reason(error)}", id="RC-file-not-written") from error
    return [str(path_from_here(root / name)) for name in texts]
