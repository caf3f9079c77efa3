"""With a token that can write, behind a proxy that counts: no call of an agent sends anything but GET, and none changes a file."""

from __future__ import annotations

import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, MCPError
from mcp_types import jsonrpc_message_adapter

from reconciler.features.mcp.answers import BYTES
from reconciler.sandbox.server import embedded
from tests.command_line import Cli, initialised
from tests.features.mcp.client import Agent, text_of
from tests.features.mcp.proxy import counting
from tests.hostile.titles import TITLES
from tests.proofs import costly, sampled, tries

TEXTS = [
    "", "guides", "acme", "acme/space/guides", "acme/site/docs", "acme/**", "*", "anyone", "role=guest", "link=x", "RC-protected", "site",
    "site.visibility", "conventions", "more", "/", "..", "../../etc/passwd", "file:///etc/passwd", "--yes", "--allow-exposure", "apply",
    "x" * 5_000, *TITLES.values(),
]  # fmt: skip
NAMES = [
    "word",
    "text",
    "kind",
    "address",
    "target",
    "as",
    "coverage",
    "hold",
    "url",
    "handle",
    "project",
    "yes",
    "command",
    "allow_delete",
]


def value(chance: random.Random) -> Any:
    """A value of any type."""
    text = chance.choice(TEXTS)
    return chance.choice([text, text, [text], [text, chance.choice(TEXTS)], True, False, None, 1, -1e300, {text[:50]: text}, []])


