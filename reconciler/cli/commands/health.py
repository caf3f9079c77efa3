"""`reconciler health`: whether the organization works for its readers. Only GET; writes nothing, not even state, and takes no lease."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler import exits
from reconciler.cli import options as shared, reports
from reconciler.cli.options import Options
from reconciler.cli.terminal.progress import Narration
from reconciler.cli.terminal.screen import Screen
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.kinds import load as load_kinds
from reconciler.model import HealthReport, HealthStatus
from reconciler.model.codec import title
from reconciler.model.drift import DriftBounds
from reconciler.model.site import SiteHealth, SiteHistory
from reconciler.observe.health import checked
from reconciler.observe.pages import KeptTrees
from reconciler.observe.site import site_pages, site_work
from reconciler.plan.access.review import review
from reconciler.plan.containment import Key
from reconciler.plan.drift import drift, grouped
from reconciler.plan.health import HealthInputs, free_checks
from reconciler.plan.site import about_site, checks_of_site, named_site, of_site, parts, shown_spaces, url_count
from reconciler.report.access import names
from reconciler.report.health import health_document, health_sheet
from reconciler.report.site import site_document, site_sheet
from reconciler.resource import Kinds
from reconciler.run import stages as run
from reconciler.run.connecting import connect, open_store
from reconciler.run.loading import load, now
from reconciler.run.rules import judged
from reconciler.run.unseen import kept_trees, read_state
from reconciler.state import Store
from reconciler.text.names import HERE
from reconciler.urls.history import ended_urls
from reconciler.urls.redirects import recorded_url

NO_LEDGER: Final = "this project keeps no ledger of its URLs: write urls: {redirects: []}, and the next apply begins one"
CODES = {HealthStatus.BROKEN: exits.PENDING, HealthStatus.UNKNOWN: exits.PARTLY}


@click.command("health", short_help="Show what readers do not find, and what ends soon.")
@shared.project()
@shared.rules()
@shared.service()
@shared.state()
@click.option("--site", metavar="SITE", help="Show this site on one page, with its history: its key, or its address.")
@click.option("--full", is_flag=True, help="Show every concern on lines of its own, and the whole history of a site.")
@reports.option()
@shared.output(formats=("text", *reports.FORMATS))
@click.pass_obj
def command(screen: Screen, /, site: str | None, full: bool, report: tuple[tuple[str, Path], ...], **parameters: Any) -> int:
    """Show whether the organization works for its readers: broken URLs and links, searches that find nothing, failed specifications,
    certificates and share links that end, stale pages, change requests that wait.

    Some checks cost no request. The others are off until the project asks for them, in `health`. Exits with 2 if something is broken, and
    with 5 if a check could not be made: what is not known is never healthy. Sends only GET requests, and writes nothing.

    With --site, one site on one page: what it publishes for whom, its URLs and where earlier ones lead, its checks, what people have
    begun in it, and the runs that changed it. --report html=FILE draws it.

    \b
    Example:
      reconciler health examples/acme --sandbox .reconciler/acme.db
      reconciler health --format json --report junit=health.xml
      reconciler health examples/urls --sandbox .reconciler/urls.db --site docs --report html=docs.html
    """
    options = Options.of(screen, parameters)
    project, result, shown = _read(screen, options, load_kinds(), site)
    made_at, folder = now(), reports.folder(project)
    document: Mapping[str, Any]
    if shown is not None:
        shown = screen.masked_data(shown)
        document, sheet = site_document(shown, created_at=made_at), partial(site_sheet, shown, made_at=made_at, full=full, zone=HERE)
    else:
        result = screen.masked_data(result)
        document, sheet = health_document(result, created_at=made_at), partial(health_sheet, result, full=full, zone=HERE)
    reports.write(screen, report, document, sheet, created_at=made_at, folder=folder)
    reports.show(screen, options.format, document, sheet, created_at=made_at, folder=folder)
    return exits.strongest([CODES.get(word, exits.DONE) for check in result.checks if (word := check.word(result.today)) is not None])


def read(screen: Screen, options: Options, kinds: Kinds) -> tuple[Project, HealthReport]:
    """A project and its health, found with GET requests."""
    project, result, _ = _read(screen, options, kinds, None)
    return project, result


def _read(screen: Screen, options: Options, kinds: Kinds, site: str | None) -> tuple[Project, HealthReport, SiteHealth | None]:
    """The same, and the page of a site, None where none is asked for."""
    by = judged(screen, options, kinds, load(screen, options, kinds))
    project = by.project
    with connect(screen, options, project, kinds) as service:
        state, key, new = read_state(screen, options, project, service)
        kinds = kinds.with_digest_key(key, project.sensitive)
        narration = Narration(screen)

        kept = kept_trees(screen, options, project, service)

        async def look(kinds: Kinds) -> tuple[HealthReport, SiteHealth | None]:
            async with Reader(service.settings, listener=narration) as reader:
                planned = await run.make_plan(
                    reader, kinds, project.desired, state, options.operation, everything=True, stage=narration.stage
                )
                changed = drift(
                    kinds, project.desired, state, planned.actual, planned.plan, selection=options.operation.selection, whole=True
                )
                at = planned.actual.date or now()
                changed = grouped(kinds, project.desired, planned.actual, planned.matches, changed, between=DriftBounds(None, at))
                inputs = HealthInputs(kinds, project.desired, state, planned.actual, changed, at)
                chosen = named_site(inputs, site) if site is not None else None
                limits = project.settings.health
                if chosen is not None:
                    inputs, limits = of_site(inputs, chosen), checks_of_site(limits, inputs.called(chosen))
                narration.stage("Checking what readers find")
                free = free_checks(inputs, unseen=f"its state has never seen {new.project}" if new is not None else "")
                checks = (*free, *await checked(reader, inputs, limits))
                if chosen is not None:
                    checks = about_site(inputs, chosen, checks)
                report = HealthReport(project.desired.project, project.desired.environment, at.date(), checks, by.notes)
                return report, None if chosen is None else await _site(reader, inputs, chosen, report, planned, kept)

        with narration.phase(f"Reading {project.desired.project}", where=service.where):
            result, shown = asyncio.run(look(kinds))
        if shown is not None:
            with open_store(screen, options, project, service, create=False) as store:
                shown = _with_history(shown, store, keeps=project.desired.urls is not None)
    return project, result, shown


async def _site(reader: Reader, inputs: HealthInputs, site: Key, report: HealthReport, planned: run.Planned, kept: KeptTrees) -> SiteHealth:
    """The page of a site without its history. `inputs`: those `of_site`."""
    spaces = shown_spaces(inputs, site)
    trees = await site_pages(reader, inputs, spaces, kept)
    reviewed = review(inputs.kinds, inputs.desired, inputs.state, inputs.actual, replace(planned.plan, steps=()))
    readers = {row.address: names(row.before, row, reviewed) for row in reviewed.rows}
    address, observed = inputs.called(site), inputs.actual.objects[site[0]][site[1]]
    return SiteHealth(
        report,
        address,
        title(observed),
        inputs.kinds[site[0]].url(observed.raw),
        readers.get(address, ""),
        parts(inputs, site, trees, readers),
        url_count(inputs, site, trees),
        await site_work(reader, inputs, spaces),
    )


def _with_history(page: SiteHealth, store: Store, *, keeps: bool) -> SiteHealth:
    """The page with what the state knows of the site. `keeps`: whether the project has a ledger."""
    digest, site = store.url_digests().get(page.site), str(page.site)
    ended = list(store.urls(site=site, ended=True))
    if digest is None and not ended:
        why = "the next apply with a request records the first URLs" if keeps else NO_LEDGER
        return replace(page, unknown=why)
    live = {record.url: record for record in store.urls()}
    number = sum(record.site == page.site for record in live.values())
    groups = ended_urls(live, ended, recorded_url(page.url or ""))
    return replace(page, history=SiteHistory(store.site_runs(page.site), number, groups, doubt=digest == ""))
