"""Files of a project that are replaced together: all of them, or none, even if the process is killed between two of them.

    record of both texts (not complete) ──> file ──> file ──> … ──> record (complete)
           |                                                           |
    a kill here: the next change takes everything back          `taken_back` restores the files as they were

Each file is whole at any time, because it takes its place by a rename. The record is `.reconciler/proposal.json` in the project; whoever
changes files waits for whoever does so now. Forbidden: writing a file that was changed since it was read, and believing a record that was
not made in this folder: a checkout may contain one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

from reconciler.errors import ReconcilerError, Refused, os_reason
from reconciler.files import path_from_here, rewrite
from reconciler.json_file import read_json
from reconciler.links import read_file
from reconciler.own_files import birth_of
from reconciler.text.escape import as_json
from reconciler.writing import checked_path, create_folder, opened_for_appending, sync_folder, write_whole

FOLDER: Final = ".reconciler"
RECORD: Final = f"{FOLDER}/proposal.json"
LOCK: Final = f"{FOLDER}/proposal.lock"
RECORD_MAX: Final = 256 * 2**20  # bytes
PARTS_MAX: Final = 50_000_000
PAUSE: Final = 0.1  # seconds between two attempts to be the only one who changes files
YAML: Final = (".yaml", ".yml")


@cache
def _session() -> str:
    """This process, in the records that it makes. Not chosen at import: processes that are forked after it are several sessions."""
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Replacement:
    """A record. `files`: the texts of each before and after, by name. `complete`: every file has its new text.
    `session`: the process that made it."""

    files: Mapping[str, tuple[str, str]]
    complete: bool
    session: str = field(default_factory=_session)

    @property
    def before(self) -> dict[str, str]:
        return {name: texts[0] for name, texts in self.files.items()}

    @property
    def after(self) -> dict[str, str]:
        return {name: texts[1] for name, texts in self.files.items()}


@contextmanager
def only_change(root: Path, waiting: Callable[[int], object] = lambda attempt: None) -> Iterator[None]:
    """Wait until nobody else changes the files of a project this way, and keep others out; raises `ReconcilerError`. `waiting`: called
    before each pause with the number of the attempt, from 0; it may raise to end the waiting."""
    try:
        create_folder(root / FOLDER)
        handle = opened_for_appending(root / LOCK)
    except OSError as error:
        wrong = f"{path_from_here(root / LOCK)} cannot be written: {os_reason(error)}"
        raise ReconcilerError(wrong, id="RC-file-not-written") from error
    try:
        for attempt in count():
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waiting(attempt)
                time.sleep(PAUSE)
        yield
    finally:
        os.close(handle)


def replace_files(root: Path, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Replace files of a project by name; returns their names as a message shows them. Call it inside `only_change`.

    Raises `Refused` if a file is no longer as it was read, and `ReconcilerError` if one cannot be written; then all are as before.
    """
    for name in after:
        if _text(root, name) != before[name]:
            wrong = f"{path_from_here(root / name)} was changed meanwhile, and was not written"
            raise Refused(wrong, id="RC-files-changed", hint="Look at the file, and propose the change again.")
    replacement = Replacement({name: (before[name], text) for name, text in after.items()}, complete=False)
    previous = _content(root / RECORD)
    _record(root, replacement)
    try:
        written = rewrite(root, after)
        _record(root, Replacement(replacement.files, complete=True))
    except BaseException:
        with suppress(ReconcilerError, OSError):
            _put_back(root, replacement)
            _restore(root, previous)
        raise
    return written


def settle(root: Path) -> list[str]:
    """Take back a replacement that was killed before it was complete; returns the names of its files. Call it inside `only_change`."""
    replacement = _recorded(root)
    if replacement is None or replacement.complete:
        return []
    _check_untouched(root, replacement, "was interrupted")
    names = _put_back(root, replacement)
    _restore(root, None)
    return names


def taken_back(root: Path, *, own: bool = False) -> Replacement:
    """Restore the files as they were before the last replacement, which is returned. Call it inside `only_change`, after `settle`.
    `own`: only one that this process made.

    Raises `Refused` if there is none, or if a file was changed since.
    """
    replacement = _recorded(root)
    if replacement is None:
        raise Refused("there is no proposal to undo", id="RC-nothing-proposed", hint="Only the last one can be undone, once.")
    if own and replacement.session != _session():
        hint = "A person can undo it: reconciler propose --undo."
        raise Refused("the last proposal was made by another session", id="RC-nothing-proposed", hint=hint)
    if any(_text(root, name) != text for name, text in replacement.after.items()):
        _check_untouched(root, Replacement({name: (text, text) for name, text in replacement.after.items()}, complete=True), "was written")
    replace_files(root, replacement.after, replacement.before)
    _restore(root, None)
    return replacement


def _put_back(root: Path, replacement: Replacement) -> list[str]:
    return rewrite(root, {name: text for name, text in replacement.before.items() if _text(root, name) != text})


def _check_untouched(root: Path, replacement: Replacement, what: str) -> None:
    """Raise `Refused` if a file has a text that no proposal has written."""
    for name, texts in replacement.files.items():
        if _text(root, name) not in texts:
            wrong = f"{path_from_here(root / name)} was changed after a proposal {what}"
            hint = f"Compare it with {path_from_here(root / RECORD)}, which has both texts, and remove that file."
            raise Refused(wrong, id="RC-files-changed", hint=hint)


def _text(root: Path, name: str) -> str | None:
    """The text of a file of the project; None if it has none."""
    content = _content(root / name)
    return content.decode("utf-8", "surrogateescape") if content is not None else None


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, RECORD_MAX)
    except OSError:
        return None


def _recorded(root: Path) -> Replacement | None:
    """The record; None without one. A checkout may contain any: names lead nowhere but to YAML files of the project."""
    if not os.path.lexists(root / RECORD):
        return None
    try:
        data: Any = read_json(root / RECORD, most=RECORD_MAX, parts=PARTS_MAX)
        files = {checked_path(name): (str(texts["before"]), str(texts["after"])) for name, texts in data["files"].items()}
        if not all(name.endswith(YAML) and not any(part.startswith(".") for part in name.split("/")) for name in files):
            raise ValueError("it names other files")
        if data["folder"] != birth_of(root / LOCK):
            raise ValueError("it was made in another folder")
        return Replacement(files, complete=data["complete"] is True, session=str(data["session"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        wrong = f"{path_from_here(root / RECORD)} is not the record of a proposal: {error}"
        raise Refused(wrong, id="RC-files-changed", hint="Remove it if the files of the project are as they should be.") from None


def _record(root: Path, replacement: Replacement) -> None:
    files = {name: {"before": before, "after": after} for name, (before, after) in replacement.files.items()}
    data = {"complete": replacement.complete, "folder": birth_of(root / LOCK), "session": replacement.session, "files": files}
    _restore(root, (as_json(data) + "\n").encode("utf-8", "surrogatepass"))


def _restore(root: Path, content: bytes | None) -> None:
    """Write the record, or remove it."""
    path = root / RECORD
    try:
        if content is not None:
            write_whole(path, content)
        else:
            path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise ReconcilerError(f"{path_from_here(path)} cannot be written: {os_reason(error)}", id="RC-file-not-written") from error
