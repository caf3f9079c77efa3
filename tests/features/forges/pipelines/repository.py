"""A bare git repository with branches, pull requests and merges, as a forge keeps it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ada"), ("EMAIL", "ada@acme.example"))}


def git(folder: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **AUTHOR}
    done = subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.strip()


@dataclass
class Repository:
    """`bare`: what a checkout clones. `work`: where commits are made."""

    root: Path

    def __post_init__(self) -> None:
        self.bare, self.work = self.root / "server.git", self.root / "work"
        self.work.mkdir(parents=True)
        git(self.root, "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        git(self.work, "init", "--quiet", "--initial-branch=main")
        git(self.work, "remote", "add", "origin", str(self.bare))

    def commit(self, branch: str, files: dict[str, str], *, start: str = "main") -> str:
        """Commit files to a branch, a new one from `start`; its commit."""
        known = git(self.work, "branch", "--list", branch)
        if git(self.work, "rev-list", "--all", "--max-count=1"):
            git(self.work, "checkout", "--quiet", *([branch] if known else ["-b", branch, start]))
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git(self.work, "add", "--all")
        git(self.work, "commit", "--quiet", "--message", f"Change {branch}")
        return self._pushed(branch)

    def _pushed(self, branch: str) -> str:
        git(self.work, "push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return git(self.work, "rev-parse", "HEAD")

    def id(self, name: str) -> str:
        return git(self.work, "rev-parse", name)

    def text(self, branch: str, name: str) -> str:
        return git(self.work, "show", f"{branch}:{name}") + "\n"

    def proposal(self, branch: str, number: int) -> str:
        """The commit that a pull request is tried as: its branch, merged into main."""
        git(self.work, "checkout", "--quiet", "--detach", "main")
        git(self.work, "merge", "--quiet", "--no-ff", "--message", f"Merge {branch}", branch)
        git(self.work, "push", "--quiet", "--force", "origin", f"HEAD:refs/pull/{number}/merge")
        return git(self.work, "rev-parse", "HEAD")

    def merge(self, branch: str, how: str = "squash") -> str:
        """Merge a branch into main; the new commit of main."""
        if how == "rebase":
            git(self.work, "checkout", "--quiet", "-B", "rebased", branch)
            git(self.work, "rebase", "--quiet", "--force-rebase", "main")
            git(self.work, "checkout", "--quiet", "main")
            git(self.work, "merge", "--quiet", "--ff-only", "rebased")
            return self._pushed("main")
        git(self.work, "checkout", "--quiet", "main")
        git(self.work, "merge", "--quiet", *(["--squash"] if how == "squash" else ["--no-ff", "--message", f"Merge {branch}"]), branch)
        if how == "squash":
            git(self.work, "commit", "--quiet", "--message", f"{branch} (squashed)")
        return self._pushed("main")

    def checkout(self, folder: Path, ref: str, commit: str, *, depth: int = 0) -> None:
        """What a runner does before the first step."""
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")
        git(folder, "remote", "add", "origin", self.bare.as_uri())
        git(
            folder,
            "fetch",
            "--quiet",
            *([f"--depth={depth}"] if depth else []),
            "origin",
            f"+{ref}:refs/remotes/tried",
            *([] if depth else ["+refs/heads/*:refs/remotes/origin/*"]),
        )
        git(folder, "checkout", "--quiet", "--detach", commit)
