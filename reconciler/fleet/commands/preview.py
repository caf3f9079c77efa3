"""`reconciler fleet preview`: what a commit does to every project of a fleet, from git alone.

    fleet file at both commits -> projects that follow the branch -> two versions of each -> a plan -> groups of equal plans

Nothing of the repository is executed, no secret is read, and no request is sent.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.fleet.commands import options as fleet_options
from reconciler.fleet.commands.file import FILE
from reconciler.fleet.commits.report import by_rarity, group_data, preview_sheet
from reconciler.fleet.commits.versions import KnownFleet, fleet_versions
from reconciler.fleet.declared.keys import FILE as FILE_NAME
from reconciler.fleet.documents import FleetPreviewDocument, FleetPreviewReadingData
from reconciler.fleet.facts import facts_of, health_of
from reconciler.fleet.model import FleetProject
from reconciler.fleet.program.plans import planned_fleet
from reconciler.fleet.status import status
from reconciler.fleet.store import projects as rows
from reconciler.report.words import count
from reconciler.run.comparison import COMPARED, comparing_kinds
from reconciler.run.guards import raise_first, violated
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
    versions = fleet_versions(file, before, after, known)
    if len(versions.rows) > MANY:
        screen.say(f"Planning {count(len(versions.rows), 'project')} from {versions.start} to {versions.end} …")
    result = planned_fleet(screen, options, kinds, versions)
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
        "notes": [*versions.notes, *result.notes, f"{COMPARED}from {versions.start} to {versions.end}. {OFFLINE}"],
    }
    if live:
        document["readings"] = [known.readings[name] for name in known.readings if name in changing]
    document = screen.masked_data(document)
    sheet = partial(preview_sheet, document)
    printed = reports.Report(document, sheet, result.made_at)
    printed.write(screen, report)
    printed.show(screen, options.format)
    for name, violations in result.violations.items():
        raise_first(violated(violations, f"the plan of {name}"))
    pending = bool(groups or versions.appearing or versions.vanishing)
    return exits.PARTLY if result.problems else exits.PENDING if detailed_exitcode and pending else exits.DONE


OFFLINE: Final = "Nothing was read from the service: what was changed there, and pages behind URLs, are not known here."


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
