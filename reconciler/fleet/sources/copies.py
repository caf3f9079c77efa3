"""Our copies of repositories on this machine: each is complete and never changes, so that no fetch can break it.

A fetch runs in a new copy, which becomes the present one only if it succeeds. A fetch that fails, or is killed with its worker in the
middle of a file, leaves a folder that nobody looks at.

    NAME.lock       which copy is the present one, and after how many fetches; locked only while it is read or written
    NAME.RANDOM.git a copy: the present one, an earlier one that somebody may still read, or what a fetch is working on

The files of packs never change, so a copy shares them with the one before (hard links).
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

FETCHES_MAX: Final = 100  # after which a copy begins without the one before, so that it does not grow for ever
KEPT_SECONDS: Final = 900.0  # for which a copy is kept that is not the present one: longer than anybody reads it, or a fetch lasts
_PRESENT: Final = re.compile(r"([0-9a-f]{16}) ([0-9]{1,9})\n", re.ASCII)
_NOT_COPIED: Final = shutil.ignore_patterns("*.lock", "FETCH_HEAD", "tmp_*")
T = TypeVar("T")


class SourceError(ReconcilerError):
    """The files of a project are not available; the message says why."""


def present(cache: Path, url: str) -> Path | None:
    """The present copy of a repository; None if there is none."""
    with _locked(cache, url) as lock:
        copy, _ = _read(cache, url, lock)
    return copy


def renewed(cache: Path, url: str, fetch: Callable[[Path], T], has: Callable[[Path, T], bool]) -> tuple[Path, T]:
    """A new copy after a fetch into it, and what the fetch returned. `has`: whether an earlier copy has that already; then it stays the
    present one. A fetch that fails beside what others fetched before is repeated alone. Raises what `fetch` raises."""
    with _locked(cache, url) as lock:
        before, fetches = _read(cache, url, lock)
        _remove_old(cache, url, before)
    if before is not None and fetches < FETCHES_MAX:
        with suppress(SourceError):
            return _fetched(cache, url, fetch, fetches=fetches + 1, before=before, has=has)
    return _fetched(cache, url, fetch, fetches=1)


def _fetched(
    cache: Path, url: str, fetch: Callable[[Path], T], *, fetches: int, before: Path | None = None,
    has: Callable[[Path, T], bool] = lambda folder, result: False,
) -> tuple[Path, T]:  # fmt: skip
    number = token_hex(8)
    folder = _folder(cache, url, number)
    try:
        if before is not None:
            shutil.copytree(before, folder, copy_function=_shared, ignore=_NOT_COPIED)
        else:
            ended = create(folder)
            if ended.code != 0:
                lines = ended.err.decode("utf-8", "replace").strip().splitlines()
                wrong = f"git cannot create a repository in {cache}: {lines[-1] if lines else 'it gives no reason'}"
                raise SourceError(wrong, id="RC-git-failed")
        result = fetch(folder)
        if before is not None and has(before, result):
            shutil.rmtree(folder, ignore_errors=True)
            return before, result
        with _locked(cache, url) as lock:
            replaced, _ = _read(cache, url, lock)
            _write(lock, f"{number} {fetches}\n")
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


def _shared(source: str, target: str) -> str:
    """Copy a file; one of the object store, which never changes, becomes another name of the same file."""
    if f"{os.sep}objects{os.sep}" in source:
        # not every file system has hard links, and a cache may lie across two of them: then the file is copied
        with suppress(OSError):
            os.link(source, target)
            return target
    return str(shutil.copy2(source, target))


@contextmanager
def _locked(cache: Path, url: str) -> Iterator[IO[str]]:
    """The file that names the present copy, locked against the other processes of this machine. Nobody holds it during a fetch."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (cache / f"{_name(url)}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def _read(cache: Path, url: str, lock: IO[str]) -> tuple[Path | None, int]:
    """The present copy, and after how many fetches."""
    lock.seek(0)
    # an earlier version or a full disk may have left another text or half of one; it names no copy, and the next fetch begins with nothing
    match = _PRESENT.fullmatch(lock.read(100))
    folder = _folder(cache, url, match[1]) if match is not None else None
    if match is None or folder is None or not (folder / "HEAD").exists():
        return None, 0
    return folder, int(match[2])


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
