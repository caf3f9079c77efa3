"""Sites that lose all sections or get their first: all that disappears is counted, and the announced second run goes through.

What is in a container that stays, stays too, unless `removed` names it: for every kind of container, at any depth."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.client.service import Reader
from reconciler.errors import Refused
from reconciler.kinds import load as kinds
from reconciler.model import Guards, Plan
from reconciler.observe import observe
from reconciler.plan.matching.match import identify
from reconciler.plan.matching.missing import believable
from reconciler.run.guards import check, deletes
from reconciler.run.operation import Limits
from tests.apply.test_kill import Killed, killing
from tests.harness import ORGANIZATION, Org
from tests.plan.edits import lose
from tests.proofs import costly, spread
from tests.small import applied, described, node, small, verbs

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
        desired = org.load().desired
        with org.store() as store:
            state = store.read()
            async with org.client(Reader) as reader:
                believable(identify(kinds(), desired, state, await observe(reader, kinds(), desired, state)), desired, accept=None)

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
    assert announced(plan) == ({f"section/{key}" for key in "xyz"} | {f"site-space/{key}" for key in "cdef"})
    assert {address.key for address in plan.deferred} == set(LETTERS)
    desired = org.load().desired
    with pytest.raises(Refused, match="deletes 7 objects"):
        check(plan, desired.__class__(**{**vars(desired), "guards": Guards(0.0, 6)}), Limits().with_exposures)
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
    assert announced(org.plan(allow_replace=("**",))) == {f"site-space/{member}" for member in "acdef"}
    assert sum(item.startswith("delete") for item in through(org, SECTIONS)) == 5
    assert shown(org) == SECTIONED
    assert org.id(f"{SITE}/site-space/b") == kept
    site = org.items(f"/orgs/{ORGANIZATION}/sites")[0]["id"]
    paths = {entry["space"]["title"][-1]: entry["path"] for entry in org.items(f"/orgs/{ORGANIZATION}/sites/{site}/site-spaces")}
    assert paths == {letter: f"space-{letter}" for letter in LETTERS}


def test_the_first_section_has_a_default_variant_that_it_takes_in(org: Org) -> None:
    through(org, ["a", "b", "c"])
    first = {"section": "x", "title": "First", "spaces": ["a", {"space": "b", "default": True}, "c"]}
    second = {"section": "y", "title": "Second", "spaces": [{"key": "again", "space": "b", "path": "space-b"}]}
    through(org, [first, second])
    assert shown(org) == [("First", ["a", "b", "c"]), ("Second", ["b"])]
    flags = {entry["space"]["title"][-1]: entry["default"] for entry in org.items(f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}/site-spaces")}
    assert flags["b"]


@costly
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


@costly
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", spread([1, 2, 3], 1))
def test_a_run_that_dies_between_its_deletes_is_not_an_outage(tmp_path: Path, nth: int, when: str) -> None:
    org = Org(tmp_path)
    through(org, SECTIONS)
    org.write(tree([*LETTERS]))
    org.way = killing(nth, when)
    with pytest.raises(Killed):
        org.apply()
    org.way = None
    believed(org)
    assert announced(org.plan(allow_replace=("**",))) is not None
    for _ in range(2):
        assert org.apply().leftover == ()
        believed(org)
    assert org.plan().empty
    assert shown(org) == [(None, [*LETTERS])]


PRODUCT, DEEP, ONE, THREE = "acme/collection/product", "acme/collection/deep", "acme/space/one", "acme/space/three"
REFERENCE, API, CLI = "acme/site/docs/group/reference", "acme/site/docs/section/api", "acme/site/docs/section/cli"
MORE, VARIANT = "acme/site/docs/section/more", "acme/site/docs/site-space/more-five"
IN_PRODUCT = {ONE, "acme/space/two", "acme/space/four", DEEP, THREE}
NOT_PRUNED: tuple[tuple[str, str, set[str]], ...] = (
    ("collection", "product", IN_PRODUCT),
    ("group", "reference", {API, CLI, "acme/site/docs/site-space/three", "acme/site/docs/site-space/cli-five"}),
    ("section", "more", {VARIANT}),
)


def without(*keys: str) -> dict[str, Any]:
    """The organization without these nodes; what refers to a space in them shows another one."""
    tree = small()
    lose(tree, *keys)
    if "product" in keys:
        shown = iter(("five", "six"))
        tree["sites"]["flat"]["structure"] = [{"key": key, "space": next(shown)} for key in ("one", "two")]
        tree["sites"]["docs"]["structure"] = [node(tree, "more")]
    return tree


def said(*addresses: str, action: str) -> dict[str, Any]:
    return {"removed": [{"address": address, "action": action} for address in addresses]}


def deleted(plan: Plan) -> set[str]:
    return {str(change.address) for change in plan.changes if "delete" in change.actions}


def forgotten(plan: Plan) -> set[str]:
    return {str(address) for address in plan.state_update.forget}


def why(plan: Plan) -> dict[str, str]:
    return {str(blocked.address): blocked.id for blocked in plan.blocked}


def stranger(org: Org, collection: str) -> str:
    """An unmanaged space in a collection."""
    id: str = org.call("POST", "/spaces/spc_blank/duplicate")["id"]
    org.call("POST", f"/spaces/{id}/move", {"parent": org.id(collection)})
    return id


def exists(org: Org, id: str) -> bool:
    return not org.call("GET", f"/spaces/{id}").get("deletedAt")


@pytest.mark.parametrize(("kind", "key", "inner"), NOT_PRUNED)
def test_what_is_in_a_container_that_is_not_pruned_is_left_unchanged(acme: Org, kind: str, key: str, inner: set[str]) -> None:
    acme.write(without(key), prune={kind: "none"})
    plan = acme.plan(allow_replace=("**",))
    assert not deleted(plan) & inner
    assert inner <= forgotten(plan)


@pytest.mark.parametrize(
    ("address", "key", "inner"),
    [(PRODUCT, "product", IN_PRODUCT), (REFERENCE, "reference", NOT_PRUNED[1][2]), (MORE, "more", {VARIANT})],
)
def test_what_is_in_a_container_that_is_no_longer_managed_is_left_unchanged(acme: Org, address: str, key: str, inner: set[str]) -> None:
    before = acme.id(address)
    tree = without(key)
    acme.write(tree, **said(address, action="forget"))
    plan = acme.plan(allow_replace=("**",))
    assert not deleted(plan) & inner
    assert inner <= forgotten(plan)
    applied(acme, tree, **said(address, action="forget"))
    assert acme.plan().steps == ()
    assert before in str(acme.items(f"/orgs/{ORGANIZATION}/collections")) + str(
        [acme.items(f"/orgs/{ORGANIZATION}/sites/{acme.id('acme/site/docs')}/{path}") for path in ("sections", "section-groups")]
    )


def test_a_line_of_its_own_decides_about_what_is_in_a_container_that_is_no_longer_managed(acme: Org) -> None:
    tree = without("product")
    lines = [*said(PRODUCT, action="forget")["removed"], *said(DEEP, action="delete")["removed"]]
    acme.write(tree, removed=lines)
    plan = acme.plan(allow_replace=("**",))
    assert {DEEP, THREE} == deleted(plan) & {PRODUCT, *IN_PRODUCT}
    assert forgotten(plan) >= {PRODUCT, *IN_PRODUCT} - {DEEP, THREE}


@pytest.mark.parametrize(("kind", "key", "inner"), NOT_PRUNED)
def test_what_is_in_a_protected_container_waits_for_it(acme: Org, kind: str, key: str, inner: set[str]) -> None:
    tree = small()
    node(tree, key)["protect"] = True
    applied(acme, tree)
    acme.write(without(key))
    plan = acme.plan(allow_replace=("**",))
    assert not deleted(plan) & inner
    assert inner <= why(plan).keys()
    assert {address for address, id in why(plan).items() if id == "RC-protected"} == {
        str(address) for address in {blocked.cause or blocked.address for blocked in plan.blocked} if str(address).endswith(f"/{key}")
    }


def test_a_collection_that_one_unmanaged_space_keeps_loses_none_of_its_spaces(acme: Org) -> None:
    stranger(acme, DEEP)
    acme.write(without("product"))
    plan = acme.plan(allow_replace=("**",))
    assert not deleted(plan) & {PRODUCT, *IN_PRODUCT}
    assert why(plan)[DEEP] == "RC-still-contains"
    assert {PRODUCT, *IN_PRODUCT} <= why(plan).keys()


def test_what_is_named_is_deleted_although_its_container_stays(acme: Org) -> None:
    stranger(acme, PRODUCT)
    acme.write(without("product"), **said(DEEP, action="delete"))
    assert deleted(acme.plan(allow_replace=("**",))) & {PRODUCT, *IN_PRODUCT} == {DEEP, THREE}


def test_all_that_is_in_a_collection_is_deleted_with_delete_all(acme: Org) -> None:
    strange = stranger(acme, DEEP)
    tree = small()
    node(tree, "one")["protect"] = True
    applied(acme, tree)
    gone = without("product")
    acme.write(gone, **said(PRODUCT, action="delete-all"), prune={"space": "none"})
    plan = acme.plan(allow_replace=("**",))
    assert why(plan) == {}
    assert deleted(plan) >= {PRODUCT, *IN_PRODUCT, f"acme/space/{strange}"}
    outcome = applied(acme, gone, **said(PRODUCT, action="delete-all"), prune={"space": "none"})
    assert f"delete {PRODUCT}" in verbs(outcome)
    assert not exists(acme, strange)


def test_unmanaged_collections_and_what_is_in_them_are_deleted_with_delete_all(acme: Org) -> None:
    inner = acme.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Inner", "parent": acme.id(DEEP)})["id"]
    strange: str = acme.call("POST", "/spaces/spc_blank/duplicate")["id"]
    acme.call("POST", f"/spaces/{strange}/move", {"parent": inner})
    applied(acme, without("product"), **said(PRODUCT, action="delete-all"))
    assert not exists(acme, strange)
    assert "Inner" not in {collection["title"] for collection in acme.items(f"/orgs/{ORGANIZATION}/collections")}


def test_a_site_with_a_section_with_unmanaged_variants_is_deleted_with_delete_all(acme: Org) -> None:
    site = f"/orgs/{ORGANIZATION}/sites/{acme.id('acme/site/docs')}"
    acme.call("POST", f"{site}/site-spaces", {"spaceId": acme.id("acme/space/six"), "sectionId": acme.id(MORE)})
    tree = small()
    del tree["sites"]["docs"]
    tree["defaultContent"] = {"site": "flat"}
    acme.write(tree)
    assert "acme/site/docs" in why(acme.plan())
    applied(acme, tree, **said("acme/site/docs", action="delete-all"))


def test_delete_all_does_not_delete_what_a_line_of_its_own_keeps(acme: Org) -> None:
    lines = [*said(PRODUCT, action="delete-all")["removed"], *said(ONE, action="forget")["removed"]]
    acme.write(without("product"), removed=lines)
    plan = acme.plan(allow_replace=("**",))
    assert why(plan)[PRODUCT] == "RC-still-contains"
    assert not deleted(plan) & {PRODUCT, *IN_PRODUCT}


def test_unmanaged_spaces_in_a_collection_that_is_no_longer_managed_are_not_pruned(acme: Org) -> None:
    strange = stranger(acme, DEEP)
    tree = without("product")
    top = {**said(PRODUCT, action="forget"), "prune": {"space": "all"}}
    applied(acme, tree, **top)
    applied(acme, tree, **top)
    assert exists(acme, strange)
    assert {"Product", "Deep"} <= {collection["title"] for collection in acme.items(f"/orgs/{ORGANIZATION}/collections")}
    assert {"One", "Two", "Three", "Four"} <= {
        entry["space"]["title"] for entry in acme.items(f"/orgs/{ORGANIZATION}/members/usr_ada/spaces")
    }


def test_what_the_next_run_would_prune_stays_managed(acme: Org) -> None:
    tree = small()
    lose(tree, "six")
    top = said("acme/space/six", action="forget")
    acme.write(tree, **top, prune={"space": "all"})
    assert why(acme.plan()) == {"acme/space/six": "RC-forgotten-would-be-pruned"}
    acme.write(tree, **top)
    assert forgotten(acme.plan()) == {"acme/space/six"}


def test_what_an_earlier_run_left_in_a_container_that_is_no_longer_managed_is_left_by_the_next(acme: Org) -> None:
    tree = without("product")
    acme.write(tree, **said(PRODUCT, action="forget"))
    with acme.store() as store, store.lease(who="test", command="apply") as journal:
        journal.remember(forget=[Address.parse(PRODUCT)])  # as a run about the collection alone may have done
    assert not deleted(acme.plan(allow_replace=("**",))) & IN_PRODUCT


# -- what stays --------------------------------------------------------------------------------------------------------------------


FLAT = "acme/site/flat"


def test_the_contents_of_a_resource_that_is_no_longer_managed_are_no_longer_managed_either(acme: Org) -> None:
    tree = small()
    tree["sites"].pop("flat")
    id = acme.id(FLAT)
    assert verbs(applied(acme, tree, removed=[{"address": FLAT, "action": "forget"}])) == []
    assert len(acme.items(f"/orgs/org_acme/sites/{id}/site-spaces")) == 2


def test_the_last_provider_of_single_sign_on_stays_until_it_is_named(acme: Org) -> None:
    tree = small()
    del tree["saml"]
    acme.write(tree)
    plan = acme.plan()
    assert [blocked.reason for blocked in plan.blocked] == ["is the last saml of acme"]
    assert plan.steps == ()
    assert verbs(applied(acme, tree, removed=[{"address": "acme/saml/okta", "action": "delete"}])) == ["delete acme/saml/okta"]


def test_unmanaged_objects_of_a_pruned_kind_are_deleted_too(acme: Org) -> None:
    acme.call("POST", f"/orgs/org_acme/sites/{acme.id(FLAT)}/share-links", {"name": "Press"})
    tree = small()
    tree["sites"].pop("flat")
    acme.write(tree)
    assert next(str(blocked.address) for blocked in acme.plan().blocked) == FLAT
    assert verbs(applied(acme, tree, prune={"share-link": "all"})) == [f"delete {FLAT}"]


def test_what_could_not_be_read_is_not_deleted_with_what_holds_it(acme: Org) -> None:
    tree = small()
    tree["sites"].pop("flat")
    acme.write(tree)
    plan = acme.plan(failing=("share-links",))
    assert "could not be read" in next(blocked.reason for blocked in plan.blocked if str(blocked.address) == FLAT)
    assert plan.steps == ()
