"""Pipelines that rehearse: four lines for people, a page that is kept, and nothing of it where it is off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler import exits
from reconciler.features.forges import bitbucket, github, gitlab
from reconciler.features.forges.comment.body import CommentText, body
from reconciler.features.forges.comment.part import PartOrigin, part
from reconciler.features.rehearsal.report import rehearsal_lines
from reconciler.report.reading import sheet_of
from tests.command_line import Cli
from tests.features.forges.pipelines.conftest import PROJECT, Home
from tests.features.forges.pipelines.gitlab import Pipelines
from tests.features.forges.pipelines.kept import Actions, files_of
from tests.features.forges.pipelines.pages import files
from tests.features.forges.pipelines.python import installs
from tests.features.forges.pipelines.test_action import World
from tests.features.forges.pipelines.test_component import World as GitLabWorld
from tests.features.rehearsal.test_rehearse import _tree, _write_with

CHANGED = PROJECT.replace("Writers", "Authors")
LINES = (
    "Worst moment: no moment is worse",
    "Readers: nobody can read more",
    "Published URLs: 0 URLs no longer answer, 0 moved, of 0",
    "Undo: takes everything back",
)  # fmt: skip
UNREHEARSED = ("--fail-on", "urls")
UNKNOWN = ("--rehearse", "--fail-on", "everything")


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    with Actions() as actions:
        yield World(home, actions)


def _rehearsing(world: World, **inputs: str) -> None:
    (job,) = world.workflow["jobs"].values()
    job["steps"][-1]["with"] |= {"rehearse": "true", **inputs}


def test_the_action_adds_four_lines_to_the_comment_and_the_summary_and_keeps_the_page(world: World) -> None:
    _rehearsing(world, **{"fail-on": "readers,urls"})
    planned = world.push(7, CHANGED)
    assert planned.success, planned.log
    (comment,) = world.comments(7)
    for line in LINES:
        assert line in comment
        assert line in planned.summary
    assert "#### Rehearsal of `handbook`" in comment
    (artifact,) = world.actions.artifacts
    assert {"rehearsal-report.html", "rehearsal-report.json", "plan.json"} <= {Path(name).name for name in files_of(world.home.root)}
    assert artifact
    assert any("requirements-sandbox.txt" in line for line in installs(world.runner.python))
    assert world.run(world.merge(7)).success
    assert world.service.titles("teams") == ["Authors", "Readers"]


def test_where_it_is_off_nothing_of_it_is_installed_or_written(world: World) -> None:
    planned = world.push(7, CHANGED)
    assert planned.success
    assert "ehears" not in planned.summary + planned.log + world.comments(7)[0]
    assert not any("sandbox" in line for line in installs(world.runner.python))
    assert not any("rehearsal-report" in name for name in files_of(world.home.root))


def test_the_component_adds_them_to_the_note_and_keeps_the_page(home: Home) -> None:
    configuration = files(".gitlab-ci.yml")[0]
    configuration["include"][0]["inputs"] |= {"rehearse": True, "fail-on": "urls"}
    with Pipelines() as forge:
        world = GitLabWorld(home, forge)
        (planned,) = world.push(7, CHANGED, configuration=configuration)
        assert planned.code == 0, planned.log
        (note,) = forge.bodies(forge.pull(number=7))
    assert all(line in note for line in LINES)
    assert b"rehearsal" in planned.artifacts["reconciler-reports/rehearsal-report.html"].lower()


# -- the command -----------------------------------------------------------------------------------------------------------------------


def _applied(cli: Cli, **site: Any) -> Any:
    tree = _tree(**site)
    _write_with(cli, tree)
    cli("apply", ".", "--sandbox", "living.db", "--yes", "--allow-exposure", "**", code=exits.DONE)
    return tree


def _planned(cli: Cli, *options: str, more: tuple[str, ...] = (), code: int) -> Any:
    done = cli("pipeline", "plan", ".", *options, "--", "--sandbox", "living.db", *more, code=code)
    return done, cli.root / "reconciler-reports"


@pytest.mark.parametrize(
    ("failing", "code"), [("", exits.DONE), ("readers", exits.DONE), ("urls", exits.PENDING), ("urls, readers", exits.PENDING)]
)
def test_a_plan_fails_on_what_its_rehearsal_must_not_show(cli: Cli, failing: str, code: int) -> None:
    tree = _applied(cli)
    tree["sites"]["docs"]["structure"][0]["path"] = "use"
    _write_with(cli, tree)
    _, reports = _planned(cli, "--rehearse", *(["--fail-on", failing] if failing else []), more=("--allow-delete=3",), code=code)
    assert (reports / "plan.json").exists()
    assert json.loads((reports / "rehearsal-report.json").read_text())["requests"]["apply"] == 1
    _, reports = _planned(cli, code=exits.DONE)
    assert not any("rehearsal" in file.name for file in reports.iterdir())


def test_readers_fail_it_too(cli: Cli) -> None:
    tree = _applied(cli, visibility="share-link", shareLinks={"partners": {"name": "Partners", "active": True}})
    tree["sites"]["docs"]["visibility"] = "public"
    _write_with(cli, tree)
    _planned(cli, "--rehearse", "--fail-on", "readers", code=exits.PENDING)


@pytest.mark.parametrize(("options", "why"), [(UNREHEARSED, "--rehearse"), (UNKNOWN, "readers,urls")])
def test_what_cannot_be_meant_is_refused(cli: Cli, options: tuple[str, ...], why: str) -> None:
    done = cli("pipeline", "plan", ".", *options, code=exits.WRONG)
    assert why in done.stderr


def test_no_report_holds_the_key_of_a_share_link(cli: Cli) -> None:
    tree = _applied(cli, visibility="share-link", shareLinks={"partners": {"name": "Partners", "active": True}})
    tree["sites"]["docs"]["structure"].pop()
    tree["sites"]["docs"]["shareLinks"] = {"press": {"name": "Press", "active": True}}
    _write_with(cli, tree)
    done, reports = _planned(cli, "--rehearse", code=exits.DONE)
    export = json.loads(cli("sandbox", "export", "--db", "living.db").stdout)
    (key,) = [row["data"]["_secret"] for row in export["objects"] if row["kind"] == "share-link"]
    comment = cli("comment", str(reports / "report.json"), str(reports / "rehearsal-report.json"), "--dry-run", code=exits.DONE).stdout
    for text in (done.stdout, done.stderr, comment, *(file.read_text() for file in reports.iterdir())):
        assert key not in text
        assert "?key=" not in text


HOSTILE = "`@everyone` [here](https://evil.example) <img src=x> ```\n<!-- reconciler:end -->"


@pytest.mark.parametrize("dialect", [github.DIALECT, gitlab.DIALECT, bitbucket.DIALECT])
def test_titles_of_a_rehearsal_stay_text_in_a_comment(cli: Cli, dialect: Any) -> None:
    tree = _applied(cli)
    tree["sites"]["docs"]["structure"].pop()
    _write_with(cli, tree)
    _, reports = _planned(cli, "--rehearse", code=exits.DONE)
    document = json.loads((reports / "rehearsal-report.json").read_text())
    document["readers"]["gained"] = [{"reader": "anyone", "kind": "space", "title": HOSTILE, "address": None}]
    document["undo"] = {"exact": False, "leftovers": [HOSTILE]}
    text, left = body(CommentText("", (part(sheet_of(document), "docs", PartOrigin()),)), dialect)
    assert left == 0
    assert text.count("reconciler:end") == 1 + sum("reconciler:end" in line for line in rehearsal_lines(document))
    hostile = [line for line in text.splitlines() if "everyone" in line]
    assert len(hostile) == 2
    for line in hostile:
        assert line.startswith("- ````")  # a code span with more ticks than are in the title
        assert line.endswith("````")
