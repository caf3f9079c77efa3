"""A project that gets another name keeps everything it tracked: the plan offers it, and `state mv --project` does it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from reconciler.state.lease import Holder, lock_file
from reconciler.state.tables import schema
from tests.command_line import Cli, prepared
from tests.documents import valid
from tests.proofs import costly

TABLES = [table for table, columns in schema.TABLES.items() if "state" in columns]


@pytest.fixture(params=["file", "server"])
def renamed(request: pytest.FixtureRequest, cli: Cli) -> Cli:
    """A project with two runs, whose name in the YAML is another one now."""
    if request.param == "server":
        url: str = request.getfixturevalue("postgres_url")
        cli.env["RECONCILER_STATE"] = url.replace("postgresql:", "postgresql+psycopg:")
        return on_a_server(cli)
    return begun(cli)


def on_a_server(cli: Cli) -> Cli:
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("apply", "p", "--yes", "--create-state").exit_code == 0
    cli.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert cli("apply", "p", "--yes").exit_code == 0
    cli.edit("p/reconciler.yaml", "project: p\n", "project: handbook\n")
    return cli


begun = prepared(on_a_server)
"""The same where the state is a file of the project."""


def plain(text: str) -> str:
    return " ".join(text.split())


def pulled(cli: Cli) -> dict[str, Any]:
    return valid(json.loads(cli("state", "pull", "p").stdout), "state")


@costly
def test_the_plan_offers_the_old_name_and_no_second_objects(renamed: Cli) -> None:
    result = renamed("plan", "p")
    said = plain(result.stdout)
    assert result.exit_code == 5
    assert "it is tracked under the project name 'p'" in said
    assert "reconciler state mv --project p" in said
    assert "adopt: never" not in said
    assert "to create" not in said
    assert "reconciler state mv --project p" in plain(renamed("drift", "p").stdout)
    assert "reconciler state mv --project p" in plain(renamed("state", "list", "p").stderr)


@costly
@pytest.mark.parametrize("applied", [pytest.param(False, marks=pytest.mark.proof), True])
def test_everything_moves_with_its_history_and_the_plan_is_empty(renamed: Cli, applied: bool) -> None:
    renamed.edit("p/reconciler.yaml", "project: handbook\n", "project: p\n")
    before = pulled(renamed)
    renamed.edit("p/reconciler.yaml", "project: p\n", "project: handbook\n")
    if applied:
        assert renamed("apply", "p", "--yes", "--create-state").exit_code == 5
    result = renamed("state", "mv", "--project", "p", "p")
    runs = 2 + applied
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"The project p is now called handbook: 12 resources and {runs} runs were moved.\n"
    after = pulled(renamed)
    assert (after["project"], after["lineage"], after["serial"]) == ("handbook", before["lineage"], before["serial"] + 2)
    assert [after[name] for name in ("bindings", "rules", "requests")] == [before[name] for name in ("bindings", "rules", "requests")]
    assert after["turns"][: len(before["turns"])] == before["turns"]
    assert len(after["turns"]) == len(before["turns"]) + applied
    assert after["runs"][:2] == before["runs"]
    assert (after["runs"][-1]["command"], after["runs"][-1]["exit"], len(after["runs"])) == ("state mv --project p", 0, runs + 1)
    assert renamed("plan", "p", "--detailed-exitcode").exit_code == 0
    assert renamed("drift", "p").exit_code == 0
    assert renamed("apply", "p", "--yes").exit_code == 0
    undone = renamed("undo", before["runs"][1]["id"], "p", "--yes")
    assert (undone.exit_code, "Authors -> Writers" in undone.stdout) == (0, True)
    renamed.edit("p/reconciler.yaml", "project: handbook\n", "project: p\n")
    assert "never seen project p" in renamed("state", "list", "p").stderr
    assert renamed("state", "mv", "--project", "handbook", "p").exit_code == 0  # and back


@costly
def test_the_history_under_the_new_name_follows_that_of_the_old_one(renamed: Cli) -> None:
    renamed.edit("p/reconciler.yaml", "members: [ada@acme.example]}", "members: [ada@acme.example]}\n      readers: {title: Readers}")
    assert renamed("apply", "p", "--yes", "--create-state").exit_code == 5  # it creates a team, and adopts the organization
    refused = renamed("state", "mv", "--project", "p", "p")
    assert (refused.exit_code, "handbook tracks acme/team/readers already" in refused.stderr) == (4, True)
    assert "reconciler state forget acme/team/readers" in refused.stderr
    assert len(renamed.json("state", "list", "p")["bindings"]) == 2
    assert [run["exit"] for run in renamed.json("history", "p")["runs"]] == [4, 5]
    assert renamed("state", "forget", "acme/team/readers", "p").exit_code == 0
    assert renamed("state", "mv", "--project", "p", "p").exit_code == 0
    document = pulled(renamed)
    numbers = [request["id"] for request in document["requests"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [request["address"] for request in document["requests"]][-1] == "acme/team/readers"
    made = next(run for run in renamed.json("history", "p")["runs"] if run["exit"] == 5)
    assert [request["address"] for request in renamed.json("show", made["id"], "p")["steps"]] == ["acme/team/readers"]
    assert renamed("apply", "p", "--yes").exit_code == 0
    assert len(renamed.json("state", "list", "p")["bindings"]) == 13
    teams = json.loads(renamed("api", "GET", "/orgs/org_acme/teams", "--sandbox", "p/.reconciler/sandbox.db").stdout)["items"]
    assert sorted(team["title"] for team in teams) == ["Authors", "Readers"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--project", "handbook"), 3, "the project is already called handbook"),
        (("--project", "nobody"), 3, "this state tracks nothing of a project called nobody"),
        (("--project", "p", "p", "--env", "prod"), 3, 'this project has no environments, so "prod" is not one of them'),
        (("--project", "p", "p", "--from-env", "prod"), 3, "this state tracks nothing of a project called p in prod"),
        (("--from-env", "", "p"), 3, "the project has no environments already"),
        (("--from-env", "prod", "p", "q"), 3, "it takes --from-env OLD [PROJECT]"),
        (("--project", "p", "p", "q"), 3, "it takes --project OLD [PROJECT]"),
        (("acme/team/writers",), 3, "it takes FROM TO [PROJECT]"),
        (("not an address", "acme/team/authors", "p"), 3, "Invalid value"),
    ],
)
def test_what_cannot_be_moved_is_refused_with_the_way_past_it(cli: Cli, words: tuple[str, ...], code: int, says: str) -> None:
    begun(cli)
    before = cli.json("state", "list", "p")
    if words[0] == "--project" and len(words) == 2:
        words = (*words, "p")
    result = cli("state", "mv", *words)
    assert (result.exit_code, says in result.stderr) == (code, True), result.stderr
    assert result.stderr.count("\n") > 1  # with what to do
    assert cli.json("state", "list", "p") == before


def test_a_run_that_holds_the_state_keeps_it_from_being_moved(cli: Cli) -> None:
    begun(cli)
    file = cli.root / "p" / ".reconciler" / "state.db"
    with lock_file(file, Holder("run", "ada", "apply", "2026-11-22T10:00:00+00:00", 1)):
        assert cli("state", "mv", "--project", "p", "p").exit_code == 6
    assert "p" in names(file)


def test_nothing_of_the_new_name_is_left_beside_it(cli: Cli) -> None:
    begun(cli)
    assert cli("apply", "p", "--yes").exit_code == 5
    with sqlite3.connect(cli.root / "p" / ".reconciler" / "state.db") as database:
        database.execute("INSERT INTO renames SELECT id, 'acme/space/a', 'acme/space/b' FROM states WHERE project = 'handbook'")
    file = cli.root / "p" / ".reconciler" / "state.db"
    assert names(file) == ["handbook", "p"]
    assert cli("state", "mv", "--project", "p", "p").exit_code == 0
    assert names(file) == ["handbook"]
    with sqlite3.connect(file) as database:
        ((state,),) = database.execute("SELECT id FROM states").fetchall()
        assert {"bindings", "leases", "runs", "known", "renames"} <= set(TABLES)
        for table in TABLES:
            assert {row[0] for row in database.execute(f"SELECT state FROM {table}")} <= {state}, table
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def names(file: Path) -> list[str]:
    with sqlite3.connect(file) as database:
        return [row[0] for row in database.execute("SELECT project FROM states ORDER BY project")]
