"""What people ask agents for, as a scripted client does it: with tools only, in few calls and little text.

A task is its calls and what their answers must say, in order. Files are changed by the tool `propose` only; what they lead to is asked
of the command `plan` too, which knows nothing of the session.
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

from tests.command_line import Cli, prepared
from tests.features.mcp.client import Agent, text_of
from tests.proofs import costly, spread

CALLS, TOKENS = 12, 20_000  # of one task; a token is taken for 4 bytes
SANDBOX = ("--sandbox", "acme.db")
ACME = Path(__file__).parents[3] / "examples" / "acme"
Call = tuple[str, Mapping[str, Any], str]


@dataclass(frozen=True)
class Task:
    """`calls`: each with a pattern that its answer must have. `plans`: what a plan of the files must say afterwards."""

    name: str
    calls: Sequence[Call]
    plans: Sequence[str] = ()


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


def propose(expected: str, *operations: Mapping[str, Any]) -> Call:
    return ("propose", {"operations": operations}, expected)


def write(address: str, **fields: Any) -> dict[str, Any]:
    return {"op": "set", "address": address, "fields": fields}


def add(address: str, within: str, fields: Mapping[str, Any], **position: Any) -> dict[str, Any]:
    return {"op": "add", "address": address, "in": within, "fields": fields, **position}


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
        [propose("Changed: content.yaml", write("acme/space/webhooks", title="Events")), VALID, REHEARSE],
        [r"title +Webhooks -> Events"],
    ),
    Task(
        "a new version",
        [
            find("acme/space/guides*", "acme/space/guides-v1"),
            explain("space.duplicateOf", "copy"),
            propose(
                r"Changed: content.yaml, sites/docs.yaml\.(.|\n)*\+.*space: guides-v3",
                add("acme/space/guides-v3", "acme/collection/product", {"title": "Guides 3"}, after="acme/space/guides"),
                add("acme/site/docs/site-space/guides-v3", "acme/site/docs/section/guides", {"path": "v3"}),
            ),
            VALID,
            plan("2 to create", "acme/space/guides-v3", "acme/site/docs/site-space/guides-v3"),
        ],
        ["acme/space/guides-v3", "acme/site/docs/site-space/guides-v3", "2 to create"],
    ),
    Task(
        "a portal that moves",
        [
            propose("! breaks .*webhooks", write("acme/site/docs/section/webhooks", path="events")),
            VALID,
            ("rehearse", {}, "no longer answers?|is now"),
        ],
        [r"path +webhooks -> events", "breaks"],
    ),
    Task(
        "a space that is made public by mistake",
        [
            propose(
                r"violation|mustNotSee|apply would refuse",
                add("acme/site/help/site-space/handbook", "acme/site/help", {}, first=True),
            ),
            plan(r"apply would refuse", "acme/**"),
            readers("access|handbook", "anyone"),
            ("propose", {"undo": True}, "Restored: sites/help.yaml"),
        ],
        ["1 to update"],
    ),
    Task(
        "a protected space that is removed",
        [propose("! blocked .*RC-protected", {"op": "remove", "address": "acme/space/style-guide"}), explain("RC-protected", "removed")],
        ["acme/space/style-guide", "RC-protected"],
    ),
    Task(
        "a collection that is renamed with what was its key",
        [
            propose(r"\+.*previously", {"op": "rename", "address": "acme/collection/support", "key": "help"}),
            VALID,
            plan("rename", "acme/collection/help"),
        ],
        [r"acme/collection/help", r"Plan: 1 to update"],
    ),
    Task(
        "a misspelled field",
        [
            propose('did you mean "title"', write("acme/space/webhooks", titel="Events")),
            explain("space", "title"),
            propose("Changed: content.yaml", write("acme/space/webhooks", title="Events")),
        ],
        [r"title +Webhooks -> Events"],
    ),
    Task(
        "a reference to nothing",
        [
            propose("RC-unknown-reference", add("acme/site/help/site-space/no-such-space", "acme/site/help", {})),
            explain("RC-unknown-reference", "declare"),
            find("help", "acme/space/help-center"),
        ],
        ["1 to update"],
    ),
    Task(
        "access for a limited time",
        [
            readers("acme/site/partners", "link=resellers"),
            propose(
                "share-link/trial",
                add("acme/site/partners/share-link/trial", "acme/site/partners", {"name": "Trial until June", "active": True}),
            ),
            plan(r"acme/site/partners/share-link/trial", "acme/site/partners/**"),
        ],
        ["acme/site/partners/share-link/trial"],
    ),
    Task(
        "an access that ends",
        [
            propose("share-link/resellers", write("acme/site/partners/share-link/resellers", active=False)),
            show("acme/site/partners/share-link/resellers", "the plan: "),
        ],
        [r"active +true -> false"],
    ),
    Task(
        "a person who leaves",
        [
            show("acme/member/linus@acme.example", "referred to by acme/team/writers"),
            propose("acme/member/linus@acme.example", {"op": "remove", "address": "acme/member/linus@acme.example"}),
            explain("member", "never|deleted"),
        ],
        ["acme/member/linus@acme.example"],
    ),
    Task(
        "another order",
        [propose("> |move", {"op": "move", "address": "acme/space/cli", "after": "acme/space/api-reference"}), REHEARSE],
        [r"acme/space/webhooks .*\n +> after +acme/space/cli"],
    ),
    Task(
        "a change of one place only",
        [
            propose("Changed: content.yaml", write("acme/space/webhooks", title="Events")),
            plan("1 change outside the selection is pending|outside the selection", "acme/team/**"),
        ],
        [r"title +Webhooks -> Events"],
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


@costly
@pytest.mark.parametrize("task", spread(TASKS, 12), ids=lambda task: task.name)
def test_a_task_takes_few_calls_and_little_text(cli: Cli, task: Task) -> None:
    acme(cli)
    before = {path: path.read_bytes() for path in (cli.root / "acme").rglob("*.yaml")}

    async def work(client: Client) -> list[str]:
        return [text_of(await client.call_tool(name, dict(given))) for name, given, _ in task.calls]

    agent = Agent(cli.root)
    answers = agent.session(["acme", *SANDBOX], work)
    assert len(answers) <= CALLS
    assert sum(len(answer.encode()) for answer in answers) / 4 <= TOKENS
    for (name, given, expected), answer in zip(task.calls, answers, strict=True):
        assert re.search(expected, answer), f"{name} {given}\n{answer}"
    planned = cli("plan", "acme", *SANDBOX, "--full")
    assert all(re.search(expected, planned.stdout, re.MULTILINE) for expected in task.plans), planned.stdout + planned.stderr
    if not any(name == "propose" for name, _, _ in task.calls):
        assert {path: path.read_bytes() for path in before} == before
