"""`state pull` and `state push` as they are typed: a state moves from a file to a server and back, and nothing of it is lost."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from typing import Any

import pytest

from reconciler.cli.commands.state_carry import hidden_in, without_secrets
from reconciler.kinds import load
from reconciler.resource import Kinds
from tests.cli.conftest import Cli, retitled
from tests.documents import valid


@pytest.fixture
def urls(cli: Cli, postgres_url: str) -> dict[str, str]:
    return {"file": f"sqlite:///{cli.root}/one.db", "server": postgres_url.replace("postgresql:", "postgresql+psycopg:")}


@pytest.fixture
def renamed(cli: Cli) -> Cli:
    """A project applied to its own file, and applied again with another title of a team."""
    return retitled(cli)


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
    pushed = cli("state", "push", "state.json", "p")
    assert pushed.stdout == f"The state was imported: 12 tracked, 2 runs, serial {document['serial']}.\n"
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
