"""A proposal: what was changed outside Reconciler, as new files for one commit, and what no file can take in. Pure.

    drift --chosen field by field--> fields that files can have -> new texts -> Proposal -> a branch, and a request on a forge
                      `-> LeftToPeople: generated, deleted, sensitive: with the line to change

In: the drift, and an `Acceptance`, which knows the files. Out: which fields to accept, and the words of the commit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.importer.accept import Acceptance, AcceptedField, chosen
from reconciler.model import Exposure
from reconciler.model.desired import Generation
from reconciler.model.drift import Drift
from reconciler.text.escape import commit

BRANCH: Final = "reconciler/drift"
TRAILER: Final = "Reconciler-Proposal"
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
class Proposal:
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
        """16 hexadecimal characters: the same files and words are the same proposal."""
        parts = [text for path in sorted(self.files) for text in (path, self.files[path])]
        return sha256("\0".join([*parts, "", *self._body()]).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def message(self) -> str:
        return "\n".join([*self._body(), "", f"{TRAILER}: {self.digest}", ""])

    def _body(self) -> list[str]:
        left = [f"- {commit(str(item))[:LINE_MAX]}" for item in self.left[:LINES_MAX]]
        lines = [f"- {commit(line)[:LINE_MAX]}" for line in self.lines[:LINES_MAX]]
        return [self.title, "", *lines, *(["", "Left to people:", *left] if left else [])]


def owned_digest(proposal: Proposal, message: str) -> str:
    """The digest in the message of the last commit of the proposal's branch. Raises `Refused` if no earlier proposal made that commit."""
    matches = _DIGEST.findall(message)
    if not matches:
        wrong = f"{proposal.branch} has commits that Reconciler did not make, and the proposal would replace them"
        raise Refused(wrong, id="RC-branch-taken", hint="Merge or delete that branch, then propose again.")
    return str(matches[-1])


def title_of(project: str, environment: str | None, number: int) -> str:
    """The title of a commit and of its request, of at most 72 characters unless the name of the project is long."""
    where = f"{project}, {environment}" if environment else project
    return commit(f"Accept {number:,} change{'' if number == 1 else 's'} made outside Reconciler in {where}")


def acceptable(
    drift: Drift, acceptance: Acceptance, generated: Mapping[Address, Generation], moved_outside: Collection[Address]
) -> tuple[list[AcceptedField], list[LeftToPeople]]:
    """The changes that files can take in, and the others."""
    fields: list[AcceptedField] = []
    left: list[LeftToPeople] = []
    for drifted in drift.resources:
        try:
            fields += chosen(drift, [str(drifted.address)], generated, acceptance.kinds)
        except Refused as error:
            left.append(_left(str(drifted.address), error))
    if fields and _refusal(acceptance, fields, moved_outside) is None:
        return fields, left
    fitting, waiting = list[AcceptedField](), list[tuple[AcceptedField, Refused]]()
    for field in fields:  # alone, to find out which of them the files cannot have
        refusal = _refusal(acceptance, [field], moved_outside)
        if refusal is None:
            fitting.append(field)
        else:
            waiting.append((field, refusal))
    for field, alone in waiting:
        # What moves into lines that were inside its own is accepted together with the move of those.
        together = _refusal(acceptance, [*fitting, field], moved_outside) if alone.id == "RC-accept-container-first" else alone
        if together is None:
            fitting.append(field)
        else:
            left.append(_left(str(field), together))
    return [field for field in fields if field in fitting], left


def _refusal(acceptance: Acceptance, fields: Sequence[AcceptedField], moved_outside: Collection[Address]) -> Refused | None:
    try:
        Acceptance(acceptance.matched, acceptance.texts).edited(fields, moved_outside)
    except Refused as error:
        return error
    return None


def _left(name: str, error: Refused) -> LeftToPeople:
    return LeftToPeople(name, error.message, error.hint or "")
