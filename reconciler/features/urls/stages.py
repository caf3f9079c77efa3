"""The stages of a plan about URLs: what answers where before and after it, and the redirects that follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reconciler.client.service import Reader
from reconciler.features.urls.model.pages import PageTree
from reconciler.features.urls.model.planned import REDIRECTS as REDIRECT_PLAN, URLS, PlannedUrls
from reconciler.features.urls.model.redirects import RecordedUrls, url_settings
from reconciler.features.urls.plan.changes import Trees, dead_pages, readable_spaces, with_answering, with_urls
from reconciler.features.urls.plan.replaced import with_replaced
from reconciler.features.urls.read.ledger import read_answering
from reconciler.features.urls.read.pages import KeptTrees, ReadLinks, linking_pages, page_trees, read_links, read_trees
from reconciler.features.urls.redirects.planned import between, with_redirects
from reconciler.features.urls.redirects.serviced import with_moved
from reconciler.features.urls.tables import kept
from reconciler.model import Desired, Plan, State
from reconciler.model.features import FeatureKey
from reconciler.observe import observe
from reconciler.plan.audience.disclosure import caller
from reconciler.resource import Kinds
from reconciler.run.comparison import FilesCompared
from reconciler.run.stages import Planned, PlanSource, Stage
from reconciler.state.connection import StoredTables

TABLES: Final = (
    "Redirects are shown as their tables have them. Which ones an apply writes follows from the ledger and the service, which are not read."
)

TREES: Final = FeatureKey[Trees]("trees of pages", {})
"""The pages that were needed for the URLs of a plan."""
ANSWERING: Final = FeatureKey("answering", False)
"""Whether those of everything that anybody can read are among them."""
LINKS: Final = FeatureKey[ReadLinks]("links of pages", ())
"""Links of pages, where some end."""
RECORDED: Final = FeatureKey("recorded URLs", RecordedUrls())
"""What the state knows of URLs; nothing without `urls:`."""


def kept_trees(state: StoredTables) -> KeptTrees:
    """The trees of pages that the state has."""
    return lambda keys: kept.page_trees(state, keys)


def _none(keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], PageTree]:
    return {}


async def _with_pages(source: PlanSource, planned: Planned) -> Planned:
    if source.state is None:
        return planned
    with source.reader.giving(source.links):  # who can read what may have asked for pages
        return await _with_trees(source, source.state, planned)


async def _with_trees(source: PlanSource, state: StoredTables, planned: Planned) -> Planned:
    reader, kinds, desired, actual = source.reader, planned.kinds, planned.desired, planned.actual
    settings = url_settings(desired)
    known = _none if source.rereads else kept_trees(state)
    trees = await page_trees(reader, kinds, actual, planned.plan.site_urls, known)
    plan, links = with_urls(planned.plan, trees), planned.feature(LINKS)
    if dead := dead_pages(plan):
        with reader.keeping() as answers:
            links = await read_links(reader, kinds, actual, dead)
        source.links.update(answers)
    recorded = kept.recorded_urls(state) if settings is not None else planned.feature(RECORDED)
    changes, earlier = plan.feature(URLS).changes, settings is not None and settings.earlier
    answering = desired.judges_urls and bool(changes or recorded or earlier)
    if answering:
        missing = readable_spaces(plan.site_urls) - trees.keys()
        trees = {**trees, **await read_trees(reader, kinds, actual, sorted(missing), known)}
    return planned.with_feature(TREES, trees).with_feature(LINKS, links).with_feature(RECORDED, recorded).with_feature(ANSWERING, answering)


def _paged(planned: Planned) -> Planned:
    """The plan with the URLs of pages that it changes, the pages that link to those that answer nowhere after it, and all that answer."""
    if not planned.pages:
        return planned
    trees = planned.feature(TREES)
    plan = with_urls(planned.plan, trees)
    if dead := dead_pages(plan):
        objects = planned.actual.objects
        linking, failed = linking_pages(planned.feature(LINKS), dead, caller(planned.kinds, planned.objects, objects, objects))
        plan = replace(plan, notes=(*plan.notes, *failed)).with_feature(URLS, replace(plan.feature(URLS), linking=linking))
    if planned.feature(ANSWERING):
        plan = with_replaced(planned.kinds, planned.desired, planned.actual, planned.objects, with_answering(plan, trees))
    return replace(planned, plan=plan)


def _redirected(planned: Planned) -> Planned:
    settings, plan = url_settings(planned.desired), with_redirects(planned.desired, planned.plan, planned.feature(RECORDED))
    return replace(planned, plan=with_moved(settings.service, plan, planned.kinds.publishers) if settings is not None else plan)


def of_files(files: FilesCompared, plan: Plan) -> tuple[Plan, Sequence[str]]:
    settings = url_settings(files.new)
    redirects = between(url_settings(files.old) if files.old is not None else None, settings)
    says = settings is not None and (redirects is not None or plan.changes)
    return plan.with_feature(REDIRECT_PLAN, redirects), (TABLES,) if says else ()


PAGES: Final = Stage("pages", _paged, _with_pages)  # what answers where, before and after
REDIRECTS: Final = Stage("redirects", _redirected)  # behind all that changes URLs: from what answers after the plan, and the ledger


async def present(reader: Reader, kinds: Kinds, desired: Desired, state: State, known: KeptTrees) -> Plan:
    """A plan without changes, with what answers now. Sends GET requests alone."""
    actual = await observe(reader, kinds, desired, state)
    called = caller(kinds, state.addresses, actual.objects, actual.objects)
    now, _ = await read_answering(reader, kinds, actual, called, known)
    return Plan(desired.project, desired.environment).with_feature(URLS, PlannedUrls(answering_before=now, answering_after=now))
