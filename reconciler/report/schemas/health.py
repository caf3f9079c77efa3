"""The document of `health`: whether an organization works for its readers."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.model import HealthStatus, Sort
from reconciler.model.policy import ConcernLevel
from reconciler.report.schemas import types as t

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
