"""Git governs the titles, paths and structure of what is synchronized with it: nobody writes them but Git, and nobody fights it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from reconciler.client.service import Reader
from reconciler.features.drift.plan import drift
from reconciler.observe import observe
from reconciler.plan.planner import plan as planned
from reconciler.plan.world import World
from reconciler.sandbox.seed import seed
from tests.command_line import Cli
from tests.harness import Org, kinds
from tests.organizations import SEED
from tests.small import described
from tests.transports import Onward, Way

GIT = {"repoName": "acme/docs", "installationProvider": "github", "url": "https://github.example/acme/docs"}
SITE: dict[str, Any] = {
    "organization": "org_acme", "id": "site_docs", "title": "Docs", "gitSync": GIT,
    "sections": [
        {"id": "sec_a", "title": "AA", "siteSpaces": [{"space": "spc_git"}]},
        {"id": "sec_b", "title": "BB", "siteSpaces": [{"space": "spc_git"}]},
    ],
}  # fmt: skip
SPACE = {"organization": "org_acme", "id": "spc_git", "title": "Guides", "parent": None, "gitSync": GIT}
TREE: dict[str, Any] = {
    "content": [{"space": "guides", "id": "spc_git", "title": "Guides"}],
    "sites": {
        "docs": {
            "id": "site_docs", "title": "Docs",
            "structure": [
                {"section": "a", "title": "AA", "path": "aa", "spaces": ["guides"]},
                {"section": "b", "title": "BB", "path": "bb", "spaces": [{"space": "guides", "key": "guides-b"}]},
            ],
        }
    },
}  # fmt: skip


@pytest.fixture
def org(tmp_path: Path) -> Org:
    org = Org(tmp_path, seed={**SEED, "spaces": [*SEED["spaces"], SPACE], "sites": [SITE]})
    org.write(TREE)
    org.apply()
    assert described(org.plan()) == []
    return org


def tree(**site: Any) -> dict[str, Any]:
    return {**TREE, "sites": {"docs": {**TREE["sites"]["docs"], **site}}}


def blocked(org: Org) -> dict[str, str]:
    return {str(refusal.address): f"{refusal.id}: {refusal.reason}; {refusal.remedy}" for refusal in org.plan().blocked}


def drifted(org: Org) -> list[str]:
    async def read() -> list[str]:
        desired, state = org.load().desired, org.remembered()
        async with org.client(Reader) as reader:
            actual = await observe(reader, kinds(), desired, state)
        found = drift(World(kinds(), desired, state, actual), planned(kinds(), desired, state, actual))
        return [f"{resource.address} {resource.status.value}" for resource in found.resources]

    return asyncio.run(read())


def test_what_git_changed_is_left_alone_and_said(org: Org) -> None:
    org.call("PATCH", "/spaces/spc_git", {"title": "Guides of Git"})
    org.call("PATCH", "/orgs/org_acme/sites/site_docs/sections/sec_a", {"title": "A of Git", "path": "of-git"})
    org.call(
        "POST",
        "/orgs/org_acme/sites/site_docs/sections/sec_b/move",
        {"position": {"before": {"type": "site-section", "siteSection": "sec_a"}}},
    )
    plan = org.plan()
    assert (described(plan), plan.steps, plan.blocked) == ([], (), ())
    left = {(str(address), delta.name) for address, deltas in plan.ignored.items() for delta in deltas}
    assert {("acme/space/guides", "title"), ("acme/site/docs/section/a", "path"), ("acme/site/docs/section/a", "title")} < left
    assert [name for _, name in left].count("order") == 1
    assert any(note.startswith('acme/space/guides: title was changed in Git ("Guides" -> "Guides of Git")') for note in plan.notes)
    assert drifted(org) == []


def test_what_the_yaml_asks_for_is_blocked_and_the_rest_is_sent(org: Org) -> None:
    content = [{"space": "guides", "id": "spc_git", "title": "Other", "language": "de"}]
    sections = TREE["sites"]["docs"]["structure"]
    org.write({**tree(structure=[{**sections[0], "title": "Other", "icon": "gear"}, sections[1]]), "content": content})
    assert sorted(described(org.plan())) == ["acme/site/docs/section/a: update icon", "acme/space/guides: update language"]
    refused = blocked(org)
    assert refused["acme/space/guides"].startswith(
        'RC-git-governs: title is not written ("Guides" -> "Other"): Git governs it, from "acme/docs"'
    )
    assert "ignoreChanges: [title]" in refused["acme/space/guides"]
    assert "RC-git-governs" in refused["acme/site/docs/section/a"]
    org.apply()
    assert org.call("GET", "/spaces/spc_git")["title"] == "Guides"


def test_structure_is_neither_created_nor_deleted_nor_moved(org: Org) -> None:
    sections = TREE["sites"]["docs"]["structure"]
    org.write(tree(structure=[sections[1], {"section": "c", "title": "CC", "spaces": [{"space": "guides", "key": "guides-c"}]}]))
    plan = org.plan()
    assert plan.steps == ()
    refused = blocked(org)
    assert refused["acme/site/docs/section/a"].startswith("RC-git-governs: is not deleted")
    assert refused["acme/site/docs/section/c"].startswith("RC-git-governs: is not created")
    assert "add it in the repository, or remove it from the YAML" in refused["acme/site/docs/section/c"]


def test_another_order_in_the_yaml_is_not_written_and_said(org: Org) -> None:
    org.write(tree(structure=[*reversed(TREE["sites"]["docs"]["structure"])]))
    plan = org.plan()
    assert (plan.steps, [note for note in plan.notes if "position" in note]) == (
        (),
        [
            "acme/site/docs/section/a: its position is left alone, because Git governs it "
            '("acme/docs" (https://github.example/acme/docs)): write the order that it has now'
        ],
    )


def ungoverned(tmp_path: Path) -> Org:
    """The same organization without Git, in which somebody changed a title."""
    bare = {name: value for name, value in SPACE.items() if name != "gitSync"}
    site = {name: value for name, value in SITE.items() if name != "gitSync"}
    org = Org(tmp_path, seed={**SEED, "spaces": [*SEED["spaces"], bare], "sites": [site]})
    org.write(TREE)
    org.apply()
    org.call("PATCH", "/spaces/spc_git", {"title": "Somebody"})
    return org


@pytest.mark.parametrize("shown", [None, {}, [], "", "main", 0, True, [{"repoName": "acme/docs"}]], ids=repr)
def test_what_is_not_a_repository_governs_nothing(tmp_path: Path, shown: Any) -> None:
    org = ungoverned(tmp_path)
    org.way = showing(shown)
    assert described(org.plan()) == ["acme/space/guides: update title"]


def showing(git: Any) -> Way:
    """Shows something as `gitSync` of each space and site."""

    async def way(request: httpx2.Request, onward: Onward) -> httpx2.Response:
        answer = await onward(request)
        if request.method != "GET" or answer.status_code != 200:
            return answer
        await answer.aread()
        return httpx2.Response(200, json=_with(answer.json(), git), request=request)

    return way


def _with(shown: Any, git: Any) -> Any:
    if isinstance(shown, list):
        return [_with(item, git) for item in shown]
    if not isinstance(shown, dict):
        return shown
    inner = {name: _with(value, git) for name, value in shown.items()}
    return {**inner, "gitSync": git} if shown.get("object") in ("space", "site") else inner


def test_an_import_marks_what_git_governs(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    seed(tmp_path / "s.db", {**SEED, "spaces": [*SEED["spaces"], SPACE], "sites": [SITE]})
    cli("import", "p", "--org", "org_acme", "--sandbox", "s.db", code=0)
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((tmp_path / "p").rglob("*.yaml")))
    mark = '# Git governs its titles, paths and structure, from "acme/docs" (https://github.example/acme/docs): change them there'
    assert text.count(mark) == 2


def test_without_git_everything_is_written(tmp_path: Path) -> None:
    assert described(ungoverned(tmp_path).plan()) == ["acme/space/guides: update title"]
