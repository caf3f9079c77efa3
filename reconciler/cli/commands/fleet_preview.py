"""`reconciler fleet preview`: what a commit does to every project of a fleet, from git alone.

    fleet file at both commits -> projects that follow the branch -> two versions of each -> a plan -> groups of equal plans

Nothing of the repository is executed, no secret is read, and no request is sent. The fleet file of the first commit decides how each
project is read, because that is the fleet in effect after a merge: what the other one says is shown beside it (decision 0076).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from os.path import realpath
from pathlib import Path, PurePosixPath
from typing import Any, Final

import click

from reconciler.cli import exits, options as shared, reports
from reconciler.cli.checks.rules_from import JudgedProject, rules_at, with_rules_of
from reconciler.cli.commands import fleet_options
from reconciler.cli.commands.fleet_file import FILE
from reconciler.cli.git import NamedCommit, WorkingRepository
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.comparison import COMPARED, comparing_kinds, loaded_version, plan_between
from reconciler.cli.wiring.loading import now
from reconciler.config import Project
from reconciler.config.keys import NO_PROJECT, project_file
from reconciler.errors import ConfigError, Problem, ReconcilerError, UsageError
from reconciler.fleet.changes import differences
from reconciler.fleet.declared import claims, read_fleet
from reconciler.fleet.declared.file import parsed
from reconciler.fleet.declared.keys import FILE as FILE_NAME
from reconciler.fleet.facts import facts_of, health_of
from reconciler.fleet.generated import generated
from reconciler.fleet.model import Fleet, FleetProject, Generator, Repository
from reconciler.fleet.plan_groups import PlanGroups, own_names, plan_form
from reconciler.fleet.preview import follows, place
from reconciler.fleet.sources.git import Commit, directories
from reconciler.fleet.status import status
from reconciler.fleet.store import projects as rows
from reconciler.model import Plan, Severity, Violation
from reconciler.plan.guard import refuse
from reconciler.report.documents import plan_document
from reconciler.report.fleet_preview import FLEET_APPLY, MERGE, by_rarity, group_data, preview_sheet
from reconciler.report.schemas.fleet import FleetPreviewDocument, FleetPreviewProblemData, FleetPreviewReadingData
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.text.names import utc_text

ROOT: Final = PurePosixPath()
MANY: Final = 20  # projects; more are announced, since they take seconds


@click.command("preview", short_help="Show what a commit does to every project.")
@FILE
@click.option("--from", "before", metavar="REF", required=True, help="Compare with the commit where --to diverged from REF.")
@click.option("--to", "after", metavar="REF", default="HEAD", help="The commit that is compared. Default: HEAD.")
@click.option("--live", is_flag=True, help="Also show the last readings in the fleet's database, and what its generators listed there.")
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if anything would change.")
@fleet_options.database()
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def preview_command(
    screen: Screen,
    /,
    file: Path,
    before: str,
    after: str,
    live: bool,
    detailed_exitcode: bool,
    database: str | None,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Show what a commit does to every project of the fleet in FILE whose files are in this repository, in groups of projects to which the
    same happens, the smallest group first. Sends no requests, needs no token, and executes nothing of the repository.

    Exits with 5 if a project could not be planned, and with 4 if a plan violates a rule.

    \b
    Example:
      reconciler fleet preview fleet.yaml --from origin/main
      reconciler fleet preview fleet.yaml --from origin/main --report json=preview.json --report html=preview.html
    """
    options, kinds = Options.of(screen, parameters), comparing_kinds()
    known = _known(screen, database) if live else KnownFleet()
    versions = _versions(file, before, after, known)
    if len(versions.rows) > MANY:
        screen.say(f"Planning {count(len(versions.rows), 'project')} from {versions.start} to {versions.end} …")
    result = _planned(screen, options, kinds, versions)
    groups = by_rarity([group_data(group.projects, group.plan, after=group.moment) for group in result.groups.groups])
    changing = {name for group in groups for name in group["projects"]}
    document: FleetPreviewDocument = {
        "format": "reconciler.fleet-preview/1",
        "fleet": file.name or FILE_NAME,
        "createdAt": utc_text(result.made_at),
        "before": {"ref": versions.start.name, "commit": versions.start.id},
        "after": {"ref": versions.end.name, "commit": versions.end.id},
        "groups": groups,
        "appear": list(versions.appearing),
        "vanish": list(versions.vanishing),
        "unchanged": [name for name in dict.fromkeys(result.unchanged) if name not in changing],
        "reconfigured": [{"project": name, "keys": list(keys)} for name, keys in versions.reconfigured.items()],
        "problems": result.problems,
        "notes": [*versions.notes, f"{COMPARED}from {versions.start} to {versions.end}. {OFFLINE}"],
    }
    if live:
        document["readings"] = [known.readings[name] for name in known.readings if name in changing]
    document = screen.masked_data(document)
    sheet = partial(preview_sheet, document)
    reports.write(screen, report, document, sheet, created_at=result.made_at)
    reports.show(screen, options.format, document, sheet, created_at=result.made_at)
    for name, violations in result.violations.items():
        refuse(violations, f"the plan of {name}")
    pending = bool(groups or versions.appearing or versions.vanishing)
    return exits.PARTLY if result.problems else exits.PENDING if detailed_exitcode and pending else exits.DONE


