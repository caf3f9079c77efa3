"""What URLs and redirects are in the report of a plan: lines, sentences, keys of its document. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.address import Address
from reconciler.features.urls.model.pages import LinkingPage, UrlGroup, UrlReason
from reconciler.features.urls.model.planned import REDIRECTS, URLS, PlannedUrls
from reconciler.features.urls.report.changes import numbers, page_sentences, url_lines
from reconciler.features.urls.report.redirects import INSTALLED, redirect_parts, redirects_data, redirects_of
from reconciler.model import Plan
from reconciler.model.features import FeatureValues
from reconciler.report.documents import record
from reconciler.report.gathering import EntryPart
from reconciler.report.schemas import plan as plan_types
from reconciler.report.sections import PlanSection, Rank
from reconciler.report.sheet import Weight
from reconciler.report.words import count

URLS_MAX: Final = 10_000  # URLs of pages in a document


def _entries(plan: Plan) -> Iterator[EntryPart]:
    for title, lines in url_lines(plan).items():
        yield EntryPart(title=title, lines=lines, weight=Weight.URGENT, rank=Rank.URL)
    yield from redirect_parts(plan.feature(REDIRECTS), files=Rank.CHANGE, dead=Rank.URL)


def _notes(plan: Plan) -> Iterator[str]:
    redirects = plan.feature(REDIRECTS)
    if redirects is not None and redirects.files:
        yield INSTALLED


def _to_write(plan: Plan) -> str:
    redirects = plan.feature(REDIRECTS)
    return f"{count(len(redirects.written), 'file')} of redirects" if redirects is not None and redirects.written else ""


def _to_do(plan: Plan) -> str:
    files = _to_write(plan)
    return f"{files} to write" if files else ""


def _troubles(plan: Plan) -> str:
    redirects = plan.feature(REDIRECTS)
    return count(len(redirects.dead), "dead URL") if redirects is not None and redirects.dead else ""


def _document(plan: Plan, max_urls: int | None) -> Mapping[str, Any]:
    document: dict[str, Any] = {}
    planned, redirects = plan.feature(URLS), plan.feature(REDIRECTS)
    if redirects is not None:
        document["redirects"] = redirects_data(redirects)
    if planned.changes:
        most = URLS_MAX if max_urls is None else max_urls
        changes = planned.changes
        ending = sorted(changes, key=lambda change: change.before is None) if len(changes) > most else changes
        document["urls"] = [record(plan_types.PageChangeData, change) for change in ending[:most]]
        document["urlCount"] = len(changes)
        document["urlGroups"] = [record(plan_types.UrlGroupData, group) for group in planned.groups]
    if planned.linking:
        document["linking"] = [record(plan_types.LinkingPageData, page) for page in planned.linking]
    return document


def _since(document: Mapping[str, Any], plan: Plan) -> str:
    shown = sum(int(group["urls"]) for group in document.get("urlGroups", ()))
    more = sum(group.urls for group in plan.feature(URLS).groups) - shown
    if more <= 0:
        return ""
    return f"Pages were added since the plan was saved: it ends or moves {count(more, 'more URL')} of pages than it shows."


def _read(document: Mapping[str, Any]) -> FeatureValues:
    groups = tuple(map(_group, document.get("urlGroups", ())))
    linking = tuple(
        LinkingPage(item["page"], item["title"], Address.parse(item["space"]), tuple(item["to"])) for item in document.get("linking", ())
    )
    return {URLS: PlannedUrls(groups=groups, linking=linking), REDIRECTS: redirects_of(document.get("redirects"))}


def _group(item: Mapping[str, Any]) -> UrlGroup:
    return UrlGroup(
        UrlReason(item["reason"]),
        Address.parse(item["site"]),
        item["root"],
        item["before"],
        item["after"],
        item["urls"],
        item["pages"],
        tuple(map(Address.parse, item["spaces"])),
    )


SECTION: Final = PlanSection(
    entries=_entries, document=_document, read=_read, sentences=page_sentences, to_do=_to_do, written=_to_write, broken=numbers,
    troubles=_troubles, notes=_notes, since=_since,
)  # fmt: skip
