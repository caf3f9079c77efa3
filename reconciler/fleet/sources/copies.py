"""Our copies of repositories on this machine: each is complete and never changes, so that no fetch can break it.

A fetch runs in a new copy, which becomes the present one only if it succeeds. A fetch that fails, or is killed with its worker in the
middle of a file, leaves a folder that nobody looks at.

    NAME.lock       which copy is the present one, after how many fetches, and the signature of both by the key of the folder; locked only
                    while it is read or written
    NAME.RANDOM.git a copy: the present one, an earlier one that somebody may still read, or what a fetch is working on

Each copy begins as an empty repository of our own and takes over the objects of the one before, and which commits are kept: never its
settings, hooks or attributes. The files of packs never change, so two copies share them (hard links). A copy that is not signed was not
written here, and is not used.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, Final, TypeVar

from reconciler.errors import ReconcilerError, os_reason
from reconciler.git import create
from reconciler.links import open_regular
from reconciler.own_files import OwnFolder

FETCHES_MAX: Final = 100  # after which a copy begins without the one before, so that it does not grow for ever
KEPT_SECONDS: Final = 900.0  # for which a copy is kept that is not the present one: longer than anybody reads it, or a fetch lasts
_PRESENT: Final = re.compile(r"([0-9a-f]{16}) ([0-9]{1,9}) ([0-9a-f]{64})\n", re.ASCII)
_PRESENT_MAX: Final = 100  # characters
_OBJECTS: Final = re.compile(
    r"pack/pack-[0-9a-f]+\.(pack|idx|rev|bitmap|promisor|mtimes)|[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?", re.ASCII
)
_KEPT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
T = TypeVar("T")


class SourceError(ReconcilerError):
    """The files of a project are not available; the message says why."""


def present(cache: Path, url: str) -> Path | None:
    """The present copy of a repository; None if there is none."""
    with _locked(cache, url) as (own, lock):
        copy, _ = _read(own, url, lock)
    return copy


def renewed(cache: Path, url: str, fetch: Callable[[Path], T], has: Callable[[Path, T], bool]) -> tuple[Path, T]:
    """A new copy after a fetch into it, and what the fetch returned. `has`: whether an earlier copy has that already; then it stays the
    present one. A fetch that fails beside what others fetched before is repeated alone. Raises what `fetch` raises."""
    with _locked(cache, url) as (own, lock):
        before, fetches = _read(own, url, lock)
        _remove_old(cache, url, before)
    if before is not None and fetches < FETCHES_MAX:
        with suppress(SourceError):
            return _fetched(cache, url, fetch, fetches=fetches + 1, before=before, has=has)
    return _fetched(cache, url, fetch, fetches=1)


def _fetched(
    cache: Path,
    url: str,
    fetch: Callable[[Path], T],
    *,
    fetches: int,
    before: Path | None = None,
    has: Callable[[Path, T], bool] = lambda folder, result: False,
) -> tuple[Path, T]:
    number = token_hex(8)
    folder = _folder(cache, url, number)
    try:
        ended = create(folder)
        if ended.code != 0:
            lines = ended.err.decode("utf-8", "replace").strip().splitlines()
            wrong = f"git cannot create a repository in {cache}: {lines[-1] if lines else 'it gives no reason'}"
            raise SourceError(wrong, id="RC-git-failed")
        if before is not None:
            _take_over(before, folder)
        result = fetch(folder)
        if before is not None and has(before, result):
            shutil.rmtree(folder, ignore_errors=True)
            return before, result
        with _locked(cache, url) as (own, lock):
            replaced, _ = _read(own, url, lock)
            _write(lock, f"{number} {fetches} {own.signature(folder.name, fetches)}\n")
            if replaced is not None:
                with suppress(OSError):
                    # somebody may still read the copy that was replaced: the time from which it is kept begins now
                    os.utime(replaced)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SourceError(f"a copy of a repository cannot be written to {cache}: {os_reason(error)}", id="RC-git-failed") from error
    # also where the worker is ended: what a fetch left would otherwise stay until the next one of this repository
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder, result


def _take_over(before: Path, folder: Path) -> None:
    """Give a new repository the objects of an earlier copy, the commits that are kept, and where their history was cut off."""
    for path in sorted((before / "objects").glob("*/*")):
        name = path.relative_to(before / "objects").as_posix()
        if _OBJECTS.fullmatch(name):
            _share(path, folder / "objects" / name)
    for path in sorted((before / "refs/kept").glob("*")):
        if _KEPT.fullmatch(path.name):
            _write_in(folder, f"refs/kept/{path.name}", f"{path.name}\n")
    with suppress(FileNotFoundError), open_regular(before / "shallow", follow=False) as file:
        lines = file.read().decode("ascii", "replace").split()
        _write_in(folder, "shallow", "".join(f"{line}\n" for line in lines if _KEPT.fullmatch(line)))


def _share(source: Path, target: Path) -> None:
    """Give a file of the object store, which never changes, another name; where that is not possible, copy it."""
    target.parent.mkdir(exist_ok=True)
    # not every file system has hard links, and a cache may lie across two of them
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        with open_regular(source, follow=False) as file, target.open("xb") as copy:
            shutil.copyfileobj(file, copy)


def _write_in(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="ascii")


@contextmanager
def _locked(cache: Path, url: str) -> Iterator[tuple[OwnFolder, IO[str]]]:
    """The folder of copies, and the file that names the present copy, locked against the other processes of this machine. Nobody holds it
    during a fetch. Raises `UsageError` if the folder is not ours."""
    own = OwnFolder.create(cache)
    handle = os.open(cache / f"{_name(url)}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    with os.fdopen(handle, "r+", encoding="ascii", errors="replace") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield own, lock


def _read(own: OwnFolder, url: str, lock: IO[str]) -> tuple[Path | None, int]:
    """The present copy, and after how many fetches."""
    lock.seek(0)
    # an earlier version, a full disk or somebody else may have left another text; it names no copy, and the next fetch begins with nothing
    match = _PRESENT.fullmatch(lock.read(_PRESENT_MAX))
    if match is None:
        return None, 0
    folder, fetches = _folder(own.path, url, match[1]), int(match[2])
    if not own.signed(match[3], folder.name, fetches) or not (folder / "HEAD").exists():
        return None, 0
    return folder, fetches


def _write(lock: IO[str], text: str) -> None:
    lock.seek(0)
    lock.truncate()
    lock.write(text)
    lock.flush()


def _remove_old(cache: Path, url: str, present: Path | None) -> None:
    """Delete copies that nobody reads any more, and what failed fetches left."""
    for folder in cache.glob(f"{_name(url)}*.git"):
        with suppress(OSError):
            if folder != present and time.time() - folder.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _name(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:32]


def _folder(cache: Path, url: str, number: str) -> Path:
    return cache / f"{_name(url)}.{number}.git"
