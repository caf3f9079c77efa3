"""Whether an organization works for its readers: read with GET requests, and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.client.service import Reader
from reconciler.model import HealthReport
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
from reconciler.run.loading import now
from reconciler.run.opened import Run
from reconciler.run.stages import Planned
from reconciler.state import Store
from reconciler.urls.history import ended_urls
from reconciler.urls.redirects import recorded_url

NO_LEDGER: Final = "this project keeps no ledger of its URLs: write urls: {redirects: []}, and the next apply begins one"


def health_of(run: Run, site: str | None = None) -> tuple[HealthReport, SiteHealth | None]:
    """The health of the organization, and the page of a site, None where none is asked for."""
    with run.reading():
        result, shown = run.ask(lambda reader: _looked(run, reader, site))
    if shown is not None:
        with run.store() as store:
            shown = _with_history(shown, store, keeps=run.project.desired.urls is not None)
    return result, shown


def health_inputs(run: Run, planned: Planned, *, between: DriftBounds | None = None) -> HealthInputs:
    """What health is judged from: a plan of everything, and the drift in it. `between`: when the drift began; None: unknown."""
    desired, at = planned.desired, planned.actual.date or now()
    changed = drift(planned.kinds, desired, planned.state, planned.actual, planned.plan, selection=run.operation.selection, whole=True)
    changed = grouped(planned.kinds, desired, planned.actual, planned.matches, changed, between=between or DriftBounds(None, at))
    return HealthInputs(planned.kinds, desired, planned.state, planned.actual, changed, at)


async def _looked(run: Run, reader: Reader, site: str | None) -> tuple[HealthReport, SiteHealth | None]:
    planned = await run.make(reader, everything=True, pages=False)
    inputs, limits = health_inputs(run, planned), run.project.settings.health
    chosen = named_site(inputs, site) if site is not None else None
    if chosen is not None:
        inputs, limits = of_site(inputs, chosen), checks_of_site(limits, inputs.called(chosen))
    run.voice.stage("Checking what readers find")
    new = run.seen.new
    free = free_checks(inputs, unseen=f"its state has never seen {new.project}" if new is not None else "")
    checks = (*free, *await checked(reader, inputs, limits))
    if chosen is not None:
        checks = about_site(inputs, chosen, checks)
    desired = run.project.desired
    report = HealthReport(desired.project, desired.environment, inputs.now.date(), checks, run.by.notes)
    return report, None if chosen is None else await _site(reader, inputs, chosen, report, planned, run.page_trees)


async def _site(reader: Reader, inputs: HealthInputs, site: Key, report: HealthReport, planned: Planned, kept: KeptTrees) -> SiteHealth:
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
