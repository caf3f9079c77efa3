"""`reconciler diff`: the plan of a change of the files, without the service and without a state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import click

from reconciler.cli import exits, options as shared, reports
from reconciler.cli.checks.rules_from import judged
from reconciler.cli.git import NamedCommit, WorkingRepository
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring.comparison import COVERS, plan_between, with_any_digest_key
from reconciler.cli.wiring.loading import load, now
from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.errors import ConfigError, Problem
from reconciler.kinds import load as load_kinds
from reconciler.plan.guard import refuse
from reconciler.report.documents import plan_document
from reconciler.report.plan import plan_sheet
from reconciler.resource import Kinds
from reconciler.text.names import HERE

FILES: Final = "the files as they are"


@click.command("diff", short_help="Show what a change of the files means, without the service.")
@shared.project()
@click.option(
    "--from", "before", metavar="REF", default="HEAD", help="Compare with the commit where --to diverged from REF. Default: HEAD."
)
@click.option("--to", "after", metavar="REF", help="The commit that is compared. Default: the files as they are.")
@shared.rules()
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 if anything would change.")
@click.option("--full", is_flag=True, help="Show every change on lines of its own.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(
    screen: Screen,
    /,
    before: str,
    after: str | None,
    detailed_exitcode: bool,
    full: bool,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Show what a change of the files means: the plan from one commit to another, or to the files as they are.

    Sends no requests and needs no token, state or values from the environment: a variable without a value is shown as unknown.

    \b
    Example:
      reconciler diff --from origin/main
      reconciler diff docs --from v1.4 --to v1.5 --format markdown
    """
    options = Options.of(screen, parameters)
    kinds = with_any_digest_key(load_kinds())
    repository = WorkingRepository.around(options.project if options.project.is_dir() else options.project.parent)
    end = repository.commit(after or "HEAD")
    start = repository.shared(repository.commit(before), end)
    if after is None:
        repository.refuse_ignored(_file(options))
    inside = repository.before_renames(start, end if after else None, _file(options))
    with ExitStack() as opened:
        new = opened.enter_context(_side(screen, options, kinds, repository, end if after else None))
        earlier = opened.enter_context(_side(screen, options, kinds, repository, start, inside, optional=True))
        assert new is not None
        by = judged(screen, options, kinds, new)
        new = by.project
        moved = f", where it was {inside}," if inside != repository.inside else ""
        where = ", which does not have this project," if earlier is None else moved
        note = f"Compared: from {start}{where} to {end if after else FILES}. {COVERS}"
        plan = plan_between(kinds, earlier, new, judged_by=by.notes, note=note)
    shown, made_at = screen.masked_data(plan), now()
    document = plan_document(shown, created_at=made_at)
    sheet = partial(plan_sheet, shown, full=full, zone=HERE)
    folder = reports.folder(new)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    refuse(plan.violations, "the plan")  # not `guard`: what is compared is not applied, so it has no limit
    return exits.PENDING if detailed_exitcode and plan.pending else exits.DONE


def _file(options: Options) -> str:
    """The name of the project file."""
    return project_file(options.project).name


@contextmanager
def _side(
    screen: Screen,
    options: Options,
    kinds: Kinds,
    repository: WorkingRepository,
    commit: NamedCommit | None,
    inside: PurePosixPath | None = None,
    *,
    optional: bool = False,
) -> Iterator[Project | None]:
    """The project of a commit, or of the present files. `inside`: its folder in the commit. `optional`: None if the commit has no such
    project, which is an error otherwise."""
    if commit is None:
        yield load(screen, options, kinds, decrypt=False, stand_ins=True)
        return
    with repository.files(commit, inside) as folder:
        path = folder if options.project.is_dir() else folder / options.project.name
        file = folder / _file(options)
        environment = options.env if (folder / ENVIRONMENTS).is_dir() else None
        unknown = environment is not None and not (folder / ENVIRONMENTS / f"{environment}.yaml").is_file()
        if optional and (not file.is_file() or unknown):
            yield None
            return
        try:
            yield load(screen, replace(options, project=path, env=environment), kinds, decrypt=False, stand_ins=True)
        except ConfigError as error:
            name = commit.short if " " in commit.name else commit.name
            problems = [
                Problem(f"{name}:{problem.file}", problem.line, problem.column, problem.message, id=problem.id)
                for problem in error.problems
            ]
            raise ConfigError(problems, more=error.more) from None
