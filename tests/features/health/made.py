"""A site as its page shows it, made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from reconciler.features.health.model import CheckResult, Concern, HealthReport, Sort
from reconciler.features.health.site.model import SiteHealth, SiteHistory, SitePart
from reconciler.features.urls.model.ledger import EndedUrls
from reconciler.features.work.model import WorkItem, WorkSort
from reconciler.model.state import SiteRun
from tests.report.made import SITE, at


def site_page(title: str) -> SiteHealth:
    """A site with two sections, one of whose spaces could not be read, and three runs. `title`: of everything that has one."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    node, space = at("acme/site/docs/section/guides"), at("acme/space/guides")
    url = "https://docs.acme.example"
    parts = (
        SitePart(at("acme/site/docs/site-space/guides"), title, f"{url}/guides/v2", space, "anyone", 8, "", node, title, True, True),
        SitePart(at("acme/site/docs/site-space/old"), title, f"{url}/guides/v1", at("acme/space/old"), "visitors", 2, "", node, title),
    )
    closed = SitePart(at("acme/site/docs/site-space/faq"), title, None, at("acme/space/faq"), "", None, "GET …: 403")
    counted = replace(parts[0], address=at("acme/site/docs/site-space/top"), node=None, node_title="", pages=2)
    runs = tuple(
        SiteRun(f"run{day}", start + timedelta(days=day), "Ada", "apply", "a" * 40, {"update": 1}, begun, ended, live)
        for day, begun, ended, live in ((20, 0, 2, 12), (10, 6, 2, 14), (0, 10, 0, 10))
    )
    ended = (EndedUrls(f"{url}/use/**", f"{url}/guides/**", 4, start + timedelta(days=20), "run20"),)
    work = {space: (WorkSort("draft change request", 3, (WorkItem("cr_1", title, "Grace", start),)),)}
    results = (CheckResult("reading", at=start), CheckResult("expiry", at=start, concerns=(Concern(Sort.LINKS, str(space), title),)))
    report = HealthReport("acme-docs", None, start.date(), results, (title,))
    shown = (*parts, counted) if title == "Docs" else (*parts, counted, closed)
    return SiteHealth(report, SITE, title, url, "anyone", shown, 12, work, SiteHistory(runs, 12, ended))
