"""Every project is counted once, there are no more series than there may be, and the example alerts ask for metrics that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from sqlalchemy import text, update

from reconciler.fleet.status import Reading, StatusWord, as_data
from reconciler.fleet.store import FleetDatabase, audit, projects, samples, schema
from reconciler.fleet.store.dashboard import views
from tests.fleet.serve.served import served
from tests.fleet.test_store import begin, declare, end, project, register

pytest.importorskip("prometheus_client", reason="the extra `fleet` is not installed")
from prometheus_client.parser import text_string_to_metric_families

from reconciler.fleet.metrics import collected, metrics_text
from tests.proofs import costly

ALERTS = Path(__file__).parents[2] / "deploy/prometheus/alerts.yaml"
Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(content: bytes) -> Series:
    families = text_string_to_metric_families(content.decode())
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}


def total(series: Series, name: str, **labels: str) -> float:
    return sum(value for (at, found), value in series.items() if at == f"reconciler_fleet_{name}" and labels.items() <= dict(found).items())


def test_metrics_count_every_project_once_in_bounded_series(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(database, *(project(f"p{number}", tenant=f"t{number % 7}") for number in range(20)))
    with database.transaction() as connection:
        values = {"reading": as_data(Reading("c0ffee", drift=2, both=1, unmanaged=1)), "read_at": text("now() - interval '1 minute'")}
        connection.execute(update(schema.projects).where(schema.projects.c.name.in_(["p0", "p1", "p7"])).values(values))
        connection.execute(update(schema.projects).where(schema.projects.c.name == "p19").values(orphaned_at=text("now()")))
    worker = register(database)
    with database.transaction() as connection:
        run = connection.execute(
            text("INSERT INTO reconciler_fleet.runs (project) SELECT min(id) FROM reconciler_fleet.projects RETURNING id")
        )
        (number,) = run.one()
    assert begin(database, number, worker) is not None
    assert end(database, number, worker)
    series = read(metrics_text(database))
    assert total(series, "projects") == total(series, "projects_health") == 19
    assert (total(series, "projects", status="OutOfSync"), total(series, "projects", tenant="t0", status="OutOfSync")) == (3, 2)
    assert (total(series, "resources_drifted"), total(series, "objects_unmanaged"), total(series, "projects_never_read")) == (9, 3, 16)
    assert 60 <= total(series, "reading_age_seconds_max", tenant="t0") < 120
    assert (total(series, "runs_last_hour", ended="done"), total(series, "run_duration_last_hour_seconds_count")) == (1, 1)
    assert (total(series, "workers"), total(series, "places"), total(series, "projects_due")) == (1, 3, 18)
    assert not [key for key in series if "p0" in str(key)]
    monkeypatch.setattr(collected, "TENANTS_MAX", 3)
    few = read(metrics_text(database, per_project=True))
    assert total(few, "projects") == total(few, "project") == 19
    assert len({dict(labels)["tenant"] for name, labels in few if name == "reconciler_fleet_projects"}) == 4
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert {name for rule in rules for name in re.findall(r"reconciler_fleet_\w+", rule["expr"])} <= {name for name, _ in series}
    assert all(rule.keys() >= {"alert", "expr", "labels", "annotations"} for rule in rules)


@costly
def test_the_metrics_are_for_whoever_has_the_token(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS", "tok_c4n4ry")
    with served(database) as dashboard:
        assert "reconciler_fleet_workers 0.0" in httpx2.get(f"{dashboard.url}/metrics").text  # of this machine
        for more in ({}, {"Authorization": "Bearer x"}):  # a page that gave its own name the address of this machine
            other = httpx2.get(f"{dashboard.url}/metrics", headers={"Host": "evil.example", **more})
            assert (other.status_code, "reconciler_fleet" in other.text) == (421, False)
    with database.transaction() as connection:
        projects.revise(connection, "f", "", 0, "ada", {"dashboard": {"metrics": "env:METRICS"}})
    with served(database) as dashboard:
        answers = [
            httpx2.get(f"{dashboard.url}/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
            for token in ("", "wrong", "tok_c4n4ry")
        ]
        assert [answer.status_code for answer in answers] == [401, 401, 200]
        by_address = {"Authorization": "Bearer tok_c4n4ry", "Host": "10.0.0.7:8400"}
        assert httpx2.get(f"{dashboard.url}/metrics", headers=by_address).status_code == 200
        assert "tok_c4n4ry" not in "".join(answer.text for answer in answers)


def test_samples_are_thinned_after_a_week_and_a_chart_shows_the_worst_of_an_interval(database: FleetDatabase) -> None:
    from datetime import timedelta

    declare(database, project("a"))
    insert = (
        "INSERT INTO reconciler_fleet.samples (project, at, status, ahead, drift, unmanaged) SELECT p.id, now() - CAST(:age AS interval)"
    )
    insert += ", :status, 0, :drift, 0 FROM reconciler_fleet.projects p"
    rows = [("91 days", "Synced", 0), *((f"8 days {minutes} minutes", "Synced", 0) for minutes in range(0, 240, 10))]
    rows += [("48 minutes", "Synced", 0), ("47 minutes", "OutOfSync", 4), ("2 minutes", "Synced", 0)]
    with database.transaction() as connection:
        for age, status, drift in rows:
            connection.execute(text(insert), {"age": age, "status": status, "drift": drift})
        (row,) = projects.read(connection)
        samples.write(connection, row.id, StatusWord.OUT_OF_SYNC, Reading("c0ffee", ahead=1, both=2))
        samples.tidy(connection)
        left = connection.execute(text("SELECT count(*) FROM reconciler_fleet.samples WHERE at < now() - interval '7 days'")).scalar_one()
        assert left in (4, 5)  # hours of the clock
        points = samples.chart(connection, row.id, timedelta(hours=1), points=6)
        assert [(point.status, point.drift) for point in points] == [("OutOfSync", 4), ("OutOfSync", 2)]
        assert samples.heat(connection, [row.id], timedelta(hours=1), columns=6) == {row.id: points}


def test_what_ends_is_listed_by_its_day_for_the_tenants_that_somebody_sees(database: FleetDatabase) -> None:
    def concern(until: str | None) -> dict[str, Any]:
        return {"sort": "expiry" if until else "links", "address": "a/saml/okta", "sentence": "it ends", "until": until}

    declare(database, project("a", tenant="blue"), project("b", tenant="green"))
    with database.transaction() as connection:
        for name, days in (("a", ["2027-02-01", None]), ("b", ["2026-12-24"])):
            data = {"word": "Warning", "concerns": [concern(day) for day in days], "unread": [], "more": 0}
            connection.execute(update(schema.projects).where(schema.projects.c.name == name).values(health=data))
        found = [(row["until"].isoformat(), row["name"]) for row in views.concerns(connection, None)]
        assert found == [("2026-12-24", "b"), ("2027-02-01", "a")]
        assert [row["name"] for row in views.concerns(connection, ["blue"])] == ["a"]
        assert views.concerns(connection, []) == []


def test_the_audit_log_is_printed_as_json_lines_from_a_time(database: FleetDatabase, fleet_url: str) -> None:
    import json

    from click.testing import CliRunner

    from reconciler.assembled import main

    with database.transaction() as connection:
        audit.write(
            connection,
            audit.AuditRecord("ada", "approve", "acme", "blue", {"digest": "ab"}),
            audit.AuditRecord("the fleet", "apply", "acme", "blue"),
        )
    done = CliRunner().invoke(main, ["fleet", "audit", "--database", fleet_url, "--format", "json"])
    assert [(line["person"], line["action"], line["details"]) for line in [json.loads(line) for line in done.output.splitlines()]] == [
        ("ada", "approve", {"digest": "ab"}),
        ("the fleet", "apply", {}),
    ]
    assert "ada  approve  acme  (digest: ab)" in CliRunner().invoke(main, ["fleet", "audit", "--database", fleet_url]).output
    later = CliRunner().invoke(main, ["fleet", "audit", "--database", fleet_url, "--since", "2099-01-01"])
    assert (later.output, later.exit_code) == ("", 0)


def test_a_worker_serves_its_metrics_to_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from reconciler.fleet.metrics import process

    asked: list[tuple[int, str]] = []
    monkeypatch.setattr(process, "start_http_server", lambda port, host: asked.append((port, host)))
    process.serve(9_100)
    assert asked == [(9_100, "127.0.0.1")]
