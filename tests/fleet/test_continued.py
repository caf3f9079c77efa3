"""Applies of a fleet that die, are refused or are answered with 500: what is left is continued, and approvals are used once. Real processes
are killed at every boundary of an apply."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fleet.running import Running, children
from tests.proofs import costly, proof, spread

pytestmark = [pytest.mark.timeout(600)]
FREE = dict.fromkeys(("titles", "order", "update", "create", "delete", "replace", "exposure"), "auto")
PROJECT = """\
version: 1
project: a
recovery: {settle: 1}
service: {member: ada@acme.example}
organizations:
  a:
    id: org_a
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_a, title: Blank, template: true}
"""
BEFORE = ['- {collection: one, title: "One"}', '- {collection: two, title: "Two"}', '- {space: docs, title: "Docs", duplicateOf: blank}']
COMMITS: dict[str, Sequence[str]] = {
    "update": ['- {collection: one, title: "First"}', BEFORE[1], BEFORE[2]],
    "move": [BEFORE[0], '- {collection: two, title: "Two", content: [{space: docs, title: "Docs", duplicateOf: blank}]}'],
    "delete": [BEFORE[0], BEFORE[2]],
    "create": [*BEFORE, '- {collection: three, title: "Three"}'],
}
METHODS = {"update": "PATCH *", "move": "POST *move*", "delete": "DELETE *", "create": "POST *collections*"}
GONE = "removed: [{address: a/collection/two, action: delete}]\n"


class Continued(Running):
    """A fleet with one project, whose content is committed line by line."""

    def begin(self, lines: Sequence[str]) -> None:
        """A worker serves the project, and this content is applied."""
        self.serve(["a"])
        self.content(lines)
        self.applied("a")

    def content(self, lines: Sequence[str], more: str = "") -> None:
        if not self.remote.exists():
            self.remote.mkdir()
            self.git("init", "-q", "-b", "main")
        (self.remote / "a").mkdir(exist_ok=True)
        (self.remote / "a" / "reconciler.yaml").write_text(PROJECT + "".join(f"      {line}\n" for line in lines) + more)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "content")

    def project(self, **words: Any) -> None:
        self.declare({"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": FREE, "every": "10s", **words})

    def faults(self, *rules: str) -> None:
        self.call(
            "sandbox", "faults", "set" if rules else "clear", "--db", "sandbox.db", *(word for rule in rules for word in ("--rule", rule))
        )

    def change(self, statement: str) -> None:
        with psycopg.connect(self.url) as connection:
            connection.execute(statement)  # type: ignore[arg-type]

    def intents(self) -> list[Any]:
        return self.rows("SELECT j.id FROM reconciler.open_intents o JOIN reconciler.journal j ON j.id = o.intent")

    def kill(self, worker: subprocess.Popen[str]) -> None:
        """Kill a worker, which ends its runs, and let the lease of its run expire."""
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        self.until(lambda: not children(self.folder))
        self.change("UPDATE reconciler.leases SET expires = 0 WHERE run IS NOT NULL")

    def synced(self) -> dict[str, Any]:
        head = (self.remote / ".git/refs/heads/main").read_text().strip()

        def holds() -> dict[str, Any] | None:
            shown = self.status()["a"]
            return shown if shown["status"] == "Synced" and shown["reading"]["commit"] == head and not shown["recovering"] else None

        return self.until(holds, 150)  # type: ignore[no-any-return]

    def audit(self) -> list[tuple[str, str, Any]]:
        lines = "SELECT action, coalesce(details->>'ended', ''), details->'approvedBy' FROM reconciler_fleet.audit WHERE project = 'a'"
        return self.rows(f"{lines} AND action IN ('begin-apply', 'apply') ORDER BY id")

    def collections(self) -> dict[str, str]:
        return {item["title"]: item["id"] for item in self.send("GET", "/orgs/org_a/collections")["items"]}


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Continued]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    made = Continued(tmp_path, fleet_url)
    with made.stack:
        made.begin(BEFORE)
        yield made


CASES = [(verb, boundary) for verb in COMMITS for boundary in ("sent", "done", "answered with 500", "done and answered with 500")]


@costly
@pytest.mark.parametrize(("verb", "boundary"), spread(CASES, 1))
def test_a_request_in_doubt_is_settled_by_the_fleet_itself(fleet: Continued, verb: str, boundary: str) -> None:
    def rule(fault: str, **words: Any) -> str:
        return json.dumps({"fault": fault, "operation": METHODS[verb], **words})

    killed, when = not boundary.endswith("500"), "after" if boundary.startswith("done") else "before"
    if killed:  # the service answers nothing, and takes its time: the request is under way when its worker dies
        fleet.faults(rule("latency", seconds=2), rule("cut", when=when, effect=when == "after"))
    else:
        fleet.faults(rule("error", status=500, when=when, times=1 if verb == "create" else 4))  # a run sends a create once
    fleet.content(COMMITS[verb], GONE if verb == "delete" else "")
    fleet.project()
    worker = fleet.worker()
    if killed:
        fleet.until(fleet.intents)
        fleet.kill(worker)
        fleet.faults()
        fleet.worker()
    shown = fleet.synced()
    assert (shown["reading"]["inDoubt"], shown["reading"]["unreadable"]) == (0, [])
    titles = {"One", "Two"} ^ {"update": {"One", "First"}, "delete": {"Two"}, "create": {"Three"}}.get(verb, set())
    assert set(fleet.collections()) == titles
    assert len(fleet.send("GET", "/orgs/org_a/collections")["items"]) == len(titles)


def approved(fleet: Continued) -> str:
    """Approve the plan that waits, as two people; its digest."""
    from reconciler.fleet import acts
    from reconciler.fleet.people import Person, Role
    from reconciler.fleet.store import connected

    def waits() -> Any:
        shown = fleet.status()["a"]
        return shown["approvals"] if (shown["waits"] or "").startswith("the plan needs approvals") else None

    digest = str(fleet.until(waits)["digest"])
    with connected(fleet.url) as database:
        for name in ("grace@acme.example", "linus@acme.example"):
            with database.transaction() as connection:
                acts.approve(connection, Person(name, {"*": Role.ADMIN}), "a", digest=digest)
    return digest


@proof
def test_a_lost_apply_has_used_its_approvals_up_and_what_was_taken_back_needs_them_again(fleet: Continued) -> None:
    fleet.faults('{"fault": "latency", "seconds": 3, "operation": "PATCH *"}')
    fleet.content(COMMITS["update"])
    fleet.project(approvals={"titles": "two"})
    worker = fleet.worker()
    approved(fleet)
    fleet.until(lambda: "PATCH" in fleet.call("sandbox", "faults", "log", "--db", "sandbox.db"), 120)
    assert children(fleet.folder), "it dies before it is answered"
    fleet.kill(worker)
    fleet.until(lambda: "First" in fleet.collections())
    fleet.faults()
    ((path,),) = fleet.rows("SELECT path FROM reconciler.journal WHERE verb = 'update' ORDER BY id DESC LIMIT 1")
    fleet.send("PATCH", path, {"title": "One"})  # somebody takes the change back
    fleet.worker()
    needs = "the plan needs approvals: titles (2"
    fleet.until(lambda: fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended = 'lost'"), 120)
    fleet.until(lambda: (fleet.status()["a"]["waits"] or "").startswith(needs), 120)
    assert "One" in fleet.collections()
    approved(fleet)
    fleet.synced()
    assert [line[:2] for line in fleet.audit()] == [("begin-apply", ""), ("apply", "lost"), ("begin-apply", ""), ("apply", "applied")]
