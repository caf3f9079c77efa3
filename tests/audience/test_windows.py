"""Edits that close something for some readers and open it for others at once: no moment lets anybody else in, or the plan says so."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.audience.moments import Watched
from tests.audience.proof import RUNS, Proof
from tests.organizations import CONDITIONS, Tree
from tests.proofs import spread

STAFF, PARTNER, _ = CONDITIONS
FIRST: Tree = {
    "content": [
        {"space": "blank", "id": "spc_blank", "title": "Blank"},
        {
            "collection": "shut",
            "title": "Shut",
            "defaultLevel": "guest",
            "content": [{"space": "plans", "title": "Plans", "defaultLevel": "edit"}],
        },
        {"collection": "open", "title": "Open", "defaultLevel": "comment", "content": [{"space": "guide", "title": "Guide"}]},
        {"space": "salaries", "title": "Salaries"},
    ],
    "sites": {
        "docs": {
            "title": "Docs",
            "visibility": "public",
            "published": True,
            "adaptiveContent": {"enabled": True},
            "structure": [
                {"section": "guides", "title": "Guides", "spaces": [{"key": "v1", "space": "guide", "path": "guide", "condition": STAFF}]},
                {"section": "hidden", "title": "Hidden", "spaces": [{"key": "v2", "space": "salaries", "path": "b", "condition": PARTNER}]},
            ],
            "shareLinks": {},
        }
    },
}


def variant(tree: Tree, number: int) -> dict[str, Any]:
    found: dict[str, Any] = tree["sites"]["docs"]["structure"][number]["spaces"][0]
    return found


def shows_another_space_to_others(tree: Tree) -> None:
    variant(tree, 0).update(space="plans", condition=PARTNER)


def shows_another_space_to_everybody(tree: Tree) -> None:
    variant(tree, 0).update(space="plans", condition=None)


def exchanges_conditions(tree: Tree) -> None:
    variant(tree, 0)["condition"], variant(tree, 1)["condition"] = PARTNER, STAFF


def exchanges_spaces(tree: Tree) -> None:
    variant(tree, 0)["space"], variant(tree, 1)["space"] = "salaries", "guide"


def moves_to_an_open_collection_with_a_lower_level(tree: Tree) -> None:
    space = tree["content"][1]["content"].pop()
    tree["content"][2]["content"].append({**space, "defaultLevel": "read"})


def moves_to_a_shut_collection_with_a_higher_level(tree: Tree) -> None:
    space = tree["content"][2]["content"].pop()
    tree["content"][1]["content"].append({**space, "defaultLevel": "edit"})


def passes_its_condition_to_its_section(tree: Tree) -> None:
    tree["sites"]["docs"]["structure"][0]["condition"] = variant(tree, 0).pop("condition")
    variant(tree, 0)["condition"] = None


@pytest.mark.parametrize(
    "edit",
    spread([
        shows_another_space_to_others,
        shows_another_space_to_everybody,
        exchanges_conditions,
        exchanges_spaces,
        moves_to_an_open_collection_with_a_lower_level,
        moves_to_a_shut_collection_with_a_higher_level,
        passes_its_condition_to_its_section,
    ], 3),
)  # fmt: skip
def test_an_edit_that_closes_and_opens_at_once_has_an_order_that_lets_nobody_else_in(tmp_path: Path, edit: Any) -> None:
    second = copy.deepcopy(FIRST)
    edit(second)
    found = Proof(Watched(tmp_path), tmp_path / "image", window=lambda *_: False).edit(FIRST, second, runs=RUNS)
    assert found.writes
    assert [str(violation) for violation in found.violations] == []


def test_the_holders_of_several_links_are_one_line_of_a_moment_that_is_open(tmp_path: Path) -> None:
    """The site opens for the holders of its links and closes for visitors while it shows another space; no order avoids that."""
    first = copy.deepcopy(FIRST)
    site = first["sites"]["docs"]
    site |= {"visibility": "visitor-auth", "shareLinks": {name: {"name": name, "active": True} for name in ("one", "two", "three")}}
    second = copy.deepcopy(first)
    second["sites"]["docs"]["visibility"] = "share-link"
    variant(second, 0)["space"] = "plans"
    org = Watched(tmp_path)
    org.write(first)
    org.begin()
    Proof(org, tmp_path / "image").finish()
    org.write(second)
    plan = org.plan()
    windows = Counter((str(exposure.address), exposure.says) for exposure in plan.exposures if exposure.window)
    assert windows
    assert set(windows.values()) == {1}
    assert len({consent for exposure in plan.exposures for consent in exposure.consents if exposure.window}) == windows.total()
