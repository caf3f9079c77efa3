"""Tokens of the wrong person, over HTTP: nothing is sent that writes, nothing is planned to be deleted, and no token is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mistakes.facts import facts
from tests.mistakes.world import ADA, ADA_READS, BOB, Folder
from tests.sandbox.serving import serving

WRONG = "token-that-expired-last-night"


@pytest.fixture(scope="module")
def served(living: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """The organization behind an address, as the real service is; the project names no sandbox."""
    folder = Folder.copied(living, tmp_path_factory.mktemp("tokens") / "copy")
    folder.edit("reconciler.yaml", "  sandbox: ../service.db\n", "")
    with serving(folder.service) as url:
        folder.env |= {"RECONCILER_BASE_URL": url, "RECONCILER_TOKEN": ADA}
        folder.applied()
        folder.edit("content.yaml", "title: Guides", "title: Manuals")
        yield folder


@pytest.mark.parametrize("command", ["plan", "drift", "apply --yes"])
@pytest.mark.parametrize(
    ("token", "codes", "says"),
    [(None, {3}, "RECONCILER_TOKEN"), (WRONG, {1}, "token"), (BOB, {1, 5}, "the token no longer has access")],
    ids=["without a token", "with a token that is not valid", "with a token of another organization"],
)
def test_a_run_that_may_read_nothing_does_nothing(served: Folder, command: str, token: str | None, codes: set[int], says: str) -> None:
    before = facts(served.service)
    result = served(*command.split(), env={"RECONCILER_TOKEN": token})
    message = result.stdout + result.stderr
    assert result.exit_code in codes, message
    assert says in " ".join(message.split())
    assert [phrase for phrase in ("No drift.", "to delete", "defect", str(token)) if phrase in message] == [], message
    assert facts(served.service).rows == before.rows


def test_a_token_that_only_reads_plans_and_says_what_it_may_not_do(served: Folder) -> None:
    before = facts(served.service)
    env = {"RECONCILER_TOKEN": ADA_READS}
    assert served("plan", env=env).exit_code == 0
    result = served("apply", "--yes", env=env)
    assert result.exit_code == 1, result.stdout + result.stderr
    assert "403" in result.stdout
    assert facts(served.service).rows == before.rows


def test_drift_by_a_token_that_reaches_nothing_says_that_it_could_not_judge(served: Folder) -> None:
    result = served("drift", env={"RECONCILER_TOKEN": BOB})
    assert result.exit_code == 5, result.stdout + result.stderr
    assert "Drift is unknown" in result.stdout
    assert "No drift" not in result.stdout
