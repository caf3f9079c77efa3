"""Apply, then plan: nothing is left, whatever changed in between."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from reconciler.errors import ServiceError
from reconciler.model import Action, Cause, StepStatus
from tests.harness import ORGANIZATION, Org
from tests.proofs import spread
from tests.small import applied, described, node, small, verbs
from tests.transports import Onward

DOCS = "acme/site/docs"


def test_the_first_apply_makes_everything_and_the_second_plan_is_empty(org: Org) -> None:
    outcome = applied(org, small())
    assert len(outcome.results) == len({result.step.id for result in outcome.results})
    assert applied(org, small()).results == ()


def test_a_changed_title_is_one_request(acme: Org) -> None:
    tree = small()
    node(tree, "one")["title"] = "Uno"
    assert verbs(applied(acme, tree)) == ["update acme/space/one"]


@pytest.mark.parametrize(
    ("path", "value", "address"),
    spread(
        [
            (("title",), "Acme Inc", "acme"),
            (("defaultRole",), "guest", "acme"),
            (("defaultContent",), None, "acme"),
            (("mergeRules",), "inherit", "acme"),
            (("emailDomains",), ["b.example", "a.example"], "acme"),
            (("members", "linus@acme.example", "role"), "guest", "acme/member/linus@acme.example"),
            (("teams", "writers", "title"), "Authors", "acme/team/writers"),
            (("saml", "okta", "label"), "Okta 2", "acme/saml/okta"),
            (("openapi", "pets", "visibility"), "private", "acme/openapi/pets"),
            (("openapi", "pets", "source", "url"), "https://pets.example/v2.json", "acme/openapi/pets"),
            (("sites", "docs", "proxy"), None, DOCS),
            (("sites", "docs", "basename"), "documentation", DOCS),
            (("sites", "docs", "adaptiveContent"), {"enabled": True}, DOCS),
            (("sites", "docs", "agentsContext"), "included", DOCS),
            (("sites", "docs", "shareLinks", "partners", "active"), False, f"{DOCS}/share-link/partners"),
            (("sites", "docs", "shareLinks", "partners", "name"), "Friends", f"{DOCS}/share-link/partners"),
        ],
        6,
    ),
)
def test_a_one_field_change_is_one_request(acme: Org, path: tuple[str, ...], value: Any, address: str) -> None:
    tree: Any = small()
    at = tree
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert [str(result.step.address) for result in applied(acme, tree).results] == [address]


def test_a_space_moves_to_another_collection(acme: Org) -> None:
    tree = small()
    moving = node(tree, "one")
    node(tree, "product")["content"].remove(moving)
    node(tree, "other")["content"].insert(0, moving)
    assert verbs(applied(acme, tree)) == ["move acme/space/one"]
    assert [item["title"] for item in acme.items(f"/collections/{acme.id('acme/collection/other')}/spaces")] == ["One", "Five"]


def test_a_space_moves_to_the_root_and_back(acme: Org) -> None:
    tree = small()
    moving = node(tree, "two")
    node(tree, "product")["content"].remove(moving)
    tree["content"].append(moving)
    assert verbs(applied(acme, tree)) == ["move acme/space/two"]
    assert verbs(applied(acme, small())) == ["move acme/space/two"]


def test_a_collection_moves_into_another_with_all_it_holds(acme: Org) -> None:
    tree = small()
    moving = node(tree, "deep")
    node(tree, "product")["content"].remove(moving)
    node(tree, "other")["content"].append(moving)
    assert verbs(applied(acme, tree)) == ["move acme/collection/deep"]


def test_two_collections_change_places_in_the_tree(acme: Org) -> None:
    tree = small()
    product, deep = node(tree, "product"), node(tree, "deep")
    product["content"].remove(deep)
    tree["content"][1] = deep
    deep["content"].append(product)
    applied(acme, tree)


def test_spaces_are_reordered_with_one_move(acme: Org) -> None:
    tree = small()
    content = node(tree, "product")["content"]
    content.insert(0, content.pop())
    assert verbs(applied(acme, tree)) == ["move acme/space/four"]
    assert [item["title"] for item in acme.items(f"/collections/{acme.id('acme/collection/product')}/spaces")] == ["Four", "One", "Two"]


def test_collections_are_reordered_where_no_listing_shows_it(acme: Org) -> None:
    tree = small()
    tree["content"][1], tree["content"][2] = tree["content"][2], tree["content"][1]
    assert len(applied(acme, tree).results) == 1
    listed = [item["title"] for item in acme.items(f"/orgs/{ORGANIZATION}/collections") if "parent" not in item or item["parent"] is None]
    assert listed == ["Other", "Product"]


def test_sections_and_variants_are_reordered(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure.reverse()
    structure[1]["structure"].reverse()
    node(tree, "guides")["spaces"].reverse()
    applied(acme, tree)
    site = acme.id(DOCS)
    sections = acme.items(f"/orgs/{ORGANIZATION}/sites/{site}/sections")
    assert [section["title"] for section in sections if not section.get("sectionGroup")] == ["More", "Guides"]
    assert [one["title"] for one in sections if one.get("sectionGroup")] == ["CLI", "API"]
    guides = next(one for one in sections if one["title"] == "Guides")
    assert [one["space"]["title"] for one in guides["siteSpaces"]] == ["Four", "Two", "One"]


def test_a_group_is_reordered_among_sections(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure.append(structure.pop(1))
    assert len(applied(acme, tree).results) == 1


def test_a_section_leaves_its_group_and_another_joins(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    group = structure[1]
    leaving = group["structure"].pop(0)
    group["structure"].append(structure.pop(2))
    structure.append(leaving)
    applied(acme, tree)


def test_a_renamed_key_with_previously_changes_only_the_state(acme: Org) -> None:
    tree = small()
    tree["teams"]["authors"] = {**tree["teams"].pop("writers"), "previously": ["writers"]}
    tree["saml"]["okta"]["defaultTeam"] = "authors"
    acme.write(tree)
    assert described(acme.plan()) == ["acme/team/authors: rename"]
    assert applied(acme, tree).results == ()


def test_a_renamed_site_takes_what_is_in_it_along(acme: Org) -> None:
    tree = small()
    tree["sites"]["handbook"] = {**tree["sites"].pop("docs"), "previously": ["docs"]}
    tree["defaultContent"] = {"site": "handbook"}
    assert applied(acme, tree).results == ()


def test_moved_renames_a_subtree(acme: Org) -> None:
    tree = small()
    tree["sites"]["handbook"] = tree["sites"].pop("docs")
    tree["defaultContent"] = {"site": "handbook"}
    assert applied(acme, tree, moved=[{"from": "acme/site/docs", "to": "acme/site/handbook"}]).results == ()


def test_a_removed_share_link_is_deleted(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["shareLinks"] = {}
    assert verbs(applied(acme, tree)) == [f"delete {DOCS}/share-link/partners"]


def test_a_removed_section_takes_its_variants_along(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"].pop(2)
    assert verbs(applied(acme, tree)) == [f"delete {DOCS}/section/more"]


def test_the_default_section_is_removed_after_another_became_the_default(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"].pop(0)
    node(tree, "more")["default"] = True
    assert verbs(applied(acme, tree)) == [f"update {DOCS}", f"delete {DOCS}/section/guides"]


def test_a_removed_group_lets_its_sections_go_first(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    group = structure.pop(1)
    structure += group["structure"]
    assert verbs(applied(acme, tree))[-1] == f"delete {DOCS}/group/reference"


def test_a_collection_goes_after_its_spaces_have_moved_elsewhere(acme: Org) -> None:
    tree = small()
    other = node(tree, "other")
    tree["content"].remove(other)
    tree["content"] += other["content"]
    assert verbs(applied(acme, tree)) == ["move acme/space/five", "delete acme/collection/other"]


def test_a_removed_space_is_deleted_softly_and_comes_back_when_declared_again(acme: Org) -> None:
    tree = small()
    tree["content"].pop()
    assert verbs(applied(acme, tree)) == ["delete acme/space/six"]


def test_a_space_deleted_behind_its_back_is_restored(acme: Org) -> None:
    acme.call("DELETE", f"/spaces/{acme.id('acme/space/two')}")
    acme.requests.clear()
    (change,) = acme.plan().changes
    assert change.actions[-1] is Action.RESTORE or Action.RESTORE in change.actions
    assert "left" in change.reason
    outcome = applied(acme, small())
    assert verbs(outcome)[0] == "restore acme/space/two"
    assert not [verb for verb in verbs(outcome) if verb.startswith("create")]


def test_a_field_edited_behind_its_back_is_shown_as_drift_and_set_back(acme: Org) -> None:
    acme.call("PATCH", f"/spaces/{acme.id('acme/space/one')}", {"title": "Somebody's"})
    (change,) = acme.plan().changes
    (delta,) = change.fields
    assert (delta.name, delta.before, delta.after, delta.cause) == ("title", "Somebody's", "One", Cause.DRIFT)
    assert verbs(applied(acme, small())) == ["update acme/space/one"]


def test_a_field_edited_on_both_sides_is_shown_as_a_conflict(acme: Org) -> None:
    acme.call("PATCH", f"/spaces/{acme.id('acme/space/one')}", {"title": "Somebody's"})
    tree = small()
    node(tree, "one")["title"] = "Uno"
    acme.write(tree)
    (change,) = acme.plan().changes
    assert change.fields[0].cause is Cause.BOTH


def test_a_share_link_deleted_behind_its_back_is_made_again(acme: Org) -> None:
    link = acme.id(f"{DOCS}/share-link/partners")
    acme.call("DELETE", f"/orgs/{ORGANIZATION}/sites/{acme.id(DOCS)}/share-links/{link}")
    assert verbs(applied(acme, small())) == [f"{verb} {DOCS}/share-link/partners" for verb in ("create", "update")]


def test_a_site_deleted_behind_its_back_is_made_again_with_all_it_holds(acme: Org) -> None:
    acme.call("DELETE", f"/orgs/{ORGANIZATION}/sites/{acme.id(DOCS)}")
    applied(acme, small())


def test_a_create_only_field_that_changes_replaces_the_object_when_allowed(acme: Org) -> None:
    tree = small()
    spaces = node(tree, "guides")["spaces"]
    node(tree, "api")["spaces"].append(spaces.pop())
    acme.write(tree)
    plan = acme.plan()
    assert [str(refusal.address) for refusal in plan.blocked] == [f"{DOCS}/site-space/four"]
    assert "--allow-replace acme/site/docs/site-space/four" in plan.blocked[0].remedy
    assert plan.steps == ()
    outcome = applied(acme, tree)
    sent = [verb for verb in verbs(outcome) if verb != f"update {DOCS}/site-space/four"]  # which keeps its path
    assert sent == [f"create {DOCS}/site-space/four", "delete " + sent[1].removeprefix("delete ")]


def test_a_replaced_group_keeps_its_sections(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure.append({"group": "outer", "title": "Outer", "structure": [structure.pop(1)]})
    applied(acme, tree)


def test_a_site_type_cannot_change_and_says_so(org: Org) -> None:
    tree = small()
    tree["sites"]["flat"]["type"] = "basic"
    applied(org, tree)
    tree["sites"]["flat"]["type"] = "premium"
    org.write(tree)
    plan = org.plan()
    assert [str(refusal.address) for refusal in plan.blocked] == ["acme/site/flat"]
    assert plan.steps == ()


def test_a_published_site_cannot_be_taken_back_and_says_so(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["published"] = False
    acme.write(tree)
    (blocked,) = acme.plan().blocked
    assert "published" in blocked.reason


def test_team_members_that_change_are_reported_and_nothing_is_replaced(acme: Org) -> None:
    tree = small()
    tree["teams"]["writers"]["members"] = ["ada@acme.example"]
    acme.write(tree)
    plan = acme.plan()
    assert (plan.changes, plan.steps) == ((), ())
    (note,) = plan.notes
    assert note.startswith("acme/team/writers: members differs from its value at creation, and cannot be changed later")


def test_two_sections_change_their_paths_with_each_other(acme: Org) -> None:
    tree = small()
    spaces = node(tree, "guides")["spaces"]
    spaces[0]["path"], spaces[1]["path"] = spaces[1]["path"], spaces[0]["path"]
    applied(acme, tree)


def test_a_new_section_takes_the_path_of_one_that_goes(acme: Org) -> None:
    tree = small()
    structure = tree["sites"]["docs"]["structure"]
    structure[0] = {"section": "new", "title": "New", "path": "guides", "default": True, "spaces": [{"key": "new-one", "space": "one"}]}
    applied(acme, tree)


def test_a_flat_site_gets_sections_in_two_runs(acme: Org) -> None:
    tree = small()
    tree["sites"]["flat"]["structure"] = [{"section": "all", "title": "All", "spaces": [{"space": "one", "default": True}, "two"]}]
    acme.write(tree)
    assert acme.apply().plan.deferred
    applied(acme, tree)


def test_a_site_loses_its_last_section_in_two_runs(acme: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"] = [{"space": "one", "path": "v2"}]
    acme.write(tree)
    assert acme.apply().plan.deferred
    acme.apply()
    applied(acme, tree)


def test_a_dropped_field_is_reported_and_unchanged(acme: Org) -> None:
    tree = small()
    del node(tree, "one")["emoji"]
    acme.write(tree)
    plan = acme.plan()
    (change,) = plan.changes
    assert change.fields[0].note == "no longer managed; it is left unchanged"
    assert plan.steps == ()
    applied(acme, tree)
    assert acme.call("GET", f"/spaces/{acme.id('acme/space/one')}")["emoji"] == "📘"


def test_a_default_that_is_dropped_is_said_in_the_words_of_the_yaml(acme: Org) -> None:
    tree = small()
    del node(tree, "guides")["default"]
    acme.write(tree)
    (field,) = [field for change in acme.plan().changes for field in change.fields]
    assert (field.name, field.before) == ("default", "acme/site/docs/section/guides")
    assert field.note == "no longer managed, because no section has default: true; it is left unchanged"
    applied(acme, tree)


def test_the_first_variant_that_a_section_was_created_with_is_not_a_dropped_field(acme: Org) -> None:
    tree = small()
    del node(tree, "guides")["spaces"]
    acme.write(tree)
    assert "spaceId" not in [field.name for change in acme.plan().changes for field in change.fields]


def test_protection_lives_in_the_state_and_outlives_its_block(org: Org) -> None:
    applied(org, small(), protect=["space", "collection"])
    tree = small()
    tree["content"].pop()
    org.write(tree, protect=[])
    plan = org.plan()
    assert [str(refusal.address) for refusal in plan.blocked] == ["acme/space/six"]
    assert "removed:" in plan.blocked[0].remedy
    outcome = applied(org, tree, protect=["space", "collection"], removed=[{"address": "acme/space/six", "action": "delete"}])
    assert verbs(outcome) == ["delete acme/space/six"]


def test_removed_forget_stops_managing_without_a_request(acme: Org) -> None:
    tree = small()
    tree["content"].pop()
    assert applied(acme, tree, removed=[{"address": "acme/space/six", "action": "forget"}]).results == ()


def test_a_lost_state_can_be_recovered(acme: Org) -> None:
    for file in acme.root.glob("state.db*"):
        file.unlink()
    plan = acme.plan()
    assert [str(change.address) for change in plan.changes if Action.CREATE in change.actions or Action.DELETE in change.actions] == []
    assert plan.steps == ()
    applied(acme, small())


def test_two_objects_of_one_title_are_listed_and_ask_for_an_id(acme: Org) -> None:
    for file in acme.root.glob("state.db*"):
        file.unlink()
    acme.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Writers"})
    (blocked,) = [refusal for refusal in acme.plan().blocked if "objects match" in refusal.reason]
    assert str(blocked.address) == "acme/team/writers"
    assert "reconciler adopt acme/team/writers ID" in blocked.remedy


def test_the_same_project_against_two_sandboxes_never_mixes_ids(tmp_path: Any) -> None:
    first, second = Org(tmp_path, name="first"), Org(tmp_path, name="second")
    for _ in range(2):
        applied(first, small())
        applied(second, small())
    ids = [{id for method, path in one.requests for id in path.split("/") if "_" in id} for one in (first, second)]
    assert ids[0] & ids[1] <= {ORGANIZATION, "spc_blank", "usr_ada", "usr_linus"}


def test_a_target_moves_only_itself_among_siblings_that_stay(acme: Org) -> None:
    tree = small()
    node(tree, "product")["content"].reverse()
    acme.write(tree)
    plan = acme.plan(targets=("acme/space/one",))
    assert [f"{step.verb} {step.address}" for step in plan.steps] == ["move acme/space/one"]
    assert plan.steps[0].body["position"]["after"]["space"] == acme.id("acme/space/two")


def test_a_target_brings_what_it_needs_and_says_so(org: Org) -> None:
    org.write(small())
    plan = org.plan(targets=("acme/site/docs/section/more",))
    made = {str(change.address) for change in plan.changes}
    assert {"acme/site/docs/section/more", "acme/site/docs", "acme/space/five", "acme/collection/other"} <= made
    assert "acme/team/writers" not in made
    assert any("acme/site/docs is included" in note for note in plan.notes)


def test_a_service_that_cannot_be_reached_is_one_error(org: Org) -> None:
    org.write(small())
    org.seed = {}
    with pytest.raises(ServiceError):
        org.plan(token="unknown")


def test_an_unreadable_list_makes_nothing_and_deletes_nothing(acme: Org) -> None:
    tree = small()
    tree["teams"] = {"new": {"title": "New"}}
    del tree["saml"]
    acme.write(tree, removed=[{"address": "acme/saml/okta", "action": "delete"}])
    plan = acme.plan(failing=("teams",))
    assert [gap.kind for gap in plan.unknown] == ["team"]
    assert {str(refusal.address) for refusal in plan.blocked} == {"acme/team/new", "acme/team/writers"}
    assert [f"{step.verb} {step.address}" for step in plan.steps] == ["delete acme/saml/okta"]


def test_the_last_admin_keeps_the_role_until_somebody_else_has_it(acme: Org) -> None:
    tree = small()
    tree["members"]["ada@acme.example"] = "read"
    acme.write(tree)
    (blocked,) = acme.plan().blocked
    assert "minAdmins" in blocked.reason
    tree["members"]["linus@acme.example"] = "admin"
    acme.write(tree)
    (blocked,) = acme.plan().blocked
    assert "service.member" in blocked.reason
    acme.write(tree, service={"member": "linus@acme.example"})
    assert acme.plan().blocked == ()


def test_an_order_that_no_list_shows_is_planned_again_after_its_move_failed(org: Org) -> None:
    async def refusing(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.url.path.endswith("/move"):
            return httpx2.Response(400, json={"error": {"code": 400, "message": "not now"}}, request=request)
        return await onward(request)

    blank, *spaces = ({"space": key, "title": key.title()} for key in ("blank", "one", "two", "three"))
    applied(org, {"content": [blank | {"id": "spc_blank"}, *spaces]})
    org.write({"content": [blank | {"id": "spc_blank"}, *reversed(spaces)]})
    moved, org.way = described(org.plan()), refusing
    assert {result.status for result in org.apply().results} == {StepStatus.FAILED}
    org.way = None
    assert described(org.plan()) == moved
    assert moved
