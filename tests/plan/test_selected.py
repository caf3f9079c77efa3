"""A run about some addresses says what is pending beside them, and counts what it deletes: neither more nor less."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.address import Address, Glob, Selection
from reconciler.kinds import load as kinds
from reconciler.model import Plan
from reconciler.observe import observe
from reconciler.plan.planner import plan as make_plan
from reconciler.report.documents import outcome_document
from reconciler.report.outcome import summary as outcome_summary
from reconciler.report.plan import summary
from reconciler.run.guards import deletes
from tests.harness import Org
from tests.plan.test_sections import SECTIONS, SITE, tree
from tests.small import applied


def selected(org: Org, *targets: str, excludes: tuple[str, ...] = (), **options: Any) -> Plan:
    return _run(org, Selection(tuple(map(Glob.parse, targets)), tuple(map(Glob.parse, excludes))), **options)


def _run(org: Org, selection: Selection, **options: Any) -> Plan:
    import asyncio

    from reconciler.client.service import Reader

    async def read() -> Plan:
        desired = org.load().desired
        with org.store() as store:
            state = store.read()
            async with org.client(Reader) as reader:
                actual = await observe(reader, kinds(), desired, state)
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


# -- selections and protection -----------------------------------------------------------------------------------------------------


BLANK: dict[str, Any] = {"space": "blank", "id": "spc_blank", "title": "Blank"}
COPY = {"duplicateOf": "blank"}


def collection(key: str, *content: Any) -> dict[str, Any]:
    return {"collection": key, "title": f"Collection {key}", "content": list(content)}


def space(key: str) -> dict[str, Any]:
    return {"space": key, "title": f"Space {key}", **COPY}


def titles(org: Org, path: str) -> set[str]:
    return {item["title"] for item in org.items(path)}


@pytest.fixture
def moved_out(org: Org) -> Org:
    """The collections `outer` and `inner` lose their lines, and a space moves out of them in the same edit."""
    applied(org, {"content": [BLANK, collection("outer", collection("inner", space("kept"))), collection("other")]})
    lines = [{"address": f"acme/collection/{key}", "action": "delete"} for key in ("outer", "inner")]
    org.write({"content": [BLANK, collection("other", space("kept"))]}, removed=lines)
    return org


@pytest.mark.parametrize("patterns", [("acme/collection/outer",), ("acme/collection/inner",), ("acme/collection/*",)])
def test_a_target_that_is_deleted_takes_with_it_the_move_of_what_stays(moved_out: Org, patterns: tuple[str, ...]) -> None:
    outcome = moved_out.apply(selection=Selection(tuple(map(Glob.parse, patterns))))
    assert [str(result.step.address) for result in outcome.results if result.error] == []
    assert "acme/space/kept is included: a target requires it" in outcome.plan.notes
    assert moved_out.items(f"/collections/{moved_out.id('acme/collection/other')}/spaces")[0]["title"] == "Space kept"


@pytest.mark.parametrize("way", ["removed", "a deleted line", "prune"])
def test_a_run_that_deleted_its_target_can_be_started_again(org: Org, way: str) -> None:
    content = [BLANK, collection("outer"), collection("other")]
    top: dict[str, Any] = {"prune": {"collection": "all"}} if way == "prune" else {}
    applied(org, {"content": content}, **top)
    if way == "removed":
        top["removed"] = [{"address": "acme/collection/outer", "action": "delete"}]
    org.write({"content": [BLANK, collection("other")]}, **top)
    target = Selection((Glob.parse("acme/collection/outer"),))
    first = org.apply(selection=target)
    assert [str(result.step.address) for result in first.results] == ["acme/collection/outer"]
    assert selected(org, "acme/collection/outer").steps == ()
    assert org.apply(selection=target).results == ()


def test_a_container_is_not_deleted_while_the_move_of_its_content_is_excluded(moved_out: Org) -> None:
    plan = selected(moved_out, excludes=("acme/space/kept",))
    assert plan.steps == ()
    reasons = {str(blocked.address): blocked for blocked in plan.blocked}
    assert reasons["acme/collection/inner"].id == "RC-outside-selection"
    assert "acme/space/kept" in reasons["acme/collection/inner"].remedy
    assert "acme/collection/outer" in reasons


def test_a_selection_of_addresses_as_of_a_saved_plan_is_no_way_round(moved_out: Org) -> None:
    moved_out.apply(selection=Selection(only=frozenset(map(Address.parse, ("acme/collection/outer", "acme/collection/inner")))))
    assert {"Collection outer", "Collection inner"} <= titles(moved_out, "/orgs/org_acme/collections")
    assert moved_out.items(f"/collections/{moved_out.id('acme/collection/inner')}/spaces")[0]["title"] == "Space kept"


def test_what_is_excluded_is_not_deleted_with_its_container(org: Org) -> None:
    applied(org, {"content": [BLANK, collection("outer", space("inner"))]})
    lines = [{"address": address, "action": "delete"} for address in ("acme/collection/outer", "acme/space/inner")]
    org.write({"content": [BLANK]}, removed=lines)
    plan = selected(org, excludes=("acme/space/inner",))
    assert plan.steps == ()
    assert [str(blocked.address) for blocked in plan.blocked] == ["acme/collection/outer"]
    assert {str(step.address) for step in selected(org, "acme/collection/outer").steps} == {"acme/collection/outer", "acme/space/inner"}


def test_a_group_is_not_deleted_while_its_section_is_excluded(org: Org) -> None:
    def site(*structure: Any) -> dict[str, Any]:
        return {"content": [BLANK], "sites": {"docs": {"title": "Docs", "structure": list(structure)}}}

    section = {"section": "guides", "title": "Guides", "spaces": ["blank"]}
    applied(
        org,
        site(
            {"group": "all", "title": "All", "structure": [section]},
            {"section": "more", "title": "More", "spaces": [{"key": "other", "space": "blank"}]},
        ),
    )
    org.write(site(section, {"section": "more", "title": "More", "spaces": [{"key": "other", "space": "blank"}]}), removed=[])
    plan = selected(org, excludes=("acme/site/docs/section/guides",))
    assert plan.steps == ()
    assert {str(blocked.address) for blocked in plan.blocked} == {"acme/site/docs/group/all"}
    plan = selected(org, "acme/site/docs/group/all")
    assert {str(step.address).rsplit("/", 1)[-1] for step in plan.steps} == {"all", "guides"}


@pytest.mark.parametrize("excluded", ["ada", "linus"])
@pytest.mark.parametrize("by", ["target", "exclude"])
def test_a_hand_over_of_the_admin_role_is_not_done_by_half(org: Org, excluded: str, by: str) -> None:
    other = {"ada": "linus", "linus": "ada"}[excluded]
    applied(org, {"members": {"ada@acme.example": "admin", "linus@acme.example": "edit"}})
    org.write({"members": {"ada@acme.example": "read", "linus@acme.example": "admin"}}, service={"member": "linus@acme.example"})
    limit = {"excludes": (f"acme/member/{excluded}@acme.example",)} if by == "exclude" else {}
    plan = selected(org, *((f"acme/member/{other}@acme.example",) if by == "target" else ()), **limit)
    assert not any(step.address.key == "ada@acme.example" for step in plan.steps)


def test_values_that_siblings_exchange_are_exchanged_or_left(org: Org) -> None:
    def site(first: str, second: str) -> dict[str, Any]:
        spaces = [{"space": "one", "path": first}, {"space": "two", "path": second}]
        return {"content": [BLANK, space("one"), space("two")], "sites": {"docs": {"title": "Docs", "structure": spaces}}}

    applied(org, site("v1", "v2"))
    org.write(site("v2", "v1"))
    assert selected(org, excludes=("acme/site/docs/site-space/two",)).steps == ()
    assert {step.address.key for step in selected(org, "acme/site/docs/site-space/one").steps} == {"one", "two"}


def test_what_a_selection_deletes_is_what_it_lists(org: Org) -> None:
    """A variant that goes to another section is created there before its former section is deleted, or the section stays."""
    sections = [
        {"section": "one", "title": "One", "spaces": ["blank", {"key": "moving", "space": "a"}]},
        {"section": "two", "title": "Two", "spaces": ["b"]},
    ]
    content = [BLANK, space("a"), space("b")]
    applied(org, {"content": content, "sites": {"docs": {"title": "Docs", "structure": sections}}})
    after = [{"section": "two", "title": "Two", "spaces": ["b", {"key": "moving", "space": "a"}]}]
    org.write({"content": content, "sites": {"docs": {"title": "Docs", "structure": after}}})
    plan = selected(org, excludes=("acme/site/docs/site-space/moving",), allow_replace=("**",))
    assert counted(plan) == set()
    assert [str(blocked.address) for blocked in plan.blocked if blocked.id == "RC-outside-selection"] == ["acme/site/docs/section/one"]
    plan = selected(org, "acme/site/docs/section/one", allow_replace=("**",))
    assert {"section/one", "site-space/moving"} <= counted(plan) | {str(c.address).removeprefix("acme/site/docs/") for c in plan.changes}
    assert any(step.verb == "create" and step.address.key == "moving" for step in plan.steps)
