"""The authors of a commit's changes: e-mail addresses of authors, committers and co-authors, from the commits alone.

The history is in a repository of ours beside the one of the files, without trees and files where the server can leave them out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from reconciler.fleet.model import Repository
from reconciler.fleet.sources.git import Commit, SourceError, git, reason, repository

COMMITS_MAX: Final = 100  # how far back the history is read
EMAIL_MAX: Final = 254  # characters
_FORMAT: Final = "--format=tformat:%ae%x00%ce%x00%(trailers:key=Co-authored-by,valueonly,separator=%x00)"
_BRACKETS: Final = re.compile(r"<([^<>]*)>")


def authors(cache: Path, source: Repository, commit: Commit, since: str | None) -> tuple[str, ...]:
    """The authors of the commits after `since` up to a commit. Without `since`, or if that is the commit itself: of the commit and of what
    it merges. If the history does not reach back to `since`, of all of it. Raises `SourceError`."""
    with repository(cache, f"history {source.git}") as folder:
        if not _has(folder, commit.id):
            words = ["fetch", "--quiet", f"--depth={COMMITS_MAX}", "--no-tags", "--no-recurse-submodules", "--filter=tree:0"]
            ended = git(folder, *words, "--", source.git, source.ref, most=2**16)
            if ended.code != 0 or ended.late or not _has(folder, commit.id):
                raise SourceError(f"the history of {source.git} cannot be read: {reason(ended)}", id="RC-fleet-source")
        if since is None or since == commit.id:
            first = f"{commit.id}^1"
            return _emails(folder, commit.id, *([f"^{first}"] if _has(folder, first) else ["--max-count=1"]))
        known = _has(folder, since) and git(folder, "merge-base", "--is-ancestor", since, commit.id).code == 0
        return _emails(folder, commit.id, *([f"^{since}"] if known else []))


def _has(folder: Path, name: str) -> bool:
    return git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").code == 0


def _emails(folder: Path, *words: str) -> tuple[str, ...]:
    ended = git(folder, "log", "--no-show-signature", "--no-patch", _FORMAT, *words, "--")
    if ended.code != 0 or ended.late or ended.large:
        raise SourceError(f"the authors of a commit cannot be read: {reason(ended)}", id="RC-git-failed")
    texts = re.split(r"[\0\n]", ended.out.decode("utf-8", "replace"))
    emails = {match[1] if (match := _BRACKETS.search(text)) else text for text in texts}
    return tuple(sorted({"".join(filter(str.isprintable, email)).strip().casefold()[:EMAIL_MAX] for email in emails} - {""}))
