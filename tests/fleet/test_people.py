"""People and a fleet that runs: real workers, the sandbox over HTTP, git; what two approved is applied, what moved is not, what was undone
waits for somebody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.running import Running, running

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["a"]) as made:
        yield made


def by(fleet: Running, name: str) -> None:
    """The next commands are typed by somebody else."""
    fleet.environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.email", "GIT_CONFIG_VALUE_0": f"{name}@acme.example"}


def spaces(fleet: Running, *titles: str) -> None:
    """Commit a project with these spaces, of which each but the first is a line that can be removed."""
    file = fleet.remote / "a" / "reconciler.yaml"
    fleet.write("a")
    lines = "".join(f'      - {{space: {title}, title: "{title}", duplicateOf: blank}}\n' for title in titles)
    file.write_text(file.read_text().replace("      - {space: blank", f"{lines}      - {{space: blank") + "protect: []\n")
    fleet.git("commit", "-qam", f"spaces {titles}")


def status(fleet: Running) -> dict[str, Any]:
    fleet.call("fleet", "sync", "a", "--wait", code=None)
    return dict(json.loads(fleet.call("fleet", "status", "--format", "json", code=None))["projects"][0])


def test_two_approve_what_then_is_applied_and_what_moved_or_was_undone_is_not(fleet: Running) -> None:
    spaces(fleet, "x", "y", "z")
    fleet.applied("a")
    fleet.declare({"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": {"delete": "two", "update": "two"}})
    fleet.worker()
    assert status(fleet)["status"] == "Synced"
    spaces(fleet, "x")
    waiting = status(fleet)
    assert waiting["waits"] == "the plan needs approvals: delete (2 people)"
    assert "y" in fleet.titles("a").values()
    digest = waiting["approvals"]["digest"]
    by(fleet, "ada")
    assert "RC-fleet-approval" in fleet.error("fleet", "approve", "a", "--digest", digest, code=4), "the author does not count"
    by(fleet, "grace")
    assert f"--digest {digest}" in fleet.error("fleet", "approve", "a", code=3), "without a terminal the digest is the consent"
    fleet.call("fleet", "approve", "a", "--digest", digest)
    spaces(fleet, "x", "z")  # the plan moves between the two approvals
    moved = status(fleet)
    assert moved["approvals"]["digest"] != digest
    by(fleet, "linus")
    assert "RC-fleet-plan-moved" in fleet.error("fleet", "approve", "a", "--digest", digest, code=6)
    assert "y" in fleet.titles("a").values()
    for name in ("grace", "linus"):
        by(fleet, name)
        fleet.call("fleet", "approve", "a", "--digest", moved["approvals"]["digest"])
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    assert sorted(set(fleet.titles("a").values()) & {"x", "y", "z"}) == ["x", "z"]
    # what is undone waits
    where = ("--base-url", fleet.service, "--state", fleet.url)
    run = json.loads(fleet.call("history", str(fleet.remote / "a"), *where, "--format", "json"))["runs"][0]["id"]
    fleet.call("undo", run, str(fleet.remote / "a"), *where, "--yes", code=None)
    assert "y" in fleet.titles("a").values()
    assert status(fleet)["waits"].endswith("push a commit that no longer changes these resources, or: reconciler fleet resume a")
    fleet.call("fleet", "resume", "a")
    waiting = fleet.until(lambda: (now := status(fleet))["waits"] == "the plan needs approvals: delete (2 people)" and now)
    for name in ("grace", "linus"):
        by(fleet, name)
        fleet.call("fleet", "approve", "a", "--digest", waiting["approvals"]["digest"])
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    assert "y" not in fleet.titles("a").values()
    lines = [row for row in fleet.rows("SELECT action, details FROM reconciler_fleet.audit ORDER BY id") if row[0] != "sync"]
    approved = ["approve", "approve", "begin-apply", "apply"]
    assert [action for action, _ in lines] == ["approve", *approved, "quarantine", "resume", *approved]
    both = {"delete": ["grace@acme.example", "linus@acme.example"]}
    assert [(details["classes"], details["approvedBy"]) for action, details in lines if "apply" in action] == [(["delete"], both)] * 4
    says = "applied, approved by grace@acme.example, linus@acme.example"
    assert fleet.rows("SELECT says FROM reconciler_fleet.runs WHERE says LIKE 'applied%' ORDER BY id") == [(says,)] * 2
