"""Approvals as arithmetic: whatever people do in whatever order, the rules say the same as a plain count of those who may count."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, strategies as st

from reconciler.fleet.approvals import ApprovalTerms, Decision, judged
from reconciler.fleet.model import VALID_DEFAULT, Approval, ChangeClass
from reconciler.fleet.people.directory import DeclaredPerson, Directory

PEOPLE = ("ada@acme.example", "ADA@acme.example", "grace@acme.example", "linus@acme.example", "vera@acme.example")
SOME = st.frozensets(st.sampled_from([ChangeClass.TITLES, ChangeClass.CREATE, ChangeClass.DELETE]))
DECISIONS = st.lists(
    st.builds(Decision, st.sampled_from(PEOPLE), st.sampled_from(["now", "before"]), SOME, st.booleans(), st.just("why")), max_size=12
)
NOW = datetime(2026, 11, 26, tzinfo=UTC)
RULES = {ChangeClass.TITLES: Approval.AUTO, ChangeClass.CREATE: Approval.ONE}  # what has no rule needs two


KNOWN = Directory(declared=tuple(DeclaredPerson(None, frozenset({name})) for name in dict.fromkeys(map(str.lower, PEOPLE))))
TERMS = ApprovalTerms(RULES, VALID_DEFAULT, "docs", NOW, KNOWN)


def last_of_each(decisions: list[Decision]) -> dict[str, list[Decision]]:
    """By person, what they decided on the plan of now since they last rejected it."""
    mine: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.digest == "now":
            name = decision.person.lower()
            mine[name] = [*mine.get(name, []), decision] if decision.approves and not _rejects(mine.get(name)) else [decision]
    return mine


def _rejects(decisions: list[Decision] | None) -> bool:
    return bool(decisions) and not decisions[-1].approves  # type: ignore[index]


@given(DECISIONS, SOME, st.frozensets(st.sampled_from(PEOPLE)), st.randoms(use_true_random=False))
def test_a_plan_is_allowed_by_as_many_as_may_count_in_any_order(
    decisions: list[Decision], changes: frozenset[ChangeClass], authors: frozenset[str], random: object
) -> None:
    verdict = judged(changes, TERMS, decisions, digest="now", authors=authors)
    mine, writers = last_of_each(decisions), {author.lower() for author in authors}
    assert {decision.person.lower() for decision in verdict.rejected} == {name for name, made in mine.items() if _rejects(made)}
    for change in changes:
        agree = {name for name, made in mine.items() if not _rejects(made) and any(change in decision.changes for decision in made)}
        needed, counted = {ChangeClass.TITLES: (0, agree), ChangeClass.CREATE: (1, agree), ChangeClass.DELETE: (2, agree - writers)}[change]
        assert verdict.lacking.get(change, 0) == max(0, needed - len(counted))
        assert {name.lower() for name in verdict.people.get(change, ())} == counted
    assert verdict.allows == (verdict.sentence is None) == (not verdict.lacking and not verdict.rejected)
    # people do not depend on each other: only the order of what the same person decided matters
    names = sorted({decision.person.lower() for decision in decisions})
    random.shuffle(names)  # type: ignore[attr-defined]
    other = [decision for name in names for decision in decisions if decision.person.lower() == name]
    assert judged(changes, TERMS, other, digest="now", authors=authors).lacking == verdict.lacking
    # a plan that moved has nothing, and neither has one that was applied
    moved = judged(changes, TERMS, [decision for decision in decisions if decision.digest != "now"], digest="now", authors=authors)
    assert moved == judged(changes, TERMS, [*decisions, Decision("", "now")], digest="now", authors=authors)
    assert not moved.rejected
    assert not moved.people


def test_how_many_people_must_approve_is_said_as_people() -> None:
    def said(*decisions: Decision) -> str:
        return judged(frozenset(ChangeClass), TERMS, list(decisions), digest="now", authors=frozenset()).sentence or ""

    assert "delete (2 people)" in said()
    assert "create (1 person)" in said()
    assert "delete (1 more person, approved by ada)" in said(Decision("ada", "now", frozenset({ChangeClass.DELETE})))
