"""Which projects of a fleet a repository and its branch concern. Pure."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from reconciler.fleet.model import Repository


def place(url: str) -> tuple[str, str]:
    """The machine and the path of a repository, however its URL is written: `https://`, `ssh://`, `git@host:path`, `file://`, a folder."""
    scheme, mark, _ = url.partition("://")
    if not mark:
        host, colon, path = url.partition(":")
        if colon and "/" not in host:
            return host.rpartition("@")[2].lower(), _path(path).lower()
        return "", _path(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return scheme, url
    return ("", _path(unquote(parts.path))) if scheme.lower() == "file" else (host, _path(unquote(parts.path)).lower())


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").rstrip("/")


def follows(source: Repository, branch: str | None, default: str | None) -> bool:
    """Whether a project takes its files from a branch. `branch`: None for a commit that no branch names; `default`: the default branch,
    None if it is not known."""
    if branch is None:
        return True
    if source.ref == "HEAD":
        return default is None or default == branch
    return source.ref in (branch, f"refs/heads/{branch}")
