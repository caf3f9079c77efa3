"""An organization of ten thousand objects: no answer is larger than its budget, and the worst is never what is left out."""

from __future__ import annotations

import re

import pytest
import yaml
from mcp import Client

from reconciler.features.mcp.answers import BYTES
from tests.command_line import Cli
from tests.features.mcp.client import Agent, text_of
from tests.hostile.titles import seed
from tests.proofs import costly, sampled, tries


def large(cli: Cli, number: int) -> None:
    """A project that creates half of so many spaces, and deletes the others, which exist."""
    organization = seed()
    organization["spaces"] = [{**organization["spaces"][0], "id": f"spc_{at}", "title": f"Old space {at}"} for at in range(number // 2)]
    organization["collections"] = []
    cli.write("seed.yaml", yaml.safe_dump(organization))
    content = [{"space": f"s{at}", "title": f"New {at}", "duplicateOf": {"id": "spc_0"}} for at in range(number // 2)]
    project = {
        "version": 1,
        "project": "large",
        "service": {"sandbox": "sandbox.db"},
        "prune": {"space": "all"},
        "protect": [],
        "organizations": {"acme": {"id": organization["organizations"][0]["id"], "content": content}},
    }
    cli.write("p/reconciler.yaml", yaml.safe_dump(project))
    cli("sandbox", "seed", "--db", "p/sandbox.db", "seed.yaml", code=0)


@costly
@sampled
@pytest.mark.timeout(1_200)
def test_no_answer_about_ten_thousand_objects_is_over_the_budget(cli: Cli) -> None:
    number = tries(10_000, 400)
    large(cli, number)
    agent = Agent(cli.root)

    async def work(client: Client) -> dict[str, str]:
        answers: dict[str, str] = {}
        for name, given in (
            ("plan", {}), ("access", {}), ("drift", {"coverage": True}), ("find", {"text": "space"}), ("find", {"text": "*"}),
            ("health", {}), ("validate", {}), ("show", {"address": "acme"}), ("rehearse", {"target": ["acme/space/s1"]}),
        ):  # fmt: skip
            text = answers[name] = text_of(await client.call_tool(name, dict(given)))
            for _ in range(4):
                handle = re.search(r"handle (\S+)$", text)
                if handle is None:
                    break
                text = text_of(await client.call_tool("more", {"handle": handle[1]}))
        return answers

    answers = agent.session(["p"], work)
    plan = answers["plan"]
    assert f"{number // 2:,} to delete" in plan
    assert re.search(r"- delete spc_[0-9]+", plan)
    assert re.search(r"and [0-9,]+ more lines like these: [0-9,]+ deletions", plan)
    assert "! exposure" in plan  # hundreds of deletions do not hide it
    assert f"{number // 2:,} × space" in plan
    assert max(len(line) for line in agent.sent()) <= BYTES


@costly
def test_a_smaller_budget_is_kept_too(cli: Cli) -> None:
    large(cli, 120)
    agent = Agent(cli.root)
    (text,) = agent.calls(["p", "--answer-bytes", "4000"], ("plan", {}))
    assert "Left out" in text
    assert max(len(line) for line in agent.sent() if b"Left out" in line) <= 4_000
