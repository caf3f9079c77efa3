"""A run that would delete more than it may is refused, with the way past it."""

from __future__ import annotations

import dataclasses

import pytest

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.model import Action, Change, Desired, Guards, Plan, Severity, Source, Violation
from reconciler.plan.guard import guard


def plan(deletes: int, managed: int, action: Action = Action.DELETE) -> Plan:
    changes = tuple(Change(Address(("acme", "team", f"t{number}")), "team", (action,)) for number in range(deletes))
    declared = managed - deletes if action is Action.DELETE else managed  # what is deleted is no longer declared
    return Plan("p", None, changes=changes, managed=max(declared, 0))


DESIRED = Desired("p", None, {}, {}, frozenset(), guards=Guards(20, 3))


@pytest.mark.parametrize(("deletes", "managed"), [(0, 0), (3, 1), (3, 10), (4, 20), (20, 100)])
def test_as_many_deletes_as_the_limits_allow_go_on(deletes: int, managed: int) -> None:
    assert guard(plan(deletes, managed), DESIRED, allow_delete=None) == plan(deletes, managed)


@pytest.mark.parametrize(("deletes", "managed"), [(4, 19), (21, 100)])
@pytest.mark.parametrize("action", [Action.DELETE, Action.REPLACE])
def test_more_are_refused_and_the_number_to_pass_is_said(deletes: int, managed: int, action: Action) -> None:
    with pytest.raises(Refused) as caught:
        guard(plan(deletes, managed, action), DESIRED, allow_delete=None)
    assert f"maxDelete (20 % of {managed}, at least 3) allows" in str(caught.value)
    assert caught.value.hint == f"if this is intended: --allow-delete {deletes}"
    assert guard(plan(deletes, managed, action), DESIRED, allow_delete=deletes)


def test_a_run_may_be_told_to_delete_nothing() -> None:
    with pytest.raises(Refused, match="this run may delete 0"):
        guard(plan(1, 100), DESIRED, allow_delete=0)


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
    assert guard(warned, DESIRED, allow_delete=None) == warned
