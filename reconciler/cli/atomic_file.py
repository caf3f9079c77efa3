"""Files that are written wholly or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def write_whole(target: Path, text: str, *, mode: int = 0o600) -> None:
    """Put a text where `target` is, for others to see only once all of it is on the disk. `mode`: its permissions.

    Raises OSError, also where something that is not a file has that name: a device or a pipe is never replaced.
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
