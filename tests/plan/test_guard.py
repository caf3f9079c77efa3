"""A run that would delete or expose more than it may is refused, with the way past it."""

from __future__ import annotations

import dataclasses
import re

import pytest

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.model import Action, Change, Desired, Exposure, Guards, Plan, Severity, Source, Violation
from reconciler.plan.guard import guard


def plan(deletes: int, managed: int, action: Action = Action.DELETE) -> Plan:
    changes = tuple(Change(Address(("acme", "team", f"t{number}")), "team", (action,)) for number in range(deletes))
    declared = managed - deletes if action is Action.DELETE else managed  # what is deleted is no longer declared
    return Plan("p", None, changes=changes, managed=max(declared, 0))


DESIRED = Desired("p", None, {}, {}, frozenset(), guards=Guards(20, 3))


@pytest.mark.parametrize(("deletes", "managed"), [(0, 0), (3, 1), (3, 10), (4, 20), (20, 100)])
def test_as_many_deletes_as_the_limits_allow_go_on(deletes: int, managed: int) -> None:
    assert guard(plan(deletes, managed), DESIRED) == plan(deletes, managed)


@pytest.mark.parametrize(("deletes", "managed"), [(4, 19), (21, 100)])
@pytest.mark.parametrize("action", [Action.DELETE, Action.REPLACE])
def test_more_are_refused_and_the_number_to_pass_is_said(deletes: int, managed: int, action: Action) -> None:
    with pytest.raises(Refused) as caught:
        guard(plan(deletes, managed, action), DESIRED)
    assert f"maxDelete (20 % of {managed}, at least 3) allows" in str(caught.value)
    assert caught.value.hint == f"if this is intended: --allow-delete {deletes}"
    assert guard(plan(deletes, managed, action), DESIRED, allow_delete=deletes)


def test_a_run_may_be_told_to_delete_nothing() -> None:
    with pytest.raises(Refused, match="this run may delete 0"):
        guard(plan(1, 100), DESIRED, allow_delete=0)


def exposure(at: str, *readers: str, reaches: tuple[str, ...] = ()) -> Exposure:
    address = Address.parse(f"acme/space/{at}")
    inside = tuple(Address.parse(f"acme/space/{name}") for name in reaches)
    return Exposure(address, "space", "", None, None, "it can be read", readers=readers, reaches=inside, id="RC-more-readers")


RULE = Exposure(Address(("guards",)), "project", "minAdmins", 2, 1, "fewer may remain", id="RC-rule-loosened")
TWO = (exposure("a", "anyone"), exposure("b", "anyone"))
COUNTED = (
    # exposures of the plan, guards.maxExposed, --max-exposed, what is refused
    ("no limit", TWO, None, None, ""),
    ("nothing exposed", (), 0, None, ""),
    ("as many as allowed", TWO, 2, None, ""),
    ("one more", TWO, 1, None, "2 objects, and guards.maxExposed allows 1: acme/space/a, acme/space/b"),
    ("two readers of one object", (exposure("a", "anyone", "team x"), exposure("a", "team y")), 1, None, ""),
    ("what the same line opens inside", (exposure("a", "anyone", reaches=("b", "c")),), 2, None, "3 objects, and guards.maxExposed"),
    ("the same object inside two", (exposure("a", "x", reaches=("c",)), exposure("b", "x", reaches=("c",))), 3, None, ""),
    ("a looser rule has no readers", (RULE, exposure("a")), 0, None, ""),
    ("the option overrides a lower limit", TWO, 0, 2, ""),
    ("the option overrides a higher limit", TWO, 9, 1, "2 objects, and this run may expose 1"),
    ("the option without a limit", (exposure("a", "anyone"),), None, 0, "1 object, and this run may expose 0: acme/space/a"),
    ("many are not all named", tuple(exposure(str(number), "anyone") for number in range(7)), 0, None, "acme/space/4 and 2 more"),
)  # fmt: skip


@pytest.mark.parametrize(("exposures", "limit", "option", "wrong"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_a_plan_that_gives_more_objects_to_new_readers_than_it_may_is_refused(
    exposures: tuple[Exposure, ...], limit: int | None, option: int | None, wrong: str
) -> None:
    exposing = Plan("p", None, exposures=exposures)
    desired = dataclasses.replace(DESIRED, guards=Guards(max_exposed=limit))
    if not wrong:
        assert guard(exposing, desired, max_exposed=option) == exposing
        return
    with pytest.raises(Refused, match=re.escape(wrong)) as caught:
        guard(exposing, desired, max_exposed=option)
    assert caught.value.id == "RC-exposure-limit"
    hint = str(caught.value.hint)
    assert hint.startswith("if this is intended: --max-exposed ")
    assert guard(exposing, desired, max_exposed=int(hint.rpartition(" ")[2])) == exposing, "the way past it is exact"


SITE = Address.parse("acme/site/docs")
UNLISTED = Violation(
    "policy",
    "unlisted",
    SITE,
    "staging sites stay unlisted",
    source=Source("reconciler.yaml", 12),
    remedy="add an exception",
    id="RC-policy-violated",
)
READERS = Violation(
    "access", "1", SITE, "anyone can read it", path=(str(SITE), "acme/site/docs (public)"), remedy="close the site", id="RC-access-violated"
)


def test_a_violated_rule_refuses_the_plan_and_says_which_where_and_the_way_past_it() -> None:
    with pytest.raises(Refused) as caught:
        guard(Plan("p", None, violations=(UNLISTED, READERS)), DESIRED, allow_delete=100)
    assert str(caught.value) == (
        "the plan violates 2 rules\n  policy unlisted (reconciler.yaml:12) at acme/site/docs: staging sites stay unlisted\n"
        "  access 1 at acme/site/docs: anyone can read it by acme/site/docs -> acme/site/docs (public)"
    )
    assert caught.value.hint == "no option of the command line overrides a rule\n  add an exception\n  close the site"


def test_a_warning_refuses_nothing() -> None:
    warned = Plan("p", None, violations=(dataclasses.replace(UNLISTED, level=Severity.WARNING),))
    assert guard(warned, DESIRED) == warned
