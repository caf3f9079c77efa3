"""The classes of change in a plan, and the approvals that they lack. Pure.

An approval belongs to one person and one plan: a changed plan has another digest and needs new approvals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.fleet.model import Approval, ChangeClass

NEEDED: Final = {Approval.AUTO: 0, Approval.ONE: 1, Approval.TWO: 2}
_CREATE: Final = {"create", "adopt", "restore"}
_DELETE: Final = {"delete", "forget"}
_REPLACE: Final = {"replace", "transfer"}
LACKING: Final = "the plan needs approvals: "
REJECTED: Final = "the plan was rejected by "


@dataclass(frozen=True)
class Decision:
    """What one person decided on the plan with a digest: they approve some of its classes, or reject all of it. Without a person: the plan
    was applied, which uses up earlier decisions."""

    person: str
    digest: str
    changes: frozenset[ChangeClass] = frozenset()
    approves: bool = True
    reason: str = ""


@dataclass(frozen=True)
class ApprovalVerdict:
    """Whether a plan may be applied. `lacking`: how many people must still approve each class; `people`: whose approvals count; `rejected`:
    valid rejections."""

    lacking: Mapping[ChangeClass, int]
    people: Mapping[ChangeClass, tuple[str, ...]]
    rejected: tuple[Decision, ...] = ()

    @property
    def allows(self) -> bool:
        return not self.lacking and not self.rejected

    @property
    def sentence(self) -> str | None:
        """Why the plan is not applied; None if it may be."""
        if self.rejected:
            return "; ".join(f"{REJECTED}{rejection.person}: {rejection.reason}" for rejection in self.rejected)
        if not self.lacking:
            return None
        return LACKING + ", ".join(self._lacks(change, number) for change, number in self.lacking.items())

    def _lacks(self, change: ChangeClass, number: int) -> str:
        people = ", ".join(self.people.get(change, ()))
        return f"{change.value} ({number} more, approved by {people})" if people else f"{change.value} ({number})"


def classes(plan: Mapping[str, Any]) -> frozenset[ChangeClass]:
    """The classes of change in the document of a plan. Changes that are not known to be harmless are at least updates."""
    change_classes = {change for entry in plan["changes"] for change in _classes(entry)}
    if any(exposure["asked"] for exposure in plan["exposures"]):
        change_classes.add(ChangeClass.EXPOSURE)
    return frozenset(change_classes)


def _classes(entry: Mapping[str, Any]) -> Iterable[ChangeClass]:
    actions = set(entry["actions"])
    if actions & _REPLACE:
        yield ChangeClass.REPLACE
    if actions & _DELETE:
        yield ChangeClass.DELETE
    if actions & _CREATE:
        yield ChangeClass.CREATE
    if "move" in actions:
        yield ChangeClass.ORDER if _stays(entry["place"]) else ChangeClass.UPDATE
    if "update" in actions or not actions <= {*_REPLACE, *_DELETE, *_CREATE, "move"}:
        yield ChangeClass.TITLES if entry["fields"] and all(field["name"] == "title" for field in entry["fields"]) else ChangeClass.UPDATE


def _stays(place: Mapping[str, Any] | None) -> bool:
    """Whether a move is among siblings: the parent is unchanged."""
    return place is not None and place["before"]["parent"] == place["after"]["parent"]


def judged(
    changes: Collection[ChangeClass],
    rules: Mapping[ChangeClass, Approval],
    decisions: Iterable[Decision],
    *,
    digest: str,
    authors: Collection[str],
) -> ApprovalVerdict:
    """The verdict of people's decisions, oldest first, on the plan with a digest. Decisions on other plans are ignored.

    An approval is valid for one apply. A person counts once. Authors do not count if two people are needed. A rejection outweighs
    approvals until the person who rejected the plan approves it.
    """
    names: dict[str, str] = {}
    approved: dict[str, set[ChangeClass]] = {}
    rejected: dict[str, Decision] = {}
    for decision in decisions:
        if decision.digest != digest:
            continue
        if not decision.person:
            approved.clear()
            rejected.clear()
            continue
        key = folded(decision.person)
        names.setdefault(key, decision.person)
        if decision.approves:
            rejected.pop(key, None)
            approved.setdefault(key, set()).update(decision.changes)
        else:
            approved.pop(key, None)
            rejected[key] = decision
    writers = {folded(author) for author in authors}
    lacking, people = {}, {}
    for change in sorted(changes):
        rule = rules.get(change, Approval.TWO)
        counted = sorted(key for key, mine in approved.items() if change in mine and not (rule is Approval.TWO and key in writers))
        if counted:
            people[change] = tuple(names[key] for key in counted)
        if len(counted) < NEEDED[rule]:
            lacking[change] = NEEDED[rule] - len(counted)
    return ApprovalVerdict(lacking, people, tuple(rejected.values()))


def missing(
    changes: Collection[ChangeClass],
    rules: Mapping[ChangeClass, Approval],
    decisions: Iterable[Decision],
    *,
    digest: str,
    authors: Collection[str],
) -> Mapping[ChangeClass, int]:
    """How many people must still approve each class of a plan."""
    return judged(changes, rules, decisions, digest=digest, authors=authors).lacking


def folded(person: str) -> str:
    """A person's name or e-mail address in the form for comparisons."""
    return person.strip().casefold()
