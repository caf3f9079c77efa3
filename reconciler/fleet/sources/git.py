"""A commit of a git repository and its authors, by the `git` command: shallow, partial, without hooks, submodules or filters.

In: a repository, a ref. Out: the commit, in a bare repository of our own; git never checks anything out, so that no filter, hook or
attribute of the repository has an effect. Forbidden: a shell with words that others chose; waiting without a deadline.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from reconciler.config.secrets.command import EndedCommand, run
from reconciler.dataclass import dataclass
from reconciler.errors import ReconcilerError
from reconciler.fleet.model import Repository

SECONDS: Final = 120.0  # for one command
PACK_MAX: Final = 512 * 2**20  # bytes of one fetch
BLOB_MAX: Final = 16 * 2**20  # bytes of one file: the most that a project's file may have
LISTING_MAX: Final = 64 * 2**20  # bytes of a listing
FETCHES_MAX: Final = 100  # after which our copy of a repository is deleted and cloned again, so that it does not grow for ever
_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_PASSED: Final = ("HOME", "PATH", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "USER", "XDG_CONFIG_HOME", "GIT_SSL_CAINFO")
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_LIMITED: Final = 'ulimit -f "$1" && shift && exec git "$@"'  # the words are arguments, never text of the script


class SourceError(ReconcilerError):
    """The files of a project are not available; the message says why."""


@dataclass(frozen=True)
class Commit:
    """A commit in a bare repository on this machine."""

    folder: Path
    id: str


def environ() -> dict[str, str]:
    """The environment of git: the operator's own configuration, nothing of the fleet, and no prompts."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED or name.lower() in _PROXIES}
    ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20"
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_SSH_COMMAND": ssh,
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:file",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }


