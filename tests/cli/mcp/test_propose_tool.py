"""`propose`, the one tool that changes anything: files of the working copy, by operations, within the budget of an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from reconciler.cli.mcp.answers import BYTES
from tests.cli.conftest import Cli, applied_project
from tests.cli.mcp.client import Agent, text_of
from tests.cli.test_propose import FILES, TITLE, contents, write

LONG = "y" * 45


@pytest.fixture
def agent(cli: Cli) -> Agent:
    """An agent in a folder with the applied project `p`."""
    return Agent(applied_project(cli).root)


def answers(agent: Agent, *calls: dict[str, Any], project: str = "p") -> list[tuple[bool, str]]:
    """Whether each call failed, and its answer."""

    async def work(client: Client) -> list[tuple[bool, str]]:
        results = [await client.call_tool("propose", call) for call in calls]
        return [(bool(result.is_error), text_of(result)) for result in results]

    return agent.session([project], work)


def test_it_changes_the_files_and_shows_the_plan_against_the_service(cli: Cli, agent: Agent) -> None:
    cli("api", "PATCH", "/spaces/spc_blank", "-f", "title=By hand", "--project", "p", code=0)
    before = contents(cli.root / "p")
    call = {"operations": [{"op": "set", "address": "acme/space/guides", "fields": {"title": "User guides"}}]}
    checked, written, undone = answers(agent, {**call, "check": True}, call, {"undo": True})
    assert "Would change: reconciler.yaml." in checked[1]
    assert "Changed: reconciler.yaml." in written[1]
    assert "title Guides -> User guides" in written[1]
    assert "By hand -> Blank (drift)" in written[1], "the service was not read"
    assert "Restored: reconciler.yaml." in undone[1]
    assert contents(cli.root / "p") == before
    assert not any(failed for failed, _ in (checked, written, undone))


def test_without_a_service_it_compares_the_files(agent: Agent) -> None:
    write(agent.root / "offline")
    ((failed, text),) = answers(agent, {"operations": TITLE}, project="offline")
    assert not failed
    assert "The service was not read: the URL of the service is not configured" in text
    assert "~ title Docs -> Documents" in text


def test_what_is_refused_says_why_and_changes_nothing(agent: Agent) -> None:
    write(agent.root / "offline")
    calls: list[dict[str, Any]] = [
        {"operations": [*TITLE, {"op": "set", "address": "acme/site/docs", "fields": {"protect": False}}]},
        {"operations": [{"op": "set", "address": "acme/site/docs", "fields": {"visibility": "nope"}}]},
        {"operations": TITLE, "undo": True},
        {"operations": "all"},
        {},
        {"undo": True},
    ]
    said = answers(agent, *calls, project="offline")
    assert all(failed for failed, _ in said)
    reasons = ("RC-not-proposed", "RC-unknown-choice", "RC-options-conflict", "RC-operation", "RC-operation", "RC-nothing-proposed")
    assert [reason in text for (_, text), reason in zip(said, reasons, strict=True)] == [True] * len(calls)
    assert contents(agent.root / "offline") == FILES


def test_its_schema_is_small_and_has_no_text_of_a_project(agent: Agent) -> None:
    async def work(client: Client) -> tuple[Any, bool | None]:
        tool = next(tool for tool in (await client.list_tools()).tools if tool.name == "propose")
        return tool.model_dump(mode="json"), tool.annotations.read_only_hint if tool.annotations is not None else None

    tool, read_only = agent.session(["p"], work)
    assert len(json.dumps(tool)) < 2_600
    assert "acme" not in json.dumps(tool)
    assert read_only is False


def test_a_large_change_is_within_the_budget(agent: Agent) -> None:
    teams = "".join(f"  t{number}: {{title: Team {number}}}\n" for number in range(100))
    folder = write(Path(agent.root) / "large", {**FILES, "parts/teams.yaml": f"teams:\n{teams}"})
    steps = [{"op": "set", "address": f"acme/team/t{number}", "fields": {"title": f"{LONG} {number}"}} for number in range(100)]
    ((failed, text),) = answers(agent, {"operations": steps}, project="large")
    assert not failed, text
    assert "Plan: 100 to update." in text
    assert "The tool `more` shows them" in text
    assert all(len(line) <= BYTES for line in agent.sent())
    assert LONG in (folder / "parts/teams.yaml").read_text()
