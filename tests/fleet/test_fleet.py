"""Whole fleets: real workers, a real queue, the sandbox over HTTP, git repositories; workers are killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.running import Running, children, running
from tests.fleet.test_notices import CANARY, receiver

pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, [*(f"p{number}" for number in range(5)), "a", "b", "quiet"]) as made:
        yield made


class Watch(threading.Thread):
    """Looks at the processes of this machine all the time: which projects have more than one run."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.twice, self.seen, self.ended = folder, Counter[str](), Counter[str](), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.01):
            names = Counter(
                file.parent.name for private in children(self.folder).values() for file in private.glob("files/*/reconciler.yaml")
            )
            self.seen |= names
            self.twice |= Counter({name: number for name, number in names.items() if number > 1})


def project(name: str, **words: object) -> dict[str, object]:
    return {"name": name, "source": {"path": name}, "vars": {"who": name}, **words}


def test_two_workers_apply_commits_show_drift_and_never_run_a_project_twice_at_once(fleet: Running) -> None:
    names = [f"p{number}" for number in range(4)]
    fleet.write(*names)
    fleet.applied(*names)
    fleet.declare(*(project(name, mode="apply", every="10s") for name in names))
    watch = Watch(fleet.folder)
    watch.start()
    for _ in range(2):
        fleet.worker()
    fleet.until(lambda: all(one["reading"] is not None for one in fleet.status().values()))
    assert {one["status"] for one in fleet.status().values()} == {"Synced"}
    fleet.write(*names, title="two")
    fleet.call("fleet", "sync", *names, "--wait", code=None)
    head = fleet.until(lambda: {one["applied"] for one in fleet.status().values()} - {None})
    fleet.until(lambda: [one["applied"] for one in fleet.status().values()] == [*head] * 4)
    assert all(f"{name} two" in fleet.titles(name).values() for name in names)
    space = next(id for id, title in fleet.titles("p0").items() if title == "p0 two")
    fleet.send("PATCH", f"/spaces/{space}", {"title": "By hand"})
    fleet.call("fleet", "sync", *names, "--wait", code=None)
    assert {name: one["reading"]["drift"] for name, one in fleet.status().items() if one["reading"]["drift"]} == {"p0": 1}
    assert fleet.titles("p0")[space] == "By hand"  # shown, and not reverted
    watch.ended.set()
    watch.join()
    assert (set(watch.seen), watch.twice) == ({*names}, {})
    assert {row[0] for row in fleet.rows("SELECT ended FROM reconciler_fleet.runs WHERE ended_at IS NOT NULL")} == {"done"}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_a_run_of_a_dead_worker_is_recovered_by_another(fleet: Running, how: signal.Signals) -> None:
    fleet.write("a")
    fleet.applied("a")
    fleet.call("sandbox", "faults", "set", "--db", "sandbox.db", "--rule", '{"fault": "latency", "seconds": 1.5}')
    fleet.declare(project("a"))
    first = fleet.worker()
    fleet.until(lambda: children(fleet.folder))
    (folder,) = fleet.folder.glob("data-0/run-*")
    second = fleet.worker(data="data-0")
    os.kill(first.pid, how)
    begun = time.monotonic()
    fleet.until(lambda: fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended = 'lost'"))
    assert time.monotonic() - begun < 30
    assert how is not signal.SIGSTOP or folder.exists(), "its worker can come back"
    fleet.call("sandbox", "faults", "clear", "--db", "sandbox.db")
    fleet.until(lambda: fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended = 'done'"))
    status = fleet.status()["a"]
    assert (status["recovering"], status["reading"] is not None) == (False, True)
    if how is signal.SIGSTOP:
        os.kill(first.pid, signal.SIGCONT)  # it comes back, and its run is no longer its own
        fleet.until(lambda: not children(fleet.folder))
        assert fleet.rows("SELECT count(*) FROM reconciler_fleet.runs WHERE ended IS NULL AND started_at IS NOT NULL") == [(0,)]
    else:
        fleet.until(lambda: not children(fleet.folder))
    fleet.until(lambda: not list(fleet.folder.glob("data-0/run-*")))
    assert second.poll() is None
    assert fleet.rows("SELECT count(*) FROM reconciler_fleet.procrastinate_jobs") == [(0,)]


def test_a_worker_survives_the_loss_of_every_connection(fleet: Running) -> None:
    fleet.write("a")
    fleet.applied("a")
    fleet.declare(project("a"))
    worker = fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["reading"])
    for _ in range(3):
        fleet.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
        time.sleep(0.5)
    assert "Synced" in fleet.call("fleet", "sync", "a", "--wait")
    assert worker.poll() is None


def test_workers_never_send_more_with_a_token_than_its_budget(fleet: Running) -> None:
    names = [f"p{number}" for number in range(5)]
    fleet.write(*names)
    fleet.applied(*names)
    fleet.call("sandbox", "faults", "set", "--db", "sandbox.db", "--rule", '{"fault": "rate-limit", "limit": 20, "window": 5}')
    fleet.declare(*(project(name) for name in names))
    for _ in range(2):
        fleet.worker(concurrency=3)
    fleet.until(lambda: all(one["reading"] is not None for one in fleet.status().values()), 120)
    (requests,) = fleet.rows("SELECT sum(requests) FROM reconciler_fleet.runs")[0]
    assert requests > 40  # more than a window grants
    assert "429" not in fleet.call("sandbox", "faults", "log", "--db", "sandbox.db")
    assert "rate-limit" not in fleet.call("sandbox", "faults", "log", "--db", "sandbox.db")


def test_a_tenant_with_many_projects_delays_a_quiet_one_by_a_few_runs(fleet: Running) -> None:
    noisy = [f"n{number}" for number in range(30)]
    fleet.write("quiet", *noisy)
    fleet.declare(*(project(name, tenant="noisy") for name in noisy), project("quiet", tenant="quiet"))
    fleet.call("fleet", "pause", "quiet", "--reason", "later")
    for _ in range(2):
        fleet.worker()
    fleet.until(lambda: len(fleet.rows("SELECT 1 FROM reconciler_fleet.runs WHERE ended_at IS NOT NULL")) > 4)
    fleet.call("fleet", "resume", "quiet")
    fleet.until(
        lambda: fleet.rows(
            "SELECT 1 FROM reconciler_fleet.runs r JOIN reconciler_fleet.projects p ON p.id = r.project "
            "WHERE p.name = 'quiet' AND r.started_at IS NOT NULL"
        )
    )
    before = fleet.rows(
        "SELECT count(*) FROM reconciler_fleet.runs n, reconciler_fleet.runs q JOIN reconciler_fleet.projects p ON p.id = q.project "
        "WHERE p.name = 'quiet' AND n.project <> q.project AND n.started_at BETWEEN q.admitted_at AND q.started_at"
    )
    assert before[0][0] <= 6  # what was queued already: as many as both workers run at once, and one more for each


def test_what_cannot_be_read_is_unknown_and_no_secret_is_anywhere(fleet: Running) -> None:
    fleet.environ["BAD_TOKEN"] = "tok_c4n4ry_0123456789"
    fleet.write("a", "b", "same")
    fleet.applied("a")
    (fleet.remote / "same" / "reconciler.yaml").write_bytes((fleet.remote / "a" / "reconciler.yaml").read_bytes())
    (fleet.remote / "b" / "reconciler.yaml").unlink()
    (fleet.remote / "b" / "reconciler.yaml").symlink_to("/etc/hostname")
    fleet.git("commit", "-qam", "links")
    fleet.declare(
        project("a"), project("b"), project("same", project="a"),
        project("bad", source={"path": "a"}, project="a", token={"env": "BAD_TOKEN"}),
        project("gone", source={"path": "a"}, project="a", token={"env": "NO_TOKEN"}),
    )  # fmt: skip
    worker = fleet.worker()
    fleet.until(lambda: all(one["reading"] is not None or one["failures"] for one in fleet.status().values()))
    why = {name: "; ".join(one["causes"]) for name, one in fleet.status().items()}
    assert "b/reconciler.yaml is a link to something that is not a file" in why["b"]
    assert "the variable NO_TOKEN is not set in the environment of this worker" in why["gone"]
    assert "the token was refused" in why["bad"]
    assert "Check the token in the variable BAD_TOKEN." in why["bad"]
    fleet.call("fleet", "sync", "gone", "--wait", code=1)
    assert why["bad"].count("[RC-token-refused]") == why["bad"].count("[RC-") == 1
    (both,) = (text for text in (why["same"], why["a"]) if "has the same state" in text)
    assert "[RC-fleet-same-state]" in both
    worker.terminate()
    worker.wait()
    everything = repr(
        fleet.rows("SELECT to_jsonb(p), to_jsonb(r) FROM reconciler_fleet.projects p LEFT JOIN reconciler_fleet.runs r ON r.project = p.id")
    )
    everything += repr(fleet.rows("SELECT to_jsonb(b) FROM reconciler_fleet.budgets b")) + "".join(
        path.read_text() for path in fleet.folder.glob("*.log")
    )
    assert "c4n4ry" not in everything
    assert "tok_ada" not in everything


def test_health_is_shown_beside_the_status_and_announced_to_people(fleet: Running) -> None:
    pytest.importorskip("apprise", reason="the extra `fleet` is not installed")
    pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")
    from tests.cli.test_traces import collector

    with receiver() as (port, taken), collector() as (endpoint, spans, bodies):
        fleet.environ |= {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_BSP_SCHEDULE_DELAY": "100", "RECONCILER_LOG_FORMAT": "json"}
        fleet.environ["ALERTS"] = f"json://ada:{CANARY}@127.0.0.1:{port}/{CANARY}"
        fleet.write("a")
        fleet.applied("a")
        fleet.send("PUT", "/orgs/org_a/openapi/pets", {"source": {"url": "https://fixtures.example/broken.json"}})
        fleet.until(lambda: fleet.send("GET", "/orgs/org_a/openapi/pets")["processingState"] == "complete")  # or it is Unknown for an hour
        fleet.declare(project("a"), notifications=[{"url": {"env": "ALERTS"}, "on": ["unhealthy", "outOfSync", "recovered"]}])
        worker = fleet.worker()
        fleet.until(lambda: {body["title"] for body in taken} >= {"a is Broken", "a is OutOfSync"})
        health = fleet.status()["a"]["health"]
        assert (health["word"], [concern["sort"] for concern in health["broken"]]) == ("Broken", ["processing"])
        assert "PARSE_ERROR" in fleet.call("fleet", "status", code=None)
        fleet.send("DELETE", "/orgs/org_a/openapi/pets")
        fleet.call("fleet", "sync", "a", "--wait")
        fleet.until(lambda: "a has recovered" in {body["title"] for body in taken})
        assert fleet.status()["a"]["health"]["word"] == "Healthy"
        assert len(taken) == 3
        assert len(fleet.rows("SELECT 1 FROM reconciler_fleet.samples")) == 2
        tables = [
            name for (name,) in fleet.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'reconciler_fleet'")
        ]
        assert all(CANARY not in str(fleet.rows(f"SELECT * FROM reconciler_fleet.{name}")) for name in tables)
        assert all(CANARY not in path.read_text() for path in fleet.folder.glob("*.log"))
        assert worker.poll() is None
        log = next(path for path in fleet.folder.glob("fleet-worker-*.log"))
        ends = [event for event in map(json.loads, log.read_text().splitlines()) if event["event"] == "run"]
        assert [(event["project"], event["tenant"], event["ended"]) for event in ends] == [("a", "default", "done")] * 2
        outer = {span.trace_id: span for span in fleet.until(lambda: [span for span in spans if span.name == "fleet run"])}
        inner = [span for span in spans if span.name.endswith("read") and span.trace_id in outer]
        assert inner
        assert all(span.parent_span_id == outer[span.trace_id].span_id for span in inner)
        assert all("tok_ada" not in body for body in bodies)


def test_the_rules_of_another_branch_judge_a_project_that_removed_them(fleet: Running) -> None:
    fleet.write("a")
    fleet.applied("a")
    rule = "policies: [{id: titles, on: [space], assert: \"${{ after.title != 'a Forbidden' }}\", message: a forbidden title}]\n"
    file = fleet.remote / "a" / "reconciler.yaml"
    file.write_text(file.read_text() + rule)
    fleet.git("commit", "-aqm", "a rule")
    fleet.git("checkout", "-q", "-b", "change")
    fleet.write("a", title="Forbidden")
    follows = project("a", mode="apply", every="10s", source={"path": "a", "ref": "change"})
    fleet.declare(follows | {"rulesFrom": "main"})
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["reading"])
    assert "a forbidden title" in str(fleet.rows("SELECT reading FROM reconciler_fleet.projects WHERE reading IS NOT NULL"))
    assert "a Forbidden" not in fleet.titles("a").values()
    fleet.declare(follows | {"rulesFrom": "nowhere"})
    fleet.call("fleet", "sync", "a", "--wait", code=None)
    assert "a Forbidden" not in fleet.titles("a").values()
    fleet.declare(follows)
    fleet.call("fleet", "sync", "a", "--wait", code=None)
    fleet.until(lambda: "a Forbidden" in fleet.titles("a").values())
