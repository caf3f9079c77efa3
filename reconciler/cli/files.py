"""Files: their paths as a user types them, and writes that nobody sees half done."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path


def path_from_here(path: Path) -> Path:
    """A path as a user would type it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path


def write_whole(target: Path, text: str, *, mode: int = 0o600) -> None:
    """Write a text to `target` so that others see either the old file or the complete new one. `mode`: its permissions.

    Raises OSError, also if `target` is not a regular file: a device or a pipe is never replaced.
    """
    import tempfile

    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # 0600 from the start
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def rewrite(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Replace files of a project, by their names below `root`, keeping their permissions; returns the names as a message shows them.

    Raises `ReconcilerError` for the first that cannot be written.
    """
    from reconciler.errors import ReconcilerError, os_reason

    for name, text in texts.items():
        path = (root / name).resolve()  # a link stays a link
        try:
            write_whole(path, text, mode=stat.S_IMODE(path.stat().st_mode))
        except OSError as error:
            raise ReconcilerError(f"{path_from_here(path)} cannot be written: {os_reason(error)}", id="RC-file-not-written") from error
    return [str(path_from_here(root / name)) for name in texts]
