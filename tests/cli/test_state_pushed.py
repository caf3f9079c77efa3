"""`state push` of documents that were pulled at every moment of an apply, into each kind of state: what has been recorded since is not
lost without `--force`, and with it the next apply finds out what is there, and makes nothing twice."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from tests import processes
from tests.command_line import Cli
from tests.proofs import proof
from tests.state import azure, s3

pytestmark = [proof, pytest.mark.timeout(600)]

BUCKETS = {"s3": ("s3_proxy", f"s3://{s3.BUCKET}"), "azure": ("azure_proxy", f"az://{azure.CONTAINER}")}
SLOW = ("PATCH *", "POST *", "DELETE *", "PUT *")
SANDBOX = "p/.reconciler/sandbox.db"
CONTENT = {"orgs/org_acme/collections": ["Product", "New"], "orgs/org_acme/members/usr_ada/spaces": ["Blank", "Guides", "API handbook"]}


@pytest.fixture(params=["sqlite", "postgres", "folder", *BUCKETS])
def stored(request: pytest.FixtureRequest, cli: Cli) -> Cli:
    """A project that was applied, with a change of each kind that is not: an update, a move, a deletion, a new object."""
    if request.param == "postgres":
        cli.env["RECONCILER_STATE"] = request.getfixturevalue("postgres_url")
    elif request.param == "folder":
        cli.env["RECONCILER_STATE"] = f"file://{cli.root}/bucket"
    elif request.param in BUCKETS:
        proxy, url = BUCKETS[request.param]
        request.getfixturevalue(proxy).calm()
        cli.env["RECONCILER_STATE"] = f"{url}/{uuid4()}"
    cli("init", f"p{uuid4().hex[:8]}", "--sandbox", code=0)
    (folder,) = cli.root.glob("p*")
    folder.rename(cli.root / "p")
    cli.edit("p/reconciler.yaml", "      - {space: blank", '      - {collection: old, title: "Old"}\n      - {space: blank')
    cli("apply", "p", "--yes", "--create-state", code=0)
    cli.edit("p/reconciler.yaml", "title: Writers", "title: Authors")
    cli.edit("p/reconciler.yaml", '      - {collection: old, title: "Old"}\n', '      - {collection: new, title: "New"}\n')
    cli.edit("p/reconciler.yaml", "          - {space: api, title: API reference, duplicateOf: blank}\n", "")
    cli.edit("p/reconciler.yaml", "    sites:", "      - {space: api, title: API handbook, duplicateOf: blank}\n    sites:")
    with (cli.root / "p/reconciler.yaml").open("a") as file:
        file.write("removed: [{address: acme/collection/old, action: delete}]\n")
    return cli


@contextmanager
def applying(cli: Cli) -> Iterator[processes.Popen]:
    """An apply in a process of its own, whose requests take a while."""
    rules = [word for what in SLOW for word in ("--rule", json.dumps({"fault": "latency", "seconds": 1, "operation": what}))]
    cli("sandbox", "faults", "set", "--db", SANDBOX, *rules, code=0)
    environ = {**os.environ, **cli.user, **{name: value for name, value in cli.env.items() if value is not None}}
    words = [sys.executable, "-m", "reconciler", "apply", "p", "--yes", "--quiet", "--max-concurrency", "1"]
    process = processes.Popen(words, cwd=cli.root, env=environ)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        cli("sandbox", "faults", "clear", "--db", SANDBOX, code=0)


def pulled(cli: Cli) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(cli("state", "pull", "p", code=0).stdout)
    return document


def push(cli: Cli, document: dict[str, Any], *more: str) -> tuple[int, str]:
    (cli.root / "moment.json").write_text(json.dumps(document))
    result = cli("state", "push", "moment.json", "p", *more)
    return result.exit_code, result.stderr


def moments(cli: Cli, process: processes.Popen, *, until: int = 1_000) -> list[dict[str, Any]]:
    """The documents of an apply under way, to its end or to so many."""
    documents = [pulled(cli)]
    while len(documents) < until and process.poll() is None:
        document = pulled(cli)
        if document["serial"] != documents[-1]["serial"]:
            documents.append(document)
    return documents


def settled(cli: Cli) -> None:
    """Apply what the files say: afterwards the service has everything once."""
    cli("apply", "p", "--yes", "--accept-gone", "100", code=0)
    assert cli("plan", "p", "--detailed-exitcode").exit_code == 0
    for path, titles in CONTENT.items():
        listed = json.loads(cli("api", "GET", f"/{path}", "--sandbox", SANDBOX, code=0).stdout)["items"]
        assert Counter(item.get("space", item)["title"] for item in listed) == Counter(titles)


def test_no_document_of_an_apply_that_ended_takes_the_state_back(stored: Cli) -> None:
    with applying(stored) as process:
        documents = moments(stored, process)
        assert process.wait() == 0
    last = pulled(stored)
    old = [document for document in documents if document["serial"] != last["serial"]]
    assert len(old) > 5, "one for each record"
    assert any(request["open"] for document in old for request in document["requests"])
    for document in old:
        code, says = push(stored, document)
        assert (code, "the existing state is newer" in says) == (4, True), says
    after = pulled(stored)
    for key in ("bindings", "requests", "serial", "lineage"):
        assert after[key] == last[key]
    settled(stored)
    for document in old[:: max(1, len(old) // 4)]:
        code, says = push(stored, document, "--force")
        assert code == 0, says
        settled(stored)
        assert push(stored, last)[0] == 4, "what was overwritten is not newer than what replaced it"


def test_no_document_loses_what_is_in_doubt_after_a_kill_not_even_by_force(stored: Cli) -> None:
    with applying(stored) as process:
        documents = moments(stored, process, until=6)
    if "RECONCILER_STATE" in stored.env:  # a file is unlocked by the end of its process
        stored("state", "unlock", "p", "--force", stored.json("history", "p")["runs"][0]["id"], code=0)
    last = pulled(stored)
    doubtful = {(request["run"], request["id"]) for request in last["requests"] if request["open"]}
    for document in documents:
        known = {(request["run"], request["id"]) for request in document["requests"]}
        code, says = push(stored, document)
        assert code == 4 or document["serial"] == last["serial"], says
        if not doubtful <= known:
            code, says = push(stored, document, "--force")
            assert (code, "is in doubt in the existing state, and would be lost" in says) == (4, True), says
    settled(stored)
    for document in documents:
        assert push(stored, document)[0] == 4
    settled(stored)
