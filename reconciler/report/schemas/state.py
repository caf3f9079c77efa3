"""The documents of the state: the whole (`state pull`, `state push`), and those of `state list` and `state show`.

`StoredTables…` are rows of the database; their keys are written in this order.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from reconciler.model import Origin, What
from reconciler.report.schemas import types as t

Ids = dict[t.Text, t.Text]
PageTexts = Annotated[list[t.Text], Field(min_length=3, max_length=4)]


class TrackedData(t.ResourceData):
    id: Annotated[t.Text, t.doc("The object's id on the service.")]
    origin: Annotated[str, t.OneOf(Origin)]
    protected: bool


class StateListDocument(t.Record):
    """What the state tracks."""

    format: Literal["reconciler.state-list/1"]
    lineage: Annotated[t.Text, t.doc("Identifies the state; empty where there is none yet.")]
    serial: t.Stored
    bindings: Annotated[t.Items[TrackedData], t.doc("By address.")]


class TrackedFieldData(t.Record):
    name: Annotated[t.Text, t.doc("The field, as the YAML calls it.")]
    sent: Annotated[Any, t.doc("The value that was sent last; null also where none was. Sensitive values are not shown.")]
    seen: Annotated[Any, t.doc("The value that was read after it; null also where none was.")]


class StateShowDocument(TrackedData):
    """What the state remembers of an address."""

    format: Literal["reconciler.state-show/1"]
    fields: t.Items[TrackedFieldData]


class PositionData(t.Record):
    parent: Annotated[t.Text, t.doc("Its address, or empty for the top.")]
    index: t.Stored


class MemoryData(t.Record):
    sent: NotRequired[Annotated[Any, t.doc("As the request had it; absent: nothing.")]]
    seen: NotRequired[Annotated[Any, t.doc("Absent: nothing.")]]


class BindingData(TrackedData):
    place: PositionData | None
    fields: Annotated[dict[t.Text, MemoryData], t.doc("Without the sensitive ones.")]


class RulesData(t.Record):
    guards: t.Object
    prune: dict[t.Text, t.Text]
    protect: t.Items[t.Text]
    access: NotRequired[Annotated[t.Items[t.Text], t.doc("What readers must and must not see; absent: nothing.")]]
    policies: NotRequired[Annotated[dict[t.Text, t.Text], t.doc("The level and the digest of each policy, by id; absent: none.")]]
    exceptions: NotRequired[Annotated[t.Items[t.Text], t.doc("The exceptions to policies; absent: none.")]]


class StoredRunData(t.Record):
    id: t.Text
    who: t.Text
    command: t.Text
    started: t.Moment
    ended: Annotated[t.Moment | None, t.doc("Null where it is running or was killed.")]
    summary: t.Object | None
    exit: t.Stored | None


class StoredOutcomeData(t.Record):
    at: t.Moment
    run: Annotated[t.Text, t.doc("The run that wrote it, perhaps a later one.")]
    status: t.Ended
    error: t.Text | None
    bound: Annotated[Ids, t.doc("Ids by address.")]
    forgotten: t.Items[t.AddressText]


class StoredRequestData(t.Record):
    id: t.StoredNumber
    at: t.Moment
    run: t.Text
    step: t.Stored
    address: t.AddressText
    kind: t.KindName
    verb: t.Text
    method: t.Method
    path: t.Text
    target: t.Text | None
    writes: Annotated[t.Object, t.doc("The values as the request had them, by field, without the sensitive ones.")]
    known: Annotated[t.Digest, t.doc("One of `known`.")]
    date: t.Moment | None
    deadline: t.Moment | None
    brings: Ids
    lookup: t.Items[t.Text]
    before: Annotated[t.Object | None, t.doc("The values before; null where undoing it needs nothing.")]
    after: Annotated[t.Object | None, t.doc("The values that were read when it was done.")]
    open: Annotated[bool, t.doc("Whether it has no outcome yet, or is in doubt.")]
    outcomes: t.Items[StoredOutcomeData]


class StoredTurnData(t.Record):
    id: t.StoredNumber
    at: t.Moment
    run: t.Text
    what: Annotated[str, t.OneOf(What)]
    address: t.AddressText
    kind: t.KindName
    old: t.AddressText | None
    object: t.Text


class RenameData(t.Record):
    old: t.AddressText
    new: t.AddressText


class StoredUrlData(t.Record):
    url: t.Text
    number: Annotated[t.StoredNumber, t.doc("Of the times that the URL answered, from 1.")]
    site: t.AddressText
    page: Annotated[t.Text, t.doc("Its id.")]
    since: t.Moment
    run: Annotated[t.Text, t.doc("The run that saw it first.")]
    ended: Annotated[t.Moment | None, t.doc("Null as long as it answers.")]
    ender: Annotated[t.Text | None, t.doc("The run that saw it no more.")]


class UrlRecordData(StoredUrlData):
    """A time in which a page answered at a URL."""


class UrlListDocument(t.Record):
    """The ledger of published URLs: those that answer, or those that ended."""

    format: Literal["reconciler.urls/1"]
    urls: Annotated[t.Items[UrlRecordData], t.doc("In the order of URLs.")]


class UrlHistoryDocument(t.Record):
    """What is known of one URL."""

    format: Literal["reconciler.url-history/1"]
    url: t.Text
    records: Annotated[t.Items[UrlRecordData], t.doc("Newest first.")]
    now: Annotated[t.Items[t.Text], t.doc("Where the page of the newest record answers.")]
    last: Annotated[t.Items[UrlRecordData], t.doc("Where it answered last, if it answers nowhere now and that was later than at this URL.")]
    commit: Annotated[t.CommitId | None, t.doc("Of the files of the run that ended it, or saw it first; null where nobody knows it.")]


class UrlSiteData(t.Record):
    site: t.AddressText
    digest: Annotated[t.Text, t.doc("Of what its URLs were computed from.")]


class ApprovalData(t.Record):
    run: t.Text
    digest: Annotated[t.Text, t.doc("The plan's.")]


class StoredTreeData(t.Record):
    kind: t.KindName
    id: Annotated[t.Text, t.doc("The id of the object that contains the pages.")]
    revision: Annotated[t.Text, t.doc("Of its content.")]
    pages: Annotated[
        t.Items[PageTexts],
        t.doc("The id, the title, the path and the condition of each, in the order of readers. Without conditions in older states."),
    ]


class StateDocument(t.Record):
    """A whole state."""

    format: Literal["reconciler.state/1"]
    project: t.Text
    environment: t.Text | None
    service: Annotated[t.Text, t.doc("Its address, or `sandbox:` with the sandbox's own id. Ids mean nothing elsewhere.")]
    lineage: Annotated[t.Text, t.doc("Identifies this state for good.")]
    serial: Annotated[t.Stored, t.doc("Grows with every run that writes.")]
    bindings: t.Items[BindingData]
    rules: Annotated[RulesData | None, t.doc("Those under which the project was last applied.")]
    runs: Annotated[t.Items[StoredRunData], t.doc("Oldest first.")]
    known: Annotated[dict[t.Text, t.Items[t.Text]], t.doc("Lists of ids, by their digests.")]
    requests: Annotated[t.Items[StoredRequestData], t.doc("The journal, in its order.")]
    turns: Annotated[t.Items[StoredTurnData], t.doc("What changed in the state without a request.")]
    renames: NotRequired[Annotated[t.Items[RenameData], t.doc("Renames of the YAML that have had their effect; absent: none.")]]
    urls: NotRequired[Annotated[t.Items[StoredUrlData], t.doc("The ledger of published URLs; absent: none.")]]
    urlSites: NotRequired[Annotated[t.Items[UrlSiteData], t.doc("What it has of each site; absent: nothing.")]]
    approvals: Annotated[t.Items[ApprovalData], t.doc("Runs that carried out a saved plan.")]
    trees: NotRequired[Annotated[t.Items[StoredTreeData], t.doc("Pages of what is published, whose URLs a plan changed; absent: none.")]]
