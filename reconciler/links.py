"""Links in a checkout, which anybody who proposes a change may have put there: the places of files with such links refused, and the one
way to read a file that people name or that a checkout contains.

A path outside every checkout, and outside the current folder, is the operator's own, and its links are followed as usual.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

from reconciler.errors import UsageError

_FOLDER: Final = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class LinkRefused(UsageError):
    """A link is in the place of a folder or file."""


class NotRegular(OSError):
    """A pipe, a device or a folder has the name of a file."""


def repository(folder: Path) -> Path | None:
    """The nearest folder with an entry named `.git`, the folder itself included; None if there is none. `folder`: without links."""
    return next((parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")), None)


def checkout(folder: Path) -> Path | None:
    """The top of the checkout that contains a folder: the nearest one with an entry named `.git`, else the current folder, if that
    contains it and is not the root of the file system; None for other folders. `folder`: without links."""
    top = repository(folder)
    here = Path.cwd()
    return top or (here if here != Path(here.anchor) and folder.is_relative_to(here) else None)


def written_place(path: Path) -> Path:
    """The place of a file or folder that is to be written: no link in a checkout leads there, and the last part is never followed.

    Raises `LinkRefused`, and OSError.
    """
    place, parts = _begin(path)
    for at, part in enumerate(parts, 1):
        entry = place.parent if part == ".." else place / part
        if os.path.islink(entry):
            if checkout(place) is not None:
                raise link_refused(path, entry)
            entry = entry if at == len(parts) else target(entry)
        place = entry
    return place


def link_refused(path: Path, link: Path) -> LinkRefused:
    """The error about a link on the way to a file that is to be written."""
    wrong = f"{path} cannot be written: {link} is a link, and nothing is written to what a link leads to"
    return LinkRefused(wrong, id="RC-link-not-written", hint=f"Remove the link, or name what it leads to: {target(link)}")


def check_read(path: Path) -> Path:
    """The place of a file that is to be read, every link followed. Raises `LinkRefused` if a link in a checkout leads out of it on the way
    there, or to a hidden file."""
    place, parts = _begin(path)
    for part in parts:
        entry = place = place.parent if part == ".." else place / part
        if os.path.islink(entry):
            top, place = checkout(entry.parent), target(entry)
            reason = leads_out(entry, top, place) if top is not None else None
            if reason is not None:
                hint = f"Replace the link by what it leads to, or name that: {place}"
                raise LinkRefused(f"{path} cannot be read: {entry} {reason}", id="RC-link-not-read", hint=hint)
    return place


def leads_out(path: Path, root: Path, place: Path | None = None) -> str | None:
    """What is wrong with a link below a folder, as the end of a sentence: it leads out of the folder, or to a hidden file; None if nothing
    is, or it is not a link. `root`: without links; `place`: what the path leads to, as `target` returned it."""
    place = place if place is not None else target(path)
    if place == path:
        return None
    if not place.is_relative_to(root):
        return f"is a link that leads out of {root}"
    return "is a link to a hidden file" if any(part.startswith(".") for part in place.relative_to(root).parts) else None


def read_file(path: Path, most: int, *, within: Path | None = None) -> bytes:
    """The content of a file, at most `most` + 1 bytes of it, so that the caller sees when there are more. `within`: a folder without links
    that no link may lead out of, also outside of every checkout.

    Raises `LinkRefused`; OSError, also for a pipe, a device or a folder, whose end may never come; ValueError for a NUL in the name.
    """
    place = check_read(path)
    reason = leads_out(path, within, place) if within is not None else None
    if reason is not None:
        raise LinkRefused(f"{path} cannot be read: it {reason}", id="RC-link-not-read", hint="Replace the link by what it leads to.")
    with open_place(place) if within is not None or checkout(place.parent) is not None else open_regular(path) as file:
        return file.read(most + 1)


def open_named(path: Path) -> BufferedReader:
    """A file that an option names, for reading. Outside of every checkout it may be the pipe of another program, `<(…)`.

    Raises `LinkRefused`; OSError, also for a pipe or a device in a checkout; ValueError for a NUL in the name.
    """
    place = check_read(path)
    return open_place(place) if checkout(target(Path(os.path.abspath(path)).parent)) is not None else path.open("rb")


def open_place(place: Path) -> BufferedReader:
    """The file in a place that was found without links, for reading: a link that was put on the way there since is not followed.

    Raises OSError, as `open_regular` does."""
    folder = open_folder(place.parent)
    try:
        return open_regular(Path(place.name), follow=False, folder=folder)
    finally:
        os.close(folder)


def open_folder(place: Path) -> int:
    """A descriptor of the folder in such a place, for opening what is in it. Raises OSError."""
    folder = os.open(place.anchor, _FOLDER)
    for part in place.parts[1:]:
        outer = folder
        try:
            folder = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    return folder


def open_regular(path: Path, *, follow: bool = True, folder: int | None = None) -> BufferedReader:
    """The file for reading, without waiting: a pipe in its place, whose writer may never come, is refused like a folder or a device.

    `follow`: open what a link leads to. `folder`: the descriptor of the folder that contains it. Raises OSError, `NotRegular` for a pipe,
    a device or a folder."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    handle = os.open(path, flags, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotRegular(errno.EINVAL, "it is not a regular file", str(path))
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def target(path: Path) -> Path:
    """The path with every link followed; one that leads to itself, as far as it can be."""
    return Path(os.path.realpath(path))


def _begin(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Where a path begins, and its parts."""
    return (Path(path.anchor), path.parts[1:]) if path.is_absolute() else (Path.cwd(), path.parts)
