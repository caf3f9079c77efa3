"""The commands of a group of drift are the same text wherever they are advised, and the one that reverts it reverts nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.running import Running, running
from tests.proofs import costly, spread

MORE = "".join(f"      - {{space: {key}, title: {key}, duplicateOf: blank}}\n" for key in ("x", "y", "z"))


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["a"]) as made:
        yield made


def in_clone(fleet: Running, command: str) -> str:
    """What a command prints in a clone of the repository, as its user runs it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = fleet.environ | {"PATH": path, "RECONCILER_STATE": fleet.url}
    done = subprocess.run(["sh", "-c", command], cwd=fleet.remote, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 2), (command, done.stdout, done.stderr)
    return done.stdout


def groups(fleet: Running) -> list[dict[str, Any]]:
    document = json.loads(in_clone(fleet, f"reconciler drift a --base-url {fleet.service} --format json"))
    return list(document.get("groups", []))


def meddle(fleet: Running, dice: random.Random) -> None:
    """Rename some spaces as a colleague would, and perhaps delete one."""
    spaces = sorted((id for id in fleet.titles("a") if id != "spc_a"), key=fleet.titles("a").__getitem__)
    chosen = dice.sample(spaces, dice.randint(1, len(spaces)))
    for number, id in enumerate(chosen):
        if number == 1 and dice.random() < 0.7:
            fleet.send("DELETE", f"/spaces/{id}")
        else:
            fleet.send("PATCH", f"/spaces/{id}", {"title": f"By hand {dice.random()}"})


def advised_to_agents(fleet: Running) -> str:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    from tests.features.mcp.client import Agent

    home = {"HOME": str(fleet.folder), "RECONCILER_TOKEN": fleet.environ["RECONCILER_TOKEN"], "RECONCILER_STATE": fleet.url}
    agent = Agent(fleet.remote, home)
    (text,) = agent.calls(["a", "--base-url", fleet.service], ("drift", {}))
    return text


@costly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", spread(range(8), 1))
def test_a_fleet_the_document_and_an_agent_advise_the_same_and_a_revert_changes_only_its_group(fleet: Running, seed: int) -> None:
    dice = random.Random(seed)
    fleet.write("a")
    file = fleet.remote / "a" / "reconciler.yaml"
    file.write_text(file.read_text() + MORE)
    fleet.git("commit", "-qam", "more spaces")
    fleet.applied("a")
    fleet.declare({"name": "a", "source": {"path": "a"}})
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["reading"])
    meddle(fleet, dice)
    fleet.call("fleet", "sync", "a", "--wait", code=2)

    before = groups(fleet)
    assert before
    report, agent = fleet.call("fleet", "drift", "a", code=2), advised_to_agents(fleet)
    for group in before:
        assert f"    revert: {group['revert']}\n" in report
        assert f"--group {group['id']} && reconciler apply a" in group["revert"]
        assert not group["accept"] or f"    accept: {group['accept']}\n" in report
    worst = before[0]
    if len(before) == 1 or worst["class"] != "cosmetic":
        assert f": {worst['revert']}" in agent
        assert worst["accept"] in agent

    chosen = dice.choice(before)
    in_clone(fleet, f"{chosen['revert']} --yes")
    assert {group["id"] for group in groups(fleet)} == {group["id"] for group in before} - {chosen["id"]}
