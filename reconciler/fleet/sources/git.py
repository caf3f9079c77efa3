"""A commit of a git repository and its authors, by `reconciler.git`: shallow, partial, without hooks, submodules or filters.

In: a repository, a ref. Out: the commit, in a bare repository of our own; git never checks anything out, so that no filter, hook or
attribute of the repository has an effect. Forbidden: a shell with words that others chose; waiting without a deadline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.errors import UsageError
from reconciler.fleet.model import Repository
from reconciler.fleet.people.identity import author
from reconciler.fleet.sources import copies
from reconciler.fleet.sources.copies import SourceError
from reconciler.git import GitRepository
from reconciler.programs import EndedCommand
from reconciler.text.patterns import text_pattern

SECONDS: Final = 120.0  # for one command
PACK_MAX: Final = 512 * 2**20  # bytes of one fetch
BLOB_MAX: Final = 16 * 2**20  # bytes of one file: the most that a project's file may have
LISTING_MAX: Final = 64 * 2**20  # bytes of a listing
LISTED_AT_ONCE: Final = 200  # folders in one command, whose length is limited
_COMMIT: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True)
class Commit:
    """A commit in a bare repository on this machine; in the user's own clone, if it is not `own`."""

    folder: Path
    id: str
    own: bool = True


def git(
    folder: Path, *arguments: str, url: str | None = None, most: int = LISTING_MAX, seconds: float = SECONDS, own: bool = True
) -> EndedCommand:
    """Run git in a repository, ours if it is `own`. `url`: what it fetches from. Raises `SourceError` if git is not installed."""
    try:
        return GitRepository(folder, own=own).run(*arguments, url=url, fetch_max=PACK_MAX, most=most, seconds=seconds)
    except UsageError as error:
        raise SourceError(error.message, id=error.id) from None


def fetched(cache: Path, source: Repository) -> Commit:
    """The commit that a ref names now. Raises `SourceError`."""

    def fetch(folder: Path) -> str:
        options = [
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-commit-graph",
            f"--filter=blob:limit={BLOB_MAX}",
        ]
        ended = git(folder, *options, "--", source.git, source.ref, url=source.git, most=2**16)
        if ended.code != 0 or ended.late:
            raise SourceError(
                f"{source.git} cannot be read: {reason(ended)}", id="RC-fleet-source", hint="Try it on this machine: git ls-remote URL."
            )
        commit = git(folder, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}").out.decode("ascii", "replace").strip()
        if _COMMIT.fullmatch(commit) is None:
            raise SourceError(f"{source.ref} of {source.git} is not a commit", id="RC-fleet-source")
        # without a ref of its own, the commit would be garbage to git as soon as the branch moves on
        kept = git(folder, "update-ref", f"refs/kept/{commit}", commit)
        if kept.code != 0:
            raise SourceError(f"{source.git} cannot be stored on this machine: {reason(kept)}", id="RC-git-failed")
        return commit

    folder, commit = copies.renewed(cache, source.git, fetch, lambda folder, commit: _has(folder, f"refs/kept/{commit}"))
    return Commit(folder, commit)


def directories(commit: Commit, pattern: str) -> list[dict[str, str]]:
    """The directories of a commit whose whole path matches a pattern, as elements of a generator. Lists only what the pattern leads to."""
    folders = [""]
    for form in pattern.split("/"):
        inner = [path for at in range(0, len(folders), LISTED_AT_ONCE) for path in _inside(commit, folders[at : at + LISTED_AT_ONCE])]
        folders = [path for path in inner if text_pattern(form).matches(path.rpartition("/")[2])]
    return [{"name": path.rpartition("/")[2], "path": path} for path in sorted(folders)]


def _inside(commit: Commit, folders: Sequence[str]) -> list[str]:
    """The paths of the directories in folders; "" is the root."""
    places = [f"{folder}/" for folder in folders if folder]
    if not folders:
        return []
    options = ("-d", "-z", "--name-only", "--full-tree")
    ended = git(commit.folder, "ls-tree", *options, commit.id, *(("--", *places) if places else ()), own=commit.own)
    if ended.code != 0 or ended.large or ended.late:
        raise SourceError(f"the directories of commit {commit.id[:12]} cannot be listed: {reason(ended)}", id="RC-git-failed")
    paths = []
    for raw in ended.out.split(b"\0"):
        with suppress(UnicodeDecodeError):
            paths.append(raw.decode("utf-8"))
    return [path for path in paths if path]


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
_TRAILERS: Final = "--format=tformat:%(trailers:key=Co-authored-by,valueonly,unfold,separator=%x00)"
_WRITTEN_BY: Final = re.compile(r"([^<>\0]*)<([^<>\0]*)>[^<>]*")
"""Two addresses in one line are no address: programs differ in which of them they take."""
_FORGES: Final = frozenset({"noreply@github.com"})  # the committer of what people merge on the site of a forge, never who wrote it
_HISTORY: Final = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--filter=tree:0")


