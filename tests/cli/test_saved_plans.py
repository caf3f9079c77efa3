"""`plan --out` and `apply --plan`: only what was approved runs, once, and what does not hold any more is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.wiring.approval import sent_digest
from tests.cli.conftest import Cli, applied_project, initialised, prepared
from tests.cli.test_end_to_end import at_a_terminal
from tests.documents import valid

TITLES = {"title: Writers": "title: Authors", "title: Guides, duplicateOf": "title: Manuals, duplicateOf"}


@pytest.fixture
def docs(cli: Cli) -> Cli:
    """A project on its own sandbox, not applied yet."""
    return initialised(cli)


@pytest.fixture
def changed(docs: Cli) -> Cli:
    """The same, applied, with two titles changed since: of the team, and of the space `guides`; the plan of that is saved."""
    return with_a_saved_plan(docs)


@prepared
def with_a_saved_plan(docs: Cli) -> Cli:
    applied_project(docs)
    for old, new in TITLES.items():
        docs.edit("p/reconciler.yaml", old, new)
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    return docs


def saved(cli: Cli, name: str = "plan.json") -> Any:
    return json.loads((cli.root / name).read_text())


def test_the_digest_of_what_a_plan_sends_moves_with_the_change_and_not_with_what_was_read(changed: Cli) -> None:
    def digest() -> str:
        assert changed("plan", "p", "--out", "again.json").exit_code == 0
        return sent_digest(saved(changed, "again.json"))

    first = digest()
    rename_team(changed, "Somebody else")
    assert digest() == first == sent_digest(saved(changed))
    changed.edit("p/reconciler.yaml", "title: Authors", "title: Scribes")
    assert digest() != first


def tamper(cli: Cli, change: Callable[[Any], None], name: str = "plan.json") -> None:
    document = saved(cli, name)
    change(document)
    (cli.root / name).write_text(json.dumps(document))


def id_of(cli: Cli, address: str) -> str:
    return str(cli.json("state", "show", address, "p")["id"])


def title_of(cli: Cli, path: str) -> str:
    return cli("api", "GET", path, "--project", "p", "--jq", ".title").stdout.strip()


def rename_team(cli: Cli, title: str) -> None:
    team = id_of(cli, "acme/team/writers")
    assert cli("api", "PATCH", f"/orgs/org_acme/teams/{team}", "-f", f"title={title}", "--project", "p").exit_code == 0


def writes(cli: Cli) -> int:
    """The requests that all runs have done."""
    return sum(sum(run["did"].values()) for run in cli.json("history", "p")["runs"])


# -- the file -----------------------------------------------------------------------------------------------------------------------


def test_a_file_says_what_it_was_made_from_and_with_and_fits_its_schema(changed: Cli) -> None:
    words = ("--target", "acme/team/*", "--exclude", "acme/space/*", "--allow-replace", "**", "--allow-delete", "2")
    result = changed("plan", "p", "--out", "two.json", *words)
    assert result.stdout.endswith("Apply it with: reconciler apply p --allow-delete 2 --plan two.json\n")
    document = saved(changed, "two.json")
    valid(valid(document, "saved-plan"), "plan")
    assert document["options"] == {
        "target": ["acme/team/*"], "exclude": ["acme/space/*"], "allowReplace": ["**"], "allowDelete": 2, "allowExposure": [],
            "maxExposed": None,
    }  # fmt: skip
    assert document["service"].startswith("sandbox:")
    assert document["digests"]["lineage"]
    assert document["digests"]["configuration"].startswith("hmac-sha256:")
    assert [one["address"] for one in document["preconditions"]] == [one["address"] for one in document["changes"]]
    assert [one["step"] for one in document["requests"]] == [one["id"] for one in document["steps"]]


def test_a_secret_that_is_spelled_like_a_word_of_ours_spoils_no_file(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "project: p\n", "project: p\nvars: {word: {env: RECONCILER_VAR_WORD}}\n")
    env = {"RECONCILER_VAR_WORD": "acme"}
    assert changed("plan", "p", "--out", "plan.json", env=env).exit_code == 0
    assert "acme/team/writers" in [one["address"] for one in saved(changed)["changes"]]
    assert changed("apply", "p", "--plan", "plan.json", env=env).exit_code == 0


# -- what runs ----------------------------------------------------------------------------------------------------------------------


def test_a_plan_made_before_there_was_a_state_is_carried_out_without_asking(docs: Cli) -> None:
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    result = docs("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.endswith("Applied 11 requests. The plan file was applied.\n")
    assert docs("plan", "p", "--detailed-exitcode").exit_code == 0


def test_a_plan_that_is_older_than_the_state_is_carried_out_where_it_holds(changed: Cli) -> None:
    assert changed("plan", "p", "--out", "team.json", "--target", "acme/team/*").exit_code == 0
    assert changed("plan", "p", "--out", "space.json", "--target", "acme/space/*").exit_code == 0
    assert changed("apply", "p", "--plan", "team.json").exit_code == 0
    result = changed("apply", "p", "--plan", "space.json")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Applied 1 request. The plan file was applied.")
    assert changed("plan", "p", "--detailed-exitcode").exit_code == 0


def test_what_is_new_since_is_said_and_not_done(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "title: Documentation", "title: Handbook")
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 0, result.stderr
    assert "These changes are not in the saved plan and were not applied:\n  acme/site/docs\n" in result.stderr
    assert result.stdout.endswith("Applied 2 requests. The plan file was applied; newer changes need a new plan.\n")
    assert [one["address"] for one in changed.json("plan", "p")["changes"]] == ["acme/site/docs"]


def test_what_somebody_edited_since_is_refused_by_name_and_nothing_is_done(changed: Cli) -> None:
    rename_team(changed, "Poets")
    before = writes(changed)
    result = changed("apply", "p", "--plan", "plan.json", "--yes")
    assert result.exit_code == 6
    assert "acme/team/writers: the object changed since the plan was saved" in result.stderr
    assert "--partial applies the 1 request that is still valid." in result.stderr
    assert writes(changed) == before


def test_with_partial_the_rest_is_done_and_the_exit_code_says_so(changed: Cli) -> None:
    rename_team(changed, "Poets")
    result = changed("apply", "p", "--plan", "plan.json", "--partial")
    assert result.exit_code == 5, result.stderr
    assert result.stdout.endswith("Applied 1 request. The plan file has been used; create a new plan for the rest.\n")
    assert title_of(changed, f"/spaces/{id_of(changed, 'acme/space/guides')}") == "Manuals"
    assert title_of(changed, f"/orgs/org_acme/teams/{id_of(changed, 'acme/team/writers')}") == "Poets"


def test_the_outcome_as_json_says_what_was_refused_and_what_went_on(changed: Cli) -> None:
    rename_team(changed, "Poets")
    changed.edit("p/reconciler.yaml", "title: Documentation", "title: Handbook")
    left = {
        "refused": [{"address": "acme/team/writers", "reason": "the object changed since the plan was saved"}],
        "new": ["acme/site/docs"],
        "origin": saved(changed)["origin"],
        "sameConfiguration": False,
    }
    words = ("apply", "p", "--plan", "plan.json", "--format", "json", "--report", "json=r.json", "--report", "markdown=r.md")
    result = changed(*words)
    assert result.exit_code == 6
    document = valid(json.loads(result.stdout), "outcome")
    assert (document["steps"], document["savedPlan"]) == ([], left)
    assert saved(changed, "r.json") == document
    told = (changed.root / "r.md").read_text()
    assert "! refused  the saved plan shows it, but the object changed since the plan was saved" in told
    assert "**The saved plan is no longer valid. Nothing was applied, so the plan file can be used again.**" in told

    result = changed(*words, "--partial")
    assert result.exit_code == 5, result.stderr
    document = valid(json.loads(result.stdout), "outcome")
    assert [(one["address"], one["verb"], one["status"]) for one in document["steps"]] == [("acme/space/guides", "update", "done")]
    assert document["savedPlan"] == left
    assert "! refused" in (changed.root / "r.md").read_text()

    result = changed("apply", "p", "--yes", "--format", "json")
    assert valid(json.loads(result.stdout), "outcome")["savedPlan"] is None


@pytest.mark.parametrize(("answer", "code", "title"), [(b"n\n", 6, "Guides"), (b"y\n", 5, "Manuals")])
def test_at_a_terminal_the_rest_is_offered(changed: Cli, answer: bytes, code: int, title: str) -> None:
    rename_team(changed, "Poets")
    exited, shown = at_a_terminal(changed, answer, "apply", "p", "--plan", "plan.json")
    assert exited == code, shown
    assert "acme/team/writers: the object changed since the plan was saved" in shown
    assert "Apply the 1 request that is still valid? [y/N]" in shown
    assert title_of(changed, f"/spaces/{id_of(changed, 'acme/space/guides')}") == title


def test_another_value_in_the_files_is_another_change(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "title: Authors", "title: Poets")
    result = changed("apply", "p", "--plan", "plan.json", "--partial")
    assert result.exit_code == 5
    assert "acme/team/writers: it would now be changed differently" in result.stderr
    assert title_of(changed, f"/orgs/org_acme/teams/{id_of(changed, 'acme/team/writers')}") == "Writers"


def test_what_was_done_by_hand_meanwhile_is_refused_by_name(changed: Cli) -> None:
    rename_team(changed, "Authors")
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 6
    assert "acme/team/writers: nothing is left to change there" in result.stderr


def test_what_needs_something_that_is_refused_is_refused_too(docs: Cli) -> None:
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    docs.edit("p/reconciler.yaml", "title: Product", "title: Products")
    result = docs("apply", "p", "--plan", "plan.json", "--partial")
    assert result.exit_code == 5, result.stderr
    assert "  acme/collection/product: it would now be changed differently\n" in result.stderr
    assert "  acme/space/guides: it waits for acme/collection/product\n" in result.stderr
    assert "  acme/site/docs/section/api: it waits for acme/" in result.stderr
    bound = {one["address"] for one in docs.json("state", "list", "p")["bindings"]}
    assert "acme/team/writers" in bound
    assert not {"acme/space/guides", "acme/site/docs/section/api", "acme/collection/product"} & bound


def test_an_empty_plan_does_nothing(docs: Cli) -> None:
    assert docs("apply", "p", "--yes").exit_code == 0
    assert docs("plan", "p", "--out", "plan.json").exit_code == 0
    result = docs("apply", "p", "--plan", "plan.json")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "Nothing to apply. The plan file was applied.")


# -- guards and consent -------------------------------------------------------------------------------------------------------------


def opens(cli: Cli) -> None:
    """Make the next plan open the site to everybody."""
    cli.edit("p/reconciler.yaml", "title: Documentation", "title: Documentation\n        visibility: unlisted\n        published: true")
    assert cli("apply", "p", "--yes", "--allow-exposure", "acme/site/docs").exit_code == 0
    cli.edit("p/reconciler.yaml", "visibility: unlisted", "visibility: public")


def test_exposures_that_the_file_shows_were_agreed_to_with_it(changed: Cli) -> None:
    opens(changed)
    assert changed("apply", "p", "--yes").exit_code == 4
    assert changed("plan", "p", "--out", "plan.json").exit_code == 0
    assert [one["address"] for one in saved(changed)["exposures"]] == ["acme/site/docs"]
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0


def test_exposures_that_somebody_took_out_of_the_file_are_not(changed: Cli) -> None:
    opens(changed)
    assert changed("plan", "p", "--out", "plan.json").exit_code == 0
    tamper(changed, lambda document: document["exposures"].clear())
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 6
    assert "acme/site/docs: it would now expose something else" in result.stderr


def test_the_limit_on_deletes_guards_a_saved_plan_too(changed: Cli) -> None:
    changed.edit("p/reconciler.yaml", "project: p\n", "project: p\nguards: {maxDelete: {percent: 0, atLeast: 0}}\n")
    changed.edit("p/reconciler.yaml", "      writers: {title: Authors, members: [ada@acme.example]}", "      {}")
    refused = changed("plan", "p", "--out", "none.json")
    assert refused.exit_code == 4
    assert not (changed.root / "none.json").exists()
    assert changed("plan", "p", "--out", "plan.json", "--allow-delete", "1").exit_code == 0
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 4
    assert "if this is intended: --allow-delete 1" in result.stderr
    assert changed("apply", "p", "--plan", "plan.json", "--allow-delete", "1").exit_code == 0


# -- once, and here ---------------------------------------------------------------------------------------------------------------


def test_a_file_is_used_once_and_the_second_use_names_the_first(changed: Cli) -> None:
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0
    run = changed.json("history", "p")["runs"][0]
    assert run["command"] == "apply --plan"
    (changed.root / "copy.json").write_text(json.dumps(saved(changed)))
    result = changed("apply", "p", "--plan", "copy.json")
    assert result.exit_code == 6
    assert f"copy.json was already used by run {run['id']}" in result.stderr


def test_a_file_with_which_nothing_was_done_can_be_used_again(changed: Cli) -> None:
    rename_team(changed, "Poets")
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 6
    rename_team(changed, "Writers")
    db, rule = ("--db", "p/.reconciler/sandbox.db"), '{"fault": "forbidden", "operation": "PATCH *"}'
    assert changed("sandbox", "faults", "set", *db, "--rule", rule).exit_code == 0
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 1, result.stderr
    assert "Nothing was done, so the plan file can be used again." in result.stdout
    assert changed("sandbox", "faults", "clear", *db).exit_code == 0
    assert changed("apply", "p", "--plan", "plan.json").exit_code == 0


def test_a_saved_plan_with_a_mistyped_sandbox_creates_none(changed: Cli) -> None:
    result = changed("apply", "p", "--plan", "plan.json", "--sandbox", "sanbdox.db")
    assert (result.exit_code, "there is no sandbox sanbdox.db" in result.stderr) == (3, True), result.stderr
    assert not list(changed.root.glob("**/sanbdox.db"))


def test_a_file_of_something_else_is_refused(changed: Cli, tmp_path: Path) -> None:
    assert changed("plan", "p", "--sandbox", "other.db").exit_code == 0
    for option, says in (
        (("--sandbox", "other.db"), "was created for the service"),
        (("--state", "sqlite:///other-state.db"), "was created from a different state"),
    ):
        result = changed("apply", "p", "--plan", "plan.json", *option)
        assert (result.exit_code, says in result.stderr) == (6, True), result.stderr
    changed.edit("p/reconciler.yaml", "project: p\n", "project: q\n")
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 6
    assert "was created for the project 'p', and this is 'q'" in result.stderr


@pytest.mark.parametrize("words", [("--target", "acme"), ("--exclude", "acme"), ("--allow-replace", "acme")])
def test_what_a_saved_plan_is_about_is_not_said_twice(changed: Cli, words: tuple[str, ...]) -> None:
    assert changed("apply", "p", "--plan", "plan.json", *words).exit_code == 3
    assert changed("apply", "p", "--partial", "--yes").exit_code == 3


# -- tampered files ------------------------------------------------------------------------------------------------------


def test_a_request_that_cannot_be_derived_again_is_refused_by_name(changed: Cli) -> None:
    def forge(document: Any) -> None:
        step = {**document["steps"][0], "id": 9, "address": "acme/space/blank", "method": "DELETE", "verb": "delete"}
        document["steps"].append(step)
        document["requests"].append({"step": 9, "digest": document["requests"][0]["digest"]})

    tamper(changed, forge)
    result = changed("apply", "p", "--plan", "plan.json")
    assert result.exit_code == 6
    assert "acme/space/blank: nothing is left to change there" in result.stderr
    assert changed("apply", "p", "--plan", "plan.json", "--partial").exit_code == 5
    assert title_of(changed, "/spaces/spc_blank") == "Blank"
