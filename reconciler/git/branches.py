"""A commit on a branch of its own: the only place that writes to a repository of the user.

    the tree of a commit --ls-tree--> entries, new files put in --mktree--> a new tree --commit-tree--> a commit --update-ref--> branch

Neither the work tree nor the index nor the current branch is changed. No hook, filter or signature runs (`reconciler.git`).
Forbidden: a branch whose last commit is not ours is never moved.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from reconciler.errors import ReconcilerError, Refused
from reconciler.git import GitRepository
from reconciler.git.working import NamedCommit, ended, git_says

AUTHOR: Final = {"user.name": "Reconciler", "user.email": "reconciler@localhost"}  # of a commit where git knows no author
TREE: Final = "040000"


@dataclass(frozen=True)
class BranchCommit:
    """What a branch of this program is to have. `files`: new texts by path. `is_there`: whether the message of its last commit says that
    it has that already; raises where somebody else made that commit."""

    branch: str
    files: Mapping[str, str]
    message: str
    is_there: Callable[[str], bool]


def write_branch(repository: GitRepository, base: NamedCommit, commit: BranchCommit) -> str | None:
    """Put files on a branch, as one commit on top of `base`; the id of a new commit, None if the branch has it already.

    Raises `Refused` where the branch is checked out or has commits of others, `ReconcilerError` where git refuses.
    """
    ref = f"refs/heads/{commit.branch}"
    if _text(repository, "rev-parse", "--symbolic-full-name", "HEAD") == ref:
        wrong = f"{commit.branch} is checked out, and accepting the drift replaces it"
        raise Refused(wrong, id="RC-branch-taken", hint="Switch to the branch that it is to be merged into.")
    before = _text(repository, "rev-parse", "--verify", "--quiet", ref, missing="")
    if before and commit.is_there(_text(repository, "log", "-1", "--format=%B", before)):
        return None
    blobs = {path: _text(repository, "hash-object", "-w", "--stdin", given=text) for path, text in commit.files.items()}
    tree = _tree(repository, f"{base.id}^{{tree}}", blobs)
    new = _text(repository, "commit-tree", tree, "-p", base.id, given=commit.message, settings=_author(repository))
    _text(repository, "update-ref", "-m", "reconciler drift --propose", ref, new, before or "0" * len(new))
    return new


def _tree(repository: GitRepository, tree: str, blobs: Mapping[str, str]) -> str:
    """The id of a tree with these files, by their paths in it, in folders that it has. Modes are unchanged."""
    files: dict[str, str] = {}
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for path, id in blobs.items():
        first, _, rest = path.partition("/")
        if rest:
            folders[first][rest] = id
        else:
            files[first] = id
    lines: dict[str, tuple[str, str, str]] = {}
    for entry in _bytes(repository, "ls-tree", "-z", tree).split(b"\0")[:-1]:
        about, _, name = os.fsdecode(entry).partition("\t")
        mode, kind, id = about.split()
        lines[name] = (mode, kind, id)
    for name, id in files.items():
        lines[name] = (lines[name][0] if name in lines else "100644", "blob", id)
    for name, inner in folders.items():
        lines[name] = (TREE, "tree", _tree(repository, lines[name][2], inner))
    given = "".join(f"{mode} {kind} {id}\t{name}\0" for name, (mode, kind, id) in lines.items())
    return _text(repository, "mktree", "-z", given=given)


def _author(repository: GitRepository) -> Mapping[str, str]:
    """Settings with the author of a commit: who git knows, else this program."""
    return {name: _text(repository, "config", "--get", name, missing="") or text for name, text in AUTHOR.items()}


def _bytes(
    repository: GitRepository, *arguments: str, given: str = "", missing: str | None = None, settings: Mapping[str, str] | None = None
) -> bytes:
    done = ended(repository, *arguments, given=os.fsencode(given), settings=settings)
    if done.code != 0:
        if missing is not None:
            return os.fsencode(missing)
        raise ReconcilerError(f"git cannot write the branch: {git_says(done)}", id="RC-git-failed")
    return done.out


def _text(
    repository: GitRepository, *arguments: str, given: str = "", missing: str | None = None, settings: Mapping[str, str] | None = None
) -> str:
    """What git prints, without its last line end. `missing`: the result where the command fails; None raises `ReconcilerError`."""
    return os.fsdecode(_bytes(repository, *arguments, given=given, missing=missing, settings=settings)).rstrip("\n")
