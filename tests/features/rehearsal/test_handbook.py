"""The handbook of the examples: a reorganization that is worth a rehearsal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from reconciler import exits
from tests.command_line import Cli
from tests.proofs import costly

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
SANDBOX = ("--sandbox", "handbook.db")


@costly
def test_the_reorganization_of_the_handbook_shows_everything_that_a_rehearsal_can_show(cli: Cli) -> None:
    shutil.copytree(HANDBOOK, cli.root / "handbook")
    cli("apply", "handbook", *SANDBOX, "--yes", "--allow-exposure", "**", code=exits.DONE)
    document = json.loads(cli("rehearse", "handbook/reorganized.yaml", *SANDBOX, "--format", "json", code=exits.DONE).stdout)
    gained = {change["address"] for change in document["readers"]["gained"]}
    lost = {change["address"] for change in document["readers"]["lost"]}
    worst, end = document["worst"], document["moments"][-1]
    assert gained == {"handbook/space/extensions", "handbook/space/integrations"}
    assert "handbook/space/examples" in lost
    assert any("/examples" in url for url in document["urls"]["dead"])
    assert any("/guides" in url["before"] and "/use" in url["after"] for url in document["urls"]["moved"])
    assert worst["after"] < end["after"]  # most URLs are dead on the way that answer at the start and at the end
    assert worst["deadUrls"] > end["deadUrls"]
    assert document["divergences"] == []
    assert document["secondPlanEmpty"]
    text = cli("rehearse", "handbook/reorganized.yaml", *SANDBOX, code=exits.DONE).stdout
    assert 'whoever has the share link "Integration partners" can no longer read' in text
    assert "/handbook/guides is now " in text
    assert len(text.splitlines()) <= 25
