"""Rehearsals of a fleet's plans: real workers and processes, a service that writes down what it is asked, and the dashboard over HTTP."""

from __future__ import annotations

import os
import random
import signal
import string
import subprocess
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from reconciler.errors import ReconcilerError
from reconciler.features.rehearsal.documents import RehearsalDocument
from reconciler.fleet import acts, rehearsals as pure
from reconciler.fleet.model import ChangeClass, Mode, RehearsalRule
from reconciler.fleet.people import ALL, Person, Role
from reconciler.fleet.rehearsals import PlanRehearsal, RehearsalResult
from reconciler.fleet.store import FleetDatabase, approvals, audit, connected, projects, rehearsals
from reconciler.report.schemas.documents import problem
from tests.fleet.running import Running, children
from tests.fleet.serve.served import csrf, served
from tests.fleet.storm.service import requests
from tests.fleet.test_store import declare, project
from tests.hostile import strangers
from tests.hostile.test_ports import NOTHING
from tests.proofs import costly

pytestmark = [pytest.mark.timeout(300)]
ROOT = Person("root@desk", {ALL: Role.ADMIN})
GRACE = Person("grace@acme.example", {"docs": Role.APPROVER})
VERA = Person("vera@acme.example", {"docs": Role.VIEWER})
MALLORY = Person("mallory@acme.example", {"other": Role.ADMIN})
PLAN = approvals.StoredPlan("c0ffee", {"changes": []}, "d1", frozenset({ChangeClass.CREATE}), reading="r1")
SITE = "    sites:\n      docs: {title: Docs, visibility: public, published: true, structure: [{space: docs, default: true}]}\n"


class Watched(Running):
    """A fleet whose service writes down every request."""

    def _service(self) -> subprocess.Popen[str]:
        self.environ |= {"PYTHONPATH": str(Path.cwd())}
        return self.start(str(self.folder), module="tests.fleet.storm.service")

    def writes(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in requests(self.folder) if request.method != "GET"]

    def waiting(self, more: str = "", **words: Any) -> str:
        """Let the plan of a commit wait for an approval; its digest. `more`: what it adds to the organization."""
        self.write("a")
        self.applied("a")
        self.declare({"name": "a", "source": {"path": "a"}, "mode": "apply", "approvals": {"titles": "one"}} | words)
        self.first = self.worker()
        self.until(lambda: self.status()["a"]["status"] == "Synced")
        self.write("a", title="two")
        file = self.remote / "a" / "reconciler.yaml"
        file.write_text(file.read_text().replace("    content:", f"{more}    content:"))
        self.git("commit", "-qam", "three", "--allow-empty")
        self.call("fleet", "sync", "a", "--wait", code=2)
        return self.plan()

    def plan(self) -> str:
        return str(self.rows("SELECT digest FROM reconciler_fleet.plans")[0][0])

    def rehearsal(self) -> dict[str, Any]:
        return dict(self.status()["a"]["approvals"]["rehearsal"] or {})

    def ended(self) -> dict[str, Any]:
        """The state of the rehearsal when a run has ended it."""
        self.until(lambda: self.rehearsal().get("state") in ("done", "failed"), 120)
        return self.rehearsal()


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Watched]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with ExitStack() as stack:
        made = Watched(tmp_path, fleet_url)
        stack.enter_context(made.stack)
        made.serve(["a"])
        yield made


