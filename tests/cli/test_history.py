"""history, show, undo and state mv as they are typed."""

from __future__ import annotations

import json
import re

import pytest

from reconciler.model import Action, StepStatus
from tests.command_line import Cli, retitled
from tests.documents import valid
from tests.proofs import costly
from tests.report.made import change, outcome, plan, result


@pytest.fixture
def renamed(cli: Cli) -> Cli:
    """A project applied, and applied again with another title of a team."""
    return retitled(cli)


def test_history_lists_runs_newest_first_with_what_they_did(renamed: Cli) -> None:
    document = valid(renamed.json("history", "p"), "history")
    assert [(run["command"], run["exit"], run["did"]) for run in document["runs"]] == [
        ("apply", 0, {"update": 1}),
        ("apply", 0, {"create": 7, "update": 2, "move": 2}),
    ]
    header, second, first = renamed("history", "p").stdout.splitlines()
    assert header.split()[:5] == ["run", "started", "who", "command", "ended"]
    column = header.index("what it did")
    assert (second[column:], first[column:]) == ("1 update", "9 create, 3 adopt, by 11 requests")
    assert [line[:8] for line in (second, first)] == [run["id"][:8] for run in document["runs"]]
    assert all("  exit 0  " in line for line in (second, first))


def figures(text: str) -> dict[str, int]:
    """`9 to create, 3 to adopt` or `9 create, 3 adopt` as numbers by action."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (?:to )?([a-z]+)", text)}


SPACE = "          - {{space: {}, title: {}, duplicateOf: blank}}\n"
GUIDES, API = SPACE.format("guides", "Guides"), SPACE.format("api", "API reference")
EDITS: dict[str, list[tuple[str, str]]] = {
    "nothing existed": [],
    "a container is renamed with all that is in it": [("      docs:\n", "      handbook:\n        previously: [docs]\n")],
    "two keys, a title, and an order": [
        ("writers: {title: Writers,", "authors: {title: Authors, previously: [writers],"),
        (GUIDES + API, API + GUIDES),
        ("      docs:\n", "      handbook:\n        previously: [docs]\n"),
    ],
    "one moves to the top, one is created, one is deleted": [
        (API, API.replace("          -", "      -")),
        ("      writers: {title: Writers, members: [ada@acme.example]}", "      editors: {title: Editors}"),
    ],
}


@costly
@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_history_counts_what_the_plan_counted(cli: Cli, edits: list[tuple[str, str]]) -> None:
    cli("init", "p", "--sandbox")
    if edits:
        assert cli("apply", "p", "--yes").exit_code == 0
    for old, new in edits:
        cli.edit("p/reconciler.yaml", old, new)
    planned = next(line for line in cli("plan", "p").stdout.splitlines() if line.startswith("Plan: "))
    todo, requests, *_ = planned.removeprefix("Plan: ").split(". ")
    assert cli("apply", "p", "--yes", "--allow-delete", "9").exit_code == 0
    run = valid(cli.json("history", "p"), "history")["runs"][0]
    assert run["changed"] == figures(todo)
    shown = cli("history", "p").stdout.splitlines()[1].partition("exit 0")[2].strip()
    number = requests.rstrip(".")
    by = [] if int(number.split()[0]) == sum(figures(todo).values()) else [f"by {number}"]
    assert sorted(shown.split(", ")) == sorted([*todo.replace(" to ", " ").split(", "), *by])


def test_a_change_of_which_one_request_failed_is_not_counted_as_done() -> None:
    changes = [change(f"acme/team/{key}", Action.CREATE) for key in "abc"]
    planned = plan(*changes, change("acme/team/d", Action.RENAME), change("acme/site/s/section/gone", Action.DELETE))
    results = [result(number, f"acme/team/{key}", StepStatus.DONE, verb="create") for number, key in enumerate("abc")]
    ended = outcome(
        *results, result(4, "acme/team/b", StepStatus.FAILED), result(5, "acme/site/s", StepStatus.SKIPPED, verb="delete"), plan=planned
    )
    assert ended.actions == {"create": 2, "rename": 1}


def test_history_before_anything_ran_is_empty(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    assert cli("history", "p").stdout == ""
    assert valid(cli.json("history", "p"), "history") == {"format": "reconciler.history/1", "runs": []}
    assert cli("show", "last", "p").exit_code == 3
    assert not (cli.root / "p" / ".reconciler" / "state.db").exists()


def test_a_run_that_failed_is_listed_with_its_exit(renamed: Cli) -> None:
    renamed("state", "forget", "acme/team/nobody", "p")
    assert valid(renamed.json("history", "p"), "history")["runs"][0]["exit"] == 3


def test_show_tells_before_and_after_of_each_field(renamed: Cli) -> None:
    (step,) = valid(renamed.json("show", "last", "p"), "run")["steps"]
    assert (step["address"], step["verb"], step["status"]) == ("acme/team/writers", "update", "done")
    assert step["fields"] == [{"name": "title", "before": "Writers", "after": "Authors"}]
    assert "Writers -> Authors" in renamed("show", "last", "p").stdout


def test_a_run_is_named_by_the_beginning_of_its_id(renamed: Cli) -> None:
    runs = renamed.json("history", "p")["runs"]
    assert valid(renamed.json("show", runs[1]["id"][:8], "p"), "run")["id"] == runs[1]["id"]
    missing = renamed("show", "nothing", "p")
    assert (missing.exit_code, "run nothing does not exist" in missing.stderr) == (3, True)


def test_undo_takes_a_run_back_and_names_the_line_that_wants_it_again(renamed: Cli) -> None:
    result = renamed("undo", "last", "p", "--yes")
    assert (result.exit_code, "Authors -> Writers" in result.stdout) == (0, True)
    line = (renamed.root / "p" / "reconciler.yaml").read_text().partition("Authors")[0].count("\n") + 1
    assert f"reconciler.yaml:{line}  acme/team/writers: sets title again" in result.stderr
    assert renamed.json("history", "p")["runs"][0]["command"].startswith("undo ")
    document = valid(renamed.json("undo", "last", "p", "--yes"), "undo")
    assert (document["format"], document["cannot"], document["yaml"]) == ("reconciler.undo/1", [], [])
    assert "No changes" in renamed("plan", "p").stdout


def test_undo_asks_and_obeys_the_guards(renamed: Cli) -> None:
    first = renamed.json("history", "p")["runs"][1]["id"]
    previewed = renamed("undo", first, "p")
    assert (previewed.exit_code, "- delete" in previewed.stdout) == (4, True), "what it would do is shown, and what it lacks"
    refused = renamed("undo", first, "p", "--yes", "--quiet")
    assert (refused.exit_code, "--allow-delete" in refused.stderr) == (4, True)
    assert "acme/team/writers: was created, and title changed since; it was not deleted" in refused.stderr
    done = renamed("undo", first, "p", "--yes", "--allow-delete", "20", "--format", "json", code=5)
    document = valid(json.loads(done.stdout), "undo")
    assert document["run"] == first
    assert "acme/team/writers" in [one["address"] for one in document["cannot"]]
    assert document["yaml"]
    assert all(one["verb"] for one in valid(renamed.json("show", "last", "p"), "run")["steps"])
    assert [one["address"] for one in renamed.json("state", "list", "p")["bindings"]] == ["acme", "acme/team/writers"]
    assert "acme: was adopted; acme/team/writers below it is still tracked, so it is still tracked too" in done.stderr


def test_state_mv_takes_what_is_below_along_and_sends_nothing(renamed: Cli) -> None:
    renamed("state", "mv", "acme/site/docs", "acme/site/handbook", "p", code=0)
    addresses = [one["address"] for one in renamed.json("state", "list", "p")["bindings"]]
    assert "acme/site/handbook/section/guides" in addresses
    assert not [one for one in addresses if one.startswith("acme/site/docs")]
    renamed.edit("p/reconciler.yaml", "      docs:", "      handbook:")
    assert "No changes" in renamed("plan", "p").stdout


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("acme/team/writers", "acme/space/api", 3, "is a team"),
        ("acme/space/guides", "acme/space/api", 4, "already tracks"),
        ("acme/team/nobody", "acme/team/somebody", 3, "is not tracked"),
        ("acme/team/writers", "other/team/writers", 3, "other is not tracked"),
        ("acme/team/writers", "acme/team/writers", 3, "already"),
    ],
)
def test_state_mv_refuses_what_would_not_fit(renamed: Cli, old: str, new: str, code: int, says: str) -> None:
    before = renamed.json("state", "list", "p")["bindings"]
    result = renamed("state", "mv", old, new, "p")
    assert (result.exit_code, says in result.stderr) == (code, True)
    assert renamed.json("state", "list", "p")["bindings"] == before


def turns(cli: Cli, run: str = "last") -> list[tuple[str, str]]:
    return [(one["what"], one["address"]) for one in cli.json("show", run, "p")["state"]]


def bound(cli: Cli) -> dict[str, str]:
    return {one["address"]: one["id"] for one in cli.json("state", "list", "p")["bindings"]}


def undone(cli: Cli, code: int = 0) -> str:
    return cli("undo", "last", "p", "--yes", code=code).stderr


def test_a_forgotten_object_is_tracked_again_and_forgotten_again(renamed: Cli) -> None:
    before = bound(renamed)
    assert renamed("state", "forget", "acme/team/writers", "p").exit_code == 0
    assert turns(renamed) == [("forget", "acme/team/writers")]
    assert "no request; in the state 1 forget" in renamed("history", "p").stdout
    undone(renamed)
    assert (bound(renamed), turns(renamed)) == (before, [("adopt", "acme/team/writers")])
    assert "acme/team/writers: adopts it again" in undone(renamed)
    assert "acme/team/writers" not in bound(renamed)
    undone(renamed)
    assert "No changes" in renamed("plan", "p").stdout


def test_an_object_adopted_by_hand_stops_being_managed(renamed: Cli) -> None:
    id = bound(renamed)["acme/team/writers"]
    renamed("state", "forget", "acme/team/writers", "p")
    assert renamed("adopt", "acme/team/writers", id, "p").exit_code == 0
    said = undone(renamed)
    assert f"forget acme/team/writers ({id})" in said
    assert "acme/team/writers: adopts it again" in said
    assert "acme/team/writers" not in bound(renamed)


def test_what_was_forgotten_and_bound_elsewhere_since_stays_there(renamed: Cli) -> None:
    id = bound(renamed)["acme/team/writers"]
    renamed("state", "forget", "acme/team/writers", "p")
    run = renamed.json("history", "p")["runs"][0]["id"]
    renamed.edit("p/reconciler.yaml", "      writers:", "      authors:")
    assert renamed("adopt", "acme/team/authors", id, "p").exit_code == 0
    result = renamed("undo", run, "p", "--yes")
    assert (result.exit_code, bound(renamed)["acme/team/authors"]) == (4, id)
    assert "acme/team/writers: is no longer managed, and it is tracked as acme/team/authors now" in result.stderr


def test_a_rename_by_hand_goes_back_with_all_below_it(renamed: Cli) -> None:
    before = bound(renamed)
    renamed("state", "mv", "acme/site/docs", "acme/site/handbook", "p")
    assert ("rename", "acme/site/handbook") in turns(renamed)
    undone(renamed)
    assert bound(renamed) == before
    assert "No changes" in renamed("plan", "p").stdout


def test_a_rename_by_previously_goes_back_and_its_line_is_named(renamed: Cli) -> None:
    before = bound(renamed)
    renamed.edit("p/reconciler.yaml", "writers: {title: Authors,", "authors: {title: Authors, previously: [writers],")
    assert renamed("apply", "p", "--yes").exit_code == 0
    assert turns(renamed) == [("rename", "acme/team/authors")]
    said = undone(renamed)
    line = (renamed.root / "p" / "reconciler.yaml").read_text().partition("authors:")[0].count("\n") + 1
    assert f"reconciler.yaml:{line}  acme/team/authors: renames it from acme/team/writers again" in said
    assert bound(renamed) == before


def test_an_update_is_undone_under_the_name_that_a_later_run_gave(renamed: Cli) -> None:
    run = renamed.json("history", "p")["runs"][0]["id"]
    renamed("state", "mv", "acme/team/writers", "acme/team/authors", "p")
    renamed.edit("p/reconciler.yaml", "      writers:", "      authors:")
    result = renamed("undo", run, "p", "--yes")
    assert (result.exit_code, "Authors -> Writers" in result.stdout) == (0, True)


def test_protection_is_put_back_and_its_line_is_named(renamed: Cli) -> None:
    renamed.edit("p/reconciler.yaml", "title: Authors", "title: Authors, protect: true")
    assert renamed("apply", "p", "--yes").exit_code == 0
    assert turns(renamed) == [("protect", "acme/team/writers")]
    assert "acme/team/writers: protects it again" in undone(renamed)
    assert renamed.json("state", "show", "acme/team/writers", "p")["protected"] is False


def test_the_line_of_an_expression_is_named(renamed: Cli) -> None:
    (renamed.root / "p" / "title.txt").write_text("Poets")
    renamed.edit("p/reconciler.yaml", "title: Authors", """title: '${{ file("title.txt") }}'""")
    assert renamed("apply", "p", "--yes").exit_code == 0
    line = (renamed.root / "p" / "reconciler.yaml").read_text().partition("${{")[0].count("\n") + 1
    assert f"reconciler.yaml:{line}  acme/team/writers: sets title again" in undone(renamed)


@pytest.mark.parametrize("command", ["undo", "show"])
def test_a_project_in_the_place_of_the_run_and_no_run_say_what_to_write(cli: Cli, command: str) -> None:
    cli.write("p/reconciler.yaml", "version: 1\n")
    nothing, project, here = cli(command), cli(command, "p"), cli(command, ".")
    assert [result.exit_code for result in (nothing, project, here)] == [3, 3, 3]
    assert f"Name it first: reconciler {command} last\n" in nothing.stderr
    assert "p is a project, not a run" in project.stderr
    assert f"Name the run first: reconciler {command} last p\n" in project.stderr
    assert f"Name the run first: reconciler {command} last\n" in here.stderr


def test_undo_last_of_a_run_that_only_recorded_values_does_not_undo_the_run_before(renamed: Cli) -> None:
    assert renamed("apply", "p", "--yes").exit_code == 0
    renamed.edit("p/reconciler.yaml", "title: Documentation", "title: Documentation\n        visibility: public")
    assert renamed("apply", "p", "--yes").exit_code == 0
    (newest, *_) = renamed.json("history", "p")["runs"]
    assert (newest["did"], newest["turned"]) == ({}, {"record": 1})
    undone = renamed("undo", "last", "p", "--yes", code=0)
    assert "only recorded values that the service had already, so there is nothing to undo" in undone.stderr
    assert renamed("plan", "p").exit_code == 0, "everything is as the files say"
