"""What people ask agents for, as a scripted client does it: with tools only, in few calls and little text.

A task is its calls and what their answers must say, in order. Some begin after somebody edited the files, or the organization by hand.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.cli.conftest import Cli, prepared
from tests.cli.mcp.client import Agent, text_of

CALLS, TOKENS = 12, 20_000  # of one task; a token is taken for 4 bytes
SANDBOX = ("--sandbox", "acme.db")
ACME = Path(__file__).parents[3] / "examples" / "acme"
Call = tuple[str, Mapping[str, Any], str]


@dataclass(frozen=True)
class Task:
    """`calls`: each with a pattern that its answer must have. `edits`: of files, as (file, old, new), before it begins."""

    name: str
    calls: Sequence[Call]
    edits: Sequence[tuple[str, str, str]] = ()


def find(text: str, expected: str) -> Call:
    return ("find", {"text": text}, expected)


def show(address: str, expected: str) -> Call:
    return ("show", {"address": address}, expected)


def explain(word: str, expected: str) -> Call:
    return ("explain", {"word": word}, expected)


def plan(expected: str, *target: str) -> Call:
    return ("plan", {"target": list(target)}, expected)


def readers(expected: str, *who: str) -> Call:
    return ("access", {"as": list(who)}, expected)


REHEARSE: Call = ("rehearse", {}, "as planned")
VALID: Call = ("validate", {}, r"No findings|\b1 warning\.")

TASKS = (
    Task("which kinds are there", [explain("", "share-link")]),
    Task("what can a site declare", [explain("site", "visibility")]),
    Task("who may see a site", [explain("site.visibility", "share-link"), explain("access", "mustNotSee")]),
    Task("what does an error mean", [explain("RC-protected", "no longer declared")]),
    Task("a kind that is misspelled", [explain("spaec", "did you mean")]),
    Task("the limits of a run", [explain("guards", "maxDelete")]),
    Task("the conventions", [explain("conventions", "no conventions")]),
    Task("where is a space declared", [find("guides", r"acme/space/guides \(content\.yaml:19\)")]),
    Task("what has the word in its title", [find("Partner", "acme/space/partner-api")]),
    Task("which objects are public", [("find", {"text": "anyone", "kind": "site"}, "acme/site/help")]),
    Task("what is declared in a file", [find("sites/help.yaml", "acme/site/help")]),
    Task("what answers at a URL", [find("/docs/guides", "acme/site/docs/section/guides")]),
    Task("all sections of a site", [find("acme/site/docs/section/*", "acme/site/docs/section/webhooks")]),
    Task("all teams", [("find", {"text": "", "kind": "team"}, "acme/team/writers")]),
    Task("a person", [find("linus", "acme/member/linus@acme.example")]),
    Task("one kind only", [("find", {"text": "api", "kind": "openapi"}, "objects? for api")]),
    Task("what nobody has", [find("no such thing", "0 objects")]),
    Task("who reads the handbook", [show("acme/space/handbook", "reader: members through its container")]),
    Task("who reads the guides and why", [show("acme/space/guides", r"reader: anyone \(read\) by .*site docs")]),
    Task("who reads what partners pay for", [show("acme/space/partner-guide", "whoever has the share link")]),
    Task("where a site shows a space", [show("acme/space/guides", r"referred to by acme/site/docs/site-space/guides")]),
    Task("what a section contains", [show("acme/site/docs/section/guides", r"referred to by .*site-space/guides-v1\.section")]),
    Task("who is in a team", [show("acme/team/reviewers", "grace@acme.example")]),
    Task("when an object was changed", [show("acme/site/docs", r"history: .* create, done")]),
    Task("a share link, without its secret", [show("acme/site/partners/share-link/resellers", r"name: declared Resellers")]),
    Task("an address that is misspelled", [show("acme/space/guide", "did you mean"), show("acme/space/guides", "space spc_")]),
    Task("what anybody can read", [readers("acme/site/docs", "anyone")]),
    Task("what a guest can read", [readers("67 objects", "role=guest")]),
    Task("what resellers can read", [readers("acme/space/partner-guide|partner", "link=resellers")]),
    Task("what agents can read", [readers("anyone|agents|agent", "agent")]),
    Task("whether all is as declared", [plan("1 to update"), ("drift", {}, "Drift: 1 changed")]),
    Task("what was changed by hand", [("drift", {}, r"acme/space/concepts"), show("acme/space/concepts", "living Ideas")]),
    Task("whether somebody's change is undone by an apply", [plan("Ideas -> Concepts"), show("acme/space/concepts", "the plan: update")]),
    Task("what is not managed", [("drift", {"coverage": True}, "80 objects managed")]),
    Task("whether readers find everything", [("health", {}, "Health: ")]),
    Task("which URLs are known", [("urls", {}, "No published URLs are recorded")]),
    Task("whether the files are right", [VALID]),
    Task(
        "a new title",
        [VALID, plan(r"title Webhooks -> Events", "acme/space/webhooks"), REHEARSE],
        [("content.yaml", "title: Webhooks}", "title: Events}")],
    ),
    Task(
        "a new version",
        [
            find("acme/space/guides*", "acme/space/guides-v1"),
            explain("space.duplicateOf", "copy"),
            VALID,
            plan("acme/space/guides-v3.*to create|1 to create", "acme/space/guides-v3"),
        ],
        [("content.yaml", "      - space: guides-v1", "      - {space: guides-v3, title: Guides 3}\n      - space: guides-v1")],
    ),
    Task(
        "a portal that moves",
        [VALID, plan(r"! breaks .*webhooks", "acme/site/docs/**"), ("rehearse", {}, "no longer answers?|is now")],
        [("sites/docs.yaml", "{section: webhooks, title", "{section: webhooks, path: events, title")],
    ),
    Task(
        "a space that is made public by mistake",
        [plan(r"violation|mustNotSee|apply would refuse", "acme/**"), readers("access|handbook", "anyone")],
        [("sites/help.yaml", "structure:", "structure:\n      - space: handbook")],
    ),
    Task(
        "a protected space that is removed",
        [plan("! blocked .*RC-protected"), explain("RC-protected", "removed")],
        [("content.yaml", "      - {space: style-guide, title: Style guide, mergeRules: inherit}\n", "")],
    ),
    Task(
        "a collection that is renamed with what was its key",
        [VALID, plan("rename", "acme/collection/help"), explain("collection.previously", "")],
        [("content.yaml", "  - collection: support\n", "  - collection: help\n    previously: [support]\n")],
    ),
    Task(
        "a misspelled field",
        [("validate", {}, 'did you mean "title"'), explain("space", "title")],
        [("content.yaml", "title: Webhooks}", "titel: Webhooks}")],
    ),
    Task(
        "a reference to nothing",
        [("validate", {}, "no-such-space"), explain("RC-unknown-reference", "declare")],
        [("sites/help.yaml", "structure:", "structure:\n      - space: no-such-space")],
    ),
    Task(
        "access for a limited time",
        [readers("acme/site/partners", "link=resellers"), plan(r"acme/site/partners/share-link/trial", "acme/site/partners/**")],
        [("sites/partners.yaml", "      resellers: {", "      trial: {name: Trial until June, active: true}\n      resellers: {")],
    ),
    Task(
        "an access that ends",
        [plan("share-link/resellers", "acme/site/partners/**"), show("acme/site/partners/share-link/resellers", "the plan: ")],
        [("sites/partners.yaml", "resellers: {name: Resellers, active: true}", "resellers: {name: Resellers, active: false}")],
    ),
    Task(
        "a person who leaves",
        [plan("acme/member/linus@acme.example"), explain("member", "never|deleted")],
        [("people.yaml", "  linus@acme.example", "  # linus@acme.example")],
    ),
    Task(
        "another order",
        [plan("> |move", "acme/space/**"), REHEARSE],
        [
            (
                "content.yaml",
                "      - {space: webhooks, title: Webhooks}\n      - {space: cli, title: Command line}\n",
                "      - {space: cli, title: Command line}\n      - {space: webhooks, title: Webhooks}\n",
            )
        ],
    ),
    Task(
        "a change of one place only",
        [plan("1 change outside the selection is pending|outside the selection", "acme/team/**")],
        [("content.yaml", "title: Webhooks}", "title: Events}")],
    ),
)  # fmt: skip


@prepared
def acme(cli: Cli) -> Cli:
    """The acme example, applied; then somebody changes a title by hand."""
    shutil.copytree(ACME, cli.root / "acme")
    cli("apply", "acme", *SANDBOX, "--yes", code=0)
    rows = (line.split() for line in cli("state", "list", "acme", *SANDBOX).stdout.splitlines())
    (concepts,) = (row[2] for row in rows if row and row[0] == "acme/space/concepts")
    cli("api", "PATCH", f"/spaces/{concepts}", "-f", "title=Ideas", "--project", "acme", *SANDBOX, code=0)
    return cli


def test_there_are_fifty_tasks() -> None:
    assert len(TASKS) == 50
    assert len({task.name for task in TASKS}) == 50


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_takes_few_calls_and_little_text(cli: Cli, task: Task) -> None:
    acme(cli)
    for file, old, new in task.edits:
        cli.edit(f"acme/{file}", old, new)

    async def work(client: Client) -> list[str]:
        return [text_of(await client.call_tool(name, dict(given))) for name, given, _ in task.calls]

    agent = Agent(cli.root)
    answers = agent.session(["acme", *SANDBOX], work)
    assert len(answers) <= CALLS
    assert sum(len(answer.encode()) for answer in answers) / 4 <= TOKENS
    for (name, given, expected), answer in zip(task.calls, answers, strict=True):
        assert re.search(expected, answer), f"{name} {given}\n{answer}"
