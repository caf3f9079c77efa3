"""The files of a commit, in a folder of their own. Only reads; runs no hooks, filters or drivers of the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.errors import ReconcilerError, UsageError

SECONDS: Final = 60  # for one git command
LARGEST: Final = 16 * 2**20  # bytes; no file that a project reads is larger
SHORT: Final = 9  # characters of a commit id in messages
LINK: Final = "120000"
FILES: Final = frozenset({"100644", "100755", LINK})  # modes; a submodule is not a file
CALM: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never", "--no-pager")
CHOOSES: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"})
DIFF: Final = ("diff", "-z", "--no-ext-diff", "--no-textconv")


class Blob(NamedTuple):
    """A file of a commit: its path in the repository, its mode and its object id."""

    path: PurePosixPath
    mode: str
    id: str


@dataclass(frozen=True)
class NamedCommit:
    """`name`: as the user wrote it."""

    name: str
    id: str

    def __str__(self) -> str:
        return self.short if self.id.startswith(self.name) else f"{self.name} ({self.short})"

    @property
    def short(self) -> str:
        return self.id[:SHORT]


@dataclass(frozen=True)
class WorkingRepository:
    """A git repository. `folder`: where its commands run; `inside`: that folder's path from the top of the repository."""

    folder: Path
    inside: PurePosixPath

    @classmethod
    def around(cls, folder: Path) -> WorkingRepository:
        """The repository whose work tree contains a folder. Raises `UsageError` if there is none."""
        done = _git(folder, "rev-parse", "--absolute-git-dir", "--show-toplevel")
        names = [Path(name).resolve() for name in os.fsdecode(done.stdout).splitlines()]
        here = folder.resolve()
        if done.returncode == 0 and here.is_relative_to(names[-1]) and not here.is_relative_to(names[0]):
            return cls(folder, PurePosixPath(here.relative_to(names[-1]).as_posix()))
        if done.returncode != 0 and "work tree" not in _said(done):
            hint = f"git says: {_said(done)}" if "not a git repository" not in _said(done) else "Run it in a clone of the repository."
            raise UsageError(f"{folder} is not in a git repository", id="RC-not-a-repository", hint=hint)
        raise UsageError(
            f"{folder} is not in the work tree of a git repository, so no commit contains it",
            id="RC-not-a-repository",
            hint="Run it in a clone of the repository; a bare repository and the folder .git have no files to compare.",
        )

    def refuse_ignored(self, name: str) -> None:
        """Raise `UsageError` if git ignores a file of the folder: it would never be in a commit."""
        if _git(self.folder, "check-ignore", "--quiet", "--", name).returncode == 0:
            raise UsageError(
                f"git ignores {self.folder / name}, so no commit contains it",
                id="RC-not-a-repository",
                hint="Remove it from .gitignore, or compare the folder that is committed.",
            )

    def commit(self, name: str) -> NamedCommit:
        """The commit of a branch, tag or id. Raises `UsageError`."""
        done = _git(self.folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if done.returncode != 0:
            wrong = f"{name!r} is not a commit of this repository"
            raise UsageError(wrong, id="RC-unknown-commit", hint=_remedy(name))
        return NamedCommit(name, done.stdout.decode().strip())

    def shared(self, one: NamedCommit, other: NamedCommit) -> NamedCommit:
        """The newest commit that both contain. Raises `UsageError` if there is none."""
        done = _git(self.folder, "merge-base", one.id, other.id)
        if done.returncode != 0:
            raise UsageError(
                f"{one} and {other} have no commit in common",
                id="RC-no-common-commit",
                hint="A shallow clone lacks older commits: git fetch --unshallow (in a pipeline: fetch the whole history).",
            )
        id = done.stdout.decode().split()[0]
        return one if id == one.id else NamedCommit(f"the commit where the branch diverged from {one.name}", id)

    def differs(self, commit: NamedCommit, names: Iterable[str]) -> bool:
        """Whether a file below the folder differs from the commit, or one of `names`, which are relative to the folder, is not in it.

        Raises `ReconcilerError` where git cannot compare.
        """
        changed = _git(self.folder, *DIFF, "--name-only", "--no-renames", commit.id, "--", ".")
        listed = _git(self.folder, "ls-tree", "-r", "-z", "--name-only", commit.id, ".")
        for done in (changed, listed):
            if done.returncode != 0:
                raise ReconcilerError(f"git cannot compare the files with {commit}: {_said(done)}", id="RC-git-failed")
        tracked = {os.fsdecode(name) for name in listed.stdout.split(b"\0")}
        return bool(changed.stdout) or any(name not in tracked for name in names if not name.startswith(("/", "../")))

    def before_renames(self, start: NamedCommit, end: NamedCommit | None, name: str) -> PurePosixPath:
        """The folder's path at `start`, according to a file in it that exists now, or at `end`; `inside` if it was not renamed."""
        file = self.inside / name
        if _git(self.folder, "cat-file", "-e", f"{start.id}:{file}").returncode == 0:
            return self.inside
        ends = [start.id] if end is None else [start.id, end.id]
        done = _git(self.folder, *DIFF, "--name-status", "--find-renames", "--diff-filter=R", *ends, "--")
        words = [PurePosixPath(os.fsdecode(word)) for word in done.stdout.split(b"\0")[:-1]]
        renamed = dict(zip(words[2::3], words[1::3], strict=True)) if done.returncode == 0 else {}
        return renamed.get(file, file).parent

    @contextmanager
    def files(self, commit: NamedCommit, inside: PurePosixPath | None = None) -> Iterator[Path]:
        """A folder as a commit has it, this one or `inside`. Its files vanish with the context. Raises `ReconcilerError` where git cannot
        read them."""
        with TemporaryDirectory(prefix="reconciler-diff-") as name:
            root = Path(name).resolve()
            self._write(root, self._blobs(commit, self.inside if inside is None else inside))
            yield root

    def _blobs(self, commit: NamedCommit, inside: PurePosixPath) -> list[Blob]:
        listed = _git(self.folder, "ls-tree", "--full-tree", "-r", "-z", "-l", commit.id, *((f"{inside}/",) if inside.name else ()))
        if listed.returncode != 0:
            raise ReconcilerError(f"git cannot list the files of {commit}: {_said(listed)}", id="RC-git-failed")
        blobs: list[Blob] = []
        for entry in listed.stdout.split(b"\0")[:-1]:
            words, _, path = entry.partition(b"\t")
            mode, _, id, size = words.decode().split()
            if mode in FILES and int(size) <= LARGEST:
                blobs.append(Blob(PurePosixPath(os.fsdecode(path)).relative_to(inside), mode, id))
        return blobs

    def _write(self, root: Path, blobs: list[Blob]) -> None:
        asked = "".join(f"{blob.id}\n" for blob in blobs).encode()
        done = _git(self.folder, "cat-file", "--batch", given=asked)
        if done.returncode != 0:
            raise ReconcilerError(f"git cannot read the files: {_said(done)}", id="RC-git-failed")
        at, links = 0, []
        for blob in blobs:
            end = done.stdout.index(b"\n", at)
            header = done.stdout[at:end].decode().split()
            if len(header) != 3:
                raise ReconcilerError(
                    f"git has no content of {blob.path}",
                    id="RC-git-content-missing",
                    hint="A partial clone lacks it: git fetch --refetch, or clone without --filter.",
                )
            content = done.stdout[end + 1 : end + 1 + int(header[2])]
            at = end + 2 + len(content)
            target = root / blob.path
            if {"..", ".git"} & set(blob.path.parts) or blob.path.is_absolute():
                raise ReconcilerError(f"the commit has a file called {blob.path}, which is not allowed", id="RC-git-file-name")
            if blob.mode == LINK:
                links.append((target, content))
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        for target, content in links:  # last: no file is written through one
            target.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(content, os.fsencode(target))


def _git(folder: Path, *words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**_environment(folder), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 -- git as this user has it; no text of others is an option
            ["git", *CALM, "-C", str(folder), *words],  # noqa: S607
            input=given,
            capture_output=True,
            timeout=SECONDS,
            env=environment,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(
            "the git command is not installed", id="RC-git-not-installed", hint="Install git, or compare without --from and --to."
        ) from None
    except subprocess.TimeoutExpired:
        raise ReconcilerError(f"git did not answer within {SECONDS} seconds: git {words[0]}", id="RC-git-failed") from None


def _environment(folder: Path) -> dict[str, str]:
    """The environment without what chooses a repository, as in a hook: git would take any folder for the top of that repository.

    It is kept where it says that the folder is in the work tree.
    """
    tree = os.environ.get("GIT_WORK_TREE")
    if tree and folder.resolve().is_relative_to(Path(tree).resolve()):
        return dict(os.environ)
    return {name: value for name, value in os.environ.items() if name not in CHOOSES}


def _remedy(name: str) -> str:
    """What to do about a name that is not a commit."""
    if ".." in name:
        return "Pass one commit, not a range."
    if name == "HEAD":
        return "The repository has no commit yet."
    if any(sign in name for sign in "~^@"):
        return "A shallow clone lacks older commits: git fetch --unshallow (in a pipeline: fetch the whole history)."
    branch = name.removeprefix("origin/")
    return f"If it is a branch of the remote: git fetch origin {branch}, and pass origin/{branch}."


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return os.fsdecode(done.stderr).strip().removeprefix("fatal: ").splitlines()[0] if done.stderr.strip() else "nothing"
