"""`reconciler diff`: the plan of a change of the files, without the service and without a state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.loading import loaded
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.config.keys import project_file
from reconciler.git.working import NamedCommit, WorkingRepository
from reconciler.report.documents import plan_document
from reconciler.report.plan import plan_sheet
from reconciler.resource import Kinds
from reconciler.run.comparison import comparing_kinds, loaded_version, plan_between
from reconciler.run.guards import raise_first, violated
from reconciler.run.loading import now
from reconciler.run.rules import judged
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
    options, kinds = Options.of(screen, parameters), comparing_kinds()
    repository = WorkingRepository.around(options.project if options.project.is_dir() else options.project.parent)
    end = repository.commit(after or "HEAD")
    start = repository.shared(repository.commit(before), end)
    if after is None:
        repository.refuse_ignored(_file(options))
    inside = repository.before_renames(start, end if after else None, _file(options))
    with ExitStack() as opened:
        new = opened.enter_context(_side(screen, options, kinds, repository, end if after else None))
        old = opened.enter_context(_side(screen, options, kinds, repository, start, inside))
        assert new is not None
        where = ", which does not have this project," if old is None else f", where it was {inside}," if inside != repository.inside else ""
        compared = f"from {start}{where} to {end if after else FILES}."
        plan = plan_between(kinds, old, new, partial(judged, options.operation, TerminalVoice(screen), kinds), compared=compared)
    shown, made_at = screen.masked_data(plan), now()
    document = plan_document(shown, created_at=made_at)
    sheet = partial(plan_sheet, shown, full=full, zone=HERE)
    folder = reports.folder(new)
    printed = reports.Report(document, sheet, made_at, folder)
    printed.write(screen, report)
    printed.show(screen, options.format)
    raise_first(violated(plan.violations, "the plan"))  # not `check`: what is compared is not applied, so it has no limit
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
) -> Iterator[Project | None]:
    """The project of a commit, or of the present files. `inside`: its folder in the commit, which may have no such project
    there: None then."""
    if commit is None:
        yield loaded(screen, options, kinds, decrypt=False, stand_ins=True)
        return
    with repository.files(commit, inside) as folder:
        path = folder if options.project.is_dir() else folder / options.project.name
        yield loaded_version(replace(options, project=path).operation, TerminalVoice(screen), kinds, commit, optional=inside is not None)
