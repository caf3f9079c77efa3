"""The files of a commit, in a folder of their own. Only reads; runs no hooks, filters or drivers of the repository (`reconciler.git`)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from reconciler import git
from reconciler.errors import ReconcilerError, UsageError, os_reason
from reconciler.programs import EndedCommand
from reconciler.text.escape import terminal
from reconciler.writing import NewTree

SECONDS: Final = 60.0  # for one git command
LARGEST: Final = 16 * 2**20  # bytes; no file that a project reads is larger
TOTAL: Final = 2**30  # bytes of all files
SHORT: Final = 9  # characters of a commit id in messages
LINK: Final = "120000"
SUBMODULE: Final = "160000"
FILES: Final = frozenset({"100644", "100755", LINK})  # modes
DIFF: Final = ("diff", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")


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

    @property
    def label(self) -> str:
        """What the names of its files begin with: the name without spaces, else the short id."""
        return self.short if " " in self.name else self.name


@dataclass(frozen=True)
class WorkingRepository:
    """A git repository. `inside`: the path of a folder in it from its top."""

    repository: git.GitRepository
    inside: PurePosixPath

    @classmethod
    def around(cls, folder: Path) -> WorkingRepository:
        """The repository whose work tree contains a folder. Raises `UsageError` if there is none."""
        repository = git.around(folder)
        if repository is None:
            hint = "Run it in a clone of the repository."
            raise UsageError(f"{folder} is not in a git repository", id="RC-not-a-repository", hint=hint)
        done = ended(repository, "rev-parse", "--is-inside-work-tree", "--show-prefix")
        if done.code != 0:
            raise UsageError(f"{folder} is not in a git repository", id="RC-not-a-repository", hint=f"git says: {git_says(done)}")
        (inside, _, prefix), here = os.fsdecode(done.out).partition("\n"), Path(os.path.realpath(folder)).relative_to(repository.folder)
        if inside != "true" or here.parts[:1] == (".git",):
            raise UsageError(
                f"{folder} is not in the work tree of a git repository, so no commit contains it",
                id="RC-not-a-repository",
                hint="Run it in a clone of the repository; a bare repository and the folder .git have no files to compare.",
            )
        return cls(repository, PurePosixPath(prefix.rstrip("\n") or ".") / here.as_posix())

    def refuse_ignored(self, name: str) -> None:
        """Raise `UsageError` if git ignores a file of the folder: it would never be in a commit."""
        path = self.inside / name
        if self._run("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", str(path)).out:
            raise UsageError(
                f"git ignores {terminal(str(path))}, so no commit contains it",
                id="RC-not-a-repository",
                hint="Remove it from .gitignore, or compare the folder that is committed.",
            )

    def commit(self, name: str) -> NamedCommit:
        """The commit of a branch, tag or id. Raises `UsageError`."""
        done = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if done.code != 0:
            wrong = f"{name!r} is not a commit of this repository"
            raise UsageError(wrong, id="RC-unknown-commit", hint=_remedy(name))
        return NamedCommit(name, done.out.decode().strip())

    def shared(self, commit: NamedCommit, other: NamedCommit) -> NamedCommit:
        """The newest commit that both contain. Raises `UsageError` if there is none."""
        done = self._run("merge-base", commit.id, other.id)
        if done.code != 0:
            raise UsageError(
                f"{commit} and {other} have no commit in common",
                id="RC-no-common-commit",
                hint="A shallow clone lacks older commits: git fetch --unshallow (in a pipeline: fetch the whole history).",
            )
        id = done.out.decode().split()[0]
        return commit if id == commit.id else NamedCommit(f"the commit where the branch diverged from {commit.name}", id)

    def differs(self, commit: NamedCommit, names: Iterable[str]) -> bool:
        """Whether a file below the folder differs from the commit, or one of `names`, which are relative to the folder, is not in it.

        Raises `ReconcilerError` where git cannot compare.
        """
        plain = self.repository.without_filters()
        changed = self._run(*DIFF, "--name-only", "--no-renames", commit.id, "--", str(self.inside), settings=plain)
        if changed.code != 0:
            raise ReconcilerError(f"git cannot compare the files with {commit}: {git_says(changed)}", id="RC-git-failed")
        blobs = self._blobs(commit, self.inside)
        left = {name for name in names if not name.startswith(("/", "../"))} - {blob.path for blob in blobs}
        for path, module, pinned in self._submodules(blobs, self.inside):
            within = {name for name in left if name.startswith(f"{path}/")}
            if within and not module.differs(pinned, (name.removeprefix(f"{path}/") for name in within)):
                left -= within
        return bool(changed.out or left)

    def before_renames(self, start: NamedCommit, end: NamedCommit | None, name: str) -> PurePosixPath:
        """The folder's path at `start`, according to a file in it that exists now, or at `end`; `inside` if it was not renamed."""
        file = self.inside / name
        if self._run("cat-file", "-e", f"{start.id}:{file}").code == 0:
            return self.inside
        # A project may have been moved between the two commits; compared by its present path it would look newly created.
        ends = [start.id] if end is None else [start.id, end.id]
        done = self._run(*DIFF, "--name-status", "--find-renames", "--diff-filter=R", *ends, "--")
        parts = [PurePosixPath(os.fsdecode(word)) for word in done.out.split(b"\0")[:-1]]
        renamed = dict(zip(parts[2::3], parts[1::3], strict=True)) if done.code == 0 else {}
        return renamed.get(file, file).parent

    def branch(self, name: str) -> str | None:
        """The name of the branch that a name means, without that of a remote; None if it means no branch."""
        parts = os.fsdecode(self._run("rev-parse", "--symbolic-full-name", "--end-of-options", name).out).splitlines()
        full = next((part for part in parts if part.startswith("refs/")), "")
        if full.startswith("refs/remotes/"):
            return full.split("/", 3)[3]
        return full.removeprefix("refs/heads/") if full.startswith("refs/heads/") else None

    def places(self) -> tuple[str, ...]:
        """What others call this repository: the URL of `origin`, and its folders."""
        origin = os.fsdecode(self._run("config", "--local", "--get", "remote.origin.url").out).rstrip("\n")
        common = os.fsdecode(self._run("rev-parse", "--git-common-dir").out).rstrip("\n")
        folder = Path(os.path.realpath(self.repository.folder / common))
        main = [folder.parent] if folder.name == ".git" else []
        return (*filter(None, [origin]), *map(str, dict.fromkeys([self.repository.folder, folder, *main])))

    def text(self, commit: NamedCommit, path: PurePosixPath) -> bytes | None:
        """A file as a commit has it; None if it has no such file, or a link in its place."""
        blobs = [blob for blob in self._blobs(commit, path.parent) if blob.path == path.name and blob.mode in FILES - {LINK}]
        sizes = self.repository.sizes([blob.id for blob in blobs])
        return next(iter(self.repository.contents([blob.id for blob in blobs], sizes)), None)

    @contextmanager
    def files(
        self,
        commit: NamedCommit,
        inside: PurePosixPath | None = None,
        *,
        below: Collection[PurePosixPath] | None = None,
        refused: dict[str, str] | None = None,
    ) -> Iterator[Path]:
        """A folder as a commit has it, this one or `inside`. Its files vanish with the context. Raises `ReconcilerError` where git cannot
        read them, or where their names cannot be those of files. `below`: only the files in these folders of it. `refused`: is given the
        path of each file whose name cannot be one, and why, instead of the error."""
        with TemporaryDirectory(prefix="reconciler-diff-") as name:
            root = Path(name).resolve()
            folders = frozenset(below if below is not None else [PurePosixPath()])
            for repository, blobs in self._repositories(commit, self.inside if inside is None else inside):
                chosen = [blob for blob in blobs if blob.mode in FILES and not folders.isdisjoint(PurePosixPath(blob.path).parents)]
                repository._write(root, chosen, refused)
            yield root

    def _repositories(self, commit: NamedCommit, inside: PurePosixPath) -> Iterator[tuple[WorkingRepository, list[git.Blob]]]:
        """The files of a folder by the repository that has their contents: this one, then those of its submodules."""
        blobs = self._blobs(commit, inside)
        yield self, blobs
        for path, module, pinned in self._submodules(blobs, inside):
            for repository, blobs in module._repositories(pinned, PurePosixPath()):
                yield repository, [blob._replace(path=f"{path}/{blob.path}") for blob in blobs]

    def _submodules(self, blobs: list[git.Blob], inside: PurePosixPath) -> Iterator[tuple[str, WorkingRepository, NamedCommit]]:
        """The submodules among the entries of a folder that are checked out and have the recorded commit: path, repository, commit."""
        for blob in blobs:
            folder = self.repository.folder / inside / blob.path
            # Whoever wrote the commit chose the path: through a link it could name a repository of somebody else.
            if blob.mode == SUBMODULE and os.path.realpath(folder) == str(folder) and (folder / ".git").exists():
                module = WorkingRepository(git.GitRepository(folder), PurePosixPath())
                if module._run("cat-file", "-e", f"{blob.id}^{{commit}}").code == 0:
                    yield blob.path, module, NamedCommit(blob.id, blob.id)

    def _blobs(self, commit: NamedCommit, inside: PurePosixPath) -> list[git.Blob]:
        """What is in a folder at a commit; a submodule is one entry."""
        listed = self._run("ls-tree", "--full-tree", "-r", "-z", "--", commit.id, *_below(inside))
        if listed.code != 0:
            raise ReconcilerError(f"git cannot list the files of {commit}: {git_says(listed)}", id="RC-git-failed")
        blobs: list[git.Blob] = []
        for entry in listed.out.split(b"\0")[:-1]:
            parts, _, path = entry.partition(b"\t")
            mode, _, id = parts.decode().split()
            blobs.append(git.Blob(os.fsdecode(path).removeprefix(f"{inside}/" if inside.name else ""), mode, id))
        return blobs

    def _write(self, root: Path, blobs: list[git.Blob], refused: dict[str, str] | None) -> None:
        """Write files, then links: no file is ever written through one."""
        # A commit can contain a link and, by a second name, a file below it. Written in that order the file would be outside.
        blobs = sorted(blobs, key=lambda blob: blob.mode == LINK)
        try:
            sizes = self.repository.sizes([blob.id for blob in blobs])
            blobs = [blob for blob, size in zip(blobs, sizes, strict=True) if size <= LARGEST]
            sizes = [size for size in sizes if size <= LARGEST]
            if sum(sizes) > TOTAL:
                raise ReconcilerError(f"the files of the project are larger than {TOTAL // 2**20} MiB", id="RC-project-too-large")
            contents = self.repository.contents([blob.id for blob in blobs], sizes)
            with NewTree(root) as tree:
                for blob, content in zip(blobs, contents, strict=True):
                    try:
                        _add(tree, blob, content)
                    except ReconcilerError as error:
                        if refused is None:
                            raise
                        refused[blob.path] = error.message
        except git.MissingFile as error:
            raise ReconcilerError(
                f"git has no content of {terminal(blobs[error.index].path)}",
                id="RC-git-content-missing",
                hint="A partial clone lacks it: git fetch --refetch, or clone without --filter.",
            ) from None

    def _run(self, *args: str, settings: Mapping[str, str] | None = None) -> EndedCommand:
        return ended(self.repository, *args, settings=settings)


