"""A state that has never seen the project: every command that reads one says so, and none is created unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, applied_project
from tests.cli.test_end_to_end import at_a_terminal
from tests.documents import valid

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
    result = applied(*words, "--report", "markdown=d.md", "--report", "html=d.html", "--report", "github=d.txt")
    assert result.exit_code == 5
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
    result = applied("plan", "p", "--state", STATE, "--report", "markdown=p.md", "--report", "html=p.html", "--out", "p.json")
    assert result.exit_code == 0
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
        result = applied(*words, *(() if given["RECONCILER_STATE"] else ("--state", STATE)), env=given)
        assert result.exit_code == code, result.stderr
        assert SAID in plain(result.stderr)
        assert "--create-state" in result.stderr
        assert not exists(applied)


def test_doctor_warns_of_it(applied: Cli) -> None:
    found = applied.json("doctor", "p", "--state", STATE)["checks"]
    (state,) = [one for one in found if one["check"] == "state"]
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
    first = cli("import", "first", *words, env=shared)
    assert first.exit_code == 0, first.stderr
    again = cli("import", "second", *words, env=shared)
    assert again.exit_code == 3
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
