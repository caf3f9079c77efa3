"""The files of a commit below a path, written into a private folder: regular files only, within limits.

A link to a file of the same commit becomes a copy of it. Everything else that is not a file (a link out of the commit, an invalid name) is
an error and never skipped: a missing file would look like removed resources.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reconciler.fleet.model import Repository
from reconciler.fleet.sources.copies import SourceError
from reconciler.fleet.sources.git import BLOB_MAX, Commit, git
from reconciler.git import Blob, GitRepository, MissingFile
from reconciler.writing import NewTree

FILES_MAX: Final = 20_000
TREE_MAX: Final = 256 * 2**20  # bytes of all files
LINKS_MAX: Final = 10  # a link to a link to …
FILE, PROGRAM, LINK, MODULE = "100644", "100755", "120000", "160000"


def write(commit: Commit, source: Repository, folder: Path) -> Path:
    """Write the files, and return the project's directory below an empty private folder. Raises `SourceError`."""
    prefix = "" if source.path == "." else f"{source.path}/"
    listed = list(_entries(commit, prefix))
    entries = {entry.path: entry for entry in listed}
    # git accepts a tree with one name twice; which of the two a checkout gives is undefined, and a reviewer may have read the other
    if len(entries) < len(listed):
        raise SourceError(f"commit {commit.id[:12]} has two files of one name", id="RC-git-file-name")
    wanted = [entry for path, entry in entries.items() if path.startswith(prefix) and entry.mode != MODULE]
    if not wanted:
        raise SourceError(
            f"{source.path} does not exist in commit {commit.id[:12]}", id="RC-fleet-source", hint="Correct source.path in the fleet file."
        )
    if len(wanted) > FILES_MAX:
        raise SourceError(f"{source.path} contains more than {FILES_MAX:,} files", id="RC-project-too-large")
    contents = _contents(commit, [_target(commit, entries, entry, prefix) for entry in wanted])
    with NewTree(folder) as tree:
        for entry, content in zip(wanted, contents, strict=True):
            try:
                tree.file(_checked(entry.path), content)
            except (OSError, ValueError):
                raise SourceError(f"the path {ascii(entry.path)[:100]} is not allowed", id="RC-git-file-name") from None
    return folder if source.path == "." else folder / source.path


def _entries(commit: Commit, prefix: str) -> Iterator[Blob]:
    """The entries below a directory, so that what other projects commit beside it costs nothing."""
    ended = git(commit.folder, "ls-tree", "-r", "-z", "--full-tree", commit.id, *(("--", prefix) if prefix else ()))
    if ended.code != 0 or ended.large or ended.late:
        raise SourceError(f"the files of commit {commit.id[:12]} cannot be listed", id="RC-git-failed")
    for line in ended.out.split(b"\0"):
        if line:
            about, _, path = line.partition(b"\t")
            mode, _, object_id = about.decode("ascii").split(" ")
            yield Blob(path.decode("utf-8", "surrogateescape"), mode, object_id)


def _checked(path: str) -> str:
    """The path unchanged. Raises `SourceError` if it could lead out of a folder, or names a file of git's own."""
    parts = path.split("/")
    unsafe = any(part in ("", ".", "..") or part.lower() == ".git" or "\\" in part or not part.isprintable() for part in parts)
    if unsafe or path.startswith("/") or len(path.encode("utf-8", "surrogateescape")) > 1_000:
        raise SourceError(f"the path {ascii(path)[:100]} is not allowed", id="RC-git-file-name")
    return path


def _target(commit: Commit, entries: dict[str, Blob], entry: Blob, prefix: str) -> Blob:
    """The file of an entry, with links followed."""
    at = entry
    for _ in range(LINKS_MAX):
        if at.mode in (FILE, PROGRAM):
            return at
        if at.mode != LINK:
            break
        text = _contents(commit, [at])[0].decode("utf-8", "surrogateescape")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(at.path), text))
        if text.startswith("/") or path not in entries or not path.startswith(prefix):
            break
        at = entries[path]
    wrong = f"{_shown(entry)} is a link to something that is not a file below {prefix or 'the repository'}"
    raise SourceError(wrong, id="RC-git-file-name", hint="Remove the link, or commit the file itself.")


def _contents(commit: Commit, entries: list[Blob]) -> list[bytes]:
    """The bytes of files, unfiltered."""
    repository, ids = GitRepository(commit.folder, own=True), [entry.id for entry in entries]
    try:
        sizes = repository.sizes(ids)
        for entry, size in zip(entries, sizes, strict=True):
            if size > BLOB_MAX:
                raise SourceError(f"{_shown(entry)} is larger than {BLOB_MAX // 2**20} MiB", id="RC-file-too-large")
        if sum(sizes) > TREE_MAX:
            raise SourceError(f"the files of the project are larger than {TREE_MAX // 2**20} MiB", id="RC-project-too-large")
        return list(repository.contents(ids, sizes))
    except MissingFile as error:
        wrong = f"{_shown(entries[error.index])} cannot be read, or is larger than {BLOB_MAX // 2**20} MiB"
        raise SourceError(wrong, id="RC-file-too-large") from None


def _shown(entry: Blob) -> str:
    return ascii(entry.path)[1:-1][:100]
