"""Sites that lose all sections or get their first: all that disappears is counted, and the announced second run goes through."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.service import Reader
from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.model import Guards, Plan
from reconciler.observe import observe
from reconciler.plan.guard import deletes, guard
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.missing import believable
from tests.apply.test_kill import Killed, Mortal
from tests.harness import ORGANIZATION, Org
from tests.proofs import spread
from tests.small import described, verbs

SITE = "acme/site/docs"
LETTERS = "abcdef"
SECTIONS = [
    {"section": "x", "title": "First", "spaces": ["a", "b"]},
    {"section": "y", "title": "Second", "spaces": ["c", "d"]},
    {"section": "z", "title": "Third", "spaces": ["e", "f"]},
]


def tree(structure: list[Any]) -> dict[str, Any]:
    spaces = [{"space": letter, "title": f"Space {letter}"} for letter in LETTERS]
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *spaces]
    return {"content": content, "sites": {"docs": {"title": "Docs", "structure": structure}}}


def believed(org: Org) -> None:
    """A run that has not been told otherwise believes what is gone."""

    async def read() -> None:
        desired, store = org.load().desired, org.store()
        try:
            state = store.read()
            async with org.client(Reader) as reader:
                matches = identify(kinds(), desired, state, await observe(reader, kinds(), desired, state))
                believable(matches, desired, accept=None)
        finally:
            store.close()

    asyncio.run(read())


def shown(org: Org) -> list[tuple[str | None, list[str]]]:
    """Where the site spaces are: by section, in order, the titles of what they show."""
    base = f"/orgs/{ORGANIZATION}/sites/{org.items(f'/orgs/{ORGANIZATION}/sites')[0]['id']}"
    titles = {item["id"]: item["title"] for item in org.items(f"{base}/sections")}
    places: dict[str | None, list[str]] = {}
    for entry in org.items(f"{base}/site-spaces"):
        places.setdefault(titles.get(entry.get("section")), []).append(entry["space"]["title"][-1])
    return [*places.items()]


def through(org: Org, structure: list[Any]) -> list[str]:
    """Apply until nothing is left, at most twice; the requests that were sent."""
    org.write(tree(structure))
    sent: list[str] = []
    for _ in range(2):
        believed(org)
        outcome = org.apply()
        assert [result.error for result in outcome.results if result.error] == []
        assert outcome.leftover == ()
        sent += verbs(outcome)
        believed(org)
    assert described(org.plan()) == []
    assert org.plan().empty
    return sent


def announced(plan: Plan) -> set[str]:
    return {str(change.address).removeprefix(f"{SITE}/") for change in deletes(plan)}


SECTIONED = [("First", ["a", "b"]), ("Second", ["c", "d"]), ("Third", ["e", "f"])]


def test_sections_that_all_leave_count_what_is_deleted_with_them_and_the_second_run_is_not_an_outage(org: Org) -> None:
    through(org, SECTIONS)
    org.write(tree([*LETTERS]))
    plan = org.plan(allow_replace=("**",))
    along = {f"section/{key}" for key in "xyz"} | {f"site-space/{key}" for key in "cdef"}
    assert announced(plan) == along
    assert {address.key for address in plan.deferred} == set(LETTERS)
    desired = org.load().desired
    with pytest.raises(Refused, match="deletes 7 objects"):
        guard(plan, desired.__class__(**{**vars(desired), "guards": Guards(0.0, 6)}))
    sent = through(org, [*LETTERS])
    assert [key for key in sent if key.startswith("delete")] == [f"delete {SITE}/section/{member}" for member in "yzx"]
    assert [item for item in sent if item.startswith("create")] == [f"create {SITE}/site-space/{entry}" for entry in "cdef"]
    assert shown(org) == [(None, [*LETTERS])]


def test_the_last_section_is_deleted_after_all_others_were(org: Org) -> None:
    through(org, SECTIONS)
    org.write(tree([*LETTERS]))
    steps = {str(step.address)[-1]: step for step in org.plan(allow_replace=("**",)).steps}
    assert steps["x"].needs == {steps["y"].id, steps["z"].id}


def test_variants_of_an_only_section_stay_and_need_no_replacement(org: Org) -> None:
    through(org, SECTIONS[:1])
    kept = {letter: org.id(f"{SITE}/site-space/{letter}") for letter in "ab"}
    org.write(tree(["a", "b"]))
    plan = org.plan()
    assert plan.blocked == ()
    assert announced(plan) == {"section/x"}
    org.apply(allow_replace=())
    assert org.plan().empty
    assert {letter: org.id(f"{SITE}/site-space/{letter}") for letter in "ab"} == kept


def test_without_leave_to_replace_no_section_leaves_and_the_way_past_it_is_said(org: Org) -> None:
    through(org, SECTIONS)
    org.write(tree([*LETTERS]))
    plan = org.plan()
    assert plan.steps == ()
    remedies = {str(blocked.address): blocked.remedy for blocked in plan.blocked}
    assert "--allow-replace acme/site/docs/site-space/c" in remedies[f"{SITE}/section/y"]
    assert "--allow-replace acme/site/docs/site-space/c" in remedies[f"{SITE}/section/x"]


def test_nothing_is_created_outside_sections_that_stay(org: Org) -> None:
    through(org, SECTIONS[:1])
    site = org.items(f"/orgs/{ORGANIZATION}/sites")[0]["id"]
    org.call("POST", f"/orgs/{ORGANIZATION}/sites/{site}/sections", {"title": "Theirs", "spaceId": "spc_blank"})
    org.write(tree(["a", "b", "c"]))
    blocked = {str(entry.address): entry.reason for entry in org.plan(allow_replace=("**",)).blocked}
    assert "still has the sections 'First', 'Theirs'" in blocked[f"{SITE}/site-space/c"]


def test_a_site_without_structure_loses_all_of_it_in_one_run(org: Org) -> None:
    through(org, SECTIONS)
    org.write(tree([]))
    assert len(announced(org.plan())) == 9
    org.apply()
    assert org.plan().empty
    assert shown(org) == []


def test_unmanaged_objects_that_are_deleted_too_are_counted(org: Org) -> None:
    through(org, SECTIONS)
    site = org.items(f"/orgs/{ORGANIZATION}/sites")[0]["id"]
    section = org.id(f"{SITE}/section/x")
    org.call("POST", f"/orgs/{ORGANIZATION}/sites/{site}/site-spaces", {"spaceId": "spc_blank", "sectionId": section})
    org.write(tree(SECTIONS[1:]), removed=[{"address": f"{SITE}/section/x", "action": "delete-all"}])
    plan = org.plan()
    strange = [change for change in plan.changes if "unmanaged" in change.reason]
    assert [(change.kind, change.title) for change in strange] == [("site-space", "Blank")]
    assert len(announced(plan)) == 4


def test_the_first_section_takes_in_the_existing_spaces_and_only_the_rest_is_replaced(org: Org) -> None:
    through(org, [*LETTERS])
    kept = org.id(f"{SITE}/site-space/b")
    org.write(tree(SECTIONS))
    plan = org.plan(allow_replace=("**",))
    assert announced(plan) == {f"site-space/{member}" for member in "acdef"}
    sent = through(org, SECTIONS)
    assert sum(item.startswith("delete") for item in sent) == 5
    assert shown(org) == SECTIONED
    assert org.id(f"{SITE}/site-space/b") == kept
    site = org.items(f"/orgs/{ORGANIZATION}/sites")[0]["id"]
    paths = {entry["space"]["title"][-1]: entry["path"] for entry in org.items(f"/orgs/{ORGANIZATION}/sites/{site}/site-spaces")}
    assert paths == {letter: f"space-{letter}" for letter in LETTERS}


@pytest.mark.parametrize(
    "other",
    spread([
        [*LETTERS],
        [*"fedcba"],
        [],
        ["a"],
        [{"section": "w", "title": "Other", "spaces": ["a", "d"]}],
        [{"section": "z", "title": "Third", "spaces": ["f", "e", "a"]}, {"section": "x", "title": "First", "spaces": ["b"]}],
        [{"group": "g", "title": "Group", "structure": SECTIONS}],
    ], 2),
)  # fmt: skip
def test_there_and_back_leaves_nothing_over(org: Org, other: list[Any]) -> None:
    through(org, SECTIONS)
    through(org, other)
    through(org, SECTIONS)
    assert shown(org) == SECTIONED


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", spread([1, 2, 3], 1))
def test_a_run_that_dies_between_its_deletes_is_not_an_outage(tmp_path: Path, nth: int, when: str) -> None:
    org = Mortal(tmp_path)
    through(org, SECTIONS)
    org.write(tree([*LETTERS]))
    org.nth, org.when = nth, when
    with pytest.raises(Killed):
        org.apply()
    org.nth = 0
    believed(org)
    assert announced(org.plan(allow_replace=("**",))) is not None
    for _ in range(2):
        assert org.apply().leftover == ()
        believed(org)
    assert org.plan().empty
    assert shown(org) == [(None, [*LETTERS])]
