"""Whether an organization works for its readers: read with GET requests, and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.client.service import Reader
from reconciler.features.access.report import names
from reconciler.features.access.review import review
from reconciler.features.drift.model import DriftBounds
from reconciler.features.drift.plan import drift, grouped
from reconciler.features.health.model import CHECKS, HealthChecks, HealthReport
from reconciler.features.health.plan import HealthInputs, free_checks
from reconciler.features.health.read import checked
from reconciler.features.health.site.model import SiteHealth, SiteHistory
from reconciler.features.health.site.plan import about_site, checks_of_site, named_site, of_site, parts, shown_spaces, url_count
from reconciler.features.health.site.read import site_pages, site_work
from reconciler.features.urls.history import ended_urls
from reconciler.features.urls.model.redirects import url_settings
from reconciler.features.urls.redirects.required import recorded_url
from reconciler.features.urls.stages import kept_trees
from reconciler.features.urls.tables import kept
from reconciler.model.codec import title
from reconciler.plan.world import World
from reconciler.run.loading import now
from reconciler.run.opened import Run
from reconciler.run.stages import Planned
from reconciler.state import Store

NO_LEDGER: Final = "this project keeps no ledger of its URLs: write urls: {redirects: []}, and the next apply begins one"


def health_of(run: Run) -> HealthReport:
    """The health of the organization."""
    with run.reading():
        return run.ask(lambda reader: _checked(run, reader))


def site_health_of(run: Run, site: str) -> SiteHealth:
    """The page of a site. Raises `UsageError` for one that there is not."""
    with run.reading():
        page = run.ask(lambda reader: _site(run, reader, site))
    with run.store() as store:
        return _with_history(page, store, keeps=url_settings(run.project.desired) is not None)


def health_inputs(run: Run, planned: Planned, *, between: DriftBounds | None = None) -> HealthInputs:
    """What health is judged from: a plan of everything, and the drift in it. `between`: when the drift began; None: unknown."""
    desired, at = planned.desired, planned.actual.date or now()
    world = World(planned.kinds, desired, planned.state, planned.actual, run.operation.selection)
    changed = grouped(world, planned.matches, drift(world, planned.plan, whole=True), between=between or DriftBounds(None, at))
    return HealthInputs(planned.kinds, desired, planned.state, planned.actual, changed, at)


async def _checked(run: Run, reader: Reader) -> HealthReport:
    inputs = health_inputs(run, await run.make(reader, everything=True, pages=False))
    return await _report(run, reader, inputs, CHECKS.of(run.project.desired.features))


async def _report(run: Run, reader: Reader, inputs: HealthInputs, limits: HealthChecks) -> HealthReport:
    run.voice.stage("Checking what readers find")
    new, desired = run.seen.new, run.project.desired
    free = free_checks(inputs, unseen=f"its state has never seen {new.project}" if new is not None else "")
    checks = (*free, *await checked(reader, inputs, limits))
    return HealthReport(desired.project, desired.environment, inputs.now.date(), checks, run.judged.notes)


async def _site(run: Run, reader: Reader, name: str) -> SiteHealth:
    """The page of a site without its history."""
    planned = await run.make(reader, everything=True, pages=False)
    inputs = health_inputs(run, planned)
    site = named_site(inputs, name)
    inputs, limits = of_site(inputs, site), checks_of_site(CHECKS.of(run.project.desired.features), inputs.called(site))
    report = await _report(run, reader, inputs, limits)
    report = replace(report, checks=about_site(inputs, site, report.checks))
    spaces = shown_spaces(inputs, site)
    trees = await site_pages(reader, inputs, spaces, kept_trees(run))
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
    digest, site = kept.url_digests(store).get(page.site), str(page.site)
    ended = list(kept.urls(store, site=site, ended=True))
    if digest is None and not ended:
        why = "the next apply with a request records the first URLs" if keeps else NO_LEDGER
        return replace(page, unknown=why)
    live = {record.url: record for record in kept.urls(store)}
    number = sum(record.site == page.site for record in live.values())
    groups = ended_urls(live, ended, recorded_url(page.url or ""))
    return replace(page, history=SiteHistory(store.site_runs(page.site), number, groups, doubt=digest == ""))
