"""A rehearsal: the plan is applied to a copy, watched after every write, and undone; the living service and its state stay as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from reconciler.cli import exits
from tests.cli.conftest import Cli, cli as cli
from tests.organizations import ORGANIZATION, project

Tree = dict[str, Any]


def _tree(**site: Any) -> Tree:
    return {
        "title": "Acme",
        "id": ORGANIZATION,
        "content": [
            {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
            {"space": "guides", "title": "Guides", "duplicateOf": "blank"},
            {"space": "salaries", "title": "Salaries", "duplicateOf": "blank"},
        ],
        "sites": {
            "docs": {
                "title": "Docs",
                "visibility": "public",
                "published": True,
                "structure": [
                    {"section": "guides", "title": "Guides", "path": "guides", "spaces": ["guides"]},
                    {"section": "internal", "title": "Internal", "path": "internal", "spaces": ["salaries"]},
                ],
                **site,
            }
        },
    }


def _write(cli: Cli, tree: Tree) -> None:
    cli.write("reconciler.yaml", yaml.dump(project({"acme": tree}), sort_keys=False))


@pytest.fixture
def living(cli: Cli) -> Cli:
    """A project that was applied to a sandbox."""
    _write(cli, _tree())
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    return cli


def _rehearsed(cli: Cli, *options: str, code: int = exits.DONE) -> Any:
    done = cli("rehearse", ".", "--sandbox", "living.db", "--format", "json", *options, code=code)
    return json.loads(done.stdout)


def _everything(cli: Cli) -> tuple[Any, Any]:
    """What the living service and its state hold."""
    export = json.loads(cli("sandbox", "export", "--db", "living.db").stdout)
    return export["objects"], json.loads(cli("state", "pull", ".", "--sandbox", "living.db").stdout)


def test_a_plan_without_changes_has_no_worst_moment(living: Cli) -> None:
    document = _rehearsed(living)
    assert document["worst"] is None
    assert document["requests"]["apply"] == 0
    assert document["secondPlanEmpty"]
    assert document["undo"] == {"exact": True, "leftovers": []}
    assert document["urls"]["before"] == document["urls"]["after"] > 0


def test_a_section_that_changes_its_path_moves_its_urls(living: Cli) -> None:
    tree = _tree()
    tree["sites"]["docs"]["structure"][1]["path"] = "private"
    _write(living, tree)
    document = _rehearsed(living, "--detailed-exitcode", code=exits.PENDING)
    moved = document["urls"]["moved"]
    assert moved
    assert all("/internal" in url["before"] and "/private" in url["after"] for url in moved)
    assert document["urls"]["dead"] == []
    assert document["worst"]["deadUrls"] == len(moved)
    assert document["readers"] == {"gained": [], "lost": []}


def test_a_removed_section_leaves_dead_urls_and_readers_who_lose(living: Cli) -> None:
    tree = _tree()
    del tree["sites"]["docs"]["structure"][1]
    _write(living, tree)
    document = _rehearsed(living)
    assert all("/internal" in url for url in document["urls"]["dead"])
    assert len(document["urls"]["dead"]) == document["urls"]["before"] - document["urls"]["after"] > 0
    assert {"reader": "anyone", "kind": "space", "title": "Salaries", "address": "acme/space/salaries"} in document["readers"]["lost"]
    assert document["undo"]["leftovers"]


def test_a_shown_space_gains_readers_and_consent_is_only_noted(living: Cli) -> None:
    tree = _tree()
    tree["content"].append({"space": "plans", "title": "Plans", "duplicateOf": "blank"})
    _write(living, tree)
    assert living("apply", ".", "--sandbox", "living.db", "--yes").exit_code == exits.DONE
    tree["sites"]["docs"]["structure"][1]["spaces"].append("plans")
    _write(living, tree)
    document = _rehearsed(living)
    gained = {(change["reader"], change["address"]) for change in document["readers"]["gained"]}
    assert ("anyone", "acme/space/plans") in gained
    assert document["worst"]["readersGained"] == len(gained)
    assert len(document["moments"]) == document["requests"]["apply"]
    assert any("acme/space/plans" in refusal for refusal in document["refusals"])
    assert document["assumptions"]


def test_what_is_created_gives_nobody_more_to_read(living: Cli) -> None:
    tree = _tree()
    tree["content"].append({"space": "plans", "title": "Plans", "duplicateOf": "blank"})
    tree["sites"]["docs"]["structure"][1]["spaces"].append("plans")
    _write(living, tree)
    assert _rehearsed(living)["readers"]["gained"] == []


def test_neither_the_living_service_nor_its_state_is_written(living: Cli) -> None:
    _write(living, _tree(title="Documentation"))
    before = _everything(living)
    assert _rehearsed(living)["requests"]["apply"] == 1
    assert _everything(living) == before


def test_the_report_is_short_whatever_the_plan(living: Cli) -> None:
    tree = _tree()
    tree["content"] += [{"space": f"s{n}", "title": f"Space {n}", "duplicateOf": "blank"} for n in range(12)]
    tree["sites"]["docs"]["structure"] += [{"section": f"x{n}", "title": f"Section {n}", "spaces": [f"s{n}"]} for n in range(12)]
    _write(living, tree)
    done = living("rehearse", ".", "--sandbox", "living.db", code=exits.DONE)
    assert len(done.stdout.splitlines()) <= 25
    assert "an undo there took everything back" in done.stdout
