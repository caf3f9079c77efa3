"""The projects of a fleet at two commits of a repository.

The fleet file of the first commit decides how each project is read, because that is the fleet in effect after a merge: what the other one
says is shown beside it (decision 0076).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import realpath
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reconciler.config.source.nodes import plain
from reconciler.errors import ConfigError, UsageError
from reconciler.fleet.commits.preview import PlannedRow, different_keys, follows, place, planned_rows
from reconciler.fleet.declared import read_fleet
from reconciler.fleet.declared.file import parsed
from reconciler.fleet.declared.keys import FILE
from reconciler.fleet.documents import FleetPreviewReadingData
from reconciler.fleet.generated import generated
from reconciler.fleet.model import Fleet, FleetProject, Generator, Repository
from reconciler.fleet.sources.git import Commit, directories
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.report.words import count

HEAD: Final = "HEAD"


@dataclass(frozen=True)
class KnownFleet:
    """What a fleet's database knows: the last reading of each project, and the projects of generators that read the service."""

    readings: Mapping[str, FleetPreviewReadingData] = field(default_factory=dict)
    generated: Mapping[str, Sequence[FleetProject]] = field(default_factory=dict)


@dataclass(frozen=True)
class FleetVersions:
    """Two commits, and the projects of a fleet that follow the branch. `notes`: what is left out, and why."""

    repository: WorkingRepository
    start: NamedCommit
    end: NamedCommit
    rows: Sequence[PlannedRow]
    appearing: Sequence[str]
    vanishing: Sequence[str]
    reconfigured: Mapping[str, Sequence[str]]
    notes: Sequence[str]


def fleet_versions(file: Path, before: str, after: str, known: KnownFleet) -> FleetVersions:
    """The projects of a fleet at both commits. Raises `UsageError` and `ConfigError`."""
    path = file / FILE if file.is_dir() else file
    repository = _repository(path)
    end = repository.commit(after)
    start = repository.shared(repository.commit(before), end)
    branch, default = repository.branch(before), repository.branch("origin/HEAD")
    places = frozenset(map(place, repository.places()))
    old, new, notes = _fleets(repository, path, start, end)
    if after == HEAD and replace(repository, inside=PurePosixPath()).differs(end, ()):
        notes["Changes of files that are not committed are not compared."] = None

    def is_here(source: Repository) -> bool:
        return place(source.git) in places and follows(source, branch, default)

    def declared(fleet: Fleet, commit: NamedCommit) -> dict[str, FleetProject]:
        try:
            return _declared(fleet, old, Commit(repository.repository.folder, commit.id, own=False), is_here, known, notes)
        except ConfigError as error:
            where = f"the fleet with the directories of {commit}"
            raise ConfigError(error.problems, more=error.more, where=where, undone="planned") from None

    earlier, merged = declared(old, start), declared(old, end)
    applied = declared(new, end) if new is not old else merged
    sides = [{name: project for name, project in side.items() if is_here(project.source)} for side in (earlier, merged, applied)]
    before_rows, merged_rows, applied_rows = sides
    if not any(sides):
        raise UsageError(
            f"no project of {path} takes its files from this repository{f' and its branch {branch}' if branch else ''}",
            id="RC-fleet-source",
            hint=_remedy(branch, default),
        )
    elsewhere = len(earlier) - len(before_rows)
    if elsewhere:
        notes[f"{count(elsewhere, 'project')} with files of another repository, branch, tag or commit: not shown."] = None
    # What another repository or branch gives to this one, or gets from it, neither appears nor vanishes: its `source` is different.
    reconfigured = {
        name: keys
        for name, project in earlier.items()
        if (name in before_rows or name in applied_rows) and name in applied and (keys := different_keys(project, applied[name]))
    }
    appearing = [name for name in {**merged_rows, **applied_rows} if name not in earlier]
    vanishing = [name for name in before_rows if name not in merged or name not in applied]
    return FleetVersions(repository, start, end, list(planned_rows(*sides)), appearing, vanishing, reconfigured, list(notes))