OFFLINE: Final = "Nothing was read from the service: what was changed there, and pages behind URLs, are not known here."


# -- the fleet at both commits --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownFleet:
    """What a fleet's database knows: the last reading of each project, and the projects of generators that read the service."""

    readings: Mapping[str, FleetPreviewReadingData] = field(default_factory=dict)
    generated: Mapping[str, Sequence[FleetProject]] = field(default_factory=dict)


def _known(screen: Screen, database: str | None) -> KnownFleet:
    """The present rows of the database."""
    with fleet_options.opened(screen, database) as opened, opened.transaction() as connection:
        stored = [row for row in rows.read(connection) if not row.orphaned]
    readings: dict[str, FleetPreviewReadingData] = {}
    by_origin: dict[str, list[FleetProject]] = {}
    for row in stored:
        judged = status(facts_of(row), row.now)
        readings[row.project.name] = {
            "project": row.project.name,
            "status": judged.word.value,
            "health": health_of(row).word.value,
            "at": utc_text(row.read_at) if row.read_at is not None else None,
            "says": list(judged.causes),
        }
        by_origin.setdefault(row.project.origin, []).append(row.project)
    return KnownFleet(readings, by_origin)


@dataclass(frozen=True)
class PlannedRow:
    """A project to plan: as the fleet in effect has it, None if it appears, and as it is afterwards. `moment`: what brings that about."""

    before: FleetProject | None
    after: FleetProject
    moment: str = MERGE


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


def _versions(file: Path, before: str, after: str, known: KnownFleet) -> FleetVersions:
    """The projects of a fleet at both commits. Raises `UsageError` and `ConfigError`."""
    path = file / FILE_NAME if file.is_dir() else file
    repository = _repository(path)
    end = repository.commit(after)
    start = repository.shared(repository.commit(before), end)
    branch, default = repository.branch(before), repository.branch("origin/HEAD")
    places = frozenset(map(place, repository.places()))
    old, new, notes = _fleets(repository, path, start, end)

    def is_here(source: Repository) -> bool:
        return place(source.git) in places and follows(source, branch, default)

    def declared(fleet: Fleet, commit: NamedCommit) -> dict[str, FleetProject]:
        return _declared(fleet, Commit(repository.repository.folder, commit.id, own=False), is_here, known, notes)

    earlier, merged = declared(old, start), declared(old, end)
    applied = declared(new, end) if new is not old else merged
    sides = [{name: project for name, project in side.items() if is_here(project.source)} for side in (earlier, merged, applied)]
    before_rows, merged_rows, applied_rows = sides
    if not any(sides):
        raise UsageError(
            f"no project of {path} takes its files from this repository{f' and its branch {branch}' if branch else ''}",
            id="RC-fleet-source",
            hint="Run it in a clone of the repository that source.git names, with --from and the branch that source.ref names.",
        )
    elsewhere = len(earlier) - len(before_rows)
    if elsewhere:
        notes[f"{count(elsewhere, 'project')} with files of another repository, branch, tag or commit: not shown."] = None
    appearing = [name for name in {**merged_rows, **applied_rows} if name not in before_rows]
    vanishing = [name for name in before_rows if name not in merged_rows or name not in applied_rows]
    return FleetVersions(
        repository, start, end, list(_rows(*sides)), appearing, vanishing,
        {name: keys for name in before_rows if name in applied_rows and (keys := _keys(before_rows[name], applied_rows[name]))},
        list(notes),
    )  # fmt: skip


