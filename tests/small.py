"""What must hold after every apply of an organization, and a plan and an outcome in the words of tests."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from reconciler.model import Outcome, Plan, StepStatus
from tests.harness import Org
from tests.organizations import node as node, small as small
from tests.prepared import applied_once
from tests.proofs import long


def applied(org: Org, tree: dict[str, Any], **top: Any) -> Outcome:
    """Write, apply, and hold that nothing is left to do.

    What was applied to a fresh sandbox before, and was found to be so, is copied. Of one organization in four it is also held that the
    plan after it is empty and that planning only reads; of the others, what their tests plan next shows it.
    """
    org.write(tree, **top)
    return applied_once(org, lambda: _applied(org))


def _looked_at_again(org: Org) -> bool:
    """Whether an organization is one of the sample, or all are."""
    return long() or crc32((org.project / "reconciler.yaml").read_bytes()) % 4 == 0


def _applied(org: Org) -> Outcome:
    outcome = org.apply()
    assert [
        (str(result.step.address), result.step.verb, result.error) for result in outcome.results if result.status is not StepStatus.DONE
    ] == []
    assert outcome.leftover == ()
    if _looked_at_again(org):
        settled(org)
    org.requests[:] = [request for request in org.requests if request[0] == "GET"]
    return outcome


def settled(org: Org) -> None:
    org.requests.clear()
    plan = org.plan()
    assert described(plan) == []
    assert (plan.steps, plan.blocked) == ((), ())
    assert {method for method, _ in org.requests} == {"GET"}


def described(plan: Plan) -> list[str]:
    return [
        f"{change.address}: {' '.join(change.actions)} {' '.join(delta.name for delta in change.fields)}".strip() for change in plan.changes
    ]


def verbs(outcome: Outcome) -> list[str]:
    return [f"{result.step.verb} {result.step.address}" for result in outcome.results]
