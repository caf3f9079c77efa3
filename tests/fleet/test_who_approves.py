"""Who approves: a person is an issuer and a subject, whatever they are called; what they approve is one plan of one commit, for a while."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from reconciler.fleet.approvals import ApprovalTerms, Continuation, Decision, digest_of, judged, used_up
from reconciler.fleet.continuation import BegunApply, as_data, of_data
from reconciler.fleet.model import APPROVALS_DEFAULT, VALID_DEFAULT, ChangeClass
from reconciler.fleet.people import Identity, Role, RoleRule, canonical
from reconciler.fleet.people.directory import DeclaredPerson, Directory, SeenPerson
from reconciler.fleet.people.identity import author

ISSUER, NOW = "https://login.example.com", datetime(2026, 11, 26, tzinfo=UTC)
DELETE = frozenset({ChangeClass.DELETE})
PLAN, LATER = digest_of("5e17", "c0ffee"), digest_of("5e17", "beef")


def who(subject: str, *addresses: str, issuer: str = ISSUER) -> Identity:
    return Identity(issuer, subject, frozenset(map(canonical, addresses)))


def directory(*people: Identity, declared: tuple[DeclaredPerson, ...] = (), values: str = "leads") -> Directory:
    """A directory of people who logged in, all with a value that makes approvers."""
    rules = (RoleRule("leads", Role.APPROVER, ("docs",)),)
    return Directory(ISSUER, rules, declared, tuple(SeenPerson(person, frozenset({values})) for person in people))


def lacking(
    known: Directory,
    *decisions: Decision,
    authors: tuple[str, ...] = (),
    digest: str = PLAN,
    now: datetime = NOW,
    continues: Continuation | None = None,
) -> int:
    """How many people must still approve a deletion, which needs two."""
    terms = ApprovalTerms(APPROVALS_DEFAULT, VALID_DEFAULT, "docs", now, known)
    verdict = judged(DELETE, terms, decisions, digest=digest, authors=authors, continues=continues)
    return verdict.lacking.get(ChangeClass.DELETE, 0)


def approval(person: Identity, name: str = "somebody", digest: str = PLAN) -> Decision:
    return Decision(name, digest, DELETE, identity=person, at=NOW)


ADA, GRACE, LINUS = who("1", "ada@acme.example"), who("2", "grace@acme.example"), who("3", "linus@acme.example")


def test_two_people_with_one_name_are_two_and_one_person_with_two_names_or_addresses_is_one() -> None:
    known = directory(ADA, GRACE)
    assert lacking(known, approval(ADA, "lead"), approval(GRACE, "lead")) == 0
    assert lacking(known, approval(ADA, "ada"), approval(replace(ADA, addresses=frozenset({"other@acme.example"})), "other")) == 1
    other = who("9", "ada+work@ACME.example")  # another account with an address of hers
    assert lacking(directory(ADA, other), approval(ADA), approval(other)) == 1
    bridge = DeclaredPerson(None, frozenset({"ada@acme.example", "grace@acme.example"}))
    assert lacking(directory(ADA, GRACE, declared=(bridge,)), approval(ADA), approval(GRACE)) == 1
    commands = Decision("ada@acme.example", PLAN, DELETE, at=NOW)  # the same person with the commands
    assert lacking(known, approval(ADA), commands) == 1


def test_the_same_subject_of_another_issuer_is_somebody_else_and_no_approver() -> None:
    foreign = who("2", issuer="https://evil.example")
    assert lacking(directory(ADA, GRACE), approval(ADA), approval(foreign)) == 1
    assert lacking(replace(directory(ADA, GRACE), issuer="https://new.example"), approval(ADA), approval(GRACE)) == 2


def test_roles_are_those_of_today() -> None:
    made = (approval(ADA), approval(GRACE))
    assert lacking(directory(ADA, GRACE), *made) == 0
    assert lacking(directory(ADA, GRACE, values="readers"), *made) == 2, "their groups changed"
    assert lacking(replace(directory(ADA, GRACE), rules=()), *made) == 2, "the fleet file changed"
    assert lacking(replace(directory(ADA, GRACE), rules=(RoleRule("leads", Role.APPROVER, ("other",)),)), *made) == 2
    assert lacking(directory(ADA), *made) == 1, "nobody knows her groups"


@pytest.mark.parametrize(
    ("written", "own"),
    [
        ("Ada@ACME.example", "ada@acme.example"),
        ("ada+docs@acme.example", "ada@acme.example"),
        ("ada@acme.example.", " ada@acme.example"),
        ("\uff41da@acme.example", "ada@acme.example"),
        ("12345+ada@users.noreply.github.com", "ada@users.noreply.github.com"),
        ("77-ada@users.noreply.gitlab.com", "ada@users.noreply.gitlab.com"),
        ("a.d.a@googlemail.com", "ada@gmail.com"),
    ],
)
def test_an_author_is_matched_in_every_spelling_of_an_address(written: str, own: str) -> None:
    assert canonical(written) == canonical(own)
    declared = (DeclaredPerson("1", frozenset({canonical(own)})),)
    known = directory(who("1"), GRACE, LINUS, declared=declared)
    assert lacking(known, approval(who("1")), approval(GRACE), authors=(written,)) == 1, "the author does not count"
    assert lacking(known, approval(LINUS), approval(GRACE), authors=(written,)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@acme.example", "ada@acme.example.org"),
        ("1+ada@acme.example", "ada@acme.example"),
        ("1-ada@users.noreply.github.com", "ada@users.noreply.github.com"),
        ("7+1-ada@users.noreply.github.com", "ada@users.noreply.github.com"),
    ],
)
def test_different_addresses_are_not_confused(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_each_author_whom_nobody_is_matched_to_needs_one_approval_more() -> None:
    known = directory(ADA, GRACE, LINUS)
    two = (approval(ADA), approval(GRACE))
    assert lacking(known, *two, authors=("x@evil.example",)) == 1
    assert lacking(known, *two, approval(LINUS), authors=("x@evil.example", "X+1@evil.example")) == 0, "one stranger in two spellings"
    assert lacking(known, *two, approval(LINUS), authors=("x@evil.example", "y@evil.example")) == 1
    unverified = Decision("x@evil.example", PLAN, DELETE, at=NOW)  # a name that somebody gave themselves proves nothing
    assert lacking(known, *two, unverified, authors=("x@evil.example",)) == 1
    terms = ApprovalTerms(APPROVALS_DEFAULT, VALID_DEFAULT, "docs", NOW, known)
    sentence = judged(DELETE, terms, two, digest=PLAN, authors=("x@evil.example",)).sentence
    assert sentence is not None
    assert sentence.endswith(
        "nobody is matched to the author x@evil.example, so 1 more must approve: write these addresses in people of the fleet file"
    )


def test_an_author_without_a_readable_address_needs_one_approval_more_and_the_sentence_says_what_helps() -> None:
    known = directory(ADA, GRACE, LINUS)
    stranger = author("Mallory", "")
    two = (approval(ADA), approval(GRACE))
    assert lacking(known, *two, authors=(stranger,)) == 1
    assert lacking(known, *two, approval(LINUS), authors=(stranger,)) == 0
    assert lacking(known, *two, approval(LINUS), authors=(stranger, author("Eve", "\u200b"))) == 1, "two of them are two strangers"
    terms = ApprovalTerms(APPROVALS_DEFAULT, VALID_DEFAULT, "docs", NOW, known)
    sentence = judged(DELETE, terms, two, digest=PLAN, authors=(stranger,)).sentence
    assert sentence is not None
    assert sentence.endswith("so 1 more must approve: a commit whose author has a readable address can be matched")


def test_an_approval_is_of_one_commit_and_expires_and_a_rejection_does_not() -> None:
    known = directory(ADA, GRACE, LINUS)
    two = (approval(ADA), approval(GRACE))
    assert lacking(known, *two) == 0
    assert lacking(known, *two, digest=LATER) == 2, "the same changes, asked for by another commit"
    assert lacking(known, *two, now=NOW + timedelta(seconds=VALID_DEFAULT - 1)) == 0
    assert lacking(known, *two, now=NOW + timedelta(seconds=VALID_DEFAULT)) == 2
    rejected = Decision("linus", PLAN, approves=False, reason="no", identity=LINUS, at=NOW)
    later = [approval(ADA, digest=LATER), approval(GRACE, digest=LATER)]
    terms = ApprovalTerms(APPROVALS_DEFAULT, VALID_DEFAULT, "docs", NOW + timedelta(days=6), known)
    verdict = judged(DELETE, terms, [rejected, *later], digest=LATER, authors=())
    assert (verdict.allows, verdict.rejected) == (False, (rejected,)), "an empty commit does not undo a rejection"
    assert judged(DELETE, terms, [rejected, *later, approval(LINUS, digest=LATER)], digest=LATER, authors=()).allows
    assert lacking(known, *two, Decision("", PLAN), *two[:1]) == 1, "an apply uses them up"


REST = digest_of("0e57", "c0ffee")


def test_an_apply_that_began_has_used_the_approvals_up_but_for_the_run_that_continues_it() -> None:
    known, two = directory(ADA, GRACE, LINUS), (approval(ADA), approval(GRACE))
    begun = (*two, used_up(PLAN, 7))
    assert lacking(known, *begun) == 2, "however it ended"
    assert lacking(known, *begun, continues=Continuation(PLAN, (7,))) == 0
    assert lacking(known, *begun, digest=REST, continues=Continuation(PLAN, (7,))) == 0, "what is left has another digest"
    assert lacking(known, *begun, digest=REST) == 2
    again = (*begun, used_up(REST, 8), used_up(PLAN, 8))
    assert lacking(known, *again, digest=REST, continues=Continuation(PLAN, (7,))) == 2, "another run has continued it since"
    assert lacking(known, *again, digest=REST, continues=Continuation(PLAN, (7, 8))) == 0
    expired = NOW + timedelta(seconds=VALID_DEFAULT)
    assert lacking(known, *begun, now=expired, continues=Continuation(PLAN, (7,))) == 2, "a continuation does not outlive the approvals"
    rejected = Decision("linus", REST, approves=False, reason="no", identity=LINUS, at=NOW)
    terms = ApprovalTerms(APPROVALS_DEFAULT, VALID_DEFAULT, "docs", NOW, known)
    verdict = judged(DELETE, terms, (*begun, rejected), digest=REST, authors=(), continues=Continuation(PLAN, (7,)))
    assert not verdict.allows, "people can still reject what is left"


def test_only_what_no_run_recorded_is_left_of_an_apply_and_only_as_it_was_approved() -> None:
    begun = BegunApply(PLAN, "c0ffee", "saved", {"a": "1", "b": "2"}, {"b": "drift:2"}, (7,))
    assert of_data(as_data(begun)) == begun
    left = begun.left("c0ffee", {"a"})
    assert left is not None
    assert left.continuation({"b": "2"}) == Continuation(PLAN, (7,), frozenset({"b"}))
    for other in ({"a": "1", "b": "2"}, {"b": "other"}, {"b": "2", "c": "3"}, {}):
        assert left.continuation(other) is None, other
    assert begun.left("beef", {"a"}) is None, "another commit"
    assert begun.left("c0ffee", None) is None, "nobody knows what was sent"
    whole = begun.left("c0ffee", ())
    assert whole is not None
    assert whole.continuation({"a": "1", "b": "2"}) is not None, "killed before its first request"