def _repository(file: Path) -> WorkingRepository:
    """The repository of the current folder; outside of one, that of the fleet file. Raises `UsageError`."""
    try:
        return WorkingRepository.around(Path.cwd())
    except UsageError:
        return WorkingRepository.around(file.parent)


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
    fleet: Fleet, commit: Commit, is_here: Callable[[Repository], bool], known: KnownFleet, notes: dict[str, None]
) -> dict[str, FleetProject]:
    """Every project of a fleet, with the directories of a commit. `notes`: is given what could not be listed."""
    listing: dict[int, Sequence[Mapping[str, str]]] = {}
    more: list[FleetProject] = []
    for generator in fleet.generators:
        if generator.repository is not None and is_here(generator.repository):
            listing[generator.number] = directories(commit, generator.repository.path)
        elif generator.sort != "list":
            stored = known.generated.get(generator.name, ())
            more += stored
            if not stored:
                notes[_unread(generator)] = None
    projects = generated(fleet, listing)
    return {**projects, **{project.name: project for project in more if project.name not in projects}}


def _unread(generator: Generator) -> str:
    what = "lists another repository, branch, tag or commit" if generator.repository is not None else "lists what the service shows"
    return f"{generator.name} {what}, which is not read here: its projects are shown with --live, as the fleet listed them last."


