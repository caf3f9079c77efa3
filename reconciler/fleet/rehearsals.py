"""Rehearsals of the plans of a fleet: what people asked for, and what came of it. Pure.

A rehearsal is of one plan on one reading. Its digest covers both and all that it shows, so an approval that names it ends with any of them.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from reconciler.errors import ReconcilerError
from reconciler.features.rehearsal.documents import RehearsalDocument
from reconciler.report.schemas.documents import problem

KEPT: Final = 3  # rehearsals of a project: of the last plans that were rehearsed
STORED_MAX: Final = 2 * 2**20  # bytes of one, compressed
DOCUMENT_MAX: Final = 32 * 2**20  # bytes of its document
TEXT_MAX: Final = 16_000  # characters; a rehearsal has at most 25 lines
ERROR_MAX: Final = 1_000
TRIES_MAX: Final = 3
LOST: Final = f"{TRIES_MAX} runs that rehearsed it were lost with their workers"
MOVED: Final = "the plan changed before it was rehearsed"
WAITING, UNDER_WAY, FAILED, DONE = "waiting", "underWay", "failed", "done"
STATES: Final = (WAITING, UNDER_WAY, FAILED, DONE)


@dataclass(frozen=True)
class PlanRehearsal:
    """A request to rehearse the plan with a digest, and its last result. `running`: a run does it now. `reading`: a digest of what the
    service contained. `digest`: of the result, None without one. `as_planned`: whether the copy did what the plan says. `text`: the
    result as `rehearse` shows it; "" where it was not read."""

    plan: str
    asked_by: str
    asked_at: datetime
    is_pending: bool = False
    running: bool = False
    ended_at: datetime | None = None
    error: str | None = None
    reading: str | None = None
    digest: str | None = None
    as_planned: bool | None = None
    text: str = ""

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if self.is_pending:
            return UNDER_WAY if self.running else WAITING
        return FAILED if self.digest is None else DONE

    def is_of(self, plan: str | None, reading: str | None) -> bool:
        """Whether its result is of exactly this plan on this reading."""
        return self.digest is not None and reading is not None and (self.plan, self.reading) == (plan, reading)


@dataclass(frozen=True)
class RehearsalResult:
    """What a run that rehearsed a plan answers: an error, or all of the rest. `stored`: the document, compressed."""

    plan: str
    error: str | None = None
    reading: str = ""
    digest: str = ""
    as_planned: bool = False
    text: str = ""
    stored: bytes = b""


def result_of(plan: str, reading: str, document: Mapping[str, Any], text: str) -> RehearsalResult:
    """The result in the files that a process wrote. Raises `ReconcilerError` if the document is invalid, or too large to be kept."""
    wrong = problem(RehearsalDocument, document)
    if wrong is not None:
        raise ReconcilerError(f"the process wrote no rehearsal: {wrong}", id="RC-fleet-run-failed")
    as_planned = document["secondPlanEmpty"] and not document["failures"] and not document["divergences"]
    stored = compressed(document)
    if len(stored) > STORED_MAX:
        raise ReconcilerError(
            f"the rehearsal needs {len(stored) / 2**20:.1f} MiB, and the fleet keeps {STORED_MAX // 2**20}", id="RC-fleet-run-large"
        )
    return RehearsalResult(plan, None, reading, _digest(plan, reading, document), as_planned, text[:TEXT_MAX], stored)


def _digest(plan: str, reading: str, document: Mapping[str, Any]) -> str:
    """A rehearsal that shows the same of the same plan on the same reading has the same digest, however many requests the copy took."""
    shown = {key: value for key, value in document.items() if key not in ("requests", "digests")}
    return hashlib.sha256(json.dumps([plan, reading, shown], sort_keys=True).encode()).hexdigest()


def compressed(document: Mapping[str, Any]) -> bytes:
    """A document as it is stored."""
    return zlib.compress(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def document_of(stored: bytes) -> Mapping[str, Any]:
    """The document of a stored result."""
    document: Mapping[str, Any] = json.loads(zlib.decompress(stored))
    return document
