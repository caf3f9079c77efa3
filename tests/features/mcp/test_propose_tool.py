"""`propose`, the one tool that changes anything: files of the working copy, by operations, within the budget of an answer."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client

from reconciler.features.mcp.answers import BYTES
from reconciler.features.mcp.owners import Owners
from reconciler.run.replaced_files import only_change
from tests.command_line import Cli, applied_project
from tests.effort import calls
from tests.features.edits.test_propose import FILES, TITLE, contents, write
from tests.features.mcp.client import Agent, text_of
from tests.proofs import costly

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


@costly
@pytest.mark.parametrize("call", [{"operations": TITLE}, {"undo": True}])
def test_a_call_that_waits_for_another_change_ends_when_it_is_cancelled(agent: Agent, call: dict[str, Any]) -> None:
    write(agent.root / "offline")
    heard: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def work(client: Client) -> str:
        with anyio.fail_after(30):
            with anyio.move_on_after(2):
                await client.call_tool("propose", call, progress_callback=told)
            return text_of(await client.call_tool("validate", {}))  # one call at a time: the other one has ended

    with only_change(agent.root / "offline"):
        assert "Findings for" in agent.session(["offline"], work)
    assert "Waiting until another change of these files is written." in heard
    assert contents(agent.root / "offline") == FILES


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
        {"undo": True, "check": True},
        {"operations": "all"},
        {},
        {"undo": True},
    ]
    said = answers(agent, *calls, project="offline")
    assert all(failed for failed, _ in said)
    conflict, none = "RC-options-conflict", "RC-operation"
    reasons = ("RC-not-proposed", "RC-unknown-choice", conflict, conflict, none, none, "RC-nothing-proposed")
    assert [reason in text for (_, text), reason in zip(said, reasons, strict=True)] == [True] * len(calls)
    assert contents(agent.root / "offline") == FILES


def test_undo_takes_back_what_the_same_session_proposed_only(cli: Cli, agent: Agent) -> None:
    folder = write(agent.root / "offline")
    first: dict[str, Any] = {"operations": TITLE}
    second = {"operations": [{"op": "set", "address": "acme/site/docs", "fields": {"title": "Second"}}]}

    async def work(client: Client) -> list[tuple[bool, str]]:
        async def other(inner: Client) -> list[tuple[bool, str]]:
            said = []
            for who, call in (
                (client, first),
                (inner, second),
                (client, {"undo": True}),
                (inner, {"undo": True}),
                (client, {"undo": True}),
            ):
                result = await who.call_tool("propose", call)
                said.append((bool(result.is_error), text_of(result)))
            return said

        async with Client(stdio_client(agent.parameters(["offline"]))) as inner:
            return await other(inner)

    said = agent.session(["offline"], work)
    assert [failed for failed, _ in said] == [False, False, True, False, True]
    assert "the last proposal was made by another session" in said[2][1]
    assert contents(folder) == {**FILES, "parts/sites.yaml": FILES["parts/sites.yaml"].replace("Docs", "Documents")}
    cli("propose", "--undo", "--project", "offline", code=4)


def test_two_servers_at_once_change_one_after_the_other(agent: Agent) -> None:
    teams = "".join(f"  t{number}: {{title: Team {number}}}\n" for number in range(8))
    folder = write(agent.root / "offline", {**FILES, "parts/teams.yaml": f"teams:\n{teams}"})

    async def work(client: Client) -> list[bool]:
        async def edit(who: Client, number: int) -> bool:
            steps = [{"op": "set", "address": f"acme/team/t{number}", "fields": {"title": f"Changed {number}"}}]
            return bool((await who.call_tool("propose", {"operations": steps})).is_error)

        async with Client(stdio_client(agent.parameters(["offline"]))) as inner:
            return await asyncio.gather(*(edit((client, inner)[number % 2], number) for number in range(8)))

    assert agent.session(["offline"], work) == [False] * 8
    assert (folder / "parts/teams.yaml").read_text() == f"teams:\n{teams}".replace("Team", "Changed")


def test_a_managed_object_is_not_added_at_another_address(cli: Cli, agent: Agent) -> None:
    """The way around a rename, which keeps every rule: removed in one call, it comes back in another, where no rule names it."""
    (guides,) = (row.split()[2] for row in cli("state", "list", "p").stdout.splitlines() if row.startswith("acme/space/guides "))
    add = {"op": "add", "address": "acme/space/other", "in": "acme/collection/product", "fields": {"id": guides, "title": "Guides"}}
    within = {"op": "add", "address": "acme/collection/c", "fields": {"title": "C", "content": [{"space": "other", "id": guides}]}}
    remove = {"op": "remove", "address": "acme/site/docs/section/guides"}, {"op": "remove", "address": "acme/space/guides"}
    said = answers(agent, {"operations": [*remove, add]}, {"operations": remove}, {"operations": [add]}, {"operations": [within]})
    assert [failed for failed, _ in said] == [True, False, True, True]
    for _, text in (said[0], said[2]):
        assert "its id is that of acme/space/guides, which is managed already" in text
    back = {"op": "add", "address": "acme/space/guides", "in": "acme/collection/product", "fields": {"id": guides, "title": "Guides"}}
    ((failed, text),) = answers(agent, {"operations": [back], "check": True})
    assert not failed, text


def test_its_schema_is_small_and_has_no_text_of_a_project(agent: Agent) -> None:
    async def work(client: Client) -> tuple[Any, bool | None]:
        tool = next(tool for tool in (await client.list_tools()).tools if tool.name == "propose")
        return tool.model_dump(mode="json"), tool.annotations.read_only_hint if tool.annotations is not None else None

    tool, read_only = agent.session(["p"], work)
    assert len(json.dumps(tool)) < 2_700
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
    assert "--full" not in text
    assert all(len(line) <= BYTES for line in agent.sent())
    assert LONG in (folder / "parts/teams.yaml").read_text()


def test_what_is_folded_is_shown_by_the_tool_that_is_named(agent: Agent) -> None:
    """The options of a command line are no way for an agent."""
    write(Path(agent.root) / "large", FILES)
    steps = [{"op": "add", "address": f"acme/team/t{number}", "fields": {"title": "Team"}} for number in range(30)]

    async def work(client: Client) -> tuple[str, str]:
        text = text_of(await client.call_tool("propose", {"operations": steps, "check": True}))
        handle = re.search(r"handle (\S+)$", text)
        assert handle is not None, text
        return text, text_of(await client.call_tool("more", {"handle": handle[1]}))

    folded, rest = agent.session(["large"], work)
    assert "the tool more shows each" in folded
    assert "--full" not in folded + rest
    assert all(f"acme/team/t{number} " in rest or f"acme/team/t{number}:" in rest for number in range(30))


def test_a_hostile_pattern_of_owners_takes_few_steps(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "CODEOWNERS").write_text(f"{'**/' * 40}{'*a' * 40}b @acme/docs\n")
    owners = Owners.of(tmp_path)
    assert calls(lambda: owners.of_file("/".join(["a" * 40] * 40))) < 100_000
