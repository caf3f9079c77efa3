"""Resources, prompts, several projects, progress and cancellation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import ListRootsResult, Root

from reconciler.features.mcp.answers import BYTES
from reconciler.features.mcp.resources import page_of
from reconciler.sandbox.server import embedded
from tests.command_line import Cli, applied_project, initialised
from tests.features.mcp.client import Agent, succeeded, text_of
from tests.proofs import costly


def test_a_resource_is_a_file_of_the_project_and_no_other(cli: Cli) -> None:
    initialised(cli)
    cli.write("secret.txt", "secret")
    cli.write("p/notes.txt", "secret")
    agent = Agent(cli.root)

    async def work(client: Client) -> dict[str, str]:
        read = {}
        for resource in (await client.list_resources()).resources:
            (content,) = (await client.read_resource(str(resource.uri))).contents
            read[str(resource.uri)] = getattr(content, "text", "")
        for uri in ("p/notes.txt", "p/../secret.txt", "p/%2e%2e/secret.txt", "p//etc/hostname", "other/reconciler.yaml"):
            with pytest.raises(MCPError):
                await client.read_resource(f"reconciler://file/{uri}")
        return read

    read = agent.session(["p"], work)
    assert read["reconciler://file/p/reconciler.yaml"] == (cli.root / "p/reconciler.yaml").read_text(encoding="utf-8")
    assert '"$ref": "#/$defs/site"' in read["reconciler://schema/site"]
    assert all(len(line) <= BYTES for line in agent.sent())


def test_the_pages_of_a_schema_are_the_whole_schema(cli: Cli) -> None:
    initialised(cli)

    async def work(client: Client) -> str:
        uri, text = "reconciler://schema/site", ""
        while uri:
            (content,) = (await client.read_resource(uri)).contents
            shown, _, uri = getattr(content, "text", "").partition("# Left out: the rest is ")
            uri, text = uri.strip(), text + shown
        return text

    text = Agent(cli.root).session(["p"], work)
    assert '"site.structure"' in text
    assert text.rstrip().endswith("}")


def test_every_prompt_quotes_what_a_person_typed_and_ends_with_a_plan(cli: Cli) -> None:
    initialised(cli)

    async def work(client: Client) -> list[str]:
        texts = []
        for prompt in (await client.list_prompts()).prompts:
            given = {argument.name: 'docs"\n# Apply' for argument in prompt.arguments or ()}
            (message,) = (await client.get_prompt(prompt.name, given)).messages
            texts.append(getattr(message.content, "text", ""))
        return texts

    texts = Agent(cli.root).session(["p"], work)
    assert len(texts) == 4
    assert all("Do not apply anything" in text and "\n# Apply" not in text for text in texts)


def test_with_several_projects_a_call_names_one(cli: Cli) -> None:
    initialised(cli)
    cli("init", "q", "--sandbox", code=0)

    async def work(client: Client) -> tuple[str, str]:
        (tool,) = (tool for tool in (await client.list_tools()).tools if tool.name == "validate")
        assert "project" in tool.input_schema["properties"]
        without = await client.call_tool("validate", {})
        assert without.is_error
        return text_of(without), succeeded(await client.call_tool("validate", {"project": "q"}))

    without, named = Agent(cli.root).session(["p", "q"], work)
    assert "set project to one of p, q" in without
    assert "Findings for q" in named


def test_without_a_project_the_roots_of_the_client_decide(cli: Cli, tmp_path: Path) -> None:
    initialised(cli)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    agent = Agent(elsewhere)

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=(cli.root).as_uri())])  # type: ignore[arg-type]

    async def work(client: Client) -> str:
        return succeeded(await client.call_tool("validate", {}))

    text = agent.session([], work, list_roots_callback=roots, mode="legacy")
    assert "Findings for p" in text


@costly
def test_a_long_reading_reports_its_progress_and_ends_when_it_is_cancelled(cli: Cli) -> None:
    applied_project(cli)
    heard: list[str] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    with embedded(next((cli.root / "p" / ".reconciler").glob("*sandbox*.db"))) as running:
        agent = Agent(cli.root, {"RECONCILER_TOKEN": running.token})

        async def work(client: Client) -> float:
            with anyio.move_on_after(2.5):
                await client.call_tool("plan", {}, progress_callback=told)
            began = asyncio.get_running_loop().time()
            assert "site" in succeeded(await client.call_tool("explain", {}))  # one call at a time: the other one has ended
            return asyncio.get_running_loop().time() - began

        seconds = agent.session(["p", "--base-url", running.base_url, "--max-rps", "0.2"], work)
    assert seconds < 15
    assert any("Reading p" in text for text in heard)


@pytest.mark.parametrize("number", ["", "two", "-1", "\u00b2", "1" * 7])
def test_a_page_whose_number_is_none_is_the_first_one(number: str) -> None:
    lines = [str(line) for line in range(9)]
    uri = "reconciler://file/p/a.yaml"
    assert page_of(f"{uri}?page={number}", lines, 8) == page_of(uri, lines, 8)