def call(chance: random.Random, schemas: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """A call that is right in most cases, or wrong in any way."""
    name = chance.choice([*schemas, *schemas, chance.choice(TEXTS)[:100]])
    known = list(schemas.get(name, {}).get("properties", {}))
    given = {argument: value(chance) for argument in known if chance.random() < 0.6}
    if chance.random() < 0.8:
        forms: dict[str, Any] = {"string": "", "array": [], "boolean": False}
        for argument, schema in schemas.get(name, {}).get("properties", {}).items():
            if argument in given and type(given[argument]) is not type(forms[schema["type"]]):
                text = chance.choice(TEXTS)
                given[argument] = {"string": text, "array": [text], "boolean": chance.random() < 0.5}[schema["type"]]
    else:
        given[chance.choice(NAMES)] = value(chance)
    return name, given


OPS = ("set", "add", "move", "rename", "remove", "replace")
ADDRESSES = ("acme", "acme/site/docs", "acme/space/guides", "acme/space/new", "acme/site/docs/section/new", "acme/team/x", "guards", "../x")
FIELDS = ("title", "visibility", "emoji", "protect", "template", "script", "id", "secrets", "include", "guards", "../x", "a.b", "<<")


BESIDE = ("p/.github/workflows/ci.yml", "p/.gitlab-ci.yml", "p/azure-pipelines.yml", "p/unused.yaml", "outside.yaml")


def operation(chance: random.Random) -> dict[str, Any]:
    """An operation that is right in some cases, or wrong in any way."""
    if chance.random() < 0.5:
        text = chance.choice(TEXTS)[:45]
        space = {"op": "add", "address": f"acme/space/n{chance.randint(0, 9)}", "in": "acme/collection/product", "fields": {"title": text}}
        return chance.choice([
            {"op": "set", "address": "acme/site/docs", "fields": {"title": f"Docs {text}"}},
            {"op": "set", "address": "acme/team/writers", "fields": {"title": f"Writers {text}"}},
            {"op": "move", "address": "acme/space/api", "first": True},
            {"op": "remove", "address": "acme/site/docs/section/api"},
            {"op": "rename", "address": "acme/team/writers", "key": f"w{chance.randint(0, 99)}"},
            space,
        ])  # fmt: skip
    steps: dict[str, Any] = {"op": chance.choice(OPS), "address": chance.choice([*ADDRESSES, chance.choice(TEXTS)])}
    fields = {chance.choice(FIELDS): chance.choice(["Guides 2", "private", "public", value(chance)]) for _ in range(chance.randint(0, 2))}
    for name, given in (
        ("fields", fields), ("unset", [chance.choice(FIELDS)]), ("in", chance.choice(ADDRESSES)), ("after", chance.choice(ADDRESSES)),
        ("key", chance.choice(["guides", "new", *TEXTS])), ("first", True), ("forget", True), (chance.choice(NAMES), value(chance)),
    ):  # fmt: skip
        usual = (name in ("fields", "unset") and steps["op"] == "set") or (name == "fields" and steps["op"] == "add")
        if chance.random() < (0.8 if usual or (name == "key" and steps["op"] == "rename") else 0.05):
            steps[name] = given
    return steps


def proposal(chance: random.Random) -> dict[str, Any]:
    """Arguments of `propose`."""
    if chance.random() < 0.2:
        return {"undo": True}
    operations = [operation(chance) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
    return {"operations": operations if chance.random() < 0.9 else value(chance), "check": chance.random() < 0.3}


def digests(root: Path) -> dict[str, str]:
    """The content of every file of a project, but for what a reading may leave beside a database."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm", ".lock")))
    return {str(path.relative_to(root)): sha256(path.read_bytes()).hexdigest() for path in files}


def rules_of(project: Path) -> Any:
    """The project file without its resources, and without what `remove` writes beside them."""
    document = yaml.safe_load((project / "reconciler.yaml").read_text(encoding="utf-8"))
    return {name: value for name, value in document.items() if name not in ("organizations", "removed")}


@costly
@sampled
@pytest.mark.timeout(3_600)
def test_no_call_sends_anything_but_get_with_a_token_that_can_write(cli: Cli) -> None:
    initialised(cli)
    cli("plan", "p", code=0)  # creates the sandbox
    database = cli.root / "p" / ".reconciler" / "sandbox.db"
    chance = random.Random(43)
    number = tries(10_000, 80)
    with embedded(database) as running, counting(running.base_url) as passed:
        agent = Agent(cli.root, {"RECONCILER_TOKEN": running.token})
        cli("apply", "p", "--yes", "--base-url", passed.url, env={"RECONCILER_TOKEN": running.token}, code=0)
        cli.edit("p/reconciler.yaml", "title: Guides", "title: User guides")
        assert passed.methods["POST"] + passed.methods["PUT"] + passed.methods["PATCH"] > 0  # the token can write
        for name in BESIDE:
            cli.write(name, "version: 1\n")
        passed.methods.clear()
        before = digests(cli.root / "p" / "..")

        refused, written = list[str](), 0
        rules = rules_of(cli.root / "p")

        async def work(client: Client) -> int:
            schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
            nonlocal written
            answered = 0
            for _ in range(number):
                name, given = ("propose", proposal(chance)) if chance.random() < 0.4 else call(chance, schemas)
                try:
                    written += "\nChanged: " in text_of(await client.call_tool(name, given))
                    answered += 1
                except MCPError as error:
                    refused.append(str(error))
            return answered

        answered = agent.session(["p", "--base-url", passed.url], work)
        assert answered > number / 3
        assert all(text.startswith(("Unknown tool", "Invalid request parameters")) for text in refused)
        assert set(passed.methods) == {"GET"}
        assert written > number / 100, "nothing was proposed"
        after = digests(cli.root / "p" / "..")
    own = {"wire.jsonl", "wire.jsonl.err", "p/.reconciler/sandbox.db", "p/.reconciler/proposal.json", "p/reconciler.yaml"}
    assert {name: digest for name, digest in after.items() if name not in own} == {
        name: digest for name, digest in before.items() if name not in own
    }
    assert rules_of(cli.root / "p") == rules
    for line in agent.sent():
        jsonrpc_message_adapter.validate_json(line)
        assert len(line) <= BYTES
    assert "Traceback" not in (cli.root / "wire.jsonl.err").read_text(encoding="utf-8")
