"""`guards.maxExposed` and `--max-exposed`, on the command line: a plan that opens more than it may is refused before its first request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.test_dangerous_edits import base, site, write
from tests.documents import valid

ALLOW = ("--allow-exposure", "**")


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that may expose nothing, applied once."""
    cli = Cli(tmp_path_factory.mktemp("limited"))
    write(cli, {**base(), "guards": {"maxExposed": 0}})
    result = cli("apply", "p", "--yes", *ALLOW)
    assert result.exit_code == 0, f"what is created exposes nothing that existed: {result.stderr}"
    return cli.root


@pytest.fixture
def opening(limited: Path, tmp_path: Path) -> Cli:
    """The same with a line that makes a site public."""
    shutil.copytree(limited, tmp_path, dirs_exist_ok=True)
    cli = Cli(tmp_path)
    document = {**base(), "guards": {"maxExposed": 0}}
    site(document)["visibility"] = "public"
    write(cli, document)
    return cli


def way_past(stderr: str) -> tuple[str, str]:
    """The option that the refusal prints, with its number."""
    line = next(line.strip() for line in stderr.splitlines() if "--max-exposed" in line)
    option, number = line.removeprefix("if this is intended: ").split()
    return option, number


def test_plan_and_apply_refuse_and_the_printed_option_is_the_way_past(opening: Cli) -> None:
    planned = opening("plan", "p")
    assert planned.exit_code == 4
    assert "! exposure" in planned.stdout, "the plan is shown first"
    assert "guards.maxExposed allows 0" in planned.stderr
    assert "[RC-exposure-limit]" in planned.stderr
    option, number = way_past(planned.stderr)
    assert opening("apply", "p", "--yes", *ALLOW).exit_code == 4, "consent to exposures does not raise the limit"
    assert opening("apply", "p", "--yes", *ALLOW, option, str(int(number) - 1)).exit_code == 4
    refused = opening("apply", "p", "--yes", option, number)
    assert (refused.exit_code, "RC-consent-required" in refused.stderr) == (4, True), "the limit is no consent"
    assert opening("apply", "p", "--yes", *ALLOW, option, number).exit_code == 0
    assert opening("plan", "p").exit_code == 0


def test_a_saved_plan_records_the_number_and_takes_it_typed_again(opening: Cli) -> None:
    _, number = way_past(opening("plan", "p").stderr)
    planned = opening("plan", "p", "--out", "plan.json", "--max-exposed", number)
    assert f"Apply it with: reconciler apply p --max-exposed {number} --plan plan.json" in planned.stdout
    document = json.loads((opening.root / "plan.json").read_text())
    valid(document, "saved-plan")
    assert document["options"]["maxExposed"] == int(number)
    assert opening("apply", "p", "--plan", "plan.json", "--yes").exit_code == 4
    assert opening("apply", "p", "--plan", "plan.json", "--yes", "--max-exposed", number).exit_code == 0


def test_the_number_is_never_read_from_the_environment(opening: Cli) -> None:
    planned = opening("plan", "p", env={"RECONCILER_MAX_EXPOSED": "99"})
    assert planned.exit_code == 4
    assert "RECONCILER_MAX_EXPOSED is ignored: --max-exposed is never read from the environment" in planned.stderr


def test_undo_has_the_limit_too(opening: Cli) -> None:
    closed = {**base(), "guards": {"maxExposed": 0}}
    _, number = way_past(opening("plan", "p").stderr)
    assert opening("apply", "p", "--yes", *ALLOW, "--max-exposed", number).exit_code == 0
    write(opening, closed)
    assert opening("apply", "p", "--yes", *ALLOW).exit_code == 0, "closing exposes nothing"
    assert "[RC-exposure-limit]" in opening("undo", "last", "p", "--yes", *ALLOW).stderr
    assert opening("undo", "last", "p", "--yes", *ALLOW, "--max-exposed", number).exit_code == 0
