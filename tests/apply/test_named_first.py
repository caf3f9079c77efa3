"""Without a state a copy is recognized by its title: it has that before anything refers to it."""

from __future__ import annotations

from pathlib import Path

from reconciler.model import Plan, Step
from tests.apply.test_kill import Killed, killing
from tests.harness import Org
from tests.proofs import costly
from tests.small import described

TREE = {
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank"},
        {"space": "one", "title": "One"},
        {"space": "two", "title": "Two"},
    ],
    "sites": {
        "docs": {"title": "Docs", "structure": [{"section": "all", "title": "All", "spaces": [{"space": "one", "path": "v1"}, "two"]}]},
        "flat": {"title": "Flat", "structure": [{"space": "one", "path": "first"}]},
    },
}


def waits(plan: Plan, step: Step) -> set[int]:
    """The steps that a step waits for, at whatever distance."""
    steps = {each.id: each for each in plan.steps}
    waiting, met = [step.id], set[int]()
    while waiting:
        at = steps[waiting.pop()]
        new = (at.needs | at.after) - met
        met |= new
        waiting += new
    return met


def test_what_refers_to_a_copy_comes_after_the_copy_has_its_title(org: Org) -> None:
    org.write(TREE)
    plan = org.plan()
    titles = {step.address.key: step.id for step in plan.steps if step.kind == "space" and "title" in step.writes}
    referring = {step.address.key: step for step in plan.steps if step.kind in ("site-space", "section") and step.verb == "create"}
    assert titles["one"] in waits(plan, referring["all"])
    assert titles["one"] in waits(plan, referring["one"])
    assert titles["two"] in waits(plan, referring["two"])


@costly
def test_a_first_apply_that_loses_its_state_anywhere_is_finished_without_it(tmp_path: Path) -> None:
    org = Org(tmp_path / "peace")
    org.write(TREE)
    for nth in range(1, len(org.apply().results) + 1):
        org = Org(tmp_path / f"{nth}")
        org.write(TREE)
        org.way = killing(nth, "after")
        try:
            org.apply()
        except Killed:
            org.way = None
        (org.root / "state.db").unlink()
        assert [result.error for result in org.apply().results if result.error] == []
        assert described(org.plan()) == []
        shown = [(part["path"], part["space"]["title"]) for site in org.items("/orgs/org_acme/sites") for part in parts(org, site["id"])]
        assert sorted(shown) == [("first", "One"), ("two", "Two"), ("v1", "One")]


def parts(org: Org, site: str) -> list[dict]:  # type: ignore[type-arg]
    return org.items(f"/orgs/org_acme/sites/{site}/site-spaces")