@costly
def test_a_plan_is_approved_after_a_rehearsal_of_exactly_it_and_a_change_of_the_service_ends_that(fleet: Watched) -> None:
    one = dict.fromkeys(("titles", "create", "update", "exposure"), "one")
    digest = fleet.waiting(SITE, rehearse="required", approvals=one)
    with connected(fleet.url) as database, served(database) as site, site.program() as client:
        base, before = "/api/v1/projects/a", fleet.writes()
        shown = client.get(f"{base}/approvals").json()
        assert (shown["rehearse"], shown["rehearsal"]) == ("required", None)
        assert client.get(f"{base}/rehearsal").status_code == 404
        refused = client.post(f"{base}/approve", json={"digest": digest})
        assert (refused.status_code, refused.json()["id"]) == (403, "RC-fleet-rehearsal")
        assert "reconciler fleet rehearse a --wait" in refused.json()["remedy"]
        assert client.post(f"{base}/rehearse", json={"digest": "0" * 64}).status_code == 409, "another plan"

        def click(_: int) -> int:
            with site.program() as other:
                return other.post(f"{base}/rehearse", json={"digest": digest}).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(click, range(8))) == {200}
        ended = fleet.ended()
        assert (ended["state"], ended["asPlanned"], ended["valid"], ended["error"]) == ("done", True, True, None)
        assert fleet.rows("SELECT count(*) FROM reconciler_fleet.audit WHERE action = 'rehearse'") == [(1,)]
        assert fleet.rows("SELECT count(*) FROM reconciler_fleet.runs WHERE requests > 20") == [(1,)], "eight clicks are one rehearsal"
        document = client.get(f"{base}/rehearsal").json()
        assert problem(RehearsalDocument, document) is None
        assert (document["secondPlanEmpty"], document["undo"]["exact"]) == (True, True)
        assert next((change["reader"], change["title"]) for change in document["readers"]["gained"]) == ("anyone", "a two")
        assert document["refusals"] == [], "an approval of the exposure is the consent to it"

        assert client.post(f"{base}/approve", json={"digest": digest}).status_code == 409, "the approval names no rehearsal"
        assert client.post(f"{base}/approve", json={"digest": digest, "rehearsal": "ab" * 32}).status_code == 409
        assert fleet.rows("SELECT 1 FROM reconciler_fleet.approvals") == []

        # the service changes, and the plan would send the same
        fleet.send("PATCH", "/spaces/spc_a", {"title": "By hand"})
        fleet.call("fleet", "sync", "a", "--wait", code=2)
        assert fleet.plan() == digest
        assert fleet.rehearsal() | {"askedAt": ""} == ended | {"askedAt": "", "valid": False}
        refused = client.post(f"{base}/approve", json={"digest": digest, "rehearsal": ended["digest"]})
        assert (refused.status_code, "contains something else since" in refused.json()["detail"]) == (403, True)

        assert client.post(f"{base}/rehearse", json={"digest": digest}).status_code == 200
        fleet.until(lambda: fleet.rehearsal()["valid"], 120)
        again = fleet.rehearsal()
        assert again["digest"] != ended["digest"]
        assert fleet.writes() == [*before, "PATCH /v1/spaces/spc_a"], "the fleet has sent GET requests only"
        decided = client.post(f"{base}/approve", json={"digest": digest, "rehearsal": again["digest"]}).json()
        assert [(decision["rehearsal"], decision["approves"]) for decision in decided["decisions"]] == [(again["digest"], True)]
        fleet.until(lambda: "a two" in fleet.titles("a").values())
    (details,) = fleet.rows("SELECT details FROM reconciler_fleet.audit WHERE action = 'approve'")[0]
    assert (details["digest"], details["rehearsal"]) == (digest, again["digest"])


@costly
def test_a_stranger_hears_nothing_while_a_worker_rehearses(fleet: Watched) -> None:
    # One request at a time, so that the copy is there for a while.
    teams = "".join(f"      t{number}: {{title: Team {number}}}\n" for number in range(40))
    fleet.waiting(f"    teams:\n{teams}", rehearse="required", approvals={"titles": "one", "create": "one"})
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(fleet.call, "fleet", "rehearse", "a", "--wait")
        heard = strangers.heard(fleet.first.pid, lambda: not asked.done())
        assert "as planned" in asked.result()
    assert heard, "the port of the copy was open long enough"
    assert strangers.told(heard) <= NOTHING


