"""The document of `drift --format json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from reconciler.plan.drift import DriftWord
from reconciler.report.schemas import types as t
from reconciler.report.schemas.plan import ExposureData, ViolationData


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
