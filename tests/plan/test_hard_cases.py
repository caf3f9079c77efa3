"""What a reviewer broke: changes that touch the same place from two sides."""

from __future__ import annotations

from typing import Any

from reconciler.address import Address
from tests.harness import ORGANIZATION, Org
from tests.small import applied, described, node, small, verbs

DOCS = "acme/site/docs"


def sectioned(*sections: tuple[str, list[Any]]) -> dict[str, Any]:
    tree = small()
    tree["sites"]["docs"]["structure"] = [{"section": key, "title": key.title(), "spaces": spaces} for key, spaces in sections]
    return tree


def test_the_default_of_a_site_that_loses_its_sections_waits_with_its_spaces(acme: Org) -> None:
    tree = sectioned()
    tree["sites"]["docs"]["structure"] = [{"space": "one", "default": True}]
    acme.write(tree)
    assert acme.apply().plan.deferred
    acme.apply()
    applied(acme, tree)


def test_what_is_blocked_is_not_deleted_along_with_its_section(org: Org) -> None:
    applied(org, sectioned(("aa", ["two"]), ("bb", [{"space": "one", "default": True}])))
    org.write(sectioned(("aa", ["one"])))
    plan = org.plan()
    assert plan.steps == ()
    blocked = {str(entry.address): entry for entry in plan.blocked}
    assert set(blocked) == {f"{DOCS}/site-space/one", f"{DOCS}/section/bb", f"{DOCS}/site-space/two"}
    assert "still contains site-space" in blocked[f"{DOCS}/section/bb"].reason
    assert "--allow-replace" in blocked[f"{DOCS}/site-space/two"].remedy


def test_what_is_replaced_out_of_a_deleted_section_leaves_nothing_behind(org: Org) -> None:
    applied(org, sectioned(("aa", ["two"]), ("bb", ["one"])))
    outcome = applied(org, sectioned(("aa", ["one"])))
    assert [verb.split()[0] for verb in verbs(outcome) if "update" not in verb] == ["create", "delete", "delete"]


def test_a_name_has_a_history_of_moved_lines(acme: Org) -> None:
    tree = small()
    node(tree, "six")["space"] = "third"
    lines = [{"from": "acme/space/six", "to": "acme/space/second"}, {"from": "acme/space/second", "to": "acme/space/third"}]
    assert applied(acme, tree, moved=lines).results == ()
    assert applied(acme, tree, moved=[{**line, "to": "acme/space/third"} for line in lines]).results == ()


def test_two_former_names_of_one_address_find_the_tracked_one(acme: Org) -> None:
    tree = small()
    node(tree, "six")["space"] = "third"
    lines = [{"from": "acme/space/six", "to": "acme/space/third"}, {"from": "acme/space/never", "to": "acme/space/third"}]
    assert applied(acme, tree, moved=lines).results == ()


def test_an_organization_under_a_new_key_is_taken_over_and_nothing_is_made_twice(acme: Org) -> None:
    acme.write(small(), key="acme2")
    plan = acme.plan()
    assert [entry for entry in described(plan) if "create" in entry or "delete" in entry] == []
    assert plan.steps == ()


def test_an_organization_of_another_id_blocks_its_contents(acme: Org) -> None:
    acme.write({**small(), "id": "org_other"})
    plan = acme.plan()
    assert plan.steps == ()
    way = "write the tracked id, or stop managing that object: reconciler state forget acme"
    assert {(blocked.cause, blocked.remedy) for blocked in plan.blocked} == {
        (None, way),
        (Address.parse("acme"), f"unblock acme first: {way}"),
    }


def test_an_unmanaged_collection_is_pruned_once_it_is_seen_to_be_empty(acme: Org) -> None:
    rogue = acme.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Rogue"})
    lived_in = acme.call("POST", f"/orgs/{ORGANIZATION}/collections", {"title": "Lived in"})
    acme.call("POST", f"/spaces/{acme.id('acme/space/six')}/duplicate")
    copy = acme.call("POST", f"/spaces/{acme.id('acme/space/six')}/duplicate")["id"]
    acme.call("POST", f"/spaces/{copy}/move", {"parent": lived_in["id"]})
    acme.write(small(), prune={"collection": "all"}, protect=[])
    outcome = acme.apply()
    assert verbs(outcome) == [f"delete acme/collection/{rogue['id']}"]
    (blocked,) = outcome.plan.blocked
    assert "still contains space" in blocked.reason