@costly
def test_an_approval_ends_when_the_service_changes_before_the_plan_is_applied(fleet: Watched) -> None:
    closed = {"windows": [{"from": "00:00", "until": "00:01", "days": ["monday"]}]}  # so that an approved plan waits
    fleet.waiting(rehearse="required", **closed)
    before = fleet.writes()
    assert "as planned" in fleet.call("fleet", "rehearse", "a", "--wait")
    assert fleet.call("fleet", "approve", "a", "--digest", fleet.plan(), "--rehearsal", fleet.rehearsal()["digest"])
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert fleet.status()["a"]["waits"] == "its windows are closed"
    fleet.send("PATCH", "/spaces/spc_a", {"title": "By hand"})
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    assert (
        fleet.status()["a"]["waits"] == "the plan needs approvals: titles (1 person); it must be rehearsed before somebody can approve it"
    )
    with connected(fleet.url) as database, served(database) as site:
        browser = site.logged_in()
        page = browser.get("/projects/a").text
        assert "The service contains something else since this rehearsal" in page
        assert "it is about another rehearsal" in page
        assert ">Approve</button>" not in page
        moved = browser.post("/projects/a/rehearse", data={"csrf": csrf(page), "digest": "0" * 64}).text
        assert "The plan changed before your decision arrived" in moved
        assert browser.post("/projects/a/rehearse", data={"csrf": "forged", "digest": fleet.plan()}).status_code == 403
        asked = browser.post("/projects/a/rehearse", data={"csrf": csrf(page), "digest": fleet.plan()}).text
        assert "The plan is rehearsed as soon as a worker is free." in asked
        fleet.until(lambda: fleet.rehearsal()["valid"], 120)
        page = browser.get("/projects/a").text
        assert ">Approve</button>" in page
        assert f'name="rehearsal" value="{fleet.rehearsal()["digest"]}"' in page
    assert fleet.writes() == [*before, "PATCH /v1/spaces/spc_a"]


@costly
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.proof)])
def test_a_rehearsal_whose_worker_dies_is_taken_up_by_the_next_run_and_the_service_gets_no_write(
    fleet: Watched, how: signal.Signals
) -> None:
    digest = fleet.waiting()
    before = fleet.writes()
    fleet.call("sandbox", "faults", "set", "--db", "sandbox.db", "--rule", '{"fault": "latency", "seconds": 0.3}')
    fleet.call("fleet", "rehearse", "a")
    fleet.until(lambda: rehearsing(fleet), 120)
    os.kill(fleet.first.pid, how)
    fleet.until(lambda: not rehearsing(fleet))
    fleet.call("sandbox", "faults", "clear", "--db", "sandbox.db")
    fleet.until(lambda: fleet.rehearsal()["state"] == "waiting")
    fleet.worker()
    ended = fleet.ended()
    assert (ended["state"], ended["valid"], fleet.plan()) == ("done", True, digest)
    assert fleet.writes() == before


def rehearsing(fleet: Running) -> list[int]:
    """The process that rehearses for this fleet: after the reading of the run that has taken the request."""
    taken = fleet.rows("SELECT 1 FROM reconciler_fleet.rehearsals WHERE run IS NOT NULL AND (ended_at IS NULL OR asked_at > ended_at)")
    return list(children(fleet.folder)) if taken else []


@costly
def test_what_cannot_be_rehearsed_says_why_and_the_run_goes_on(fleet: Watched) -> None:
    fleet.waiting()
    fleet.call("sandbox", "faults", "set", "--db", "sandbox.db", "--rule", '{"fault": "latency", "seconds": 0.3}')
    fleet.call("fleet", "rehearse", "a")
    (process,) = fleet.until(lambda: rehearsing(fleet), 120)
    os.kill(process, signal.SIGKILL)
    fleet.call("sandbox", "faults", "clear", "--db", "sandbox.db")
    ended = fleet.ended()
    assert (ended["state"], ended["error"], ended["digest"]) == ("failed", "it ended with -9 [RC-fleet-run-failed]", None)
    assert fleet.status()["a"]["failures"] == 0, "the run itself has succeeded"
    # asked for again, three runs are lost with it: the fourth says so and rehearses nothing
    with connected(fleet.url) as database, database.transaction() as connection:
        acts.rehearse(connection, ROOT, "a", digest=fleet.plan())
        connection.execute(text("UPDATE reconciler_fleet.rehearsals SET tries = 3"))
    fleet.until(lambda: fleet.rehearsal()["error"] == f"{pure.LOST} [RC-fleet-run-failed]", 60)
    assert "as planned" in fleet.call("fleet", "rehearse", "a", "--wait"), "whoever asks again starts again"


