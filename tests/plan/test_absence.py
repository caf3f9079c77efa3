"""How much may be gone at once: from what is bound, declared and proven absent, without any reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.model import Actual, Binding, Declared, Desired, Moved, Observed, Origin, Source, State
from reconciler.plan.matching.match import identify, match
from reconciler.plan.matching.matches import Match, Matches
from reconciler.plan.matching.missing import believable, missing

ACME = Address.parse("acme")
LINE = Source("reconciler.yaml", 1, 1)


def team(number: int, prefix: str = "t") -> Address:
    return ACME.child("team", f"{prefix}{number:02}")


def world(present: int, gone: int, *, declared: bool = True, renamed: bool = False, **state: Any) -> tuple[Desired, State, Actual]:
    """An organization of teams, some of which are proven gone. `renamed`: these have other names in the YAML now."""
    teams = [team(number) for number in range(present + gone)]
    lost = teams[present:]
    names = {old: team(number, "new") for number, old in enumerate(lost)} if renamed else {}
    wanted = [ACME, *teams[:present], *([names.get(address, address) for address in lost] if declared else [])]
    resources = {address: Declared(address, address.kind or "organization", {}, LINE, address.container, "teams", 0) for address in wanted}
    moved = tuple(Moved(old, new, LINE) for old, new in names.items())
    bindings = {member: Binding(member, member.kind or "organization", member.key, Origin.CREATED) for member in [ACME, *teams]}
    objects = {
        "organization": {"acme": Observed("organization", "acme", {}, {}, {"id": "acme"})},
        "team": {item.key: Observed("team", item.key, {}, {"organization": "acme"}, {"id": item.key}) for item in teams[:present]},
    }
    absent = frozenset(("team", entry.key) for entry in lost)
    return Desired("p", None, resources, {}, frozenset(), moved=moved), State("l", 1, bindings, **state), Actual(objects, absent=absent)


def refused(*parts: Any, accept: int | None = None) -> str | None:
    """Why it is not believed, None where it is."""
    try:
        believable(identify(kinds(), *parts), parts[0], accept=accept)
    except Refused as error:
        return f"{error.message} ({error.hint})"
    return None


@pytest.mark.parametrize(("present", "gone", "believed"), [
    (9, 0, True), (9, 3, True), (9, 4, False), (35, 4, True), (34, 5, False), (43, 5, False), (44, 5, True), (1, 3, True),
    (0, 1, True), (0, 2, False),
])  # fmt: skip
def test_three_or_a_tenth_is_believed_and_one_where_nothing_else_is_left(present: int, gone: int, believed: bool) -> None:
    assert (refused(*world(present, gone)) is None) is believed


def test_a_refusal_names_five_and_the_number_to_accept() -> None:
    names = ", ".join(f"acme/team/t{number:02}" for number in range(9, 14))
    assert refused(*world(9, 6)) == (
        "6 of 16 tracked objects no longer exist, and at most 3 are accepted; this looks like an outage or a change of the token's "
        f"permissions: {names} and 1 more (if they were deleted: --accept-gone 6)"
    )
    assert f"permissions: {names} (if" in str(refused(*world(9, 5)))
    assert "and no other tracked object answers; this" in str(refused(*world(0, 2)))


def test_as_many_as_were_accepted_are_believed() -> None:
    assert refused(*world(9, 6), accept=6) is None
    assert "and 5 were accepted; this" in str(refused(*world(9, 6), accept=5))
    assert "and 0 were accepted; this" in str(refused(*world(9, 1), accept=0))


def test_what_is_no_longer_declared_counts_unless_a_run_was_cut_off() -> None:
    assert refused(*world(9, 4, declared=False)) is not None
    assert refused(*world(9, 4, declared=False, unfinished=True)) is None
    assert refused(*world(9, 4, unfinished=True)) is not None


def test_a_renamed_and_deleted_object_is_not_left() -> None:
    assert "no other tracked object answers" in str(refused(*world(0, 2, renamed=True)))
    assert refused(*world(1, 2, renamed=True)) is None


def test_a_missing_object_is_reported_with_its_binding_and_without_what_was_deleted_with_it() -> None:
    desired, state, actual = world(2, 1, renamed=True)
    matches = match(kinds(), desired, state, actual)
    assert missing(matches) == {team(0, "new"): replace(state.bindings[team(2)], address=team(0, "new"))}
    assert list(missing(matches.with_({ACME: Match(gone=True)}))) == [ACME]
    assert missing(Matches(matches.former, {ACME.child("team", "never"): Match(gone=True)})) == {}
