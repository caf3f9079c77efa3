"""`reconciler diff`: what a change of the files means, without the service and without a state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal import reports
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import ConfigError, Problem

if TYPE_CHECKING:
    from reconciler.cli.git import NamedCommit, WorkingRepository
    from reconciler.config import Project
    from reconciler.resource import Kinds

FILES: Final = "the files as they are"
COVERS: Final = "Nothing was read from the service: what follows for readers and URLs is said as far as files declare it."


@click.command("diff", short_help="Show what a change of the files means, without the service.")
@shared.project()
@click.option("--from", "before", metavar="REF", default="HEAD", help="Compare with the commit where REF was left. Default: HEAD.")
@click.option("--to", "after", metavar="REF", help="The commit that is compared. Default: the files as they are.")
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
    **words: Any,
) -> int:
    """Show what a change of the files means: the plan from one commit to another, or to the files as they are.

    Sends no requests and needs no token, state or values from the environment: a variable without a value is shown as unknown.

    \b
    Example:
      reconciler diff --from origin/main
      reconciler diff docs --from v1.4 --to v1.5 --format markdown
    """
    from reconciler.cli import exits
    from reconciler.cli.git import WorkingRepository
    from reconciler.cli.wiring.connect import now
    from reconciler.kinds import load as load_kinds
    from reconciler.plan import plan as make_plan
    from reconciler.plan.guard import guard
    from reconciler.plan.offline.as_declared import as_declared
    from reconciler.policies.judged import as_far_as_files_say
    from reconciler.report.documents import plan_document
    from reconciler.report.entries import plan_sheet
    from reconciler.report.text import plan_text
    from reconciler.report.times import HERE

    options = Options.of(screen, words)
    kinds = load_kinds().sealed(b"a comparison of files")
    repository = WorkingRepository.around(options.project if options.project.is_dir() else options.project.parent)
    end = repository.commit(after or "HEAD")
    start = repository.shared(repository.commit(before), end)
    with ExitStack() as opened:
        new = opened.enter_context(_side(screen, options, kinds, repository, end if after else None))
        old = opened.enter_context(_side(screen, options, kinds, repository, start, beside=new))
        state, actual = as_declared(kinds, old.desired, new.desired)
        plan = as_far_as_files_say(kinds, new.desired, actual, make_plan(kinds, new.desired, state, actual), today=now().date())
    note = f"Compared: from {start} to {end if after else FILES}. {COVERS}"
    names = ", ".join(f"vars.{name}" for name in sorted({*old.unset, *new.unset}))
    unset = [f"{names}: no value is known here. unknown.vars.NAME stands for it; what forEach makes of it is not shown."] if names else []
    changes = tuple(replace(change, id=None) for change in plan.changes)  # nothing has an id here
    plan = replace(plan, changes=changes, notes=(*plan.notes, note, *unset), unmanaged=(), files_only=True)
    shown, made_at = screen.masked_data(plan), now()
    document = plan_document(shown, created_at=made_at)
    sheet = partial(plan_sheet, shown, full=full, zone=HERE)
    text = partial(plan_text, shown, width=screen.width, full=full, zone=HERE)
    folder = reports.folder(new)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, text, created_at=made_at, folder=folder)
    guard(plan, new.desired, allow_delete=len(plan.changes))
    return exits.PENDING if detailed_exitcode and plan.pending else exits.DONE


@contextmanager
def _side(
    screen: Screen,
    options: Options,
    kinds: Kinds,
    repository: WorkingRepository,
    commit: NamedCommit | None,
    *,
    beside: Project | None = None,
) -> Iterator[Project]:
    """The project as a commit has it, or as its files are now. `beside`: the other side; where this one has no project, it declares
    nothing of it yet."""
    from reconciler.cli.wiring.connect import load
    from reconciler.config.project import PROJECT_FILE
    from reconciler.config.words import ENVIRONMENTS

    if commit is None:
        yield load(screen, options, kinds, decrypt=False, stand_ins=True)
        return
    with repository.files(commit) as folder:
        path = folder if options.project.is_dir() else folder / options.project.name
        file = folder / PROJECT_FILE if path == folder else path
        environment = options.env if (folder / ENVIRONMENTS).is_dir() else None
        unknown = environment is not None and not (folder / ENVIRONMENTS / f"{environment}.yaml").is_file()
        if beside is not None and (not file.is_file() or unknown):
            yield replace(beside, desired=replace(beside.desired, resources={}, moved=(), removed={}))
            return
        try:
            yield load(screen, replace(options, project=path, env=environment), kinds, decrypt=False, stand_ins=True)
        except ConfigError as error:
            problems = [Problem(f"{commit.name}:{each.file}", each.line, each.column, each.message, id=each.id) for each in error.problems]
            raise ConfigError(problems, more=error.more) from None