@costly
def test_a_plan_that_is_replaced_before_it_was_rehearsed_says_so(fleet: Watched) -> None:
    digest = fleet.waiting()
    fleet.first.terminate()
    fleet.first.wait()
    fleet.call("fleet", "rehearse", "a")
    fleet.write("a", title="three")
    fleet.worker()
    fleet.until(lambda: fleet.plan() != digest, 60)
    assert fleet.rows("SELECT plan, error, digest FROM reconciler_fleet.rehearsals") == [(digest, pure.MOVED, None)]
    assert fleet.rehearsal() == {}


# -- without processes ------------------------------------------------------------------------------------------------------------


def act(database: FleetDatabase, action: Callable[..., Any], *words: Any, **named: Any) -> Any:
    with database.transaction() as connection:
        return action(connection, *words, **named)


def refused(database: FleetDatabase, action: Callable[..., Any], *words: Any, **named: Any) -> str:
    with pytest.raises(ReconcilerError) as raised:
        act(database, action, *words, **named)
    return raised.value.id


def planned(database: FleetDatabase, name: str = "a", plan: approvals.StoredPlan = PLAN) -> int:
    with database.transaction() as connection:
        (row,) = projects.read(connection, [name])
        approvals.keep_plan(connection, row.id, plan)
        return row.id


def result(plan: str = "d1", **words: Any) -> RehearsalResult:
    return RehearsalResult(plan, **{"reading": "r1", "digest": "aa", "as_planned": True, "text": "x", "stored": b"", **words})


def rehearsed(database: FleetDatabase, id: int, answer: RehearsalResult, *, run: int = 7) -> None:
    """Let a run end what somebody has asked for."""
    with database.transaction() as connection:
        rehearsals.ask(connection, id, answer.plan, "ada")
        assert rehearsals.take(connection, id, answer.plan, run)
        rehearsals.end(connection, id, run, answer)


@pytest.fixture
def two(database: FleetDatabase) -> FleetDatabase:
    """Two projects of two tenants, of which the first requires a rehearsal."""
    required = project("a", mode=Mode.APPLY, tenant="docs", rehearse=RehearsalRule.REQUIRED)
    declare(database, required, project("b", mode=Mode.APPLY, tenant="other"))
    return database


def last(database: FleetDatabase, id: int, plan: str = "d1") -> PlanRehearsal | None:
    with database.transaction() as connection:
        return rehearsals.of_plans(connection, [(id, plan)]).get(id)


def test_whoever_approves_too_early_reads_why_it_is_too_early(two: FleetDatabase) -> None:
    id = planned(two)

    def why() -> str:
        with pytest.raises(ReconcilerError) as raised:
            act(two, acts.approve, GRACE, "a", digest="d1", rehearsal="aa")
        assert raised.value.id == "RC-fleet-rehearsal"
        return raised.value.message.partition(": ")[2]

    assert why() == "this project requires a rehearsal first"
    assert act(two, acts.rehearse, GRACE, "a", digest="d1")
    assert why() == "its rehearsal has not ended yet"
    rehearsed(two, id, RehearsalResult("d1", "it took longer than 1200 s"))
    assert why() == "it was not rehearsed: it took longer than 1200 s"
    rehearsed(two, id, result(reading="r0"))
    assert why() == "the service contains something else since its rehearsal"
    rehearsed(two, id, result())
    assert act(two, acts.approve, GRACE, "a", digest="d1", rehearsal="aa").verdict.allows


