"""The documents of `drift`: what was changed outside Reconciler, and what of it is accepted, as new files."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from reconciler.features.drift.model import DriftClass, DriftWord
from reconciler.report.schemas import types as t
from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.plan import ExposureData, ViolationData
from reconciler.report.schemas.types import Digest, Items, Record, Text, doc


class DriftedFieldData(t.Record):
    name: Annotated[t.Text, t.doc("The field, as the YAML calls it.")]
    lastApplied: Annotated[Any, t.doc("What was read after the last write.")]
    now: Annotated[Any, t.doc("The current value; null also where it is unknown.")]
    declared: Annotated[Any, t.doc("The value in the YAML.")]
    cause: Annotated[str, t.OneOf(("drift", "both")), t.doc("both: the YAML changed too.")]
    cannotBeSet: Annotated[bool, t.doc("No request sets it back.")]
    note: Annotated[t.Text | None, t.doc("Why it cannot be set back; null where it can.")]


class DriftedSpotData(t.Record):
    lastApplied: t.SpotData
    now: t.SpotData


class DriftedData(t.ResourceData):
    status: Annotated[str, t.OneOf(DriftWord)]
    fields: Annotated[t.Items[DriftedFieldData], t.doc("What differs from what was last applied.")]
    cannotBeSet: Annotated[bool, t.doc("Whether something of it cannot be set back by a request.")]
    place: Annotated[DriftedSpotData | None, t.doc("Its position among its siblings, if that changed.")]
    deletedAt: Annotated[t.Moment | None, t.doc("When it was deleted, where the service still shows it.")]
    restorableFor: Annotated[t.Count | None, t.doc("Seconds in which it can still be restored; null where the kind cannot be.")]
    source: t.SourceData | None


class DriftBoundsData(t.Record):
    after: Annotated[t.Moment | None, t.doc("A reading or a run that did not have it yet; null where none is known.")]
    before: Annotated[t.Moment | None, t.doc("The first reading that has it; null where none is known.")]


class DriftReaderData(t.Record):
    who: Annotated[t.Text, t.doc("A class of readers, in words.")]
    gains: Annotated[bool, t.doc("Whether they can read more; false: less.")]
    addresses: t.Items[t.AddressText]


class DriftUrlData(t.Record):
    before: Annotated[t.Text, t.doc("A published URL that stopped working; `/**` at its end: with everything below it.")]
    after: Annotated[t.Text | None, t.doc("Where the same content answers now; null where it answers nowhere.")]


_Class = TypedDict("_Class", {"class": Annotated[str, t.OneOf(DriftClass), t.doc("What it means, the worst of these.")]})


class DriftGroupData(_Class, t.Record):
    id: Annotated[t.Text, t.doc("The same in each run as long as the same differs.")]
    addresses: Annotated[t.Different[t.AddressText], t.doc("What was changed; of an unmanaged object the address that its id gives it.")]
    between: Annotated[DriftBoundsData, t.doc("When it happened.")]
    says: Annotated[t.Text, t.doc("What happened, as a sentence without its end.")]
    readers: Annotated[t.Items[DriftReaderData], t.doc("Who can read more or less.")]
    urls: Annotated[t.Items[DriftUrlData], t.doc("The published URLs that stopped working.")]
    effects: NotRequired[
        Annotated[t.Items[t.Text], t.doc("What somebody may do now, as ends of sentences. Absent: only what readers say.")]
    ]
    unmanaged: NotRequired[Annotated[t.UnmanagedData, t.doc("The object, of a group about an unmanaged one.")]]
    revert: NotRequired[Annotated[str, t.doc("The command that puts it back, and nothing else; empty where none does.")]]
    accept: NotRequired[Annotated[str, t.doc("The command that takes it into the files; empty where none does.")]]


class SilencedData(t.Record):
    address: t.AddressText
    field: Annotated[t.Text | None, t.doc("Null for a position or a deletion.")]
    reason: t.Text
    until: t.Day


class DriftSummaryData(t.Record):
    changed: t.Count
    deleted: t.Count
    moved: t.Count
    unmanaged: t.Count
    managed: t.Count
    silenced: t.Count
    ignored: NotRequired[Annotated[t.Count, t.doc("Differences that the YAML says to leave alone. Absent: none.")]]
    unjudged: t.Count
    coverage: Annotated[dict[str, t.Share], t.doc("The managed share of what was read, by kind.")]
    whole: Annotated[bool, t.doc("Whether everything that exists was read (--coverage).")]


class DriftDocument(t.Record):
    """What was changed outside Reconciler."""

    format: Literal["reconciler.drift/1"]
    project: Annotated[t.Text, t.doc("The project's name.")]
    environment: t.Text | None
    summary: DriftSummaryData
    resources: Annotated[t.Items[DriftedData], t.doc("What was changed; unchanged resources are not listed.")]
    unmanaged: t.Items[t.UnmanagedData]
    unknown: Annotated[t.Items[t.UnknownData], t.doc("What could not be read.")]
    unjudged: Annotated[t.Items[t.AddressText], t.doc("What the state does not track: no drift can be seen there.")]
    silenced: Annotated[t.Items[SilencedData], t.doc("What a baseline accepts; it is not among the resources.")]
    ignored: NotRequired[Annotated[t.Items[t.IgnoredData], t.doc("Differences that the YAML says to leave alone (`ignoreChanges`).")]]
    notes: t.Items[t.Text]
    violations: NotRequired[Annotated[t.Items[ViolationData], t.doc("Assertions of the project (`expect`, `access`) that are not met.")]]
    exposures: NotRequired[
        Annotated[t.Items[ExposureData], t.doc("What the changes made public, or no longer protected. Absent: nothing.")]
    ]
    groups: NotRequired[
        Annotated[
            t.Items[DriftGroupData],
            t.doc("The resources by what happened, and unmanaged access, the worst first. Absent: nothing."),
        ]
    ]


class ProposedFileData(Record):
    path: Annotated[Text, doc("Below the directory of the project.")]
    before: Annotated[Digest, doc("The SHA-256 of the text that the proposal was made from.")]
    text: str


class LeftToPeopleData(Record):
    name: Annotated[Text, doc("ADDRESS or ADDRESS.FIELD.")]
    reason: Text
    way: Annotated[Text, doc("What to change; empty where nothing is known.")]


class ProposalDocument(Record):
    """What was changed outside Reconciler, as new files of the project."""

    format: Literal["reconciler.proposal/1"]
    project: Text
    environment: Text | None
    title: Annotated[Text, doc("Of the commit and of the request.")]
    lines: Annotated[Items[Text], doc("What the commit says.")]
    files: Items[ProposedFileData]
    left: Annotated[Items[LeftToPeopleData], doc("What the files cannot simply take in.")]
    exposures: Annotated[Items[ExposureData], doc("What the files accept, and for which --allow-exposure is required.")]
    drift: DriftDocument


DOCUMENTS: Final = (
    PrintedDocument("drift", "Drift", DriftDocument),
    PrintedDocument("proposal", "What was changed outside Reconciler, as new files", ProposalDocument),
)
