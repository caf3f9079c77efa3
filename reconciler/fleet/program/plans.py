"""The plans of the projects of a fleet from one commit to another, in groups. Executes nothing of the repository, and reads no secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from os.path import realpath
from pathlib import Path, PurePosixPath
from typing import Final

from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.config.keys import NO_PROJECT, project_file
from reconciler.errors import ConfigError, Problem, ReconcilerError, UsageError
from reconciler.fleet.commits.preview import PlannedRow
from reconciler.fleet.commits.versions import FleetVersions
from reconciler.fleet.declared import claims
from reconciler.fleet.documents import FleetPreviewProblemData
from reconciler.fleet.model import FleetProject
from reconciler.fleet.plan_groups import PlanGroups, own_names, plan_form
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.model import Plan, Severity, Violation
from reconciler.report.documents import plan_document
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.comparison import COMPARED, loaded_version, plan_between
from reconciler.run.loading import now
from reconciler.run.rules import JudgedProject, rules_at, with_rules_of

ROOT: Final = PurePosixPath()


@dataclass
class PlannedFleet:
    """`violations`: of projects whose plan is refused. `renamed`: the `project:` of files whose name changes, before and afterwards."""

    made_at: datetime
    groups: PlanGroups = field(default_factory=PlanGroups)
    unchanged: list[str] = field(default_factory=list)
    problems: list[FleetPreviewProblemData] = field(default_factory=list)
    violations: dict[str, tuple[Violation, ...]] = field(default_factory=dict)
    renamed: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def notes(self) -> Iterator[str]:
        """What no plan shows: a state belongs to the name of a project, and does not follow a new one by itself."""
        if self.renamed:
            (name, (before, after)), more = next(iter(self.renamed.items())), len(self.renamed) - 1
            who = f"{count(more + 1, 'project')} like {name}" if more else name
            yield f"{who}: project is {after} instead of {before}. Its state keeps the old name: reconciler state mv --project {before}."


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


def planned_fleet(screen: Screen, options: Options, kinds: Kinds, versions: FleetVersions) -> PlannedFleet:
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
                if old is not None and old.settings.project != new.settings.project:
                    result.renamed.setdefault(row.after.name, (old.settings.project, new.settings.project))
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
    operation = _chosen(options, project, folder).operation
    return loaded_version(operation, TerminalVoice(screen), kinds, side.commit, below=below, optional=optional, quiet=True)


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
    theirs = rules_at(chosen.operation, TerminalVoice(screen), kinds, side.commit, chosen.project, environ={})
    return JudgedProject(with_rules_of(kinds, new, theirs), side.commit)


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
    names = own_names(kinds, projects, versions)
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