def test_who_may_look_may_not_rehearse_and_a_foreign_project_does_not_exist(two: FleetDatabase) -> None:
    id = planned(two)
    assert refused(two, acts.rehearse, VERA, "a", digest="d1") == "RC-fleet-role"
    assert refused(two, acts.rehearse, MALLORY, "a", digest="d1") == "RC-no-fleet-project"
    assert last(two, id) is None
    rehearsed(two, id, result(stored=zlib.compress(b"{}")))
    assert act(two, acts.rehearsal_document, VERA, "a") == {}
    assert refused(two, acts.rehearsal_document, MALLORY, "a") == "RC-no-fleet-project"


def test_a_run_ends_only_what_it_has_begun_for_its_own_project(two: FleetDatabase) -> None:
    first, other = planned(two), planned(two, "b")
    with two.transaction() as connection:
        for answer in (result(), result("d2")):  # nobody has asked
            rehearsals.end(connection, first, 7, answer)
        assert rehearsals.take(connection, first, "d1", 7) is None
        assert rehearsals.ask(connection, other, "d1", "ada")
        assert rehearsals.take(connection, other, "d1", 7) == 1
        rehearsals.end(connection, first, 7, result())  # of another project
        rehearsals.end(connection, other, 8, result())  # begun by another run
        rehearsals.end(connection, other, 7, result("d2"))  # a digest that nobody asked for
    assert last(two, first) is None
    waiting = last(two, other)
    assert waiting is not None
    assert (waiting.state, waiting.digest) == ("waiting", None)


def test_a_rehearsal_that_did_not_go_as_planned_is_approved_only_by_whoever_says_so(two: FleetDatabase) -> None:
    id = planned(two)
    rehearsed(two, id, result(as_planned=False))
    approve = {"digest": "d1", "rehearsal": "aa"}
    assert refused(two, acts.approve, GRACE, "a", **approve) == "RC-fleet-rehearsal"
    assert act(two, acts.approve, GRACE, "a", **approve, allow_unplanned=True).verdict.allows
    with two.transaction() as connection:
        (line,) = audit.read(connection)
    assert (line.details["rehearsal"], line.details["allowUnplanned"]) == ("aa", True)


def test_an_approval_is_of_the_rehearsal_that_the_person_saw(two: FleetDatabase) -> None:
    id = planned(two)
    rehearsed(two, id, result())
    assert act(two, acts.approve, GRACE, "a", digest="d1", rehearsal="aa").verdict.allows
    planned(two, plan=approvals.StoredPlan("c0ffee", PLAN.document, "d1", PLAN.changes, reading="r2"))
    verdict = act(two, acts.plan, GRACE, "a").verdict
    assert (verdict.allows, verdict.unrehearsed) == (False, True)
    rehearsed(two, id, result(reading="r2", digest="bb"))
    verdict = act(two, acts.plan, GRACE, "a").verdict
    assert (verdict.allows, verdict.unrehearsed) == (False, False)
    assert refused(two, acts.approve, GRACE, "a", digest="d1", rehearsal="aa") == "RC-fleet-plan-moved"
    assert act(two, acts.approve, GRACE, "a", digest="d1", rehearsal="bb").verdict.allows
    planned(two)
    assert not act(two, acts.plan, GRACE, "a").verdict.allows, "the service is as before, and its rehearsal was replaced"
    required = project("a", mode=Mode.APPLY, tenant="docs")
    declare(two, required, project("b", mode=Mode.APPLY, tenant="other"))
    assert act(two, acts.plan, GRACE, "a").verdict.allows, "no rehearsal is required any more"
    assert act(two, acts.approve, GRACE, "a", digest="d1", rehearsal="bb").changes, "where none is required, none is needed"


