"""The document of a proposal, which a fleet saves and a job of the repository opens."""

from __future__ import annotations

from typing import Annotated, Literal

from reconciler.report.schemas.plan import DriftDocument, ExposureData
from reconciler.report.schemas.types import Digest, Items, Record, Text, doc


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
