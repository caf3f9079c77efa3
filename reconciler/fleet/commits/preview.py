"""Which projects of a fleet a change of a repository concerns, and from what to what each is planned. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from reconciler.fleet.changes import differences
from reconciler.fleet.commits.report import FLEET_APPLY, MERGE
from reconciler.fleet.model import FleetProject, Repository


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


# -- what is planned ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedRow:
    """A project to plan: as the fleet in effect has it, None if it appears, and as it is afterwards. `moment`: what brings that about."""

    before: FleetProject | None
    after: FleetProject
    moment: str = MERGE


def planned_rows(
    before: Mapping[str, FleetProject], merged: Mapping[str, FleetProject], applied: Mapping[str, FleetProject]
) -> Iterator[PlannedRow]:
    """What to plan: each project as the merge leaves it, and again where the new fleet file changes how it is read."""
    for name, project in before.items():
        if name in merged:
            yield PlannedRow(project, merged[name])
        if name in applied and _reading(applied[name]) != _reading(merged.get(name, project)):
            yield PlannedRow(project, applied[name], FLEET_APPLY)
    for name in {**merged, **applied}:
        if name not in before:
            yield PlannedRow(None, merged[name] if name in merged else applied[name], MERGE if name in merged else FLEET_APPLY)


def _reading(project: FleetProject) -> tuple[object, ...]:
    """What decides which resources a project has."""
    return project.source.path, project.environment, project.vars, project.project, project.rules_from


def different_keys(before: FleetProject, after: FleetProject) -> list[str]:
    """The keys of the fleet file in which a project differs."""
    return [difference["key"] for difference in differences(before, after)]
