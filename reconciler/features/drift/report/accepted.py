"""The document of accepted drift: what is saved, and what is read back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from reconciler.features.drift.accepted import AcceptedDrift, LeftToPeople
from reconciler.features.drift.documents import DriftDocument, ProposalDocument
from reconciler.report.documents import exposure_data
from reconciler.report.reading import exposure_of
from reconciler.yamltext.line_ends import plain


def accepted_document(accepted: AcceptedDrift, before: Mapping[str, str], drift: DriftDocument) -> ProposalDocument:
    """The document of accepted drift. `before`: the texts that it was made from, by path."""
    return {
        "format": "reconciler.proposal/1",
        "project": accepted.project,
        "environment": accepted.environment,
        "title": accepted.title,
        "lines": list(accepted.lines),
        "files": [{"path": path, "before": digest_of(before[path]), "text": text} for path, text in accepted.files.items()],
        "left": [{"name": item.name, "reason": item.reason, "way": item.way} for item in accepted.left],
        "exposures": [exposure_data(exposure) for exposure in accepted.exposures],
        "drift": drift,
    }


def accepted_of(document: Mapping[str, Any]) -> AcceptedDrift:
    """The accepted drift of a valid document."""
    return AcceptedDrift(
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