def git(folder: Path, *words: str, most: int = LISTING_MAX, seconds: float = SECONDS) -> EndedCommand:
    """Run git in a repository of ours."""
    settings = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "core.fsmonitor=false")
    command = ["/bin/sh", "-c", _LIMITED, "git", str(PACK_MAX // 512), *settings, f"--git-dir={folder}", *words]
    return run(command, environ=environ(), folder=folder.parent, seconds=seconds, most=most)


def fetched(cache: Path, source: Repository) -> Commit:
    """The commit that a ref names now. Raises `SourceError`."""
    with repository(cache, source.git) as folder:
        words = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-commit-graph",
            f"--filter=blob:limit={BLOB_MAX}",
        ]
        ended = git(folder, *words, "--", source.git, source.ref, most=2**16)
        if ended.code != 0 or ended.late:
            raise SourceError(
                f"{source.git} cannot be read: {reason(ended)}", id="RC-fleet-source", hint="Try it on this machine: git ls-remote URL."
            )
        commit = git(folder, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").out.decode("ascii", "replace").strip()
        if _COMMIT.fullmatch(commit) is None:
            raise SourceError(f"{source.ref} of {source.git} is not a commit", id="RC-fleet-source")
        kept = git(folder, "update-ref", f"refs/kept/{commit}", commit)
        if kept.code != 0:
            raise SourceError(f"{source.git} cannot be stored on this machine: {reason(kept)}", id="RC-git-failed")
        return Commit(folder, commit)


def directories(commit: Commit, pattern: str) -> list[dict[str, str]]:
    """The directories of a commit whose whole path matches a pattern, as elements of a generator."""
    ended = git(commit.folder, "ls-tree", "-r", "-d", "-z", "--name-only", commit.id)
    if ended.code != 0 or ended.large or ended.late:
        raise SourceError(f"the directories of commit {commit.id[:12]} cannot be listed: {reason(ended)}", id="RC-git-failed")
    parts = pattern.split("/")
    elements = []
    for raw in ended.out.rstrip(b"\0").split(b"\0") if ended.out else ():
        with suppress(UnicodeDecodeError):
            path = raw.decode("utf-8")
            mine = path.split("/")
            if len(mine) == len(parts) and all(fnmatchcase(part, form) for part, form in zip(mine, parts, strict=True)):
                elements.append({"name": mine[-1], "path": path})
    return sorted(elements, key=lambda element: element["path"])


@contextmanager
def repository(cache: Path, url: str) -> Iterator[Path]:
    """A bare repository for a URL, locked against the other processes of this machine."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = hashlib.sha256(url.encode()).hexdigest()[:32]
    with (cache / f"{name}.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        fetches = int(lock.read() or "0") + 1
        folder = cache / f"{name}.git"
        if fetches > FETCHES_MAX:
            shutil.rmtree(folder, ignore_errors=True)
        if not (folder / "HEAD").exists():
            shutil.rmtree(folder, ignore_errors=True)
            fetches = 1
            ended_command = run(
                ["git", "init", "--quiet", "--bare", "--template=", str(folder)],
                environ=environ(),
                folder=cache,
                seconds=SECONDS,
                most=2**16,
            )
            if ended_command.code != 0:
                raise SourceError(f"git cannot create a repository in {cache}: {reason(ended_command)}", id="RC-git-failed")
        lock.seek(0)
        lock.truncate()
        lock.write(str(fetches))
        lock.flush()
        yield folder


def reason(ended: EndedCommand) -> str:
    """The last line of git's output, short and on one line."""
    if ended.late:
        return f"git took longer than {SECONDS:g} s"
    if ended.large:
        return "git wrote too much"
    lines = [line for line in ended.err.decode("utf-8", "replace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    text = (fatal or lines or [f"git ended with {ended.code}"])[0].removeprefix("fatal: ").removeprefix("error: ")
    if any("file size limit" in line.lower() or "file too large" in line.lower() for line in lines) or ended.code in (-25, 153):
        return f"a fetch is larger than {PACK_MAX // 2**20} MiB"
    return "".join(character if character.isprintable() else "?" for character in text)[:200]


COMMITS_FIRST: Final = 100  # of the history, which is read further back where that is not enough
EMAIL_MAX: Final = 254  # characters
_FORMAT: Final = "--format=tformat:%ae%x00%ce%x00%(trailers:key=Co-authored-by,valueonly,separator=%x00)"
_BRACKETS: Final = re.compile(r"<([^<>]*)>")
_FORGES: Final = frozenset({"noreply@github.com"})  # the committer of what people merge on the site of a forge, never who wrote it
_HISTORY: Final = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--filter=tree:0")


def authors(cache: Path, source: Repository, commit: Commit, since: str | None) -> tuple[str, ...]:
    """The authors of all commits after `since` up to a commit, however many. Without `since`, or if that is the commit itself: of the
    commit and of what it merges. If `since` no longer exists anywhere: of the whole history. Raises `SourceError`."""
    with repository(cache, f"history {source.git}") as folder:
        if not _has(folder, commit.id):
            _read_history(folder, source, f"--depth={COMMITS_FIRST}")
            if not _has(folder, commit.id):
                raise SourceError(f"the history of {source.git} does not contain commit {commit.id[:12]} any more", id="RC-fleet-source")
        if since is None or since == commit.id:
            first = f"{commit.id}^1"
            return _emails(folder, commit.id, *([f"^{first}"] if _has(folder, first) else ["--max-count=1"]))
        if not _reaches(folder, commit.id, since) and _is_shallow(folder):
            _read_history(folder, source, "--unshallow")
        if not _has(folder, since):  # the branch was rewritten: a server may still have what it pointed to
            git(folder, *_HISTORY, "--", source.git, since, most=2**16)
        return _emails(folder, commit.id, *([f"^{since}"] if _has(folder, since) else []))


def _read_history(folder: Path, source: Repository, depth: str) -> None:
    ended = git(folder, *_HISTORY, depth, "--", source.git, source.ref, most=2**16)
    if ended.code != 0 or ended.late:
        raise SourceError(f"the history of {source.git} cannot be read: {reason(ended)}", id="RC-fleet-source")


def _has(folder: Path, name: str) -> bool:
    return git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").code == 0


def _reaches(folder: Path, commit: str, since: str) -> bool:
    return _has(folder, since) and git(folder, "merge-base", "--is-ancestor", since, commit).code == 0


def _is_shallow(folder: Path) -> bool:
    return git(folder, "rev-parse", "--is-shallow-repository").out.strip() == b"true"


def _emails(folder: Path, *words: str) -> tuple[str, ...]:
    ended = git(folder, "log", "--no-show-signature", "--no-patch", _FORMAT, *words, "--")
    if ended.code != 0 or ended.late or ended.large:
        raise SourceError(f"the authors of a commit cannot be read: {reason(ended)}", id="RC-git-failed")
    people: set[str] = set()
    for line in ended.out.decode("utf-8", "replace").split("\n"):
        author, *others = line.split("\0")
        written = {_email(text) for text in (author, *others[1:])}
        people |= written | ({_email(text) for text in others[:1]} - _FORGES)
    return tuple(sorted(people - {""}))


def _email(text: str) -> str:
    """The address in the name of a person."""
    email = match[1] if (match := _BRACKETS.search(text)) else text
    return "".join(filter(str.isprintable, email)).strip().casefold()[:EMAIL_MAX]
