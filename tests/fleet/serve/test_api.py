"""The API: what its document says is what it does, its documents are those of the commands, and events say when to look again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance
from sqlalchemy import update

from reconciler.fleet.model import Mode
from reconciler.fleet.reports import status_document
from reconciler.fleet.status import Reading
from reconciler.fleet.store import FleetDatabase, approvals, projects, schema as tables
from reconciler.fleet.store.database import MIGRATIONS
from tests.fleet.serve.served import TOKEN, Served, declare, project, read, served
from tests.proofs import tries

GOOD = Reading("c0ffee", managed=10, coverage=1.0)
CHECKS = (not_a_server_error, response_schema_conformance)
PLAN: dict[str, Any] = {"changes": [], "exposures": [], "broken": [], "summary": {}}


@pytest.fixture
def site(database: FleetDatabase) -> Iterator[Served]:
    declare(database, project("acme", mode=Mode.APPLY), project("beta"))
    read(database, "acme", GOOD)
    with database.transaction() as connection:
        approvals.keep_plan(connection, 1, approvals.StoredPlan("c0ffee", PLAN, "digest", text="a plan"))
    with served(database) as made:
        yield made


def test_the_document_of_the_api_says_what_it_does(site: Served) -> None:
    with site.program() as program:
        document = program.get("/api/v1/openapi.json").json()
    document["components"]["schemas"]["Name"] = {"enum": ["acme", "beta", "none"]}
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "name":
                    parameter["schema"] = {"type": "string", "enum": ["acme", "beta", "none"]}
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = site.url
    seen: set[int] = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in GenerationMode:

            @seed(20)
            @settings(max_examples=tries(60, 1), deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def agrees(case: Any) -> None:
                response = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
                seen.add(response.status_code)
                assert response.status_code < 500, response.text
                case.validate_response(response, checks=CHECKS)

            agrees()
    assert {200, 422} <= seen


def test_documents_are_those_of_the_commands_and_probes_say_whether_it_is_ready(site: Served, database: FleetDatabase) -> None:
    with site.program() as program, site.program("wrong") as stranger, site.browser() as anybody:
        with database.transaction() as connection:
            rows = projects.read(connection)
        document = program.get("/api/v1/projects").json()
        expected = json.loads(json.dumps(status_document(rows, 0, rows[0].now)))
        for made in (document, expected):
            made["at"] = ""
            for one in made["projects"]:
                one["age"] = None
        assert document == expected
        one, listed = (program.get(f"/api/v1/projects{end}").json()["projects"] for end in ("/acme", "?text=acme"))
        assert one == listed
        assert program.get("/api/v1/projects/acme/plan").json() == PLAN
        assert program.get("/api/v1/projects/acme/approvals").json()["digest"] == "digest"
        assert program.get("/api/v1/projects?size=1").headers["link"] == '</api/v1/projects?size=1&page=2>; rel="next"'
        moved = program.post("/api/v1/projects/acme/reject", json={"digest": "another", "reason": "no"})
        assert (moved.status_code, moved.json()["id"]) == (409, "RC-fleet-plan-moved")
        assert moved.headers["content-type"] == "application/problem+json"
        assert stranger.get("/api/v1/projects").status_code == 401
        assert program.post("/api/v1/projects/acme/pause", content=b"x" * 70_000).status_code == 413
        assert [anybody.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        with database.transaction() as connection:
            connection.execute(update(tables.version).values(version=len(MIGRATIONS)))
        assert (anybody.get("/readyz").status_code, anybody.get("/healthz").status_code) == (503, 200)


def test_an_event_says_that_a_project_changed_and_which(site: Served) -> None:
    with closing(site.logged_in()) as browser, site.program() as program, browser.stream("GET", "/events?project=acme") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event")) == "event: ready"
        assert program.post("/api/v1/projects/beta/sync").status_code == 200
        assert program.post("/api/v1/projects/acme/sync").status_code == 200
        assert next(line for line in lines if re.match("data: .", line)) == 'data: ["acme"]'
