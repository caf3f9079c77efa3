"""Which classes of change a plan has, and whose approval they lack. Pure.

An approval is of a person, for one plan: a plan that moved has another digest, and needs them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reconciler.fleet.model import Approval, Change

NEEDED: Final = {Approval.AUTO: 0, Approval.ONE: 1, Approval.TWO: 2}
_CREATE: Final = {"create", "adopt", "restore"}
_DELETE: Final = {"delete", "forget"}
_REPLACE: Final = {"replace", "transfer"}


@dataclass(frozen=True)
class Approved:
    """What one person approved: some classes of the plan with a digest."""

    person: str
    digest: str
    changes: frozenset[Change]


def classes(plan: Mapping[str, Any]) -> frozenset[Change]:
    """The classes of change in the document of a plan. What is none of the harmless ones is an update at least."""
    found = {change for entry in plan["changes"] for change in _classes(entry)}
    if any(exposure["asked"] for exposure in plan["exposures"]):
        found.add(Change.EXPOSURE)
    return frozenset(found)


def _classes(entry: Mapping[str, Any]) -> Iterable[Change]:
    actions = set(entry["actions"])
    if actions & _REPLACE:
        yield Change.REPLACE
    if actions & _DELETE:
        yield Change.DELETE
    if actions & _CREATE:
        yield Change.CREATE
    if "move" in actions:
        yield Change.ORDER if _stays(entry["place"]) else Change.UPDATE
    if "update" in actions or not actions <= {*_REPLACE, *_DELETE, *_CREATE, "move"}:
        yield Change.TITLES if entry["fields"] and all(field["name"] == "title" for field in entry["fields"]) else Change.UPDATE


def _stays(place: Mapping[str, Any] | None) -> bool:
    """Whether a move is one among siblings: the parent is the same."""
    return place is not None and place["before"]["parent"] == place["after"]["parent"]


def missing(
    changes: Collection[Change], rules: Mapping[Change, Approval], approved: Iterable[Approved], *, digest: str, authors: Collection[str]
) -> dict[Change, int]:
    """How many people must still approve each class of a plan. The authors of the commit do not count where two are needed."""
    valid = [one for one in approved if one.digest == digest]
    lacking = {}
    for change in sorted(changes):
        rule = rules.get(change, Approval.TWO)
        people = {one.person for one in valid if change in one.changes}
        if rule is Approval.TWO:
            people -= set(authors)
        if len(people) < NEEDED[rule]:
            lacking[change] = NEEDED[rule] - len(people)
    return lacking
