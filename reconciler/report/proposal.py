"""The document of a proposal: what is saved, and what is read back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reconciler.importer.accepted import LeftToPeople, Proposal
from reconciler.report.documents import exposure_data
from reconciler.report.reading import exposure_of
from reconciler.report.schemas.plan import DriftDocument
from reconciler.report.schemas.proposal import ProposalDocument
from reconciler.yamltext.line_ends import plain


def proposal_document(proposal: Proposal, before: Mapping[str, str], drift: DriftDocument) -> ProposalDocument:
    """The document of a proposal. `before`: the texts that it was made from, by path."""
    return {
        "format": "reconciler.proposal/1",
        "project": proposal.project,
        "environment": proposal.environment,
        "title": proposal.title,
        "lines": list(proposal.lines),
        "files": [{"path": path, "before": digest_of(before[path]), "text": text} for path, text in proposal.files.items()],
        "left": [{"name": item.name, "reason": item.reason, "way": item.way} for item in proposal.left],
        "exposures": [exposure_data(exposure) for exposure in proposal.exposures],
        "drift": drift,
    }


def proposal_of(document: Mapping[str, Any]) -> Proposal:
    """The proposal of a valid document."""
    return Proposal(
        document["project"],
        document["environment"],
        {file["path"]: file["text"] for file in document["files"]},
        document["title"],
        tuple(document["lines"]),
        tuple(LeftToPeople(**item) for item in document["left"]),
        tuple(map(exposure_of, document["exposures"])),
    )


def digest_of(text: str) -> str:
    """64 hexadecimal characters: the same for each line end that a checkout may have."""
    return sha256(plain(text).encode("utf-8", "surrogatepass")).hexdigest()
