"""A rehearsal: the plan is applied to a copy, watched after every write, and undone; the living service and its state stay as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from reconciler import exits
from reconciler.features.rehearsal.model import ClosedUrls, MovedUrl, ReaderChange, Rehearsal, RehearsedMoment
from reconciler.features.rehearsal.report import rehearsal_document, rehearsal_sheet
from reconciler.report.layout import plain
from reconciler.report.saved import digest_of
from reconciler.report.sheet import sheet_text
from tests.command_line import Cli
from tests.features.rehearsal.watched import watching
from tests.organizations import ORGANIZATION, project
from tests.proofs import costly

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
    _write_with(cli, tree)


def _write_with(cli: Cli, tree: Tree, **top: Any) -> None:
    cli.write("reconciler.yaml", yaml.dump(project({"acme": tree}, **top), sort_keys=False))


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
    assert ("anyone", "acme/space/salaries") in {(change["reader"], change["address"]) for change in document["readers"]["lost"]}
    assert document["undo"]["leftovers"]


def test_what_is_created_gives_nobody_more_to_read(living: Cli) -> None:
    tree = _tree()
    tree["content"].append({"space": "plans", "title": "Plans", "duplicateOf": "blank"})
    tree["sites"]["docs"]["structure"][1]["spaces"].append("plans")
    _write(living, tree)
    assert _rehearsed(living)["readers"]["gained"] == []


def test_readers_and_urls_are_looked_at_once_at_the_start_and_once_after_each_request(living: Cli) -> None:
    tree = _tree(title="Documentation")
    tree["content"] += [{"space": f"s{number}", "title": f"Space {number}", "duplicateOf": "blank"} for number in range(5)]
    _write(living, tree)
    with watching(1) as watched:
        document = _rehearsed(living)
    assert len(watched.moments) == document["requests"]["apply"] + 1 == len(document["moments"]) + 1
    assert len(watched.writes) > document["requests"]["apply"], "an undo sends requests after which nobody looks"


def test_neither_the_living_service_nor_its_state_is_written(living: Cli) -> None:
    _write(living, _tree(title="Documentation"))
    before = _everything(living)
    assert _rehearsed(living)["requests"]["apply"] == 1
    assert _everything(living) == before


def test_readers_are_named_as_people_know_them(living: Cli) -> None:
    tree = _tree(visibility="share-link", shareLinks={"partners": {"name": "Partners", "active": True}})
    _write(living, tree)
    living("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    del tree["sites"]["docs"]["structure"][1]
    _write(living, tree)
    text = living("rehearse", ".", "--sandbox", "living.db", code=exits.DONE).stdout
    assert (
        'whoever has the share link "Partners" can no longer read 3 objects: acme/space/salaries, acme/site/docs/section/internal' in text
    )
    assert "acme/site/docs/section/internal was deleted; the service cannot restore a section" in text
    assert "/internal no longer answers" in text
    assert "link:" not in text
    assert any(change["reader"].startswith("link:link_") for change in _rehearsed(living)["readers"]["lost"])


def test_every_refusal_is_listed_not_only_the_first(living: Cli) -> None:
    tree = _tree()
    tree["content"].append({"space": "plans", "title": "Plans", "duplicateOf": "blank"})
    _write(living, tree)
    living("apply", ".", "--sandbox", "living.db", "--yes", code=exits.DONE)
    tree["sites"]["docs"]["structure"][0]["spaces"].append("plans")
    del tree["sites"]["docs"]["structure"][1]
    access = [{"as": "anyone", "mustNotSee": ["acme/space/plans"], "reason": "not yet"}]
    limits = {"maxDelete": {"percent": 0, "atLeast": 0}, "maxExposed": 0}
    _write_with(living, tree, access=access, guards=limits)
    refusals = "\n".join(_rehearsed(living, code=exits.REFUSED)["refusals"])
    for why in ("access anyone", "the plan deletes", "the plan exposes", "requires consent"):
        assert why in refusals


# -- saved plans ---------------------------------------------------------------------------------------------------------------------


def _saved(cli: Cli, tree: Tree, *options: str) -> Any:
    """The document of a plan that is saved as `plan.json`."""
    _write(cli, tree)
    cli("plan", ".", "--sandbox", "living.db", "--out", "plan.json", *options)
    return json.loads((cli.root / "plan.json").read_text())


def test_a_saved_plan_is_rehearsed_with_its_digest_and_without_consent(living: Cli) -> None:
    document = _saved(living, _tree(title="Documentation", visibility="unlisted"), "--target", "acme/site/docs")
    rehearsed = _rehearsed(living, "--plan", "plan.json")
    assert rehearsed["digests"]["plan"] == digest_of(document)
    assert rehearsed["requests"]["apply"] == len(document["steps"]) == 1
    assert rehearsed["refusals"] == rehearsed["divergences"] == []
    assert living("apply", ".", "--sandbox", "living.db", "--plan", "plan.json").exit_code == exits.DONE


@costly
def test_a_change_that_the_saved_plan_does_not_show_is_not_rehearsed(living: Cli) -> None:
    _saved(living, _tree(title="Documentation"))
    tree = _tree(title="Documentation")
    tree["content"][1]["title"] = "User guides"
    _write(living, tree)
    done = living("rehearse", ".", "--sandbox", "living.db", "--plan", "plan.json", "--format", "json")
    assert json.loads(done.stdout)["requests"]["apply"] == 1
    assert "not in the saved plan" in done.stderr
    assert "acme/space/guides" in done.stderr


@costly
@pytest.mark.parametrize("why", ["files", "reading", "used", "elsewhere"])
def test_a_stale_plan_is_refused_as_apply_refuses_it(living: Cli, why: str) -> None:
    tree = _tree(title="Documentation")
    _saved(living, tree)
    if why == "files":
        _write(living, _tree(title="Other"))
    elif why == "reading":
        lines = living("state", "list", ".", "--sandbox", "living.db").stdout.splitlines()
        id = next(line.split()[2] for line in lines if line.split()[0] == "acme/site/docs")
        living("api", "PATCH", f"/orgs/{ORGANIZATION}/sites/{id}", "-f", "title=Handbook", "--sandbox", "living.db")
    elif why == "used":
        living("apply", ".", "--sandbox", "living.db", "--plan", "plan.json", code=exits.DONE)
        _write(living, _tree(title="Docs"))
        living("apply", ".", "--sandbox", "living.db", "--yes", code=exits.DONE)
        _write(living, tree)
    else:
        _write_with(living, tree, project="other")
    rehearsed = living("rehearse", ".", "--sandbox", "living.db", "--plan", "plan.json", code=exits.LOCKED)
    assert "plan --out FILE" in rehearsed.stderr
    if why != "used":  # a job that is started again ends as it did the first time
        living("apply", ".", "--sandbox", "living.db", "--plan", "plan.json", code=exits.LOCKED)


def test_a_report_with_every_part_is_short() -> None:
    some = tuple(f"acme/space/s{number}: something" for number in range(9))
    readers = tuple(ReaderChange(f"r{number}", "space", f"S{number}", None, f"reader {number}") for number in range(9))
    rehearsal = Rehearsal(
        "acme", "staging", "0" * 64, "0" * 64, 10, 9, some, some, False, some, readers, readers, 9, 9,
        tuple(f"https://docs.example/{number}" for number in range(9)),
        tuple(MovedUrl(f"https://docs.example/a{number}", f"https://docs.example/b{number}") for number in range(9)),
        (RehearsedMoment(1, "PATCH /x", 9, 9, 9),), True, some, some, (), some,
        closed=(ClosedUrls(("anyone-with-the-address",), ("anyone",), tuple(f"https://docs.example/{number}" for number in range(9))),),
    )  # fmt: skip
    lines = plain(sheet_text(rehearsal_sheet(rehearsal_document(rehearsal)), width=10_000)).splitlines()
    assert len(lines) <= 25
    assert sum("and 8 more like this" in line for line in lines) > 5


@costly
def test_the_report_is_short_whatever_the_plan(living: Cli) -> None:
    tree = _tree()
    tree["content"] += [{"space": f"s{n}", "title": f"Space {n}", "duplicateOf": "blank"} for n in range(12)]
    tree["sites"]["docs"]["structure"] += [{"section": f"x{n}", "title": f"Section {n}", "spaces": [f"s{n}"]} for n in range(12)]
    _write(living, tree)
    done = living("rehearse", ".", "--sandbox", "living.db", code=exits.DONE)
    assert len(done.stdout.splitlines()) <= 25
    assert "an undo there took everything back" in done.stdout
