"""Random organizations A -> B: apply, then the plan is empty; only what the plan named changed; equal input gives equal bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from reconciler.model import StepStatus
from tests.harness import ORGANIZATION, Org
from tests.organizations import anything
from tests.proofs import costly, sampled, tries

COUNTED = ("updatedAt", "siteSpaces", "urls", "spaces", "teams", "members")  # what other objects change by being there


def everything(org: Org) -> dict[str, Any]:
    """Every object of the sandbox by id, as somebody else's client sees it, without what time and neighbours change."""
    found: dict[str, Any] = {}
    base = f"/orgs/{ORGANIZATION}"
    found[ORGANIZATION] = org.call("GET", base)
    for path in ("collections", "teams", "members", "sites"):
        for one in org.items(f"{base}/{path}"):
            found[one["id"]] = one
    for one in org.items(f"{base}/members/usr_ada/spaces"):
        found[one["space"]["id"]] = one["space"]
    for site in org.items(f"{base}/sites"):
        for path in ("sections", "section-groups", "site-spaces", "share-links"):
            for one in org.items(f"{base}/sites/{site['id']}/{path}"):
                found[one["id"]] = {
                    key: value["id"] if key == "space" else value
                    for key, value in one.items()
                    if key not in ("siteSpaces", "children") and not (key == "title" and "space" in one)
                }
    return {id: {key: value for key, value in one.items() if key not in COUNTED} for id, one in found.items()}


@costly
@sampled
@settings(
    max_examples=tries(25, 2),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(anything(), anything())
def test_any_organization_becomes_any_other(first: dict[str, Any], second: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        for tree in (first, second):
            org.write(tree)
            before = everything(org)
            plan, again = org.plan(allow_replace=("**",)), org.plan(allow_replace=("**",))
            assert repr(plan) == repr(again)
            assert [
                (str(result.step.address), result.step.verb, result.error)
                for result in org.apply().results
                if result.status is not StepStatus.DONE
            ] == []
            named = {str(change.id) for change in plan.changes} | {str(step.target) for step in plan.steps} | {
                part for step in plan.steps for part in step.path if isinstance(part, str)
            }  # fmt: skip
            after = everything(org)
            changed = {id for id in before if before[id] != after.get(id)}
            assert {id for id in changed if id not in named and not _only_flag(before[id], after.get(id))} == set()
            left = org.plan(allow_replace=("**",))
            assert [f"{change.address} {change.actions} {[delta.name for delta in change.fields]}" for change in left.changes] == []
            assert (left.blocked, left.steps) == ((), ())


def _only_flag(before: Any, after: Any) -> bool:
    """Whether only the default moved on or off it, or its path's neighbours changed: written on the parent, read on the child."""
    if after is None:
        return False
    return {key for key in before if before[key] != after.get(key)} <= {"default", "sectionGroup", "section"}
