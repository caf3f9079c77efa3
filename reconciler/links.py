"""Links in a checkout, which anybody who proposes a change may have put there: the places of files with such links refused.

A path outside every checkout, and outside the current folder, is the operator's own, and its links are followed as usual.
"""

from __future__ import annotations

import os
from pathlib import Path

from reconciler.errors import UsageError


class LinkRefused(UsageError):
    """A link is in the place of a folder or file."""


def checkout(folder: Path) -> Path | None:
    """The top of the checkout that contains a folder: the nearest one with an entry named `.git`, else the current folder, if that
    contains it; None for other folders. `folder`: without links."""
    top = next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), None)
    here = Path.cwd()
    return top or (here if folder.is_relative_to(here) else None)


def written_place(path: Path) -> Path:
    """The place of a file or folder that is to be written: no link in a checkout leads there, and the last part is never followed.

    Raises `LinkRefused`, and OSError.
    """
    place = Path.cwd() if not path.is_absolute() else Path(path.anchor)
    parts = path.parts[1:] if path.is_absolute() else path.parts
    for at, part in enumerate(parts, 1):
        entry = place.parent if part == ".." else place / part
        if os.path.islink(entry):
            if checkout(place) is not None:
                wrong = f"{path} cannot be written: {entry} is a link, and what it leads to is not written"
                raise LinkRefused(wrong, id="RC-link-not-written", hint=f"Remove the link, or name another place: rm {entry}")
            entry = entry if at == len(parts) else entry.resolve()
        place = entry
    return place


def read_place(path: Path) -> Path:
    """The place of a file that is to be read, with every link followed: none in a checkout leads out of it, or to a hidden file.

    Raises `LinkRefused`, and OSError.
    """
    place = Path.cwd() if not path.is_absolute() else Path(path.anchor)
    for part in path.parts[1:] if path.is_absolute() else path.parts:
        entry = place.parent if part == ".." else place / part
        top = checkout(place) if os.path.islink(entry) else None
        if top is not None:
            inside(entry, top, named=path)
        place = entry.resolve() if os.path.islink(entry) else entry
    return place


def inside(path: Path, root: Path, *, named: Path) -> Path:
    """The place of a file below a folder, with every link followed. `root`: without links; `named`: the file as the user named it.

    Raises `LinkRefused` if a link leads out of the folder, or to a hidden file.
    """
    place = path.resolve()
    if place == path:
        return place
    if not place.is_relative_to(root):
        raise _refused(named, f"it is a link to a file outside {root}")
    if any(part.startswith(".") for part in place.relative_to(root).parts):
        raise _refused(named, "it is a link to a hidden file")
    return place


def _refused(named: Path, reason: str) -> LinkRefused:
    hint = "Replace the link by the file itself."
    return LinkRefused(f"{named} cannot be read: {reason}", id="RC-link-not-read", hint=hint)
