"""What the service derives from titles: paths come out as the plan shows them, whatever else changes in the run, and whatever fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.model import Plan, StepStatus
from reconciler.resource import UNSET
from tests.harness import ORGANIZATION, Org
from tests.small import applied, described

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
    store = org.store()
    try:
        bound = {str(at): binding.id for at, binding in store.read().bindings.items()}
    finally:
        store.close()
    return {at.removeprefix(f"{SITE}/"): listed[id] for at, id in bound.items() if id in listed and at.startswith(SITE)}


def shown(plan: Plan) -> dict[str, str]:
    """The paths that a plan shows although no request sets them."""
    result = {}
    for change in plan.changes:
        for delta in change.fields:
            if delta.name == "path" and delta.note is not None and delta.after is not UNSET and str(change.address).startswith(SITE):
                result[str(change.address).removeprefix(f"{SITE}/")] = delta.after
    return result


class Refusing(httpx2.AsyncBaseTransport):
    """Refuses writes whose body a test does not like."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, refuses: Callable[[httpx2.Request], bool]) -> None:
        self.inner, self.refuses = inner, refuses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET" and self.refuses(request):
            return httpx2.Response(400, json={"error": {"code": 400, "message": "not now"}}, request=request)
        return await self.inner.handle_async_request(request)


class Picky(Org):
    """An organization whose service refuses some writes."""

    refuses: Callable[[httpx2.Request], bool] | None = None

    def transport(self) -> httpx2.AsyncBaseTransport:
        inner = super().transport()
        return Refusing(inner, self.refuses) if self.refuses is not None else inner


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
    org = Picky(tmp_path)
    org.write(tree(["Guides", "Other", "Guides"], ["s00", "s01", "s02"]))
    ids: list[str] = []

    def refuses(request: httpx2.Request) -> bool:
        if request.method == "PATCH" and "/spaces/" in request.url.path and b"Guides" in request.content:
            ids.append(request.url.path)
        return request.url.path in ids[:1]

    org.refuses = refuses
    org.apply()
    org.refuses = None
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
    notes = org.plan().notes
    assert notes == (
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
    (told,) = [note for note in org.plan().notes if "refuse" in note]
    assert told == (
        f"{SITE}/site-space/s01: the service will refuse path 'guides', because {SITE}/site-space/s00 has it by then;"
        " write another path there"
    )
    failed = [result for result in org.apply().results if result.status is StepStatus.FAILED]
    assert [str(result.step.address) for result in failed] == [f"{SITE}/site-space/s01"]
    structure[0]["spaces"] = [{"space": "s00", "path": "other"}, {"space": "s01", "path": "guides"}]
    org.write(tree(["Guides", "Manuals"], structure))
    assert org.plan().notes == ()
    assert org.apply().went_through


def test_a_path_that_is_free_by_then_is_not_a_warning(org: Org) -> None:
    org.write(tree(["Guides"], [{"section": "all", "title": "All", "spaces": [{"space": "s00", "path": "guides"}]}]))
    org.apply()
    structure = [{"section": "all", "title": "All", "spaces": [{"key": "new", "space": "s01", "path": "guides"}]}]
    org.write(tree(["Guides", "Manuals"], structure))
    assert not [note for note in org.plan().notes if "refuse" in note]
    assert org.apply().went_through
