"""The classes of change in a plan, and the approvals that they lack. Pure.

An approval belongs to one person, one plan and one commit: another plan or commit has another digest and needs new approvals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from reconciler.fleet.model import Approval, ChangeClass
from reconciler.fleet.people.directory import Directory, Token
from reconciler.fleet.people.identity import Identity, canonical, is_readable, operator

NEEDED: Final = {Approval.AUTO: 0, Approval.ONE: 1, Approval.TWO: 2}
_CREATE: Final = {"create", "adopt", "rename", "restore"}
_DELETE: Final = {"delete", "forget"}
_REPLACE: Final = {"replace", "transfer"}
LACKING: Final = "the plan needs approvals: "
REJECTED: Final = "the plan was rejected by "
UNREHEARSED: Final = "it must be rehearsed before somebody can approve it"
MOST_AUTHORS: Final = 3  # addresses
COMMIT: Final = "-"  # between the parts of a digest, which are hexadecimal


@dataclass(frozen=True)
class Decision:
    """What one person decided on the plan with a digest: they approve some of its classes, or reject all of it. Without a person: an
    apply of the plan began, which uses up earlier decisions, and `reason` is the id of its run. `identity`: None for a user of the
    commands. `at`: None if it is not stored yet. `until`: of a decision on drift, until when it is ignored; None to revert it.
    `rehearsal`: the digest of the one that they saw."""

    person: str
    digest: str
    changes: frozenset[ChangeClass] = frozenset()
    approves: bool = True
    reason: str = ""
    identity: Identity | None = None
    at: datetime | None = field(default=None, compare=False)
    until: datetime | None = None
    rehearsal: str | None = None

    @property
    def who(self) -> Identity:
        """Who decided it, whatever the name."""
        return self.identity if self.identity is not None else operator(self.person)


@dataclass(frozen=True)
class Continuation:
    """The apply that a plan continues: for what is left of it, the decisions that it used up still count. `digest`: of the plan that
    people approved; `runs`: those that used them up; `reverts`: addresses whose drift is left to revert."""

    digest: str
    runs: tuple[int, ...]
    reverts: frozenset[str] = frozenset()

    def used(self, decision: Decision) -> bool:
        """Whether a decision without a person is the begin of one of the runs that are continued."""
        return decision.reason in map(str, self.runs)


def used_up(digest: str, run: int) -> Decision:
    """The line which says that an apply of the plan with this digest began."""
    return Decision("", digest, reason=str(run))


@dataclass(frozen=True)
class ApprovalTerms:
    """What decisions are judged by. `rules`: by class of change; `valid_for`: seconds; `now`: the database's time; `directory`: who is who
    and who is an approver, as of now. `rehearsal`: the digest that approvals must name, "" if there is none yet; None: they need not."""

    rules: Mapping[ChangeClass, Approval]
    valid_for: int
    tenant: str
    now: datetime
    directory: Directory
    rehearsal: str | None = None

    def is_about(self, approval: Decision) -> bool:
        """Whether an approval is about the rehearsal of the plan, if it must be."""
        return self.rehearsal is None or (self.rehearsal != "" and approval.rehearsal == self.rehearsal)

    def is_over(self, approval: Decision) -> bool:
        """Whether an approval has expired."""
        return approval.at is not None and approval.at + timedelta(seconds=self.valid_for) <= self.now


@dataclass(frozen=True)
class ApprovalVerdict:
    """Whether a plan may be applied. `lacking`: how many people must still approve each class; `people`: whose approvals count; `rejected`:
    valid rejections; `strangers`: addresses of authors whom nobody is matched to, if that is why somebody is lacking; `unrehearsed`: nobody
    can approve it before it is rehearsed."""

    lacking: Mapping[ChangeClass, int]
    people: Mapping[ChangeClass, tuple[str, ...]]
    rejected: tuple[Decision, ...] = ()
    strangers: tuple[str, ...] = ()
    unrehearsed: bool = False

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
        sentence = LACKING + ", ".join(self._lacks(change, number) for change, number in self.lacking.items())
        sentence = f"{sentence}; {self._unmatched}" if self.strangers else sentence
        return f"{sentence}; {UNREHEARSED}" if self.unrehearsed else sentence

    @property
    def _unmatched(self) -> str:
        """Why more people than usual are needed, and what to do."""
        more = f" and {len(self.strangers) - MOST_AUTHORS} more" if len(self.strangers) > MOST_AUTHORS else ""
        ways = ["write these addresses in people of the fleet file"] if any(map(is_readable, self.strangers)) else []
        ways += [] if all(map(is_readable, self.strangers)) else ["a commit whose author has a readable address can be matched"]
        return (
            f"nobody is matched to the author{'s' if len(self.strangers) > 1 else ''} {', '.join(self.strangers[:MOST_AUTHORS])}{more}, so "
            f"{len(self.strangers)} more must approve: {'; '.join(ways)}"
        )

    def _lacks(self, change: ChangeClass, number: int) -> str:
        people = ", ".join(self.people.get(change, ()))
        more = f"{number} more " if people else f"{number} "
        by = f"{more}{'person' if number == 1 else 'people'}"
        return f"{change.value} ({by}, approved by {people})" if people else f"{change.value} ({by})"


def classes(plan: Mapping[str, Any]) -> frozenset[ChangeClass]:
    """The classes of change in the document of a plan. Changes that are not known to be harmless are at least updates."""
    change_classes = {change for entry in plan["changes"] for change in _classes(entry)}
    if any(exposure["asked"] for exposure in plan["exposures"]):
        change_classes.add(ChangeClass.EXPOSURE)
    return frozenset(change_classes)


def waiting(plan: Mapping[str, Any], rules: Mapping[ChangeClass, Approval]) -> set[str]:
    """The addresses in the document of a plan whose changes people must approve. An exposure is a missing consent, which is held anyway."""
    asked = {change for change in ChangeClass if rules.get(change, Approval.TWO) is not Approval.AUTO}
    return {entry["address"] for entry in plan["changes"] if not asked.isdisjoint(_classes(entry))}


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
        titles = "rename" not in actions and entry["fields"] and all(field["name"] == "title" for field in entry["fields"])
        yield ChangeClass.TITLES if titles else ChangeClass.UPDATE


def _stays(place: Mapping[str, Any] | None) -> bool:
    """Whether a move is among siblings: the parent is unchanged."""
    return place is not None and place["before"]["parent"] == place["after"]["parent"]


def judged(
    changes: Collection[ChangeClass],
    terms: ApprovalTerms,
    decisions: Iterable[Decision],
    *,
    digest: str,
    authors: Collection[str],
    continues: Continuation | None = None,
) -> ApprovalVerdict:
    """The verdict of people's decisions, oldest first, on the plan with a digest. `continues`: the apply of which it is what is left.

    An approval is valid for one plan of one commit, for one apply, for a time, and as long as its person is an approver; where a rehearsal
    is required, as long as it is the one that the person saw. A person counts
    once, whatever their names and addresses. Authors do not count if two people are needed, and an author whom nobody is matched to could
    be anybody, so each of them needs one person more. A rejection outweighs approvals, also of later commits with the same changes, until
    the person who rejected the plan approves it.
    """
    digests = {digest} | ({continues.digest} if continues is not None else set())
    mine = [decision for decision in decisions if any(same_changes(decision.digest, plan) for plan in digests)]
    people = terms.directory.people(decision.who for decision in mine)
    names: dict[Token, str] = {}
    approved: dict[Token, set[ChangeClass]] = {}
    rejected: dict[Token, Decision] = {}
    for decision in mine:
        if not decision.person:
            if continues is None or not continues.used(decision):
                approved.clear()
                rejected.clear()
            continue
        if not terms.directory.may_approve(decision.who, terms.tenant):
            continue
        key = people.of(decision.who)
        names.setdefault(key, decision.person)
        if not decision.approves:
            approved.pop(key, None)
            rejected[key] = decision
            continue
        rejected.pop(key, None)
        if decision.digest in digests and not terms.is_over(decision) and terms.is_about(decision):
            approved.setdefault(key, set()).update(decision.changes)
    writers = {people.by_address(author) for author in authors}
    strangers = tuple(sorted({canonical(author) for author in authors if not terms.directory.is_known(author)}))
    lacking, counting = {}, {}
    for change in sorted(changes):
        rule = terms.rules.get(change, Approval.TWO)
        two = rule is Approval.TWO
        counted = sorted(key for key, classes in approved.items() if change in classes and not (two and key in writers))
        if counted:
            counting[change] = tuple(names[key] for key in counted)
        needed = NEEDED[rule] + (len(strangers) if two else 0)
        if len(counted) < needed:
            lacking[change] = needed - len(counted)
    named = strangers if any(terms.rules.get(change, Approval.TWO) is Approval.TWO for change in lacking) else ()
    return ApprovalVerdict(lacking, counting, tuple(rejected.values()), named, unrehearsed=bool(lacking) and terms.rehearsal == "")


def digest_of(sent: str, commit: str) -> str:
    """The digest that people approve: of what would be sent, and the commit that asks for it."""
    return f"{sent}{COMMIT}{commit}"


def changes_of(digest: str) -> str:
    """The part of a digest about what would be sent."""
    return digest.partition(COMMIT)[0]


def same_changes(first: str, other: str) -> bool:
    """Whether two digests are about the same changes, of whichever commits."""
    return changes_of(first) == changes_of(other)