def _rows(
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


def _keys(before: FleetProject, after: FleetProject) -> list[str]:
    return [difference["key"] for difference in differences(before, after)]


# -- plans ----------------------------------------------------------------------------------------------------------------------------


@dataclass
class PlannedFleet:
    """`violations`: of projects whose plan is refused."""

    made_at: datetime
    groups: PlanGroups = field(default_factory=PlanGroups)
    unchanged: list[str] = field(default_factory=list)
    problems: list[FleetPreviewProblemData] = field(default_factory=list)
    violations: dict[str, tuple[Violation, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckedOut:
    """The files of a commit in a folder. `refused`: paths that cannot be those of files, and why."""

    commit: NamedCommit
    root: Path
    refused: Mapping[str, str] = field(default_factory=dict)

    def folder(self, project: FleetProject) -> Path:
        """The folder of a project. Raises `ConfigError` where it contains what cannot be read as it is."""
        path = PurePosixPath(project.source.path)
        for name, reason in self.refused.items():
            if path == ROOT or path in PurePosixPath(name).parents:
                raise ConfigError([Problem(f"{self.commit.label}:{name}", 0, 0, reason, id="RC-git-file-name")])
        folder = self.root / path
        if Path(realpath(folder)) != folder:  # a link of the commit, which could lead to any folder of this machine
            raise ConfigError([Problem(f"{self.commit.label}:{path}", 0, 0, "a link is in the path of the project", id="RC-link-not-read")])
        return folder

    def below(self, project: FleetProject) -> str:
        return "" if project.source.path == "." else f"{project.source.path}/"


def _planned(screen: Screen, options: Options, kinds: Kinds, versions: FleetVersions) -> PlannedFleet:
    """The plans of all rows, grouped."""
    result = PlannedFleet(now())
    with ExitStack() as opened:

        def checked_out(commit: NamedCommit, projects: Iterable[FleetProject]) -> CheckedOut:
            refused: dict[str, str] = {}
            below = {PurePosixPath(project.source.path) for project in projects}
            return CheckedOut(commit, opened.enter_context(versions.repository.files(commit, ROOT, below=below, refused=refused)), refused)

        start = checked_out(versions.start, [row.before for row in versions.rows if row.before is not None])
        end = checked_out(versions.end, [row.after for row in versions.rows])
        refs = {row.after.rules_from for row in versions.rows if row.after.rules_from}
        rules: dict[str, CheckedOut | ReconcilerError] = {}
        for ref in sorted(refs):
            try:
                rules[ref] = checked_out(_rules(versions.repository, ref), [row.after for row in versions.rows])
            except ReconcilerError as error:
                rules[ref] = error
        for row in versions.rows:
            try:
                old, new = _loaded(screen, options, kinds, row, start, end)
                if row.before is None:  # its organization is not managed yet: a plan would only create everything
                    continue
                judge = partial(_judged, screen, options, kinds, row.after, rules)
                where = ", which does not have this project," if old is None else ""
                plan = plan_between(kinds, old, new, judge, compared=f"from {start.commit}{where} to {end.commit}.")
            except ReconcilerError as error:
                result.problems += _problems(row, error)
                continue
            _add(result, row, screen.masked_data(plan), [project for project in (old, new) if project is not None], kinds)
    return result


def _loaded(
    screen: Screen, options: Options, kinds: Kinds, row: PlannedRow, start: CheckedOut, end: CheckedOut
) -> tuple[Project | None, Project]:
    """Both versions of a project; None: the first commit does not have it. Raises `ConfigError`."""
    old = _version(screen, options, kinds, row.before, start, optional=True) if row.before is not None else None
    new = _version(screen, options, kinds, row.after, end, optional=False)
    assert new is not None
    if not claims.is_allowed(row.after.project, new.settings.project):
        says = f"the files are of project {new.settings.project}, and the fleet file allows {row.after.project or 'none'}"
        raise ConfigError([Problem(f"{end.commit.label}:{end.below(row.after)}", 0, 0, says, id="RC-fleet-project-not-allowed")])
    return old, new


def _version(screen: Screen, options: Options, kinds: Kinds, project: FleetProject, side: CheckedOut, *, optional: bool) -> Project | None:
    """One version of a project. Raises `ConfigError`."""
    folder, below = side.folder(project), side.below(project)
    if not optional and not project_file(folder).is_file():
        raise ConfigError([Problem(f"{side.commit.label}:{below}", 0, 0, NO_PROJECT, id="RC-no-project")])
    return loaded_version(screen, _chosen(options, project, folder), kinds, side.commit, below=below, optional=optional, quiet=True)


def _chosen(options: Options, project: FleetProject, folder: Path) -> Options:
    """The options with which a run of the fleet reads a project."""
    return replace(options, project=folder, env=project.environment, var=dict(project.vars), rules_from=project.rules_from or None)


def _rules(repository: WorkingRepository, ref: str) -> NamedCommit:
    """The commit whose rules judge: of the remote's branch, as a fleet would fetch it, else of that name. Raises `UsageError`."""
    try:
        return replace(repository.commit(f"origin/{ref}"), name=ref)
    except UsageError:
        return repository.commit(ref)


def _judged(
    screen: Screen, options: Options, kinds: Kinds, project: FleetProject, rules: Mapping[str, CheckedOut | ReconcilerError], new: Project
) -> JudgedProject:
    """The project with the rules that judge it. Raises `ReconcilerError` where they cannot be read."""
    if not project.rules_from:
        return JudgedProject(new)
    side = rules[project.rules_from]
    if isinstance(side, ReconcilerError):
        raise side
    chosen = _chosen(options, project, side.folder(project))
    return JudgedProject(with_rules_of(kinds, new, rules_at(screen, chosen, kinds, side.commit, chosen.project, environ={})), side.commit)


def _add(result: PlannedFleet, row: PlannedRow, plan: Plan, versions: Sequence[Project], kinds: Kinds) -> None:
    """Put the plan of a row into its group."""
    name, violations = row.after.name, tuple(violation for violation in plan.violations if violation.level is Severity.ERROR)
    if plan.empty and not violations:
        result.unchanged.append(name)
        return
    if violations:
        result.violations.setdefault(name, violations)
    document = plan_document(plan, created_at=result.made_at)
    projects = [project for project in (row.before, row.after) if project is not None]
    names = own_names(kinds, projects, [(version.settings.project, version.desired) for version in versions])
    result.groups.add(name, row.moment, document, plan_form(kinds, document, names, besides=COMPARED))


def _problems(row: PlannedRow, error: ReconcilerError) -> list[FleetPreviewProblemData]:
    """An error of one project, a line for each problem."""
    if not isinstance(error, ConfigError):
        return [{"project": row.after.name, "file": "", "line": 0, "column": 0, "message": error.message, "id": error.id}]
    return [
        {
            "project": row.after.name,
            "file": problem.file.rstrip("/"),
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "id": problem.id,
        }
        for problem in error.problems
    ]
