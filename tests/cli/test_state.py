"""`state pull` and `state push` as they are typed: a state moves from a file to a server and back, and nothing of it is lost.

A state that has never seen the project: every command that reads one says so, and none is created unasked."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.commands.state_carry import hidden_in, without_secrets
from reconciler.kinds import load
from reconciler.resource import Kinds
from tests.cli.test_end_to_end import at_a_terminal
from tests.command_line import Cli, applied_project, retitled
from tests.documents import valid
from tests.proofs import costly


@pytest.fixture
def urls(cli: Cli, postgres_url: str) -> dict[str, str]:
    return {"file": f"sqlite:///{cli.root}/one.db", "server": postgres_url.replace("postgresql:", "postgresql+psycopg:")}


@pytest.fixture
def renamed(cli: Cli) -> Cli:
    """A project applied to its own file, and applied again with another title of a team."""
    return retitled(cli)


@costly
@pytest.mark.parametrize(("first", "second"), [("file", "server"), ("server", "file")])
def test_a_state_moves_with_its_history_and_an_earlier_run_can_still_be_undone(
    cli: Cli, urls: dict[str, str], first: str, second: str
) -> None:
    cli.env["RECONCILER_STATE"] = urls[first]
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("apply", "p", "--yes", "--create-state").exit_code == 0
    cli.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    assert cli("apply", "p", "--yes").exit_code == 0
    assert cli("state", "pull", "p", "--out", "state.json").exit_code == 0
    assert stat.S_IMODE((cli.root / "state.json").stat().st_mode) == 0o600
    document = valid(json.loads((cli.root / "state.json").read_text()), "state")
    before = cli.json("history", "p")["runs"]
    shown = cli.json("show", before[1]["id"], "p")

    cli.env["RECONCILER_STATE"] = urls[second]
    assert cli("state", "push", "state.json", "p").stdout == f"The state was imported: 12 tracked, 2 runs, serial {document['serial']}.\n"
    assert json.loads(cli("state", "pull", "p").stdout)["runs"][-1]["command"] == "state push"
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0
    runs = cli.json("history", "p")["runs"]
    assert (runs[0]["command"], runs[0]["exit"], runs[1:]) == ("state push", 0, before)
    assert cli.json("show", before[1]["id"], "p") == shown
    undone = cli("undo", before[0]["id"], "p", "--yes")
    assert (undone.exit_code, "Authors -> Writers" in undone.stdout) == (0, True)
    cli.edit("p/reconciler.yaml", "title: Authors", "title: Writers")

    assert cli("state", "pull", "p", "--out", "back.json").exit_code == 0
    cli.env["RECONCILER_STATE"] = urls[first]
    assert cli("state", "push", "back.json", "p").exit_code == 0  # the same state, further on: no --force
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0
    again = cli("undo", "last", "p", "--yes")
    assert (again.exit_code, "Writers -> Authors" in again.stdout) == (0, True)


def test_an_older_document_is_refused_and_forced_only_by_name(renamed: Cli) -> None:
    first = renamed.json("history", "p")["runs"][0]["id"]
    renamed("state", "pull", "p", "--out", "old.json")
    renamed("state", "forget", "acme/team/writers", "p")
    refused = renamed("state", "push", "old.json", "p")
    assert (refused.exit_code, "the existing state is newer: its serial is" in refused.stderr) == (4, True)
    assert "first back it up with state pull, then push with --force" in refused.stderr
    assert "acme/team/writers" not in renamed("state", "list", "p").stdout
    serial = renamed.json("state", "list", "p")["serial"]
    assert renamed("state", "push", "old.json", "p", "--force").exit_code == 0
    assert "acme/team/writers" in renamed("state", "list", "p").stdout
    assert renamed.json("state", "list", "p")["serial"] > serial
    assert renamed.json("history", "p")["runs"][1]["id"] == first


def test_a_state_of_another_sandbox_is_never_pushed(renamed: Cli) -> None:
    renamed("state", "pull", "p", "--out", "state.json")
    assert renamed("apply", "p", "--yes", "--sandbox", "other.db", "--state", "sqlite:///other-state.db", "--create-state").exit_code == 0
    refused = renamed("state", "push", "state.json", "p", "--force", "--sandbox", "other.db", "--state", "sqlite:///other-state.db")
    assert (refused.exit_code, "it is the state of p on sandbox:" in refused.stderr) == (3, True)


def test_there_is_nothing_to_pull_before_the_first_apply(cli: Cli) -> None:
    cli("init", "p", "--sandbox")
    result = cli("state", "pull", "p")
    assert (result.exit_code, "there is no state yet" in result.stderr) == (3, True)
    assert not (cli.root / "p" / ".reconciler" / "state.db").exists()


@costly
@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"format": NaN}', "\x00", "\ufeff{}", "[]", '{"format": "reconciler.plan/1"}'])
def test_an_invalid_document_is_refused_calmly_and_nothing_is_created(cli: Cli, text: str) -> None:
    cli("init", "p", "--sandbox")
    cli("plan", "p")
    cli.write("x.json", text)
    result = cli("state", "push", "x.json", "p")
    assert (result.exit_code, "state pull" in result.stderr) == (3, True)
    assert not (cli.root / "p" / ".reconciler" / "state.db").exists()


def test_a_value_that_is_kept_secret_is_not_written_down(renamed: Cli) -> None:
    text = (renamed.root / "p" / "reconciler.yaml").read_text()
    renamed.write("p/reconciler.yaml", text.replace("\norganizations:", "\nvars:\n  word: {env: RECONCILER_VAR_WORD}\n\norganizations:"))
    secret = {"RECONCILER_VAR_WORD": "Authors"}
    refused = renamed("state", "pull", "p", "--out", "state.json", env=secret)
    assert (refused.exit_code, "--public-var" in refused.stderr, (renamed.root / "state.json").exists()) == (4, True, False)
    assert re.search(r"a secret value, in bindings\[\d+\].fields.title.sent; it was not exported", refused.stderr)
    assert "Authors" not in refused.stderr
    assert renamed("state", "pull", "p", "--public-var", "word", env=secret).exit_code == 0


@pytest.mark.parametrize(
    ("masked", "place"),
    [
        ({"a": [{"b": "x", "c": 1}]}, None),
        ({"a": [{"b": "(hidden)", "c": 1}]}, "a[0].b"),
        ({"a": [{"(hidden)": "x", "c": 1}]}, "a[0].b"),
        ({"(hidden)": [{"b": "x", "c": 1}]}, "a"),
    ],
)
def test_the_place_of_what_is_hidden_is_found_in_values_and_names(masked: Any, place: str | None) -> None:
    assert hidden_in({"a": [{"b": "x", "c": 1}]}, masked) == place


def test_values_of_sensitive_fields_are_left_out(renamed: Cli) -> None:
    team = load()["team"]
    secret = replace(team, fields={**team.fields, "title": replace(team.fields["title"], sensitive=True)})
    kinds = Kinds([*(one for one in load().values() if one.name != "team"), secret])
    document = json.loads(renamed("state", "pull", "p").stdout)
    assert fields(document)["title"] == {"sent": "Authors", "seen": "Authors"}
    assert "title" not in fields(without_secrets(document, kinds))


def fields(document: Any) -> Any:
    return next(one["fields"] for one in document["bindings"] if one["address"] == "acme/team/writers")


STATE = "sqlite:///elsewhere.db"
SAID = "elsewhere.db has never seen project p on the sandbox p/.reconciler/sandbox.db"


@pytest.fixture
def applied(cli: Cli) -> Cli:
    """A project that was applied to its own sandbox with its own state."""
    return applied_project(cli)


def plain(text: str) -> str:
    return " ".join(text.split())


def exists(cli: Cli) -> bool:
    return (cli.root / "elsewhere.db").exists()


def test_drift_exits_with_5_and_says_how_many_resources_it_cannot_judge_in_every_form(applied: Cli) -> None:
    words = ("drift", "p", "--state", STATE)
    result = applied(*words, "--report", "markdown=d.md", "--report", "html=d.html", "--report", "github=d.txt", code=5)
    assert "No drift" not in result.stdout
    assert result.stdout.endswith("Drift is unknown; 12 resources cannot be judged. 0 objects managed.\n")
    assert SAID in plain(result.stdout)
    for name in ("d.md", "d.html", "d.txt"):
        text = plain((applied.root / name).read_text("utf-8"))
        assert "12 resources cannot be judged" in text, name
        assert "has never seen project p" in text, name
    document = valid(json.loads(applied(*words, "--format", "json").stdout), "drift")
    assert (document["summary"]["unjudged"], document["summary"]["managed"], len(document["unjudged"])) == (12, 0, 12)
    assert any(SAID in note for note in document["notes"])
    assert not exists(applied)


def test_a_mistyped_variable_does_not_switch_the_check_off(applied: Cli) -> None:
    assert applied("drift", "p", env={"RECONCILER_STATE": STATE}).exit_code == 5
    assert applied("drift", "p").exit_code == 0
    (applied.root / "p" / ".reconciler" / "state.db").unlink()
    assert applied("drift", "p").exit_code == 5


def test_drift_of_a_target_that_the_state_does_not_track_is_unknown(applied: Cli) -> None:
    assert applied("state", "forget", "acme/space/api", "p").exit_code == 0
    some = applied("drift", "p")
    assert (some.exit_code, some.stdout.splitlines()[-1]) == (0, "No drift; 1 resource cannot be judged. 11 objects managed.")
    only = applied("drift", "p", "--target", "acme/space/api")
    assert (only.exit_code, only.stdout.splitlines()[-1]) == (5, "Drift is unknown; 1 resource cannot be judged. 11 objects managed.")


def test_plan_says_so_and_goes_on(applied: Cli) -> None:
    result = applied("plan", "p", "--state", STATE, "--report", "markdown=p.md", "--report", "html=p.html", "--out", "p.json", code=0)
    assert SAID in plain(result.stdout)
    assert "12 to adopt" in result.stdout
    for name in ("p.md", "p.html", "p.json"):
        assert "never seen project p" in plain((applied.root / name).read_text("utf-8"))
    shown = applied("plan", "p", "--state", STATE, "--format", "json", "--quiet")
    assert any(SAID in note for note in valid(json.loads(shown.stdout), "plan")["notes"])
    assert SAID in plain(shown.stderr)
    assert not exists(applied)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("state", "list", "p"), 0),
        (("state", "show", "acme/space/api", "p"), 3),
        (("state", "forget", "acme/space/api", "p"), 3),
        (("state", "mv", "acme/space/api", "acme/space/reference", "p"), 3),
        (("state", "pull", "p"), 3),
        (("state", "unlock", "p"), 0),
        (("history", "p"), 0),
        (("show", "last", "p"), 3),
        (("undo", "last", "p", "--yes"), 3),
        (("graph", "p", "--steps"), 0),
        (("drift", "p", "--accept", "acme/space/api.title"), 3),
        (("import", "p", "--into", "--dry-run"), 0),
        (("import", "p", "--into"), 4),
        (("adopt", "acme/space/blank", "spc_blank", "p"), 4),
        (("apply", "p", "--yes"), 4),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_every_command_that_reads_a_state_says_so_and_creates_none(applied: Cli, words: tuple[str, ...], code: int) -> None:
    for given in ({"RECONCILER_STATE": STATE}, {"RECONCILER_STATE": None}):
        result = applied(*words, *(() if given["RECONCILER_STATE"] else ("--state", STATE)), env=given, code=code)
        assert SAID in plain(result.stderr)
        assert "--create-state" in result.stderr
        assert not exists(applied)


def test_doctor_warns_of_it(applied: Cli) -> None:
    (state,) = [one for one in applied.json("doctor", "p", "--state", STATE)["checks"] if one["check"] == "state"]
    assert (state["status"], SAID in state["message"]) == ("warning", True)
    assert "--create-state" in state["remedy"]


def test_consent_creates_the_state_and_is_not_needed_again(applied: Cli) -> None:
    first = applied("apply", "p", "--yes", "--state", STATE, "--create-state")
    assert (first.exit_code, "Creating the state elsewhere.db for project p" in first.stderr) == (0, True)
    assert applied("apply", "p", "--yes", "--state", STATE).exit_code == 0
    assert applied("drift", "p", "--state", STATE).exit_code == 0


def test_a_run_that_was_refused_does_not_make_the_state_one_that_has_seen_the_project(applied: Cli) -> None:
    applied.edit("p/reconciler.yaml", "project: p\n", "project: p\nguards: {maxDelete: {percent: 0, atLeast: 0}}\n")
    text = (applied.root / "p" / "reconciler.yaml").read_text("utf-8")
    applied("apply", "p", "--yes", "--state", STATE, "--create-state", "--target", "acme/nothing/there")
    assert exists(applied)
    assert text
    assert applied("drift", "p", "--state", STATE).exit_code == 5
    assert applied("apply", "p", "--yes", "--state", STATE).exit_code == 4


def test_the_default_state_and_that_of_a_sandbox_are_created_without_a_word(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("init", "q").exit_code == 0
    for words in (("p",), ("q", "--sandbox", "q.db")):
        result = cli("apply", *words, "--yes")
        assert (result.exit_code, "never seen" in result.stdout + result.stderr) == (0, False)


def test_an_empty_variable_is_a_secret_that_the_pipeline_does_not_have(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    result = cli("apply", "p", "--yes", env={"RECONCILER_STATE": ""})
    assert (result.exit_code, "RECONCILER_STATE, which is set and empty" in result.stderr) == (4, True)


def test_what_the_state_does_track_is_named(applied: Cli) -> None:
    assert applied("init", "q", "--sandbox").exit_code == 0
    assert applied("plan", "q").exit_code == 0
    result = applied("state", "list", "q", "--state", f"sqlite:///{applied.root}/p/.reconciler/state.db")
    assert "It tracks 12 resources of p on sandbox:" in plain(result.stderr)


def test_a_saved_plan_needs_the_consent_too_and_one_of_another_state_is_stale(applied: Cli) -> None:
    assert applied("plan", "p", "--state", STATE, "--out", "new.json").exit_code == 0
    assert applied("apply", "p", "--plan", "new.json", "--state", STATE).exit_code == 4
    assert applied("plan", "p", "--out", "old.json").exit_code == 0
    stale = applied("apply", "p", "--plan", "old.json", "--state", STATE, "--create-state")
    assert (stale.exit_code, "was created from a different state" in stale.stderr) == (6, True)
    assert not exists(applied)
    assert applied("apply", "p", "--plan", "new.json", "--state", STATE, "--create-state").exit_code == 0


def test_a_push_creates_the_state_it_is_for(applied: Cli) -> None:
    assert applied("state", "pull", "p", "--out", "state.json").exit_code == 0
    pushed = applied("state", "push", "state.json", "p", "--state", STATE)
    assert (pushed.exit_code, "Creating the state elsewhere.db for project p" in pushed.stderr) == (0, True)
    assert applied("drift", "p", "--state", STATE).exit_code == 0


def on_a_terminal(cli: Cli, answer: str, *words: str) -> tuple[int, str]:
    """Run a command on a terminal and answer its question."""
    code, shown = at_a_terminal(cli, f"{answer}\n".encode(), *words)
    return code, plain(shown)


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_it_is_part_of_the_question(applied: Cli, answer: str, code: int) -> None:
    ended, said = on_a_terminal(applied, answer, "apply", "p", "--state", STATE)
    assert ended == code, said
    assert "It creates the state elsewhere.db for project p on the sandbox p/.reconciler/sandbox.db." in said
    assert applied("drift", "p", "--state", STATE).exit_code == (0 if answer == "y" else 5)


@pytest.mark.parametrize(("answer", "code"), [("n", 4), ("y", 0)])
def test_adopt_asks_on_a_terminal(applied: Cli, tmp_path: Path, answer: str, code: int) -> None:
    ended, said = on_a_terminal(applied, answer, "adopt", "acme", "org_acme", "p", "--state", STATE)
    assert ended == code, said
    assert "Create the state there?" in said
    assert exists(applied) is (answer == "y")


def test_a_shared_state_that_tracks_the_project_is_not_imported_into_again(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 0
    words = ("--org", "org_acme", "--sandbox", "p/.reconciler/sandbox.db")
    shared = {"RECONCILER_STATE": STATE}
    cli("import", "first", *words, env=shared, code=0)
    again = cli("import", "second", *words, env=shared, code=3)
    assert "already tracks project" in plain(again.stderr)
    assert "RECONCILER_STATE" in again.stderr
    assert not (cli.root / "second" / "reconciler.yaml").exists()
    assert cli("import", "first", "--into", *words[2:], env=shared).exit_code == 0


@pytest.mark.parametrize("link", [False, True])
def test_the_yaml_alone_creates_no_state_outside_the_project(cli: Cli, link: bool) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit("p/reconciler.yaml", ".reconciler/sandbox.db", "sandbox.db")
    if link:
        (cli.root / "p" / ".reconciler").rename(cli.root / "elsewhere")
        (cli.root / "p" / ".reconciler").symlink_to(cli.root / "elsewhere")
    else:
        cli.edit("p/reconciler.yaml", "service:", "state: sqlite:///../elsewhere/state.db\nservice:")
    state = cli.root / "elsewhere" / "state.db"
    for words in (("plan", "p"), ("drift", "p"), ("apply", "p", "--yes")):
        result = cli(*words)
        assert "has never seen project" in result.stderr + result.stdout
        assert not state.exists()
    assert (result.exit_code, "pass --create-state to create the state" in result.stderr) == (4, True), result.stderr
    assert cli("apply", "p", "--yes", "--create-state").exit_code == 0
    assert state.exists()
    assert "No changes." in cli("plan", "p").stdout


def test_the_yaml_alone_creates_no_sandbox_outside_the_project(cli: Cli) -> None:
    assert cli("init", "p", "--sandbox").exit_code == 0
    cli.edit("p/reconciler.yaml", ".reconciler/sandbox.db", "../shared/sandbox.db")
    for words in (("plan", "p"), ("drift", "p"), ("apply", "p", "--yes"), ("import", "q", "--into")):
        assert cli(*words).exit_code == 3
        assert not (cli.root / "shared").exists()
    assert "does not exist, and is outside the project" in cli("plan", "p").stderr
    assert cli("plan", "p", "--sandbox", "shared/sandbox.db").exit_code == 0
    assert cli("apply", "p", "--yes").exit_code == 0, "it exists now, so two projects can share it"
