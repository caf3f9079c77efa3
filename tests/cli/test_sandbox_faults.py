"""Controlling a sandbox from the command line: faults, clock, export and reset, of a file and of one that is served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from reconciler.sandbox.server import Embedded, embedded
from tests.cli.conftest import Cli

SEED = "organizations: [{id: org_a, title: Acme}]\nmembers: [{organization: org_a, id: usr_a, email: a@acme.example, role: admin}]\n"
ERROR = '{"fault": "error", "status": 503, "name": "down"}'
AT = ("--db", "s.db")


@pytest.fixture
def seeded(cli: Cli) -> Cli:
    cli.write("seed.yaml", SEED)
    assert cli("sandbox", "seed", *AT, "seed.yaml").exit_code == 0
    return cli


@pytest.fixture
def served(seeded: Cli) -> Iterator[Embedded]:
    with embedded(seeded.root / "s.db") as running:
        yield running


def get(served: Embedded) -> int:
    return httpx2.get(f"{served.base_url}/v1/orgs", headers={"Authorization": f"Bearer {served.token}"}).status_code


def test_rules_are_set_shown_and_cleared_in_a_file(seeded: Cli) -> None:
    made = seeded("sandbox", "faults", "set", *AT, "--rule", ERROR)
    assert (made.exit_code, made.stderr) == (0, "1 rule active.\n")
    assert seeded("sandbox", "faults", "show", *AT).stdout.splitlines()[1].split() == ["down", "error", "*", "0", "0"]
    document = seeded.json("sandbox", "faults", "show", *AT)
    assert document["format"] == "reconciler.faults/1"
    shown = document["rules"]
    assert [(one["name"], one["status"]) for one in shown] == [("down", 503)]
    assert seeded("sandbox", "faults", "clear", *AT).exit_code == 0
    assert seeded("sandbox", "faults", "show", *AT).stdout == ""


@pytest.mark.parametrize("text", ["- {fault: latency, seconds: 0}\n- {fault: truncated}\n", "rules: [{fault: latency, seconds: 0}]"])
def test_rules_come_from_a_file_and_then_from_the_line(seeded: Cli, text: str) -> None:
    seeded.write("rules.yaml", text)
    assert seeded("sandbox", "faults", "set", "rules.yaml", *AT, "--rule", ERROR).exit_code == 0
    names = [one["name"] for one in seeded.json("sandbox", "faults", "show", *AT)["rules"]]
    assert (names[0], names[-1]) == ("1:latency", "down")


def test_a_served_sandbox_is_controlled_by_its_address(seeded: Cli, served: Embedded) -> None:
    at = ("--base-url", served.base_url, "--token", served.token)
    assert seeded("sandbox", "faults", "set", *at, "--rule", ERROR).exit_code == 0
    assert (get(served), get(served)) == (503, 503)
    lines = seeded("sandbox", "faults", "log", *at).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["number", "1", "2"]
    assert lines[1].split()[2:] == ["down", "error", "GET", "/v1/orgs"]
    assert seeded("sandbox", "faults", "clear", "--log", *at).exit_code == 0
    assert get(served) == 200
    assert seeded("sandbox", "faults", "log", *at).stdout == ""


def test_the_token_may_come_from_the_environment_and_is_never_shown(seeded: Cli, served: Embedded) -> None:
    result = seeded("sandbox", "clock", "--base-url", served.base_url, env={"RECONCILER_TOKEN": served.token})
    assert result.exit_code == 0
    wrong = seeded("sandbox", "clock", "--base-url", served.base_url, "--token", "wrong-token")
    assert wrong.exit_code == 3
    assert "wrong-token" not in wrong.stderr


def test_rules_set_in_the_file_befall_the_service_that_runs_on_it(seeded: Cli, served: Embedded) -> None:
    assert seeded("sandbox", "faults", "set", *AT, "--rule", ERROR).exit_code == 0
    assert get(served) == 503
    log = seeded.json("sandbox", "faults", "log", *AT)
    assert (log["format"], [entry["rule"] for entry in log["items"]]) == ("reconciler.faults-log/1", ["down"])


def test_the_clock_is_stopped_moved_and_shown(seeded: Cli) -> None:
    assert seeded("sandbox", "clock", *AT).stdout.endswith(" (running)\n")
    assert seeded("sandbox", "clock", *AT, "--now", "2031-01-01T00:00:00Z").stdout == "2031-01-01T00:00:00.000Z (stopped)\n"
    assert seeded.json("sandbox", "clock", *AT, "--advance", "90") == {"now": "2031-01-01T00:01:30.000Z", "still": True}


def test_a_reset_takes_everything_away_but_the_identity(seeded: Cli) -> None:
    before = seeded("sandbox", "export", *AT).stdout
    seeded("sandbox", "faults", "set", *AT, "--rule", ERROR)
    seeded("sandbox", "clock", *AT, "--now", "2031-01-01T00:00:00Z")
    assert seeded("sandbox", "reset", *AT).exit_code == 0
    after = json.loads(seeded("sandbox", "export", *AT).stdout)
    assert (after["objects"], after["identity"]) == ([], json.loads(before)["identity"])
    assert seeded.json("sandbox", "clock", *AT)["still"] is False
    assert seeded.json("sandbox", "faults", "show", *AT)["rules"] == []


def test_a_reset_to_a_seed_or_an_export_brings_it_back(seeded: Cli) -> None:
    first = json.loads(seeded("sandbox", "export", *AT).stdout)
    seeded.write("kept.json", json.dumps(first))
    assert [one["id"] for one in first["objects"]] == ["org_a:usr_a" if one["kind"] == "member" else "org_a" for one in first["objects"]]
    assert seeded("sandbox", "reset", *AT, "--seed", "seed.yaml").stderr == "It contains 2 objects now.\n"
    assert seeded("sandbox", "reset", *AT, "--export", "kept.json").exit_code == 0
    assert json.loads(seeded("sandbox", "export", *AT).stdout)["objects"] == first["objects"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("faults", "show"), "no sandbox was given"),
        (("faults", "show", *AT, "--base-url", "http://127.0.0.1:1"), "no sandbox was given"),
        (("faults", "show", "--db", "none.db"), "there is no sandbox none.db"),
        (("faults", "show", "--db", "seed.yaml"), "is a YAML file"),
        (("faults", "show", "--base-url", "https://api.example.com", "--token", "t"), "only listen on this machine"),
        (("faults", "show", "--base-url", "http://127.0.0.1:1"), "there is no control token"),
        (("faults", "set", *AT), "there are no rules"),
        (("faults", "set", *AT, "--rule", "{"), "is not JSON"),
        (("faults", "set", *AT, "--rule", '{"fault": "error", "rate": 2}'), "rate"),
        (("faults", "set", "seed.yaml", *AT), "is not a list of rules"),
        (("clock", *AT, "--now", "soon"), "now: expected an ISO 8601 time"),
        (("reset", *AT, "--seed", "seed.yaml", "--export", "x"), "cannot be combined"),
        (("reset", *AT, "--export", "seed.yaml"), "is not what sandbox export printed"),
        (("reset", *AT, "--export", "none.json"), "cannot be read"),
    ],
)
def test_a_command_line_that_cannot_be_followed_says_why(seeded: Cli, words: tuple[str, ...], says: str) -> None:
    before = seeded("sandbox", "export", *AT).stdout
    result = seeded("sandbox", *words)
    assert result.exit_code == 3
    assert says in result.stderr
    assert json.loads(seeded("sandbox", "export", *AT).stdout)["objects"] == json.loads(before)["objects"]


def test_a_wrong_seed_leaves_what_was_there(seeded: Cli) -> None:
    seeded.write("wrong.yaml", "spaces: [{}]")
    result = seeded("sandbox", "reset", *AT, "--seed", "wrong.yaml")
    assert (result.exit_code, "spaces[0]" in result.stderr) == (3, True)
    assert len(json.loads(seeded("sandbox", "export", *AT).stdout)["objects"]) == 2


def test_where_nothing_answers_it_says_so(cli: Cli, tmp_path: Path) -> None:
    result = cli("sandbox", "clock", "--base-url", "http://127.0.0.1:9", "--token", "some-token")
    assert result.exit_code == 1
    assert "no sandbox answers at http://127.0.0.1:9" in result.stderr


def test_a_token_comes_from_a_file_and_one_on_the_command_line_is_a_warning(cli: Cli, served: Embedded) -> None:
    file = cli.root / "token.txt"
    file.write_text(served.token + "\n")
    at = ("sandbox", "clock", "--base-url", served.base_url)
    quiet = cli(*at, "--token-file", str(file))
    assert quiet.exit_code == 0, quiet.stderr
    assert "RC-secret-visible" not in quiet.stderr
    shown = cli(*at, "--token", served.token)
    assert shown.exit_code == 0
    assert "every user of this machine can read --token in the list of processes; pass --token-file FILE" in shown.stderr
    assert "RC-secret-visible" not in cli(*at, env={"RECONCILER_TOKEN": served.token}).stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"x" * 5_000, "is larger than"), (b"\xff", "is not UTF-8"), (None, "cannot be")],
)
def test_a_file_without_a_token_is_an_error_that_says_so(cli: Cli, served: Embedded, content: bytes | None, said: str) -> None:
    file = cli.root / "token.txt"
    if content is not None:
        file.write_bytes(content)
    for more in ((), ("--token", "x")):
        result = cli("sandbox", "clock", "--base-url", served.base_url, "--token-file", str(file), *more)
        assert result.exit_code == 3
        assert said in result.stderr


def test_a_token_and_a_file_of_one_are_refused_together(cli: Cli, served: Embedded) -> None:
    file = cli.root / "token.txt"
    file.write_text("a-token")
    for words in (("--token-file", str(file), "--token", "b-token"), ("--token", "b-token", "--token-file", str(file))):
        result = cli("sandbox", "clock", "--base-url", served.base_url, *words)
        assert result.exit_code == 3
        assert "--token and --token-file cannot be combined" in result.stderr