def _add(tree: NewTree, blob: git.Blob, content: bytes) -> None:
    """Write a file or link of a commit. Raises `ReconcilerError`."""
    try:
        if blob.mode == LINK:
            tree.link(blob.path, content)
        else:
            tree.file(blob.path, content)
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        wrong = f"the commit has a file called {terminal(blob.path)}, which is not allowed: {reason}"
        raise ReconcilerError(wrong, id="RC-git-file-name") from None


def _below(inside: PurePosixPath) -> tuple[str, ...]:
    """The argument of `git ls-tree` for what is in a folder."""
    return (f"{inside}/",) if inside.name else ()


def ended(repository: git.GitRepository, *args: str, given: bytes = b"", settings: Mapping[str, str] | None = None) -> EndedCommand:
    """The end of a command of git. `given`: its input. Raises `ReconcilerError` if it did not end by itself."""
    done = repository.run(*args, given=given, settings=settings, seconds=SECONDS)
    if done.late:
        raise ReconcilerError(f"git did not answer within {SECONDS:g} seconds: git {args[0]}", id="RC-git-failed")
    if done.large:
        raise ReconcilerError(f"git wrote more than {git.OUTPUT_MAX // 2**20} MiB: git {args[0]}", id="RC-git-failed")
    return done


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


def git_says(done: EndedCommand) -> str:
    """What git says of an error, on one line."""
    lines = os.fsdecode(done.err).strip().splitlines()
    wrong = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines or ["nothing"]
    return terminal(wrong[0].removeprefix("fatal: ").removeprefix("error: "))