def test_what_is_turned_inside_out_leaves_before_it_takes_in_though_something_new_stands_between(org: Org) -> None:
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank"}
    applied(org, {"content": [blank, {"collection": "outer", "title": "Outer", "content": [{"collection": "inner", "title": "Inner"}]}]})
    taken = {"collection": "new", "title": "New", "content": [{"collection": "outer", "title": "Outer"}]}
    turned = {"content": [blank, {"collection": "inner", "title": "Inner", "content": [taken]}]}
    org.write(turned)
    moves = {step.address.key: step for step in org.plan().steps if step.verb == "move"}
    assert moves["inner"].id in moves["outer"].after
    applied(org, turned)


def test_a_copy_is_made_when_its_source_is_as_declared(acme: Org) -> None:
    tree = small()
    node(tree, "one").update(emoji="📗", editMode="locked")
    node(tree, "product")["content"].append({"space": "seven", "title": "Seven", "duplicateOf": "one"})
    node(tree, "product")["content"].append({"space": "eight", "title": "Eight", "duplicateOf": "seven", "emoji": "📙"})
    applied(acme, tree)
    with acme.store() as store:
        bindings = {str(address): binding.id for address, binding in store.read().bindings.items()}
    looks = [
        (space["emoji"], space["editMode"])
        for space in (acme.call("GET", f"/spaces/{bindings[f'acme/space/{key}']}") for key in ("one", "seven", "eight"))
    ]
    assert looks == [("📗", "locked"), ("📗", "locked"), ("📙", "locked")]


def test_an_address_that_is_only_mentioned_is_reported_once(acme: Org) -> None:
    tree = small()
    del tree["members"], tree["mergeRules"], tree["teams"]["writers"]["members"]
    acme.write(tree)
    assert "acme/member/ada@acme.example" in {str(change.address) for change in acme.plan().changes}  # service.member mentions her
    acme.apply()
    plan = acme.plan()
    assert plan.changes == ()
    assert plan.empty


def test_sites_of_a_permanently_deleted_space_show_the_recreated_one(acme: Org) -> None:
    with acme.store() as store:
        (id,) = (binding.id for address, binding in store.read().bindings.items() if str(address) == "acme/space/three")
    acme.call("DELETE", f"/spaces/{id}")
    acme.app.state.service.store.set_meta("offset", str(8 * 24 * 3600.0))
    acme.write(small())
    acme.apply()
    assert acme.plan().empty
    with acme.store() as store:
        ids = {str(address): binding.id for address, binding in store.read().bindings.items()}
    assert ids["acme/space/three"] != id
    shown = [entry["space"]["id"] for entry in acme.call("GET", f"/orgs/{ORGANIZATION}/sites/{ids['acme/site/docs']}/site-spaces")["items"]]
    assert ids["acme/space/three"] in shown
    assert id not in shown


def test_an_id_of_another_site_is_not_adopted_below_this_one(acme: Org) -> None:
    with acme.store() as store:
        ids = {str(address): binding.id for address, binding in store.read().bindings.items()}
    tree = small()
    theirs = ids["acme/site/docs/share-link/partners"]
    tree["sites"]["docs"]["shareLinks"] = {}
    tree["sites"]["second"] = {
        "title": "Second",
        "structure": [{"space": "six"}],
        "shareLinks": {"partners": {"name": "Partners", "active": True, "id": theirs}},
    }
    acme.write(tree)
    blocked = {str(entry.address): entry.reason for entry in acme.plan().blocked}
    assert "is not in acme/site/second" in blocked["acme/site/second/share-link/partners"]


def test_where_no_default_is_declared_the_first_section_is_made_first(org: Org) -> None:
    tree = small()
    tree["sites"]["docs"]["structure"] = [
        {"group": "x", "title": "Group", "structure": [{"section": "aa", "title": "First", "spaces": ["one"]}]},
        {"section": "bb", "title": "Second", "spaces": ["two"]},
        {"section": "cc", "title": "Third", "spaces": ["three"]},
    ]
    org.write(tree)
    plan = {str(step.address): step for step in org.plan().steps if step.verb == "create" and step.kind == "section"}
    first, *others = (plan[f"{DOCS}/section/{key}"] for key in ("aa", "bb", "cc"))
    assert all(first.id in {*other.needs, *other.after} for other in others)
    applied(org, tree)
