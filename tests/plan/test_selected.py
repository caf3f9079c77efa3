"""A run about some addresses says what is pending beside them, and counts what it deletes: neither more nor less."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.address import Glob
from reconciler.kinds import load as kinds
from reconciler.model import Plan
from reconciler.observe import observe
from reconciler.plan import Selection
from reconciler.plan import plan as make_plan
from reconciler.plan.guard import deletes
from reconciler.report.documents import outcome_document
from reconciler.report.outcome import summary as outcome_summary
from reconciler.report.text import summary
from tests.harness import Org
from tests.plan.test_sections import SECTIONS, SITE, tree
from tests.small import applied


def selected(org: Org, *targets: str, excludes: tuple[str, ...] = (), **options: Any) -> Plan:
    return _run(org, Selection(tuple(map(Glob.parse, targets)), tuple(map(Glob.parse, excludes))), **options)


def _run(org: Org, selection: Selection, **options: Any) -> Plan:
    import asyncio

    from reconciler.client import Reader

    async def read() -> Plan:
        desired, store = org.load().desired, org.store()
        try:
            state = store.read()
            async with org.client(Reader) as reader:
                actual = await observe(reader, kinds(), desired, state)
        finally:
            store.close()
        return make_plan(kinds(), desired, state, actual, selection=selection, **options)

    return asyncio.run(read())


def counted(plan: Plan) -> set[str]:
    return {str(change.address).removeprefix(f"{SITE}/") for change in deletes(plan)}


def requested(plan: Plan) -> set[str]:
    return {str(step.address).removeprefix(f"{SITE}/") for step in plan.steps if step.verb == "delete"}


@pytest.fixture
def changed(org: Org) -> Org:
    """Two titles changed, a section and a team's line gone, two spaces in another order."""
    written = tree(SECTIONS)
    written["teams"] = {"writers": {"title": "Writers"}}
    applied(org, written)
    written["content"][1]["title"], written["content"][2]["title"] = "Another", "Second"
    written["content"][5], written["content"][6] = written["content"][6], written["content"][5]
    written["sites"]["docs"]["structure"] = SECTIONS[:2]
    org.write({**written, "teams": {}})
    return org


def test_what_is_pending_outside_the_selection_is_counted_and_said(changed: Org) -> None:
    whole = changed.plan()
    assert whole.outside is None
    names = {change.address for change in whole.changes}
    plan = selected(changed, "acme/space/a")
    assert plan.outside == len(names) - 1
    assert summary(plan).startswith("Plan: 1 to update; ")
    assert summary(plan).endswith(f"{plan.outside} changes outside the selection are pending. 1 request.")
    plan = selected(changed, "acme/space/c")
    assert plan.empty
    assert summary(plan) == (
        f"No changes for the selected addresses. {plan.managed} objects managed, {len(plan.unmanaged)} unmanaged. "
        f"{len(names)} changes outside the selection are pending."
    )
    plan = selected(changed, excludes=("acme/space/a",))
    assert plan.outside == 1
    assert summary(plan).endswith("1 change outside the selection is pending. 4 requests.")


def test_a_selection_of_all_that_is_pending_leaves_an_empty_plan(changed: Org) -> None:
    plan = selected(changed, "**")
    assert plan.outside == 0
    assert "outside" not in summary(plan)


def test_an_apply_of_a_target_does_not_say_that_the_plan_is_empty(changed: Org) -> None:
    from reconciler.model import Outcome, StepResult, StepStatus

    plan = selected(changed, "acme/space/a")
    outcome = Outcome("run", plan, tuple(StepResult(step, StepStatus.DONE) for step in plan.steps), 1)
    assert outcome_summary(outcome) == (
        f"Applied 1 request. Nothing left to do for the selected addresses; {plan.outside} changes outside the selection are pending."
    )
    assert outcome_document(outcome)["summary"]["outside"] == plan.outside


@pytest.mark.parametrize(
    ("targets", "excludes"),
    [
        (("acme/site/docs/section/z",), ()),
        (("acme/site/docs/site-space/e",), ()),
        (("acme/site/docs/site-space/*",), ()),
        ((), ("acme/site/docs/section/z",)),
        ((), ("acme/team/*",)),
    ],
)
def test_a_delete_is_counted_exactly_where_it_is_done(changed: Org, targets: tuple[str, ...], excludes: tuple[str, ...]) -> None:
    plan = selected(changed, *targets, excludes=excludes)
    taken = {str(address).removeprefix(f"{SITE}/") for step in plan.steps for address in step.takes}
    assert counted(plan) == requested(plan) | taken
    assert counted(plan)


def test_excluded_resources_are_not_included(changed: Org) -> None:
    plan = selected(changed, excludes=("acme/site/docs/site-space/e",))
    assert counted(plan) == requested(plan) == {"acme/team/writers"}  # what else is in the section waits with it
    assert [(str(blocked.address), blocked.reason) for blocked in plan.blocked] == [
        (f"{SITE}/section/z", f"would also delete {SITE}/site-space/e, which is not part of this run"),
        (f"{SITE}/site-space/f", f"waits for {SITE}/section/z, which is blocked"),
    ]


@pytest.mark.parametrize("section", "xyz")
def test_a_section_is_not_deleted_alone_while_its_variants_belong_where_the_other_sections_prevent_them(org: Org, section: str) -> None:
    """The YAML has all variants at the top of the site, where none can be created beside a section."""
    applied(org, tree(SECTIONS))
    org.write(tree([*"abcdef"]))
    plan = selected(org, f"{SITE}/section/{section}", allow_replace=("**",))
    assert plan.steps == ()
    assert {blocked.id for blocked in plan.blocked if blocked.address.parts[-2] == "site-space"} == {"RC-beside-others"}
    assert f"{SITE}/section/{section}" in {str(blocked.address) for blocked in plan.blocked}
    plan = selected(org, f"{SITE}/section/*", allow_replace=("**",))
    assert counted(plan) >= {"section/x", "section/y", "section/z"}
