"""The document of `access`: who can read what, now and after the plan."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired

from reconciler.report.schemas import types as t
from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.plan import ViolationData


class ReaderData(t.Record):
    reader: Annotated[t.Text, t.doc("Who, in words; with --as the reader as it was named.")]
    level: Annotated[t.Text, t.doc("What they may do: read, comment, edit, review, create, admin; empty where it is not known.")]
    perhaps: Annotated[t.Text, t.doc("What they may do more, where that is not known; empty where it is.")]
    path: Annotated[t.Items[t.Text], t.doc("The way to the object, from it to what admits them.")]
    doubt: Annotated[t.Text, t.doc("Why it cannot be decided whether they are a reader; empty where it can.")]
    reason: Annotated[t.Text, t.doc("By name, why a person can read it: their role, or that they were given access; empty otherwise.")]


class ReviewedData(t.Record):
    address: t.AddressText
    kind: t.KindName
    id: Annotated[t.Text | None, t.doc("Null where the plan creates it.")]
    title: t.Text
    managed: Annotated[bool, t.doc("Whether the project declares it.")]
    before: Annotated[list[ReaderData] | None, t.doc("Its readers now; null where it does not exist.")]
    after: Annotated[list[ReaderData] | None, t.doc("Its readers after the plan; null where it does not exist then.")]
    changed: Annotated[bool, t.doc("Whether it has other readers after the plan.")]


class NamedReadersData(t.Record):
    address: t.AddressText
    before: Annotated[list[ReaderData] | None, t.doc("Everybody who can read it now, by name; null where it does not exist.")]
    after: Annotated[list[ReaderData] | None, t.doc("Everybody who can read it after the plan; null where it does not exist then.")]


class AccessDocument(t.Record):
    """Who can read what, now and after the plan."""

    format: Literal["reconciler.access/1"]
    project: Annotated[t.Text, t.doc("The project's name.")]
    environment: t.Text | None
    createdAt: t.Moment
    readers: Annotated[t.Items[t.Text], t.doc("The readers of --as; empty for all classes of readers.")]
    objects: t.Items[ReviewedData]
    people: NotRequired[Annotated[t.Items[NamedReadersData], t.doc("With --people, the same objects by name; absent where not read.")]]
    violations: Annotated[t.Items[ViolationData], t.doc("Access tests and policies of the project that the plan violates.")]
    unknown: Annotated[t.Items[t.UnknownData], t.doc("What could not be read.")]


DOCUMENTS: Final = (PrintedDocument("access", "Who can read what", AccessDocument),)
