"""The position of a finding in the notation of other programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256

from reconciler.model import Finding, Source


def path_of(source: Source, folder: str) -> str:
    """The path of a file of the project from the root of the repository. `folder`: the project's, "" if it is the root."""
    return f"{folder}/{source.file}" if folder and not source.file.startswith("/") else source.file


def with_fingerprints(findings: Iterable[Finding], folder: str) -> Iterator[tuple[Finding, str]]:
    """Each finding with a text that stays the same when lines above it move; equal ones are numbered."""
    met: Counter[str] = Counter()
    for finding in findings:
        file = path_of(finding.source, folder) if finding.source is not None else ""
        text = "\n".join((finding.name, finding.address, finding.message, file))
        met[text] += 1
        yield finding, sha256(f"{text}\n{met[text]}".encode("utf-8", "surrogatepass")).hexdigest()
