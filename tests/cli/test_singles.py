"""The commands on what a container has one of and what has no id."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Cli
from tests.documents import valid

EXAMPLE = Path(__file__).parents[2] / "examples" / "agents"
AGENTS, VISITORS = "example/agent-instructions", "example/site/docs/adaptive-schema"
SANDBOX = ("--sandbox", "s.db")


@pytest.fixture
def agents(cli: Cli) -> Cli:
    """A sandbox to which the example was applied."""
    shutil.copytree(EXAMPLE, cli.root / "p", ignore=shutil.ignore_patterns(".reconciler"))
    assert cli("apply", "p", *SANDBOX, "--yes").exit_code == 0
    return cli


def edit(cli: Cli, path: str, body: object) -> None:
    """A PUT by somebody else."""
    cli.write("body.json", json.dumps(body))
    result = cli("api", "PUT", path, "--input", "body.json", *SANDBOX, "--project", "p")
    assert result.exit_code == 0, result.stderr


def instructions(text: str) -> dict[str, object]:
    leaf = {"object": "leaf", "text": text, "marks": []}
    block = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": [leaf]}]}
    return {"instructions": {"object": "document", "nodes": [block]}}


def test_drift_is_kept_by_accept_and_the_plan_is_empty_after_it(agents: Cli) -> None:
    edit(agents, "/orgs/org_example/agent-instructions", instructions("Be brief."))
    result = agents("drift", "p", *SANDBOX)
    assert result.exit_code == 2
    assert "-> Be brief." in result.stdout
    assert agents("drift", "p", *SANDBOX, "--accept", AGENTS).exit_code == 0
    assert "    agentInstructions: Be brief.\n" in (agents.root / "p" / "reconciler.yaml").read_text("utf-8")
    assert agents("plan", "p", *SANDBOX, "--detailed-exitcode").exit_code == 0


def test_a_value_that_comes_from_a_file_is_not_accepted_over_it(agents: Cli) -> None:
    site = next(row["id"] for row in agents.json("state", "list", "p", *SANDBOX)["bindings"] if row["address"] == "example/site/docs")
    edit(agents, f"/orgs/org_example/sites/{site}/adaptive-schema", {"jsonSchema": {"type": "object", "properties": {}}})
    result = agents("drift", "p", *SANDBOX, "--accept", VISITORS)
    assert result.exit_code == 4
    assert "comes from an expression" in result.stderr


def test_the_state_lists_and_shows_them_and_forgets_and_adopts_them_without_an_id(agents: Cli) -> None:
    listed = valid(agents.json("state", "list", "p", *SANDBOX), "state-list")
    assert {row["address"]: row["id"] for row in listed["bindings"] if row["address"] in (AGENTS, VISITORS)} == {
        AGENTS: "agent-instructions",
        VISITORS: "adaptive-schema",
    }
    assert "jsonSchema" in agents("state", "show", VISITORS, "p", *SANDBOX).stdout
    for address in (AGENTS, VISITORS):
        assert agents("state", "forget", address, "p", *SANDBOX).exit_code == 0
        adopted = agents("adopt", address, "p", *SANDBOX)
        assert (adopted.exit_code, adopted.stdout) == (0, f"{address} now tracks {address.rpartition('/')[2]}.\n"), adopted.stderr
    assert agents("plan", "p", *SANDBOX, "--detailed-exitcode").exit_code == 0
    missing = agents("adopt", "example/site/docs")
    assert (missing.exit_code, "the id of the object for example/site/docs is missing" in missing.stderr) == (3, True)


def test_import_writes_them_and_the_plan_after_it_is_empty(agents: Cli) -> None:
    assert agents("import", "new", "--org", "org_example", *SANDBOX).exit_code == 0
    project = yaml.safe_load((agents.root / "new" / "reconciler.yaml").read_text("utf-8"))
    (organization,) = project["organizations"].values()
    lines = organization["agentInstructions"].splitlines()
    assert (
        lines
        == yaml.safe_load((EXAMPLE / "reconciler.yaml").read_text("utf-8"))["organizations"]["example"]["agentInstructions"].splitlines()
    )
    (site,) = (agents.root / "new" / "sites").glob("*.yaml")
    (written,) = yaml.safe_load(site.read_text("utf-8"))["sites"].values()
    assert written["adaptiveSchema"] == json.loads((EXAMPLE / "visitors.schema.json").read_text("utf-8"))
    assert agents("plan", "new", "--detailed-exitcode").exit_code == 0


def test_import_adds_them_to_a_project_that_lacks_them_and_nothing_else_changes(agents: Cli) -> None:
    path = agents.root / "p" / "reconciler.yaml"
    before = path.read_text("utf-8")
    text = before.replace('        adaptiveSchema: ${{ json(file("visitors.schema.json")) }}\n', "")
    start = text.index("    agentInstructions: |\n")
    text = text[:start] + text[text.index("    content:\n") :]
    path.write_text(text, encoding="utf-8")
    result = agents("import", "p", "--into", *SANDBOX)
    assert result.exit_code == 0, result.stderr
    now = path.read_text("utf-8")
    added = [line for line in now.splitlines() if line not in text.splitlines()]
    assert [line for line in text.splitlines() if line not in now.splitlines()] == []
    assert any(line.startswith("    agentInstructions:") for line in added)
    assert any(line.startswith("        adaptiveSchema:") for line in added)
    assert agents("plan", "p", *SANDBOX, "--detailed-exitcode").exit_code == 0


def test_undo_takes_a_change_back(agents: Cli) -> None:
    agents.edit("p/reconciler.yaml", "Answer in plain English, and", "Be kind, and")
    assert agents("apply", "p", *SANDBOX, "--yes").exit_code == 0
    result = agents("undo", "last", "p", *SANDBOX, "--yes")
    assert result.exit_code in (0, 5), result.stderr
    shown = agents("api", "GET", "/orgs/org_example/agent-instructions", *SANDBOX, "--project", "p").stdout
    assert "Answer in plain English, and" in shown


def test_explain_the_graph_and_the_schema_know_them(agents: Cli) -> None:
    page = agents("explain", "adaptive-schema").stdout
    assert "the value adaptiveSchema of a site" in page
    assert "ORGANIZATION/site/SITE/adaptive-schema" in page
    assert "its site, which has one at most; it has no id" in page
    assert "as the value behind agentInstructions" in agents("explain", "agent-instructions.instructions").stdout
    graph = agents("graph", "p", *SANDBOX).stdout
    assert '["agent-instructions"]' in graph
    assert '["adaptive-schema"]' in graph
    schema = json.loads((Path(__file__).parents[2] / "schemas" / "config.schema.json").read_text("utf-8"))
    assert schema["$defs"]["site"]["properties"]["adaptiveSchema"] == {"$ref": "#/$defs/adaptive-schema"}
    assert schema["$defs"]["organization"]["properties"]["agentInstructions"] == {"$ref": "#/$defs/agent-instructions"}
