"""Random organizations A -> B: apply, then the plan is empty; only what the plan named changed; equal input gives equal bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reconciler.model import StepStatus
from tests.harness import ORGANIZATION, Org
from tests.proofs import sampled, tries

TITLES = st.sampled_from(["Guides", "API", "Überblick", "مرحبا", "A B", "x" * 50, "🚀 Go", "Guides 2"])
COUNTED = ("updatedAt", "siteSpaces", "urls", "spaces", "teams", "members")  # what other objects change by being there
KEYS = ["a", "b", "c", "d", "e", "f", "g"]


@st.composite
def contents(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A tree of collections and spaces whose keys are unique, and whose titles are unique within a parent."""
    spaces = draw(st.permutations(KEYS))[: draw(st.integers(1, 6))]
    collections = draw(st.permutations(KEYS[:4]))[: draw(st.integers(0, 4))]
    root: list[dict[str, Any]] = [{"space": "blank", "id": "spc_blank", "title": "Blank"}]
    lists = [root]
    for key in collections:
        node: dict[str, Any] = {"collection": key, "title": f"{draw(TITLES)[:40]} {key}", "content": []}
        if draw(st.booleans()):
            node["description"] = draw(st.sampled_from(["", "Some", "Other"]))
        _put(draw, lists, node)
        lists.append(node["content"])
    for key in spaces:
        node = {"space": key, "title": f"{draw(TITLES)[:40]} {key}"}
        if draw(st.booleans()):
            node["editMode"] = draw(st.sampled_from(["live", "locked"]))
        if draw(st.booleans()):
            node["mergeRules"] = draw(st.sampled_from(["inherit", {"reviewers": ["ada@acme.example"]}]))
        _put(draw, lists, node)
    return root


def _put(draw: st.DrawFn, lists: list[list[dict[str, Any]]], node: dict[str, Any]) -> None:
    target = draw(st.sampled_from(lists))
    target.insert(draw(st.integers(0, len(target))), node)


def _spaces(nodes: list[dict[str, Any]]) -> list[str]:
    found = []
    for node in nodes:
        found += [node["space"]] if "space" in node else _spaces(node["content"])
    return found


@st.composite
def sites(draw: st.DrawFn, spaces: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(["docs", "help"]), unique=True, max_size=2)):
        structure: list[dict[str, Any]] = []
        lists = [structure]
        for key in draw(st.permutations(["x", "y"]))[: draw(st.integers(0, 2))]:
            group = {"group": key, "title": f"Group {key}", "structure": []}
            _put(draw, lists, group)
            lists.append(group["structure"])
        sections = draw(st.permutations(KEYS[:4]))[: draw(st.integers(1, 4))]
        for key in sections:
            variants = draw(st.permutations(spaces))[: draw(st.integers(1, min(3, len(spaces))))]
            section: dict[str, Any] = {
                "section": key,
                "title": f"{draw(TITLES)[:40]} {key}",
                "spaces": [{"key": f"{key}-{space}", "space": space} for space in variants],
            }
            if draw(st.booleans()):
                section["path"] = draw(st.sampled_from(["p", "q", "r"])) + key
            if draw(st.booleans()):
                for number, one in enumerate(section["spaces"]):
                    one["path"] = f"v{number}"
            if draw(st.booleans()):
                draw(st.sampled_from(section["spaces"]))["default"] = True
            _put(draw, lists, section)
        site: dict[str, Any] = {"title": f"Site {name}", "structure": structure}
        if draw(st.booleans()):
            site["visibility"] = draw(st.sampled_from(["public", "unlisted", "share-link"]))
        if draw(st.booleans()):
            names = draw(st.lists(st.sampled_from(["l1", "l2", "l3"]), unique=True))
            site["shareLinks"] = {link: {"name": f"Link {link}", "active": draw(st.booleans())} for link in names}
        found[name] = site
    return found


@st.composite
def organizations(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(contents())
    tree: dict[str, Any] = {"content": content, "sites": draw(sites(_spaces(content)))}
    if draw(st.booleans()):
        tree["title"] = draw(TITLES)
    tree["teams"] = {key: {"title": f"Team {key}"} for key in draw(st.lists(st.sampled_from(KEYS[:3]), unique=True))}
    if draw(st.booleans()):
        tree["members"] = {"linus@acme.example": draw(st.sampled_from(["read", "edit", "guest"]))}
    if tree["sites"] and draw(st.booleans()):
        tree["defaultContent"] = {"site": draw(st.sampled_from(sorted(tree["sites"])))}
    return tree


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


@sampled
@settings(
    max_examples=tries(25, 2),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(organizations(), organizations())
def test_any_organization_becomes_any_other(first: dict[str, Any], second: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = Org(Path(folder))
        for tree in (first, second):
            org.write(tree)
            before = everything(org)
            plan, again = org.plan(allow_replace=("**",)), org.plan(allow_replace=("**",))
            assert repr(plan) == repr(again)
            outcome = org.apply()
            assert [(str(one.step.address), one.step.verb, one.error) for one in outcome.results if one.status is not StepStatus.DONE] == []
            named = {str(change.id) for change in plan.changes} | {str(step.target) for step in plan.steps} | {
                part for step in plan.steps for part in step.path if isinstance(part, str)
            }  # fmt: skip
            after = everything(org)
            changed = {id for id in before if before[id] != after.get(id)}
            assert {id for id in changed if id not in named and not _only_flag(before[id], after.get(id))} == set()
            left = org.plan(allow_replace=("**",))
            assert [f"{change.address} {change.actions} {[one.name for one in change.fields]}" for change in left.changes] == []
            assert left.blocked == ()
            assert left.steps == ()


def _only_flag(before: Any, after: Any) -> bool:
    """Whether only the default moved on or off it, or its path's neighbours changed: written on the parent, read on the child."""
    if after is None:
        return False
    return {key for key in before if before[key] != after.get(key)} <= {"default", "sectionGroup", "section"}
