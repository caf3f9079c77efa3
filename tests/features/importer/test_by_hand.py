"""What a person writes comes back as a person would write it: applied and imported, with about as many lines, and nothing to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Cli
from tests.features.importer.by_hand import by_hand
from tests.features.importer.imported import fits
from tests.proofs import costly, spread

MOST = 1.3  # lines, of those that were written by hand
EXPOSURES = ("--allow-exposure", "**")


def lines(folder: Path) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.yaml"))


@costly
@pytest.mark.parametrize("seed", spread(range(10), push=3))
def test_an_organization_written_by_hand_comes_back_as_short_and_complete(tmp_path: Path, seed: int) -> None:
    cli = Cli(tmp_path)
    for path, text in by_hand(seed).items():
        cli.write(f"hand/{path}", text)
    applied = cli("apply", "hand", "--sandbox", "s.db", "--yes", *EXPOSURES)
    assert applied.exit_code == 0, applied.stderr
    result = cli("import", "new", "--org", "org_acme", "--sandbox", "s.db")
    assert result.exit_code == 0, result.stderr
    assert fits(cli.root / "new") == []
    assert lines(cli.root / "new") <= MOST * lines(cli.root / "hand")

    plan = cli("plan", "new", "--detailed-exitcode")
    assert plan.exit_code == 0, plan.stdout

    for file in (cli.root / "new" / ".reconciler").glob("state.db*"):
        file.unlink()
    lost = cli.json("plan", "new")
    assert {action for change in lost["changes"] for action in change["actions"]} == {"adopt"}
    assert (lost["steps"], lost["blocked"], lost["unmanaged"]) == ([], [], [])