def test_what_is_asked_for_again_while_a_run_ends_it_is_not_lost(two: FleetDatabase, fleet_url: str) -> None:
    id = planned(two)
    with two.transaction() as connection:
        assert rehearsals.ask(connection, id, "d1", "ada")
        assert not rehearsals.ask(connection, id, "d1", "grace"), "one rehearsal for both"
        assert rehearsals.take(connection, id, "d1", 7)
    with psycopg.connect(fleet_url) as clicks:  # the transaction of the click begins first, and waits for the end of the run
        clicks.execute("SELECT now()")
        with two.transaction() as connection:
            rehearsals.end(connection, id, 7, result(reading="r0"))
        asked = "asked_at = clock_timestamp() WHERE NOT (ended_at IS NULL OR asked_at > ended_at)"
        clicks.execute(f"UPDATE reconciler_fleet.rehearsals SET {asked}")  # type: ignore[arg-type]
    again = last(two, id)
    assert again is not None
    assert (again.state, again.digest) == ("waiting", "aa")


def test_a_project_keeps_its_last_three_rehearsals(two: FleetDatabase) -> None:
    id = planned(two)
    for number in range(6):
        rehearsed(two, id, result(f"p{number}"), run=number + 1)
    with two.transaction() as connection:
        kept = connection.execute(text("SELECT plan FROM reconciler_fleet.rehearsals ORDER BY plan")).scalars().all()
    assert kept == ["p3", "p4", "p5"]


def document(objects: int, *, word: Callable[[], str]) -> dict[str, Any]:
    """A rehearsal in which each of so many objects gains three readers, loses one, is written once, and changes its URL."""
    urls = [f"https://docs.example.com/{word()}/{number}" for number in range(objects)]
    gained = [
        {
            "reader": f"reader-{reader}",
            "who": f"reader {reader}",
            "kind": "space",
            "title": f"Title {number}",
            "address": f"acme/space/s{number}",
        }
        for number in range(objects)
        for reader in range(3)
    ]
    moments = [
        {
            "after": number + 1,
            "request": f"PATCH /v1/spaces/{word()}",
            "deadUrls": 0,
            "readersGained": number,
            "opened": 0,
            "address": None,
            "what": "update",
            "refused": [],
        }
        for number in range(objects)
    ]
    moved = [{"before": url, "after": f"{url}/new"} for url in urls]
    return {
        "format": "reconciler.rehearsal/1", "project": "acme", "environment": None, "digests": {"plan": "a" * 64, "reading": "b" * 64},
        "requests": {"copy": objects, "apply": objects}, "secondPlanEmpty": True, "remaining": [], "undo": {"exact": True, "leftovers": []},
        "readers": {"gained": gained, "lost": gained[::3]},
        "urls": {"before": objects, "after": objects, "dead": urls, "moved": moved},
        "deleted": [], "sites": [], "openWork": [], "worst": None, "moments": moments,
        "refusals": [], "failures": [], "divergences": [], "assumptions": [], "unread": [],
    }  # fmt: skip


@costly
def test_a_rehearsal_of_ten_thousand_objects_fits_and_a_larger_one_is_refused() -> None:
    dice = random.Random(1)

    def id(length: int = 20) -> str:
        return "".join(dice.choices(string.ascii_letters, k=length))

    ten = pure.result_of("d1", "r1", document(10_000, word=id), "x" * 100_000)
    assert len(ten.stored) < pure.STORED_MAX
    assert (len(ten.text), pure.document_of(ten.stored)["requests"]["copy"]) == (pure.TEXT_MAX, 10_000)
    with pytest.raises(ReconcilerError, match="the fleet keeps 2"):
        pure.result_of("d1", "r1", document(10_000, word=lambda: id(400)), "")
    with pytest.raises(ReconcilerError, match="the process wrote no rehearsal"):
        pure.result_of("d1", "r1", {"format": "reconciler.rehearsal/1"}, "")


def test_the_digest_of_a_rehearsal_is_of_what_it_shows_and_not_of_how_it_was_read() -> None:
    shown = document(2, word=lambda: "x")
    first = pure.result_of("d1", "r1", shown, "").digest
    assert pure.result_of("d1", "r1", shown | {"requests": {"copy": 9, "apply": 2}}, "").digest == first
    others = [("d2", "r1", shown), ("d1", "r2", shown), ("d1", "r1", shown | {"failures": ["acme/space/s1: no"]})]
    assert len({pure.result_of(*words, "").digest for words in others} | {first}) == 4
