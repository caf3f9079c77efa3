"""The files below a folder whose names match a pattern. Reads folders, no file.

Every folder is listed once, however many parts of the pattern its path matches. `**` leads through no link to a folder, and nothing hidden
matches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reconciler.errors import os_reason
from reconciler.links import leads_out
from reconciler.text.escape import terminal
from reconciler.text.patterns import PathPattern

ENTRIES_MAX: Final = 500_000  # looked at for one pattern


class NotWalked(Exception):
    """Why the files that match are not known, as the end of a sentence."""


def files_matching(root: Path, pattern: PathPattern, *, most: int = ENTRIES_MAX) -> Iterator[str]:
    """The names of the regular files below `root`, in no order. `root`: without links. Raises `NotWalked` for a folder that cannot be
    listed or that a link out of `root` replaces, and after `most` entries of folders: links can make a tree endless."""
    number = 0
    waiting = [("", pattern.begin)]
    while waiting:
        folder, positions = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as error:
            raise NotWalked(f"needs the folder {terminal(folder)}, which cannot be listed: {os_reason(error)}") from None
        number += len(entries)
        if number > most:
            raise NotWalked(f"leads to more than {most:,} files and folders; name the folders that contain the files")
        for entry in entries:
            if entry.name.startswith("."):
                continue
            name, is_folder, is_link = f"{folder}{entry.name}", entry.is_dir(), entry.is_symlink()
            after = pattern.after(positions, entry.name, link=is_folder and is_link)
            if is_folder and pattern.leads_on(after):
                if is_link and leads_out(root / name, root) is not None:
                    raise NotWalked(f"is outside the project: {terminal(name)} is a link")
                waiting.append((f"{name}/", after))
            elif pattern.is_matched(after) and entry.is_file():
                yield name
