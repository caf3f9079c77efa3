"""Accepted drift: what was changed outside Reconciler, as new files for one commit, and what no file can take in. Pure.

    drift --chosen field by field--> fields that files can have -> new texts -> AcceptedDrift -> a branch, and a request on a forge
                      `-> LeftToPeople: generated, deleted, sensitive: with the line to change

In: the new texts, and what is left. Out: the words of the commit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from reconciler.errors import Refused
from reconciler.features.drift.documents import DriftDocument, ProposalDocument
from reconciler.model import Exposure
from reconciler.report.documents import exposure_data
from reconciler.report.reading import exposure_of
from reconciler.text.escape import commit
from reconciler.yamltext.line_ends import plain

BRANCH: Final = "reconciler/drift"
TRAILER: Final = "Reconciler-Accepted"
LINE_MAX: Final = 400  # characters of a line of the commit's message
LINES_MAX: Final = 200
_DIGEST: Final = re.compile(rf"^{TRAILER}: ([0-9a-f]{{16}})$", re.MULTILINE)


@dataclass(frozen=True)
class LeftToPeople:
    """A change that no file can simply take in. `name`: ADDRESS or ADDRESS.field. `way`: the line to change, "" if none is known."""

    name: str
    reason: str
    way: str

    @property
    def says(self) -> str:
        return ". ".join(filter(None, [self.reason.removesuffix("."), self.way]))

    def __str__(self) -> str:
        return self.says if self.says.startswith(f"{self.name} ") else f"{self.name}: {self.says}"


@dataclass(frozen=True)
class AcceptedDrift:
    """One commit. `files`: the new texts by path. `lines`: what the commit says. `exposures`: what it accepts, which requires consent.
    `branch`: PROJECT or PROJECT@ENVIRONMENT below `BRANCH`, other characters escaped."""

    project: str
    environment: str | None
    files: Mapping[str, str]
    title: str
    lines: tuple[str, ...]
    left: tuple[LeftToPeople, ...]
    exposures: tuple[Exposure, ...] = ()

    @property
    def branch(self) -> str:
        # Escaped and not replaced: two projects must never have one branch.
        return f"{BRANCH}/{'@'.join(quote(word, safe='').replace('.', '%2E') for word in (self.project, self.environment) if word)}"

    @property
    def digest(self) -> str:
        """16 hexadecimal characters: the same files and words have the same."""
        parts = [text for path in sorted(self.files) for text in (path, self.files[path])]
        return sha256("\0".join([*parts, "", *self._body()]).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def message(self) -> str:
        return "\n".join([*self._body(), "", f"{TRAILER}: {self.digest}", ""])

    def _body(self) -> list[str]:
        left = [f"- {commit(str(item))[:LINE_MAX]}" for item in self.left[:LINES_MAX]]
        lines = [f"- {commit(line)[:LINE_MAX]}" for line in self.lines[:LINES_MAX]]
        return [self.title, "", *lines, *(["", "Left to people:", *left] if left else [])]


def owned_digest(accepted: AcceptedDrift, message: str) -> str:
    """The digest in the message of the last commit of its branch. Raises `Refused` if accepting drift did not make that commit."""
    matches = _DIGEST.findall(message)
    if not matches:
        wrong = f"{accepted.branch} has commits that Reconciler did not make, and accepting the drift would replace them"
        raise Refused(wrong, id="RC-branch-taken", hint="Merge or delete that branch, then propose again.")
    return str(matches[-1])


def title_of(project: str, environment: str | None, number: int) -> str:
    """The title of a commit and of its request, of at most 72 characters unless the name of the project is long."""
    where = f"{project}, {environment}" if environment else project
    return commit(f"Accept {number:,} change{'' if number == 1 else 's'} made outside Reconciler in {where}")


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
