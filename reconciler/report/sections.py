"""What features say in the report of a plan: one row for each feature, in every form of the report.

entries      lines of an object         ! contains   1 draft change request
sentences    what it means for readers  196 URLs of pages move.
document     keys of the JSON           "openWork": [...]
read         the same, read back        for whoever shows a document that another job wrote
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from reconciler.model import Plan
from reconciler.model.features import FeatureValues
from reconciler.report.gathering import EntryPart
from reconciler.report.layout import Span
from reconciler.seams import Seam


class Rank(IntEnum):
    """What decides where an entry is shown: what comes last is read best."""

    CHANGE = 0
    HELD = 1
    EXPOSURE = 2
    URL = 3
    WORK = 4
    WARNING = 5
    VIOLATION = 6
    REPLACE = 7
    DELETE = 8


HEADINGS: Final = {
    Rank.CHANGE: "Changes",
    Rank.HELD: "Not applied in this run",
    Rank.EXPOSURE: "Exposures",
    Rank.URL: "Published URLs that stop working",
    Rank.WORK: "Work in progress",
    Rank.WARNING: "Warnings",
    Rank.VIOLATION: "Violated rules",
    Rank.REPLACE: "Replacements",
    Rank.DELETE: "Deletions",
}


@dataclass(frozen=True, kw_only=True)
class PlanSection:
    """What one feature says of a plan.

    `document`: with how many URLs it may list, None for the usual number. `sentences` come before those about deletions, `deletions` after
    them. `to_do`, `broken`, `troubles`: what the summary counts, "" for nothing; `broken` after the published URLs that break. `written`:
    files that an apply writes, for its question. `notes`: sentences below everything. `since`: what a plan says more than a saved document
    of an earlier one, as a sentence.
    """

    entries: Callable[[Plan], Iterable[EntryPart]]
    document: Callable[[Plan, int | None], Mapping[str, Any]]
    read: Callable[[Mapping[str, Any]], FeatureValues]
    sentences: Callable[[Plan], Iterable[Span]] = lambda plan: ()
    deletions: Callable[[Plan], Iterable[Span]] = lambda plan: ()
    to_do: Callable[[Plan], str] = lambda plan: ""
    written: Callable[[Plan], str] = lambda plan: ""
    broken: Callable[[Plan], str] = lambda plan: ""
    troubles: Callable[[Plan], str] = lambda plan: ""
    notes: Callable[[Plan], Iterable[str]] = lambda plan: ()
    since: Callable[[Mapping[str, Any], Plan], str] = lambda document, plan: ""


SECTIONS: Final[Seam[PlanSection]] = Seam("sheets", "what features say in the report of a plan")
"""In the order of their lines."""