def authors(cache: Path, source: Repository, commit: Commit, since: str | None) -> tuple[str, ...]:
    """The authors of all commits after `since` up to a commit, however many. Without `since`, or if that is the commit itself or comes
    after it: of the commit and of what it merges. If `since` no longer exists anywhere: of the whole history. Raises `SourceError`."""
    name = f"history {source.git}"
    folder = copies.present(cache, name)

    def fetched(has: str, *options: str, ref: str = source.ref) -> Path:
        """A copy of the history after a fetch of a ref."""

        def fetch(copy: Path) -> None:
            ended = git(copy, *_HISTORY, *options, "--", source.git, ref, url=source.git, most=2**16)
            if ended.code != 0 or ended.late:
                raise SourceError(f"the history of {source.git} cannot be read: {reason(ended)}", id="RC-fleet-source")
            missing = next((id for id in (has, commit.id) if not _has(copy, id)), None)
            if missing is not None:
                raise SourceError(f"the history of {source.git} does not contain commit {missing[:12]} any more", id="RC-fleet-source")

        return copies.renewed(cache, name, fetch, lambda copy, _: False)[0]

    if folder is None or not _has(folder, commit.id):
        folder = fetched(commit.id, f"--depth={COMMITS_FIRST}")
    if since is None or since == commit.id:
        return _of_commit(folder, commit)
    if not _reaches(folder, commit.id, since) and _is_shallow(folder):
        # git's word for "all of it", which also works where nothing was fetched before, unlike --unshallow
        folder = fetched(commit.id, "--depth=2147483647")
    # the branch was rewritten: the server may still have the commit that it pointed to before
    if not _has(folder, since):
        with suppress(SourceError):
            folder = fetched(since, ref=since)
    return _people(folder, commit.id, *([f"^{since}"] if _has(folder, since) else [])) or _of_commit(folder, commit)


def _of_commit(folder: Path, commit: Commit) -> tuple[str, ...]:
    """The authors of a commit and of what it merges."""
    first = f"{commit.id}^1"
    return _people(folder, commit.id, *([f"^{first}"] if _has(folder, first) else ["--max-count=1"]))


def _has(folder: Path, name: str) -> bool:
    return git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").code == 0


def _reaches(folder: Path, commit: str, since: str) -> bool:
    return _has(folder, since) and git(folder, "merge-base", "--is-ancestor", since, commit).code == 0


def _is_shallow(folder: Path) -> bool:
    return git(folder, "rev-parse", "--is-shallow-repository").out.strip() == b"true"


def _people(folder: Path, *range_arguments: str) -> tuple[str, ...]:
    """The addresses of who wrote some commits, as `author` returns them; empty only if there is no such commit.

    As the commits say it, byte by byte. `.mailmap` is a file of the repository. And of a commit whose header says another encoding, or has
    two lines of authors, git shows somebody else than the forge that let it in.
    """

    def log(form: str) -> str:
        words = ("log", "--no-show-signature", "--no-patch", "--no-decorate", "--encoding=none", form, *range_arguments, "--")
        ended = git(folder, *words, most=PACK_MAX)
        if ended.code != 0 or ended.late or ended.large:
            raise SourceError(f"the authors of a commit cannot be read: {reason(ended)}", id="RC-git-failed")
        return ended.out.decode("utf-8", "replace")

    people = {_author(value) for line in log(_TRAILERS).split("\n") for value in line.split("\0") if value}
    for commit in re.split("^commit ", log("--format=raw"), flags=re.MULTILINE)[1:]:
        header = commit.partition("\n\n")[0].split("\n")
        for role, nobody in (("author ", frozenset()), ("committer ", _FORGES)):
            written = [line.removeprefix(role) for line in header if line.startswith(role)]
            people |= {_author(line) for line in written or [""]} - nobody
    return tuple(sorted(people))


def _author(text: str) -> str:
    """The address in a line of a header or a trailer: `Ada <ada@acme.example>`, after which a header has the time."""
    match = _WRITTEN_BY.fullmatch(text)
    return author(match[1], match[2]) if match is not None else author(text, "")
