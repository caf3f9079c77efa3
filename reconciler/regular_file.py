"""Opening a file to read it, which never waits: a pipe in its place, whose writer may never come, is refused like a folder or a device."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


class NotRegular(OSError):
    """A pipe, a device or a folder has the name of a file."""


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """The file for reading. `follow`: open what a link leads to. Raises OSError, `NotRegular` for a pipe, a device or a folder."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotRegular(errno.EINVAL, "it is not a regular file", str(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
