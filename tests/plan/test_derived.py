"""What the service derives from titles: paths come out as the plan shows them, whatever else changes in the run, and whatever fails.

`expect`: what the service derives is what the YAML says, or the resource is blocked before anything is sent.
What a reviewer broke: changes that touch the same place from two sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.address import Address
from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from reconciler.model import Plan, StepStatus
from reconciler.resource import UNSET
from tests.harness import ORGANIZATION, Org
from tests.proofs import costly
from tests.small import applied, described, node, small, verbs
from tests.transports import Onward

SITE = "acme/site/docs"
TITLES = [
    "Get started", "Été à Zürich", "东京", "Guides", "Guides", "API: v2.0!", "ÆØÅ", "guides", "C++ & C#", "Ωmega 3", "Guides -2", "Straße",
]  # fmt: skip


def tree(titles: list[str], structure: list[Any] | None = None, **space: Any) -> dict[str, Any]:
    """Spaces s00, s01, … of these titles, shown in a site, by default in three sections."""
    keys = [f"s{number:02}" for number in range(len(titles))]
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}]
    content += [{"space": key, "title": title, **space} for key, title in zip(keys, titles, strict=True)]
    third = -(-len(keys) // 3)
    sections = [{"section": f"p{n}", "title": f"Part {n}", "spaces": keys[n * third : (n + 1) * third]} for n in range(3)]
    return {"content": content, "sites": {"docs": {"title": "Docs", "structure": sections if structure is None else structure}}}


def site(org: Org) -> str:
    return f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}"


def paths(org: Org) -> dict[str, str]:
    """The path of each site space and section, by the last two parts of its address."""
    listed = {entry["id"]: entry["path"] for kind in ("site-spaces", "sections") for entry in org.items(f"{site(org)}/{kind}")}
    bound = {str(at): binding.id for at, binding in org.remembered().bindings.items()}
    return {at.removeprefix(f"{SITE}/"): listed[id] for at, id in bound.items() if id in listed and at.startswith(SITE)}


def shown(plan: Plan) -> dict[str, str]:
    """The paths that a plan shows although no request sets them."""
    result = {}
    for change in plan.changes:
        for delta in change.fields:
            if delta.name == "path" and delta.note is not None and delta.after is not UNSET and str(change.address).startswith(SITE):
                result[str(change.address).removeprefix(f"{SITE}/")] = delta.after
    return result


@costly
def test_36_variants_in_three_runs_have_the_paths_that_the_plan_shows(org: Org) -> None:
    titles = [*TITLES, *reversed(TITLES), *(f"{title} once more" for title in TITLES)]
    expected: dict[str, str] = {}
    for count in (12, 24, 36):
        structure = [
            {"section": f"p{n}", "title": f"Part {n}", "spaces": [f"s{i:02}" for i in range(count) if i % 12 // 4 == n]} for n in range(3)
        ]
        org.write(tree(titles[:count], structure))
        expected |= shown(org.plan())
        assert [result for result in org.apply().results if result.status is not StepStatus.DONE] == []
        assert described(org.plan()) == []
    real = paths(org)
    assert len(real) == 39
    assert {at: path for at, path in real.items() if at in expected} == expected
    assert {at for at in real if at not in expected} == {"site-space/s02", "site-space/s21"}  # no letter that can be in a path
    assert not any("copy" in path for path in real.values())


def test_the_first_in_the_yaml_gets_the_plain_path_and_the_others_a_number_that_is_announced(org: Org) -> None:
    org.write(tree(["Guides"] * 6, [{"section": "all", "title": "All", "spaces": [f"s{n:02}" for n in range(6)]}]))
    plan = org.plan()
    wanted = {f"site-space/s{n:02}": "guides" if n == 0 else f"guides-{n + 1}" for n in range(6)}
    assert {at: path for at, path in shown(plan).items() if at in wanted} == wanted
    assert (
        f"{SITE}/site-space/s01: path will be guides-2, because {SITE}/site-space/s00 has guides; write path to choose another"
        in plan.notes
    )
    org.apply()
    assert {at: path for at, path in paths(org).items() if at in wanted} == wanted


def test_a_title_that_fails_makes_no_wrong_path(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(tree(["Guides", "Other", "Guides"], ["s00", "s01", "s02"]))
    ids: list[str] = []

    async def refusing(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        if request.method == "PATCH" and "/spaces/" in request.url.path and b"Guides" in request.content:
            ids.append(request.url.path)
        if request.method != "GET" and request.url.path in ids[:1]:
            return httpx2.Response(400, json={"error": {"code": 400, "message": "not now"}}, request=request)
        return await onward(request)

    org.way = refusing
    org.apply()
    org.way = None
    assert set(paths(org)) <= {"site-space/s01", "site-space/s02"}
    assert not any("copy" in path for path in paths(org).values())
    org.apply()
    assert paths(org) == {"site-space/s00": "guides", "site-space/s01": "other", "site-space/s02": "guides-2"}
    assert org.plan().empty


def test_sites_and_sections_derive_too_and_in_order_across_groups(org: Org) -> None:
    structure = [
        {"section": "a", "title": "Same", "spaces": ["s00"]},
        {"group": "g", "title": "Group", "structure": [{"section": "b", "title": "Same", "spaces": ["s01"]}]},
        {"section": "c", "title": "Same", "spaces": ["s02"]},
    ]
    written = tree(["One", "Two", "Three"], structure)
    written["sites"]["more"] = {"title": "Docs", "structure": ["s00"]}
    org.write(written)
    expected = shown(org.plan())
    org.apply()
    assert {at: path for at, path in paths(org).items() if at in expected} == expected
    assert sorted(path for at, path in paths(org).items() if at.startswith("section")) == ["same", "same-2", "same-3"]
    names = {entry["id"]: entry["basename"] for entry in org.items(f"/orgs/{ORGANIZATION}/sites")}
    assert [names[org.id(f"acme/site/{key}")] for key in ("docs", "more")] == ["docs", "docs-2"]


@pytest.mark.parametrize("how", ["adopted", "renamed", "restored", "drifted"])
def test_a_title_that_changes_in_the_same_run_counts(org: Org, how: str) -> None:
    if how == "adopted":
        created = org.call("POST", "/spaces/spc_blank/duplicate")
        written = tree(["New title"], ["s00"])
        written["content"][1] = {"space": "s00", "id": created["id"], "title": "New title"}
    else:
        applied(org, tree(["Old title"], []))
        written = tree(["New title" if how != "drifted" else "Old title"], ["s00"])
        if how == "restored":
            org.call("DELETE", f"/spaces/{org.id('acme/space/s00')}")
        if how == "drifted":
            org.call("PATCH", f"/spaces/{org.id('acme/space/s00')}", {"title": "Do not touch"})
    applied(org, written)
    assert paths(org) == {"site-space/s00": "old-title" if how == "drifted" else "new-title"}


def test_a_path_that_does_not_follow_its_title_is_said_with_what_to_write(org: Org) -> None:
    applied(org, tree(["Get started", "Guides"], [{"section": "p", "title": "Part", "spaces": ["s00", {"space": "s01", "path": "own"}]}]))
    org.write(tree(["First steps", "Manual"], [{"section": "p", "title": "Piece", "spaces": ["s00", {"space": "s01", "path": "own"}]}]))
    assert org.plan().notes == (
        f"{SITE}/section/p: path stays part, it does not follow the title; to change it, write path: piece",
        f"{SITE}/site-space/s00: path stays get-started, it does not follow the title; to change it, write path: first-steps",
    )
    org.apply()
    assert paths(org) == {"section/p": "part", "site-space/s00": "get-started", "site-space/s01": "own"}
    assert org.plan().empty


def test_what_leaves_gives_its_path_to_what_comes_in_its_place(org: Org) -> None:
    applied(org, tree(["Guides", "Other", "Guides"], [{"section": "p", "title": "Part", "spaces": ["s00", "s01"]}]))
    org.write(tree(["Guides", "Other", "Guides"], [{"section": "p", "title": "Part", "spaces": ["s02", "s01"]}]))
    assert shown(org.plan()) == {"site-space/s02": "guides"}
    org.apply()
    assert paths(org)["site-space/s02"] == "guides"
    assert org.plan().empty


def test_where_nothing_else_is_left_the_suffix_is_shown(org: Org) -> None:
    applied(org, tree(["Guides", "Guides"], [{"section": "p", "title": "Part", "spaces": ["s00"]}]))
    org.write(tree(["Guides", "Guides"], [{"section": "p", "title": "Part", "spaces": ["s01"]}]))
    assert shown(org.plan()) == {"site-space/s01": "guides-2"}
    org.apply()
    assert paths(org)["site-space/s01"] == "guides-2"


def test_a_path_that_is_given_up_or_written_beside_it_counts(org: Org) -> None:
    applied(org, tree(["Guides", "Other", "Third"], [{"space": "s00", "path": "guides"}, "s01"]))
    structure = [{"space": "s00", "path": "old-guides"}, "s01", {"space": "s02", "path": "start"}, {"key": "again", "space": "s00"}]
    org.write(tree(["Guides", "Other", "Third"], structure))
    assert shown(org.plan()) == {"site-space/again": "guides"}
    org.apply()
    assert paths(org) == {
        "site-space/s00": "old-guides", "site-space/s01": "other", "site-space/s02": "start", "site-space/again": "guides",
    }  # fmt: skip


def test_a_target_brings_along_the_title_that_its_path_comes_from(org: Org) -> None:
    applied(org, tree(["Old title", "Other"], ["s01"]))
    org.write(tree(["New title", "Elsewhere"], ["s01", "s00"]))
    plan = org.plan(targets=(f"{SITE}/site-space/s00",))
    assert {str(step.address) for step in plan.steps} == {f"{SITE}/site-space/s00", "acme/space/s00"}
    assert shown(plan) == {"site-space/s00": "new-title"}
    assert "acme/space/s00 is included: a target requires it" in plan.notes


def test_every_create_needs_the_title_that_its_path_comes_from(org: Org) -> None:
    org.write(tree(TITLES))
    steps = org.plan().steps
    titles = {str(step.address): step.id for step in steps if step.verb == "update" and "title" in step.writes}
    for step in steps:
        space = step.writes.get("space", step.writes.get("spaceId"))
        if step.verb == "create" and space is not None:
            assert titles[str(space)] in step.needs


def test_a_variant_that_first_shows_something_else_gets_the_path_of_what_is_meant(org: Org) -> None:
    structure: list[Any] = [{"section": "p", "title": "Part", "spaces": ["s00"]}]
    written = tree(["Guides", "Secret plans"], structure)
    written["sites"]["docs"] |= {"visibility": "public", "published": True, "adaptiveContent": {"enabled": True}}
    applied(org, written)
    structure[0]["spaces"].append({"space": "s01", "condition": "visitor.claims.staff"})
    org.write(written)
    plan = org.plan()
    assert [step.writes.get("space") for step in plan.steps if step.verb == "create"] == [org.id("acme/space/s00")]
    assert shown(plan) == {"site-space/s01": "secret-plans"}
    applied(org, written)
    assert paths(org)["site-space/s01"] == "secret-plans"


def test_a_path_that_a_sibling_derives_before_is_reported_before_the_service_refuses_it(org: Org) -> None:
    structure = [{"section": "all", "title": "All", "spaces": ["s00", {"space": "s01", "path": "guides"}]}]
    org.write(tree(["Guides", "Manuals"], structure))
    (blocked,) = org.plan().blocked
    assert (str(blocked.address), blocked.id) == (f"{SITE}/site-space/s01", "RC-taken-by-sibling")
    assert blocked.reason == f"the service would refuse path 'guides', because {SITE}/site-space/s00 has it by then"
    assert blocked.remedy == "write another path"
    assert blocked.source is not None
    assert "path: guides" in (org.project / "reconciler.yaml").read_text(encoding="utf-8").splitlines()[blocked.source.line - 1]
    assert all(result.status is StepStatus.DONE for result in org.apply().results)
    assert paths(org)["site-space/s01"] == "manuals"
    structure[0]["spaces"] = [{"space": "s00", "path": "other"}, {"space": "s01", "path": "guides"}]
    org.write(tree(["Guides", "Manuals"], structure))
    assert org.plan().notes == ()
    assert org.apply().went_through


def test_a_path_that_is_free_by_then_is_not_a_warning(org: Org) -> None:
    org.write(tree(["Guides"], [{"section": "all", "title": "All", "spaces": [{"space": "s00", "path": "guides"}]}]))
    org.apply()
    structure = [{"section": "all", "title": "All", "spaces": [{"key": "new", "space": "s01", "path": "guides"}]}]
    org.write(tree(["Guides", "Manuals"], structure))
    assert org.plan().blocked == ()
    assert org.apply().went_through


def taken(org: Org) -> dict[str, str]:
    """Why paths of this plan are not sent, by the last part of their address; and that the rest of the plan is sent."""
    plan = org.plan(allow_replace=("**",))
    assert {blocked.id for blocked in plan.blocked} <= {"RC-taken-by-sibling"}
    assert all(result.status is StepStatus.DONE for result in org.apply(allow_replace=("**",)).results)
    return {blocked.address.key: blocked.reason.partition("because ")[2] for blocked in plan.blocked}


@pytest.mark.parametrize("variants", [["s00", {"space": "s01", "path": "blank"}], ["s00", "s01", {"space": "s02", "path": "blank"}]])
def test_a_path_of_an_unmanaged_variant_is_not_sent(org: Org, variants: list[Any]) -> None:
    titles = ["Guides", "Manuals", "Plans"]
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": ["s00", "s01"]}]))
    org.apply()
    section = org.id(f"{SITE}/section/all")
    org.call("POST", f"{site(org)}/site-spaces", {"spaceId": "spc_blank", "sectionId": section})
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": variants}]))
    assert taken(org) == {variants[-1]["space"]: "site-space 'Blank' has it by then"}


def test_a_path_of_an_unmanaged_variant_that_the_first_section_takes_in_is_not_sent(org: Org) -> None:
    titles = ["Guides", "Manuals", "Plans"]
    org.write(tree(titles, ["s00", "s01"]))
    org.apply()
    org.call("POST", f"{site(org)}/site-spaces", {"spaceId": "spc_blank"})
    variants: list[Any] = ["s00", "s01", {"space": "s02", "path": "blank"}]
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": variants}]))
    assert taken(org) == {"s02": "site-space 'Blank' has it by then"}


def test_a_path_that_a_sibling_keeps_because_it_does_not_get_its_own_is_not_sent_either(org: Org) -> None:
    titles = ["Guides", "Manuals", "Plans"]
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": ["s00", "s01", "s02"]}]))
    org.apply()
    variants = ["s00", {"space": "s01", "path": "guides"}, {"space": "s02", "path": "manuals"}]
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": variants}]))
    assert taken(org) == {key: f"{SITE}/site-space/{other} has it by then" for key, other in (("s01", "s00"), ("s02", "s01"))}


def test_a_path_that_is_given_up_in_the_second_run_is_sent_in_that_one(org: Org) -> None:
    titles = ["Guides", "Manuals", "Plans"]
    org.write(tree(titles, ["s00", "s01"]))
    org.apply()
    variants = ["s00", {"space": "s01", "path": "second"}, {"space": "s02", "path": "manuals"}]
    org.write(tree(titles, [{"section": "all", "title": "All", "spaces": variants}]))
    (blocked,) = org.plan(allow_replace=("**",)).blocked
    assert blocked.remedy == "reconciler apply, once more"
    for _ in range(2):
        assert all(result.status is StepStatus.DONE for result in org.apply(allow_replace=("**",)).results)
    assert org.plan().empty
    assert {paths(org)[f"site-space/{key}"] for key in ("s01", "s02")} == {"second", "manuals"}


def expected_tree(*sections: dict[str, Any], **site: Any) -> dict[str, Any]:
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "guides", "title": "Guides"}]
    rows = [{"spaces": [{"key": f"in-{entry['section']}", "space": "guides"}], **entry} for entry in sections]
    return {"content": content, "sites": {"docs": {"title": "Docs", "structure": rows, **site}}}


def section(key: str, title: str, **fields: Any) -> dict[str, Any]:
    return {"section": key, "title": title, **fields}


def blocked(org: Org) -> dict[str, tuple[str, str]]:
    return {
        str(entry.address).removeprefix(f"{SITE}/"): (entry.reason, entry.remedy) for entry in org.plan().blocked if entry.cause is None
    }


def test_a_value_that_comes_out_as_expected_changes_nothing(org: Org) -> None:
    plain = expected_tree(section("a", "Get started"))
    applied(org, expected_tree(section("a", "Get started", expect={"path": "get-started"}), expect={"basename": "docs"}))
    org.write(plain)
    assert described(org.plan()) == []


def test_a_path_that_a_sibling_takes_first_blocks_the_section_and_what_is_in_it(org: Org) -> None:
    org.write(expected_tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides"})))
    assert blocked(org) == {
        "section/b": (
            "expect.path is guides, but the service will derive guides-2 (from the title; acme/site/docs/section/a has guides)",
            "write path: guides instead of expect to set it, or expect guides-2",
        )
    }
    assert not [step for step in org.plan().steps if "section/b" in str(step.address) or "in-b" in str(step.address)]
    org.write(expected_tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides-2"})))
    assert blocked(org) == {}
    applied(org, expected_tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides-2"})))


def test_a_variant_that_its_section_creates_blocks_the_section_too(org: Org) -> None:
    org.write(expected_tree(section("a", "Guides", spaces=[{"space": "guides", "expect": {"path": "manual"}}])))
    plan = org.plan()
    assert {str(entry.address) for entry in plan.blocked} >= {f"{SITE}/section/a", f"{SITE}/site-space/guides"}
    assert not [step for step in plan.steps if str(step.address).startswith(f"{SITE}/section")]


def test_what_exists_with_another_value_is_blocked_until_the_yaml_says_which_is_meant(org: Org) -> None:
    applied(org, expected_tree(section("a", "Guides")))
    org.write(expected_tree(section("a", "Manuals", expect={"path": "manuals"})))
    assert blocked(org) == {
        "section/a": (
            "expect.path is manuals, but the service has guides",
            "write path: manuals instead of expect to set it, or expect guides",
        )
    }
    applied(org, expected_tree(section("a", "Manuals", expect={"path": "guides"})))
    applied(org, expected_tree(section("a", "Manuals", path="manuals")))


def test_a_published_url_is_compared_as_it_will_be(org: Org) -> None:
    public = {"visibility": "public", "published": True, "basename": "docs"}
    first = expected_tree(section("a", "Guides", path="guides", expect={"url": "https://not-known-yet.example"}), **public)
    org.write(first)
    assert blocked(org) == {}, "nobody knows the URL of what does not exist"
    applied(org, expected_tree(section("a", "Guides", path="guides"), **public))
    url = org.items(f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}/sections")[0]["urls"]["published"]
    assert url.rstrip("/").endswith("/guides")
    applied(org, expected_tree(section("a", "Guides", path="guides", expect={"url": url}), **public))
    moved = url.replace("/guides", "/manuals")
    org.write(expected_tree(section("a", "Guides", path="manuals", expect={"url": url}), **public))
    assert blocked(org)["section/a"][0] == f"expect.url is {url}, but this plan changes it to {moved}"
    applied(org, expected_tree(section("a", "Guides", path="manuals", expect={"url": moved}), **public))
    org.write(expected_tree(section("a", "Guides", path="manuals", expect={"url": url}), **public))
    assert blocked(org)["section/a"][0] == f"expect.url is {url}, but it is {moved}"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"path": "guides", "expect": {"path": "guides"}}, "expect.path is not allowed here: path is written, so nothing derives it"),
        ({"expect": {"title": "Guides"}}, 'expect knows no "title"; one of path, url'),
        ({"expect": {"pth": "guides"}}, 'expect knows no "pth"; did you mean "path"?'),
        ({"expect": "guides"}, 'expect must be a map, not "guides"; write {path: …}'),
        ({"expect": {"path": ""}}, "path is empty"),
        ({"expect": {"url": ["a"]}}, "url must be text, not a list"),
    ],
)
def test_a_wrong_assertion_is_an_error_at_its_line(org: Org, fields: dict[str, Any], problem: str) -> None:
    org.write(expected_tree(section("a", "Guides", **fields)))
    with pytest.raises(ConfigError) as error:
        org.load()
    assert problem in str(error.value)
    assert len(error.value.problems) == 1


def test_a_kind_of_which_nothing_is_derived_has_no_assertion(tmp_path: Path) -> None:
    text = "version: 1\nproject: p\norganizations: {acme: {id: org_acme, teams: {a: {title: A, expect: {path: a}}}}}\n"
    (tmp_path / "reconciler.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="expect is not allowed here: the service derives nothing of a team"):
        load(tmp_path, kinds())


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
    bindings = {str(address): binding.id for address, binding in acme.remembered().bindings.items()}
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
    (id,) = (binding.id for address, binding in acme.remembered().bindings.items() if str(address) == "acme/space/three")
    acme.call("DELETE", f"/spaces/{id}")
    acme.app.state.service.store.set_meta("offset", str(8 * 24 * 3600.0))
    acme.write(small())
    acme.apply()
    assert acme.plan().empty
    ids = {str(address): binding.id for address, binding in acme.remembered().bindings.items()}
    assert ids["acme/space/three"] != id
    shown = [entry["space"]["id"] for entry in acme.call("GET", f"/orgs/{ORGANIZATION}/sites/{ids['acme/site/docs']}/site-spaces")["items"]]
    assert ids["acme/space/three"] in shown
    assert id not in shown


def test_an_id_of_another_site_is_not_adopted_below_this_one(acme: Org) -> None:
    ids = {str(address): binding.id for address, binding in acme.remembered().bindings.items()}
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
