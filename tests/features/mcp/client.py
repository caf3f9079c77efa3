"""The client of the protocol's own library, connected to `reconciler mcp` in a process of its own
(`tests/processes.py`); what was sent is kept as it was sent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from tests import processes
from tests.command_line import CLEAN

T = TypeVar("T")
# `tee` keeps what the server sends, byte for byte; its input ends when the server ends.
SERVER = 'reconciler mcp "$@" 2>>"$WIRE.err" | tee -a "$WIRE"'


@dataclass
class Agent:
    """Servers in a folder. `env`: of the server."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def wire(self) -> Path:
        return self.root / "wire.jsonl"

    def session(self, arguments: Sequence[str], work: Callable[[Client], Awaitable[T]], **settings: Any) -> T:
        """What `work` returns, with a client of a server with these arguments."""

        async def run() -> T:
            async with Client(stdio_client(self.parameters(arguments)), **settings) as client:
                return await work(client)

        return asyncio.run(run())

    def parameters(self, arguments: Sequence[str]) -> StdioServerParameters:
        plain = {name: value for name, value in os.environ.items() if name not in CLEAN}
        path = f"{processes.program()}{os.pathsep}{os.environ['PATH']}"
        env = {**plain, "PATH": path, "WIRE": str(self.wire), "HOME": str(self.root), **self.env}
        return StdioServerParameters(command="sh", args=["-c", SERVER, "sh", *arguments], env=env, cwd=str(self.root))

    def calls(self, arguments: Sequence[str], *calls: tuple[str, Mapping[str, Any]]) -> list[str]:
        """The texts of several calls of one server; each must succeed."""

        async def work(client: Client) -> list[str]:
            return [succeeded(await client.call_tool(name, dict(given))) for name, given in calls]

        return self.session(arguments, work)

    def sent(self) -> list[bytes]:
        """Every line that servers have sent."""
        return self.wire.read_bytes().splitlines() if self.wire.exists() else []

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.sent()]


def text_of(result: CallToolResult) -> str:
    """The text of an answer; it has nothing besides."""
    assert result.structured_content is None
    (content,) = result.content
    assert content.type == "text"
    return content.text


def succeeded(result: CallToolResult) -> str:
    text = text_of(result)
    assert not result.is_error, text
    return text
