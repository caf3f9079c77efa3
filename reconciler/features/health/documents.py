"""The documents of `health`: whether an organization works for its readers, and one site on one page."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from reconciler.features.health.model import ConcernLevel, HealthStatus, Sort
from reconciler.report.schemas import types as t
from reconciler.report.schemas.documents import PrintedDocument

STATUSES = (*HealthStatus, "off")


class HealthConcernData(t.Record):
    sort: Annotated[str, t.OneOf(Sort), t.doc("The subject.")]
    level: Annotated[str, t.OneOf((*ConcernLevel, "later")), t.doc("How bad it is; `later`: it ends, but not soon.")]
    address: Annotated[t.Text, t.doc("Of the object; for an unmanaged one, the address it would have. Empty for none.")]
    sentence: Annotated[t.Text, t.doc("What is wrong, without its full stop.")]
    until: Annotated[t.Day | None, t.doc("The last day on which it works; null where it has none.")]
    id: t.CauseId


class HealthCheckData(t.Record):
    name: Annotated[t.Text, t.doc("The key in `health`, or of a check that costs no request its own name.")]
    status: Annotated[str, t.OneOf(STATUSES), t.doc("`unknown`: it could not be made completely; `off`: nobody asked for it.")]
    at: Annotated[t.Moment | None, t.doc("When it was made; null where it was not.")]
    operations: Annotated[t.Items[t.Text], t.doc("The requests that it sends; empty where it sends none.")]
    cost: Annotated[t.Text, t.doc("How many it sends, in words.")]
    requests: Annotated[t.Count, t.doc("How many it sent.")]
    concerns: t.Items[HealthConcernData]
    unknown: Annotated[t.Items[t.Text], t.doc("Why it is not known whether all is well.")]


class HealthDocument(t.Record):
    """Whether an organization works for its readers."""

    format: Literal["reconciler.health/1"]
    project: Annotated[t.Text, t.doc("The project's name.")]
    environment: t.Text | None
    createdAt: t.Moment
    status: Annotated[str, t.OneOf(HealthStatus), t.doc("That of the worst check.")]
    checks: t.Items[HealthCheckData]
    notes: Annotated[t.Items[t.Text], t.doc("Sentences for the reader.")]


class SitePartData(t.Record):
    address: t.AddressText
    node: Annotated[t.AddressText | None, t.doc("What it is in, such as a section; null at the top of the site.")]
    nodeTitle: t.Text | None
    nodeDefault: Annotated[bool, t.doc("Whether that also answers without its segment.")]
    space: Annotated[t.AddressText, t.doc("Whose pages it shows.")]
    title: Annotated[t.Text, t.doc("The space's.")]
    url: t.Text | None
    default: Annotated[bool, t.doc("Whether it also answers without its segment.")]
    readers: Annotated[t.Text, t.doc("In words.")]
    pages: Annotated[t.Count | None, t.doc("Pages with a URL; null where they are not known.")]
    unknown: Annotated[t.Text | None, t.doc("Why not.")]


class BegunItemData(t.Record):
    id: t.Text
    title: t.Text
    author: t.Text
    since: t.Moment | None


class BegunSortData(t.Record):
    noun: Annotated[t.Text, t.doc("What one is.")]
    number: t.Count | None
    items: Annotated[t.Items[BegunItemData], t.doc("Some of it.")]
    unknown: Annotated[t.Text | None, t.doc("Why the titles or the number are not known.")]


class BegunWorkData(t.Record):
    address: t.AddressText
    sorts: t.Items[BegunSortData]


class EndedUrlsData(t.Record):
    before: Annotated[t.Text, t.doc("A URL, or a pattern that ends in `/**`.")]
    after: Annotated[t.Text | None, t.doc("Where their pages answer now; null: nowhere.")]
    urls: t.Count
    at: t.Moment
    run: Annotated[t.Text, t.doc("That saw them no more.")]


class SiteRunData(t.Record):
    run: t.Text
    at: t.Moment
    who: t.Text
    command: t.Text
    commit: Annotated[t.CommitId | None, t.doc("Of its files; null where nobody knows it.")]
    changed: Annotated[dict[t.Text, t.Count], t.doc("Requests about the site and what is in it, by verb.")]
    begun: Annotated[t.Count, t.doc("URLs that it saw first.")]
    ended: Annotated[t.Count, t.doc("URLs that it saw no more.")]
    live: Annotated[int, t.doc("URLs that answer after it.")]


class SiteHistoryData(t.Record):
    answer: Annotated[t.Count, t.doc("Recorded URLs that answer.")]
    complete: Annotated[bool, t.doc("False: a run may have changed URLs and did not record them.")]
    ended: Annotated[t.Items[EndedUrlsData], t.doc("URLs at which nothing answers now, those that ended last first.")]
    runs: Annotated[t.Items[SiteRunData], t.doc("Newest first.")]


class SiteDocument(t.Record):
    """One site: what it publishes for whom, how it is, and how it came to be so."""

    format: Literal["reconciler.site-health/1"]
    project: Annotated[t.Text, t.doc("The project's name.")]
    environment: t.Text | None
    createdAt: t.Moment
    site: t.AddressText
    title: t.Text
    url: Annotated[t.Text | None, t.doc("null: it is not published.")]
    readers: Annotated[t.Text, t.doc("In words.")]
    status: Annotated[str, t.OneOf(HealthStatus), t.doc("That of the worst check.")]
    urls: Annotated[t.Count | None, t.doc("How many answer now for all whom the site admits; null where that is not known.")]
    parts: Annotated[t.Items[SitePartData], t.doc("What it shows, in its order.")]
    work: Annotated[t.Items[BegunWorkData], t.doc("What people have begun in what it shows.")]
    checks: t.Items[HealthCheckData]
    history: Annotated[SiteHistoryData | None, t.doc("From the state; null where no ledger has the site.")]
    unknown: Annotated[t.Text | None, t.doc("Why there is no history.")]
    notes: Annotated[t.Items[t.Text], t.doc("Sentences for the reader.")]


DOCUMENTS: Final = (
    PrintedDocument("health", "Whether an organization works for its readers", HealthDocument),
    PrintedDocument("site-health", "One site on one page", SiteDocument),
)
