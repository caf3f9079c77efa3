"""`reconciler test`: what a configuration leads to, asserted in YAML and tried on a twin. No service, no token, no state."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options, nearest_project
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config.keys import project_file
from reconciler.errors import ConfigError
from reconciler.features.testing.model import ProjectTestResult
from reconciler.features.testing.report import findings, tests_document, tests_junit, tests_sheet
from reconciler.features.testing.twin.project_tests import chosen, gather, snapshots_of
from reconciler.features.testing.twin.running import ProjectTest, run_test
from reconciler.files import path_from_here
from reconciler.interpreters import safe_children
from reconciler.kinds import load as load_kinds
from reconciler.report.words import count
from reconciler.run.connection.embedded import require_extra
from reconciler.run.loading import now
from reconciler.seams import fill
from reconciler.writing import create_folder, write_whole

Job = tuple[ProjectTest, dict[str, str]]
# A child of fork has imported everything. Elsewhere than on Linux, libraries of the system do not survive it.
START: Final = "fork" if sys.platform == "linux" else "spawn"


@click.command("test", short_help="Try the project on a twin, and check what tests expect.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[PROJECT] [FILE]...")
@shared.environment()
@click.option(
    "--name",
    "names",
    metavar="PATTERN",
    multiple=True,
    allow_from_autoenv=False,
    help="Run the tests with a matching name: 'partners *'. Repeatable.",
)
@click.option("--parallel", type=click.IntRange(1, 256), metavar="N", help="Run up to N tests at the same time. Default: one for each CPU.")
@click.option("--update", is_flag=True, allow_from_autoenv=False, help="Write the snapshots of plans instead of comparing them.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    parallel: int | None,
    update: bool,
    report: tuple[tuple[str, Path], ...],
    **parameters: Any,
) -> int:
    """Run the tests of a project: each applies it to a sandbox of its own, and checks what readers see, what URLs show, and what a plan
    does then. Needs no token, no state and no network, and reads no variable of the environment. Exits with 1 if a test fails.

    Tests are in tests/*.yaml and *.test.yaml beside the project file. With them run the access of the project, and the examples of policies
    in those files. Arguments are a project, and files of tests or folders of them; without a file, all tests run.

    \b
    Examples:
      reconciler test examples/acme
      reconciler test examples/acme/tests/readers.yaml --name 'partners *'
      reconciler test examples/acme --report junit=tests.xml
    """
    screen: Screen = ctx.obj
    options = Options.of(screen, parameters)
    require_extra()
    project, files = chosen(paths)
    project = project if project is not None else nearest_project(ctx)
    kinds = load_kinds()
    with TerminalVoice(screen).lasting("Reading the tests"):
        ready = gather(kinds, project, files, names, environment=options.env)
    screen.hide(ready.hidden)
    run = [*_run(screen, ready.tests, parallel or os.cpu_count() or 1, update=update)]
    problems = [problem for result in run for problem in result.problems]
    if problems:
        raise ConfigError(problems, where="the tests", undone="reported")
    for test, result in zip(ready.tests, run, strict=True):
        _write_snapshots(screen, test, result)
    results = sorted([*run, *ready.results], key=lambda result: result.source)
    shown, folder = screen.masked_data(results), path_from_here(project_file(project).parent).as_posix()
    folder = "" if folder == "." else folder
    called = ready.tests[0].project.settings.project if ready.tests else folder or project_file(project).name
    document, sheet = tests_document(shown, project=called), partial(tests_sheet, shown, project=called)
    cases = partial(tests_junit, shown, project=called, folder=folder)
    printed = reports.Report(document, sheet, now(), folder, findings=findings(shown), junit=cases)
    printed.write(screen, report)
    printed.show(screen, options.format)
    return exits.DONE if all(result.passed for result in results) else exits.FAILED


def _run(screen: Screen, tests: Sequence[ProjectTest], parallel: int, *, update: bool) -> Iterator[ProjectTestResult]:
    """The results of tests, in their order."""
    jobs = [(test, snapshots_of(test)) for test in tests]
    work = partial(_job, update=update)
    with TerminalVoice(screen).lasting(f"Running {count(len(tests), 'test')}"):
        # A daemon of multiprocessing may have no children.
        if min(parallel, len(jobs)) <= 1 or multiprocessing.current_process().daemon:
            yield from map(work, jobs)
            return
        with children(min(parallel, len(jobs))) as pool:
            yield from pool.map(partial(_in_child, work), jobs)


@contextmanager
def children(most: int, start: str = START) -> Iterator[ProcessPoolExecutor]:
    """Processes of this program that run tests; they end with the block. `start`: the method of multiprocessing."""
    context = multiprocessing.get_context(start)
    fill("plan", "run", "apply")
    with safe_children(), ProcessPoolExecutor(most, mp_context=context, initializer=_interruptible) as pool:
        try:
            yield pool
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _job(job: Job, *, update: bool) -> ProjectTestResult:
    test, snapshots = job
    return run_test(test, snapshots, update=update)


# In a child: whether it runs a test, and whether a signal came.
RUNNING, ENDED = Event(), Event()


def _interruptible() -> None:
    """End the test of this process at a signal, so that its temporary folder is removed; the parent reports it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(*_: object) -> None:
    ENDED.set()
    if RUNNING.is_set():
        raise KeyboardInterrupt


def _in_child(work: Callable[[Job], ProjectTestResult], job: Job) -> ProjectTestResult:
    """The result of a test; none of those that wait is begun after a signal."""
    RUNNING.set()
    try:
        if ENDED.is_set():
            raise KeyboardInterrupt
        return work(job)
    finally:
        RUNNING.clear()


def _write_snapshots(screen: Screen, test: ProjectTest, result: ProjectTestResult) -> None:
    for name, text in result.written:
        file = test.folder / name
        create_folder(file.parent)
        write_whole(file, screen.masked(text), mode=None)
        screen.say(f"Wrote {file}.")