def _remedy(branch: str | None, default: str | None) -> str:
    remedy = "Run it in a clone of the repository that source.git names, with --from and the branch that source.ref names."
    if branch is None or default is None or default == branch:
        return remedy
    return f"{remedy} Without source.ref, that is {default} in this clone; if it no longer is: git remote set-head origin --auto."


def _repository(file: Path) -> WorkingRepository:
    """The repository of the current folder; outside of one, that of the fleet file. Raises `UsageError`."""
    try:
        return WorkingRepository.around(Path.cwd())
    except UsageError as error:
        try:
            return WorkingRepository.around(file.parent)
        except UsageError:
            raise error from None


def _fleets(repository: WorkingRepository, file: Path, start: NamedCommit, end: NamedCommit) -> tuple[Fleet, Fleet, dict[str, None]]:
    """The fleet in effect and the one that the commit proposes: the same where the file is not in the repository, or did not change."""
    top, path = repository.repository.folder, Path(realpath(file))
    texts: list[bytes | None] = [None, None]
    if path.is_relative_to(top):
        inside = PurePosixPath(path.relative_to(top).as_posix())
        texts = [repository.text(commit, inside) for commit in (start, end)]
    if texts == [None, None]:
        fleet, _ = read_fleet(file)
        return fleet, fleet, {}
    notes: dict[str, None] = {}
    for text, commit, other in zip(texts, (start, end), (end, start), strict=True):
        if text is None:
            notes[f"{commit} has no {file.name}: that of {other.label} is taken for both."] = None
    old, new = (text if text is not None else other for text, other in zip(texts, reversed(texts), strict=True))
    assert old is not None
    assert new is not None
    fleet = parsed(old, f"{(start if texts[0] is not None else end).label}:{inside}")
    return fleet, fleet if new == old else parsed(new, f"{end.label}:{inside}"), notes


def _declared(
    fleet: Fleet, old: Fleet, commit: Commit, is_here: Callable[[Repository], bool], known: KnownFleet, notes: dict[str, None]
) -> dict[str, FleetProject]:
    """Every project of a fleet, with the directories of a commit. `old`: the fleet in effect, whose generators listed what is known.
    `notes`: is given what could not be listed."""
    listing: dict[int, Sequence[Mapping[str, str]]] = {}
    more: list[FleetProject] = []
    for generator in fleet.generators:
        if generator.repository is not None and is_here(generator.repository):
            listing[generator.number] = directories(commit, generator.repository.path)
        elif generator.sort != "list":
            before = _in_effect(generator, fleet, old)
            stored = known.generated.get(before.name, ()) if before is not None else ()
            more += stored
            if not stored:
                notes[_unread(generator)] = None
            elif before is not None and _form(before, old) != _form(generator, fleet):
                notes[f"{generator.name}: the new fleet file changes its template or defaults. Its projects are shown without that."] = None
    projects = generated(fleet, listing)
    return {**projects, **{project.name: project for project in more if project.name not in projects}}


def _in_effect(generator: Generator, fleet: Fleet, old: Fleet) -> Generator | None:
    """The generator of the fleet in effect that lists the same: its number may be another one. None if there is none."""
    listed = (generator.sort, generator.repository, generator.token, generator.base_url, generator.match)
    same = [some for some in old.generators if (some.sort, some.repository, some.token, some.base_url, some.match) == listed]
    return min(same, key=lambda some: (_form(some, old) != _form(generator, fleet), some.number != generator.number), default=None)


def _form(generator: Generator, fleet: Fleet) -> tuple[Any, Any]:
    return plain(generator.template), plain(fleet.defaults) if fleet.defaults is not None else None


def _unread(generator: Generator) -> str:
    what = "lists another repository, branch, tag or commit" if generator.repository is not None else "lists what the service shows"
    return f"{generator.name} {what}, which is not read here: its projects are shown with --live, as the fleet listed them last."
