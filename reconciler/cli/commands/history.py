"""`reconciler history` and `reconciler show`: runs and their requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from reconciler.cli import options as shared, reports
from reconciler.cli.loading import loaded
from reconciler.cli.opening import state_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.model import RecordedRun
from reconciler.plan.changes import Names
from reconciler.report.history import RunRecord, history_document, history_sheet, run_document, run_sheet
from reconciler.report.reading import sheet_of
from reconciler.resource import Kinds
from reconciler.run.loading import load_settings
from reconciler.run.past import find_run
from reconciler.run.saved import plan_file
from reconciler.run.saved.origin import sentence
from reconciler.state import Store
from reconciler.text.names import HERE

PLAN_FILE: Final = ".json"
RUN_FORMATS: Final = ("text", "json")


@click.command("history", short_help="List runs: who ran what, when, and what it did.")
@shared.project()
@shared.service()
@shared.state()
@shared.output(formats=("text", "json"))
@click.pass_obj
def history_command(screen: Screen, /, **parameters: Any) -> None:
    """List all runs that could write, newest first: who ran what, when, how it ended, and which requests were done.

    \b
    Example:
      reconciler history examples/acme --sandbox .reconciler/acme.db
    """
    options = Options.of(screen, parameters)
    runs = _runs(screen, options)
    if options.format == "json":
        screen.document({**history_document(runs), **_environment(options)})
    elif runs:
        reports.show_sheet(screen, history_sheet(runs, options.env, HERE))
    else:
        screen.say("Nothing has run yet.")


@click.command("show", short_help="Show what a run did, or a saved plan.")
@shared.run_argument()
@shared.project()
@shared.service()
@shared.state()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def show_command(screen: Screen, /, run: str, **parameters: Any) -> None:
    """Show every request of a run: its address, its verb, its fields before and after, and how it ended.

    RUN is the id of the run, the beginning of an id, or `last`: the newest run that sent anything. The name of a saved plan, FILE.json,
    shows that plan as `plan` shows it, without the project, the state or the service.

    \b
    Example:
      reconciler show last examples/acme --sandbox .reconciler/acme.db
      reconciler show acme.plan.json --format markdown
    """
    options = Options.of(screen, parameters)
    if run.endswith(PLAN_FILE):
        _show_plan(screen, options, Path(run))
        return
    if options.format not in RUN_FORMATS:
        hint = f"A run is shown with --format {' or '.join(RUN_FORMATS)}."
        raise UsageError(f"--format {options.format} is for a saved plan", id="RC-options-conflict", hint=hint)
    with _opened(screen, options) as (store, kinds):
        recorded = find_run(store.runs() if store is not None else (), run)
        assert store is not None  # else nothing was chosen
        entries, state_changes = screen.masked_data((store.entries(recorded.id), store.state_changes(recorded.id)))
        shown = RunRecord(recorded, entries, state_changes)
        names = Names((id, address) for entry in entries for address, id in entry.bound.items())
        names |= {binding.id: address for address, binding in store.read().bindings.items()}
    if options.format == "json":
        screen.document({**run_document(shown, kinds, names), **_environment(options)})
    else:
        reports.show_sheet(screen, run_sheet(shown, kinds, names, options.env, HERE))


def _show_plan(screen: Screen, options: Options, path: Path) -> None:
    """Print a saved plan, or one that `plan --format json` printed."""
    document = plan_file.read_to_show(path)
    if (origin := document.get("origin")) is not None:
        screen.say(sentence(origin))
    try:
        sheet = sheet_of(document)
    except (ValueError, OverflowError) as error:  # its form is right, and a text in it is not
        raise UsageError(f"{path} is not a plan: {error}", id="RC-not-a-saved-plan") from None
    created_at = datetime.fromisoformat(document["createdAt"])
    reports.Report(document, lambda: sheet, created_at).show(screen, options.format)


def _runs(screen: Screen, options: Options) -> tuple[RecordedRun, ...]:
    """Every run of the state, newest first."""
    project = load_settings(options.operation, TerminalVoice(screen))
    with state_of(screen, options, project) as store:
        return store.runs() if store is not None else ()


def _environment(options: Options) -> dict[str, str]:
    """The environment, as a document contains it."""
    return {"environment": options.env} if options.env else {}


@contextmanager
def _opened(screen: Screen, options: Options) -> Iterator[tuple[Store | None, Kinds]]:
    """The state to read, None if there cannot be one yet; and the kinds."""
    kinds = load_kinds()
    project = loaded(screen, options, kinds)
    with state_of(screen, options, project) as store:
        yield store, kinds
