"""Which exit code a plan or an outcome has."""

from __future__ import annotations

from itertools import permutations

import pytest

from reconciler.cli import codes, exits
from reconciler.model import Action, Binding, Blocked, Edited, Origin, Outcome, Plan, StateUpdate, StepStatus, Unknown
from tests.report.made import at, change, outcome, plan, result

CHANGED = change("acme/team/x", Action.CREATE)
BLOCKED = Blocked(at("acme/team/x"), "r", "m", id="RC-waits")
UNKNOWN = Unknown("team", None, "503")
BOUND = StateUpdate(bind={at("acme"): Binding(at("acme"), "organization", "org_acme", Origin.ADOPTED)})


def test_of_several_codes_the_one_named_first_wins() -> None:
    assert exits.PRECEDENCE == (130, 143, 3, 6, 1, 4, 5, 2, 0)
    for first, second in permutations(exits.PRECEDENCE, 2):
        stronger = min(first, second, key=exits.PRECEDENCE.index)
        assert exits.strongest([first, second]) == stronger
    assert exits.strongest([]) == exits.DONE


@pytest.mark.parametrize(
    ("made", "plain", "detailed", "why"),
    [
        (Plan("p", None, managed=3), 0, 0, "nothing to do"),
        (plan(CHANGED), 0, 2, "changes are pending"),
        (plan(CHANGED, blocked=(BLOCKED,)), 5, 5, "some of it is blocked"),
        (plan(blocked=(BLOCKED,)), 4, 4, "everything asked for is blocked"),
        (plan(deferred={at("acme"): "r"}), 0, 2, "it comes with the second run"),
        (plan(blocked=(BLOCKED,), deferred={at("acme"): "r"}), 5, 5, "some of it comes later"),
        (plan(unknown=(UNKNOWN,)), 5, 5, "something could not be read"),
        (plan(unknown=(UNKNOWN,), blocked=(BLOCKED,)), 4, 4, "what was asked for waits for what could not be read"),
        (plan(unknown=(UNKNOWN,), blocked=(BLOCKED,), managed=1), 1, 1, "nothing at all could be looked at"),
        (plan(in_doubt=(at("acme"),)), 5, 5, "something is in doubt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_code_of_a_plan(made: Plan, plain: int, detailed: int, why: str) -> None:
    assert (codes.of_plan(made, detailed=False), codes.of_plan(made, detailed=True)) == (plain, detailed), why


DONE, FAILED = result(1, "acme/team/a", StepStatus.DONE), result(2, "acme/team/b", StepStatus.FAILED, "400")
SKIPPED, DOUBT = result(3, "acme/team/c", StepStatus.SKIPPED, "needs 2"), result(4, "acme/team/d", StepStatus.IN_DOUBT, "cut")

STALE = result(5, "acme/team/e", StepStatus.STALE, "title was 'A' and is now 'B'")


@pytest.mark.parametrize(
    ("made", "signal", "code", "why"),
    [
        (outcome(), None, 0, "nothing to do"),
        (outcome(DONE), None, 0, "all is done"),
        (outcome(DONE, FAILED), None, 5, "a part is done"),
        (outcome(FAILED, SKIPPED), None, 1, "nothing is done"),
        (outcome(FAILED, plan=plan(state_update=BOUND)), None, 5, "something was bound"),
        (outcome(DOUBT), None, 5, "it may have been done"),
        (outcome(DONE, leftover=(at("acme"),)), None, 5, "something differs again"),
        (outcome(STALE, SKIPPED), None, 5, "somebody else came first"),
        (outcome(DONE, edited=(Edited(at("acme"), "title", "A", "B"),)), None, 5, "somebody else changed it during the run"),
        (outcome(DONE, unverified=(at("acme"),)), None, 5, "what was written could not be read again"),
        (outcome(DONE, plan=plan(deferred={at("acme"): "r"})), None, 5, "a second run continues"),
        (outcome(DONE, plan=plan(CHANGED, blocked=(BLOCKED,))), None, 5, "a part was blocked"),
        (outcome(plan=plan(blocked=(BLOCKED,))), None, 4, "everything was blocked"),
        (outcome(DONE, SKIPPED), 2, 130, "interrupted"),
        (outcome(DONE, SKIPPED), 15, 143, "terminated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_code_of_an_outcome(made: Outcome, signal: int | None, code: int, why: str) -> None:
    assert codes.of_outcome(made, signal=signal) == code, why
