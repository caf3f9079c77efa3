"""The document of a rehearsal."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired

from reconciler.report.schemas import types as t
from reconciler.report.schemas.documents import PrintedDocument


class ReaderChangeData(t.Record):
    reader: Annotated[t.Text, t.doc("As `sandbox readers` names readers; a secret key of a share link is never part of it.")]
    who: Annotated[t.Text, t.doc("The same reader in words.")]
    kind: t.KindName
    title: t.Text
    address: Annotated[t.AddressText | None, t.doc("Null for an object that is not managed.")]
    people: NotRequired[
        Annotated[t.Text, t.doc("Of members who gain, those by name whom the plan names; empty for others. Absent in older documents.")]
    ]
    others: NotRequired[
        Annotated[
            bool,
            t.doc("Whether whoever was given access one by one may be among them, because that was not read. Absent in older documents."),
        ]
    ]
    before: NotRequired[
        Annotated[
            t.Text | None, t.doc("Who the same reader was in words, if they could read it and may do more now. Absent in older documents.")
        ]
    ]


class ReadersData(t.Record):
    gained: t.Items[ReaderChangeData]
    lost: t.Items[ReaderChangeData]


class MovedUrlData(t.Record):
    before: t.Text
    after: t.Text


class ClosedUrlsData(t.Record):
    """Published URLs that no longer answer to the same readers, whoever else still gets them."""

    readers: Annotated[t.Items[t.Text], t.doc("As `sandbox readers` names them.")]
    who: Annotated[t.Items[t.Text], t.doc("The same readers in words, without those who are included in a wider class.")]
    urls: t.Items[t.Text]
    answering: Annotated[t.Count, t.doc("How many of the URLs still answer to somebody.")]


class TestedRedirectsData(t.Record):
    asked: Annotated[t.Count, t.doc("Redirects of the project's files whose ends were looked for on the copy.")]
    broken: Annotated[t.Items[t.Text], t.doc("Those from before the plan that do not work, a sentence each.")]


class UrlsData(t.Record):
    before: Annotated[t.Count, t.doc("Published URLs that answered to somebody at the start.")]
    after: t.Count
    dead: Annotated[
        t.Items[t.Text], t.doc("URLs that no longer answer to a reader to whom they did, and whose page answers to them nowhere new.")
    ]
    moved: Annotated[t.Items[MovedUrlData], t.doc("URLs that no longer answer, with a new URL of their page.")]
    closed: NotRequired[Annotated[t.Items[ClosedUrlsData], t.doc("The URLs of both lists by their readers. Absent in older documents.")]]
    redirects: NotRequired[Annotated[TestedRedirectsData, t.doc("Absent in older documents.")]]


class WorstData(t.Record):
    after: t.Number
    of: t.Number
    deadUrls: Annotated[t.Count, t.doc("Published URLs that do not answer to a reader to whom they answered at the start.")]
    deadFor: NotRequired[Annotated[t.Items[t.Text], t.doc("Those readers in words. Absent in older documents.")]]
    readersGained: t.Count
    opened: Annotated[t.Count, t.doc("Objects with a new reader.")]


class MomentData(t.Record):
    after: t.Number
    request: Annotated[t.Text, t.doc("The method and the path of the write, without its query.")]
    deadUrls: Annotated[t.Count, t.doc("Published URLs that do not answer to a reader to whom they answered at the start.")]
    deadFor: NotRequired[Annotated[t.Items[t.Text], t.doc("Those readers in words. Absent in older documents.")]]
    readersGained: t.Count
    refused: Annotated[t.Items[t.Text], t.doc("Demands of `access` that are not met then, and were at the start.")]
    opened: Annotated[t.Count, t.doc("Objects with a new reader.")]
    address: Annotated[t.AddressText | None, t.doc("The object that the write was about; null for a write that belongs to no step.")]
    what: Annotated[t.Text, t.doc("What the write did, in words.")]


class DivergenceData(t.Record):
    """A defect of Reconciler: the planner said something else than the copy showed."""

    address: Annotated[t.AddressText | None, t.doc("Null where it is about the whole plan.")]
    after: Annotated[t.Number | None, t.doc("The request after which it was observed; null for the end.")]
    prediction: t.Text
    observation: t.Text


class DeletedObjectData(t.Record):
    kind: t.KindName
    title: t.Text
    address: Annotated[t.AddressText | None, t.doc("Null for an object that is not managed.")]
    pages: Annotated[t.Count, t.doc("Pages that were in it.")]


class RehearsedSiteData(t.Record):
    id: t.Text
    title: t.Text
    url: t.Text
    address: Annotated[t.AddressText | None, t.doc("Null for a site that is not managed.")]
    published: bool
    differences: Annotated[t.Count, t.doc("The sum of the six numbers below.")]
    deadPages: Annotated[t.Count, t.doc("Pages with a URL that no longer answers, and no new one.")]
    movedPages: Annotated[t.Count, t.doc("Pages with a URL that no longer answers, and a new one.")]
    newPages: Annotated[t.Count, t.doc("Pages that this site did not publish before.")]
    opened: Annotated[t.Count, t.doc("Spaces on this site with a new reader.")]
    closed: Annotated[t.Count, t.doc("Spaces that were on this site, and that a reader can no longer read.")]
    renamed: Annotated[t.Count, t.doc("Sections, groups, variants and pages with another title, and the site itself.")]


class RehearsalDigestsData(t.Record):
    plan: t.Digest
    reading: t.Digest


class RehearsalRequestsData(t.Record):
    copy: Annotated[t.Count, t.doc("GETs to the living service.")]
    apply: Annotated[t.Count, t.doc("Writes to the copy.")]


class RehearsalUndoData(t.Record):
    exact: bool
    leftovers: Annotated[t.Items[t.Text], t.doc("What an undo does not bring back, one sentence each.")]


class RehearsalDocument(t.Record):
    """What a plan led to on a copy of the organization."""

    format: Literal["reconciler.rehearsal/1"]
    project: t.Text
    environment: t.Text | None
    digests: RehearsalDigestsData
    requests: RehearsalRequestsData
    secondPlanEmpty: bool
    remaining: Annotated[t.Items[t.Text], t.doc("What a second plan would still do.")]
    undo: RehearsalUndoData
    readers: ReadersData
    urls: UrlsData
    deleted: Annotated[t.Items[DeletedObjectData], t.doc("Objects that existed at the start and do not at the end.")]
    sites: Annotated[t.Items[RehearsedSiteData], t.doc("Every site, compared with the start.")]
    worst: Annotated[WorstData | None, t.doc("The worst moment at which the apply could stop; null where none is worse than the start.")]
    moments: Annotated[t.Items[MomentData], t.doc("After each write, compared with the start.")]
    refusals: Annotated[t.Items[t.Text], t.doc("What `apply` would refuse.")]
    openWork: Annotated[t.Items[t.Text], t.doc("What people work on in what the plan ends or interrupts, and `apply` would not refuse.")]
    failures: Annotated[t.Items[t.Text], t.doc("Requests that failed on the copy.")]
    divergences: Annotated[t.Items[DivergenceData], t.doc("Where the planner said something else than the copy showed.")]
    assumptions: Annotated[t.Items[t.Text], t.doc("What the copy guesses about the service, as far as this plan depends on it.")]
    unread: Annotated[t.Items[t.Text], t.doc("What could not be read, so that the copy lacks it.")]


DOCUMENTS: Final = (PrintedDocument("rehearsal", "What a plan led to on a copy", RehearsalDocument),)
