"""The API: what its document says is what it does, its documents are those of the commands, and events say when to look again.

Webhooks: a signed push makes the projects of its repository and branch due; anything else does nothing.

Lists by PostgreSQL: the words agree with the pure functions, and every tenant sees its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance
from sqlalchemy import Text, cast, func, insert, select, update

from reconciler.fleet.facts import health_of
from reconciler.fleet.model import Mode, Repository, as_data
from reconciler.fleet.reports import status_document, status_of
from reconciler.fleet.serve.pushes import repository
from reconciler.fleet.status import Reading, as_data as reading_data
from reconciler.fleet.store import FleetDatabase, approvals, projects, runs, schema as tables
from reconciler.fleet.store.dashboard import listing
from reconciler.fleet.store.dashboard.listing import ProjectSelection
from reconciler.fleet.store.database import MIGRATIONS
from tests.fleet.serve.served import TOKEN, Served, declare, project, read, rows_of, served
from tests.proofs import costly, tries

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


@costly
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


def test_a_run_is_found_by_its_number_in_its_project_and_by_its_id_in_the_fleet(site: Served, database: FleetDatabase) -> None:
    with database.transaction() as connection:
        acme, beta = (row.id for row in projects.read(connection, ["acme", "beta"]))
        moment = func.now()
        ids = [
            connection.execute(tables.runs.insert().values(project=id, ended_at=moment).returning(tables.runs.c.id)).scalar_one()
            for id in (acme, beta, beta)
        ]
    with site.program() as program:
        listed = program.get("/api/v1/projects/beta/runs").json()["runs"]
        assert [(run["id"], run["number"]) for run in listed] == [(ids[2], 2), (ids[1], 1)]
        assert program.get("/api/v1/projects/beta/runs/2").json() == listed[0]
        assert [program.get(f"/api/v1/projects/{end}").status_code for end in ("beta/runs/3", "beta/runs/0", "none/runs/1")] == [
            404,
            422,
            404,
        ]
        led = program.get(f"/runs/{ids[2]}", follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (303, f"{site.root}/projects/beta#run-2")
        assert 'id="run-2"' in program.get("/projects/beta").text
        assert program.get("/runs/999999", follow_redirects=False).status_code == 404


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
        for project in (*one, *listed):
            project["age"] = None  # of two requests, in seconds
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


HUB, LAB = "hub-secret-0123456789", "lab-secret-0123456789"
SIGNING = "whsec_" + base64.b64encode(b"k" * 32).decode()
PUSH: dict[str, Any] = {
    "ref": "refs/heads/main", "after": "c0ffee",
    "repository": {
        "clone_url": "https://forge.example/Acme/Docs.git", "ssh_url": "git@forge.example:Acme/Docs.git", "default_branch": "main",
    },
    "object_kind": "push",
    "project": {"git_http_url": "https://forge.example/acme/docs.git", "git_ssh_url": "git@forge.example:acme/docs.git"},
}  # fmt: skip


def test_every_form_of_a_url_is_the_same_repository() -> None:
    forms = [
        "https://forge.example/acme/docs", "https://forge.example/Acme/Docs.git", "https://forge.example:443/acme/docs/",
        "ssh://git@forge.example/acme/docs.git", "ssh://git@forge.example:22/acme/docs", "git@forge.example:acme/docs.git",
        "http://forge.example/acme/docs",
    ]  # fmt: skip
    assert {repository(form) for form in forms} == {"forge.example/acme/docs"}
    others = [
        "https://forge.example/acme/docs2",
        "https://evil.example/acme/docs",
        "https://forge.example:8443/acme/docs",
        "file:///acme/docs",
    ]
    assert "forge.example/acme/docs" not in {repository(other) for other in others}


def github(body: bytes, secret: str = HUB, event: str = "push") -> dict[str, str]:
    return {"X-GitHub-Event": event, "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def gitlab(body: bytes, *, at: float | None = None, key: bytes = b"k" * 32) -> dict[str, str]:
    moment = str(int(at if at is not None else time.time()))
    signature = hmac.new(key, f"id.{moment}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": "id", "webhook-timestamp": moment, "webhook-signature": "v1," + base64.b64encode(signature).decode()}


def test_a_signed_push_makes_projects_due_and_nothing_else_does(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HUB", HUB), ("LAB", LAB), ("SIGNING", SIGNING)):
        monkeypatch.setenv(name, value)
    forms = {
        "https": Repository("https://forge.example/acme/docs"), "ssh": Repository("git@forge.example:Acme/docs.git", "main"),
        "branch": Repository("https://forge.example/acme/docs", "next"), "other": Repository("https://forge.example/acme/docs-2"),
    }  # fmt: skip
    declare(database, *(project(name, source=source) for name, source in forms.items()), settings={"webhooks": {"github": "env:HUB"}})

    def due() -> set[str]:
        rows = rows_of(database, tables.projects)
        later = {"next_due": func.now() + func.make_interval(0, 0, 0, 0, 1)}
        with database.transaction() as connection:
            now = connection.execute(func.now().select()).scalar_one()
            connection.execute(update(tables.projects).values(later))
        return {row["name"] for row in rows if row["next_due"] <= now}

    due()
    body = json.dumps(PUSH).encode()
    with served(database) as site, site.browser() as forge:
        for headers in ({}, github(body, "wrong"), github(body + b" "), {**github(body), "X-Hub-Signature-256": "sha1=é".encode()}):
            assert forge.post("/webhooks/github", content=body, headers=headers).status_code == 401  # type: ignore[arg-type]
        assert forge.post("/webhooks/gitlab", content=body, headers={"X-Gitlab-Token": ""}).status_code == 401  # it has no secret
        large = b"x" * (5 * 2**20)
        assert forge.post("/webhooks/github", content=large, headers=github(large)).status_code == 413
        assert forge.post("/webhooks/github", content=b"{}", headers=github(b"{}", event="ping")).json() == {"due": 0}
        assert forge.post("/webhooks/github", content=b"[[", headers=github(b"[[")).json() == {"due": 0}
        assert due() == set()
        assert forge.post("/webhooks/github", content=body, headers=github(body)).json() == {"due": 2}
        assert due() == {"https", "ssh"}
        with database.transaction() as connection:  # a push during a run is not answered by that run
            worker = runs.register(connection, runs.Worker("desk", 1, 9, 30, "0"))
            connection.execute(update(tables.projects).where(tables.projects.c.name == "https").values(next_due=func.now()))
            number = connection.execute(tables.projects.select().where(tables.projects.c.name == "https")).one().id
            run = connection.execute(tables.runs.insert().values(project=number).returning(tables.runs.c.id)).scalar_one()
            runs.begin(connection, run, worker)
        again = json.dumps(PUSH | {"after": "c0ffee2"}).encode()
        assert forge.post("/webhooks/github", content=again, headers=github(again)).json() == {"due": 2}
        with database.transaction() as connection:
            hour = {"next_due": func.now() + func.make_interval(0, 0, 0, 0, 1)}
            assert runs.end(connection, run, worker, ended="done", values={}, project=hour)
        assert due() == {"https", "ssh"}
        with database.transaction() as connection:
            connection.execute(update(tables.revisions).values(settings={"webhooks": {"gitlab": "env:LAB"}}))
    with served(database) as site, site.browser() as forge:
        assert forge.post("/webhooks/gitlab", content=body, headers={"X-Gitlab-Token": LAB + "x"}).status_code == 401
        assert forge.post("/webhooks/gitlab", content=body, headers={"X-Gitlab-Token": LAB}).json() == {"due": 2}
        with database.transaction() as connection:
            connection.execute(update(tables.revisions).values(settings={"webhooks": {"gitlab": "env:SIGNING"}}))
    with served(database) as site, site.browser() as forge:
        old = gitlab(body, at=time.time() - 3_600)
        for headers in (old, gitlab(body, key=b"x" * 32), {"X-Gitlab-Token": SIGNING}, {**gitlab(body), "webhook-timestamp": "never"}):
            assert forge.post("/webhooks/gitlab", content=body, headers=headers).status_code == 401
        assert forge.post("/webhooks/gitlab", content=body, headers=gitlab(body)).json() == {"due": 2}
    assert {row["action"] for row in rows_of(database, tables.audit)} == {"push"}


def body_of(**more: Any) -> bytes:
    return json.dumps(PUSH | more).encode()


@contextmanager
def hooked(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch, webhooks: dict[str, Any]) -> Iterator[httpx2.Client]:
    """A dashboard with these webhooks, and the projects of two tenants in one repository."""
    for name, value in (("HUB", HUB), ("LAB", LAB), ("SIGNING", SIGNING), ("BLUE", "blue-secret"), ("GREEN", "green-secret")):
        monkeypatch.setenv(name, value)
    source = Repository("https://forge.example/acme/docs")
    declare(database, *(project(tenant, source=source, tenant=tenant) for tenant in ("blue", "green")), settings={"webhooks": webhooks})
    with served(database) as site, site.browser() as forge:
        yield forge


def test_a_delivery_counts_once_whichever_dashboard_gets_it(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    body = body_of()
    with hooked(database, monkeypatch, {"github": "env:HUB"}) as forge:
        assert forge.post("/webhooks/github", content=body, headers=github(body)).json() == {"due": 2}
        named = github(body) | {"X-GitHub-Delivery": "another"}  # which nobody signs
        assert forge.post("/webhooks/github", content=body, headers=named).json() == {"due": 0}
    with hooked(database, monkeypatch, {"github": "env:HUB"}) as forge:
        assert forge.post("/webhooks/github", content=body, headers=github(body)).json() == {"due": 0}
        later = body_of(after="c0ffee3")
        assert forge.post("/webhooks/github", content=later, headers=github(later)).json() == {"due": 2}


def test_a_delivery_of_gitlab_counts_once_and_a_branch_may_return_to_a_commit(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    body = body_of()
    with hooked(database, monkeypatch, {"gitlab": "env:SIGNING"}) as forge:
        for due in (2, 0):
            assert forge.post("/webhooks/gitlab", content=body, headers=gitlab(body)).json() == {"due": due}
        retried = gitlab(body, at=time.time() + 5)
        assert forge.post("/webhooks/gitlab", content=body, headers=retried).json() == {"due": 0}, "the same id, signed again"
        assert forge.post("/webhooks/gitlab", content=body, headers=retried | {"webhook-id": "other"}).status_code == 401
    with hooked(database, monkeypatch, {"gitlab": "env:LAB"}) as forge:
        for key, due in (("one", 2), ("one", 0), ("two", 2)):
            headers = {"X-Gitlab-Token": LAB, "Idempotency-Key": key}
            assert forge.post("/webhooks/gitlab", content=body, headers=headers).json() == {"due": due}


def test_the_secret_of_a_tenant_makes_no_project_of_another_due(database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [{"secret": "env:BLUE", "tenants": ["blue"]}, {"secret": "env:GREEN", "tenants": ["green"]}]
    with hooked(database, monkeypatch, {"github": secrets, "gitlab": secrets}) as forge:
        for number, (secret, status, due) in enumerate((("blue-secret", 202, 1), ("green-secret", 202, 1), ("other", 401, None))):
            body = body_of(after=f"c0ffee{number}")
            answer = forge.post("/webhooks/github", content=body, headers=github(body, secret))
            assert (answer.status_code, answer.json().get("due")) == (status, due)
        body = body_of(after="c0ffee9")
        assert forge.post("/webhooks/gitlab", content=body, headers={"X-Gitlab-Token": "green-secret"}).json() == {"due": 1}
    assert [row["tenant"] for row in rows_of(database, tables.audit)] == ["blue", "green", "green"]


AGES = (0, 1, 299, 300, 301, 899, 900, 901, 1_799, 1_800, 1_801, -60, -900)
NUMBERS = (0, 0, 0, 0, 1, 7)


def reading(dice: random.Random) -> dict[str, Any] | None:
    if dice.random() < 0.1:
        return None
    numbers = {name: dice.choice(NUMBERS) for name in ("ahead", "drift", "both", "unmanaged", "in_doubt")}
    unreadable = dice.choice(((), (), (), ("site: 403 100 % _",)))
    made = reading_data(Reading("c0ffee", **numbers, unreadable=unreadable, new_state=dice.choice(("", "", "", "never seen"))))
    return made | {"coverage": dice.choice((None, 0.0, 0.25, 1.0))}


def health(dice: random.Random, today: Any) -> dict[str, Any] | None:
    if dice.random() < 0.2:
        return None
    days = dice.sample((-1, 0, 1, 9, 10, 11, None), dice.choice((0, 0, 1, 2)))
    untils = [(today + timedelta(days=day)).isoformat() if day is not None else None for day in days]
    concerns = [{"sort": "expiry", "address": "a/b", "sentence": "ends", "until": until} for until in untils]
    return {"concerns": concerns, "unread": dice.choice(([], [], ["site"])), "more": 0}


def fill(database: FleetDatabase, number: int, dice: random.Random) -> None:
    """Projects in every condition."""
    declare(database, settings={"expiresSoon": 10 * 86_400 + 80_000})
    with database.transaction() as connection:
        today = connection.execute(select(func.now())).scalar_one().date()
        rows = []
        for index in range(number):
            made = project(f"p{index:05}", every=dice.choice((10, 100, 300, 600)), tenant=dice.choice("abc"), wave=dice.choice((0, 1)))
            at = func.now() - timedelta(seconds=dice.choice(AGES))
            rows.append({
                "name": made.name, "spec": as_data(made), "tenant": made.tenant, "token": "env:T", "wave": made.wave,
                "orphaned_at": func.now() if dice.random() < 0.1 else None, "error": dice.choice((None, None, "the token was refused")),
                "reading": reading(dice), "read_at": at if dice.random() < 0.9 else None,
                "health": health(dice, today), "health_at": at,
            })  # fmt: skip
        for row in rows:
            connection.execute(insert(tables.projects).values(row))


@costly
def test_the_status_and_the_health_in_sql_are_those_of_the_pure_functions(database: FleetDatabase) -> None:
    dice = random.Random(20)
    fill(database, tries(3_000, 250), dice)
    with database.transaction() as connection:
        rows = projects.read(connection)
        words = (tables.projects.c.name, listing.STATUS, listing.SHOWN, listing.HEALTH)
        said = {row[0]: tuple(row[1:]) for row in connection.execute(select(*words))}
        expected = {
            row.project.name: (
                status_of(row).word.value,
                "orphaned" if row.orphaned else status_of(row).word.value,
                health_of(row).word.value,
            )
            for row in rows
        }
        assert said == expected
        assert len(Counter(said.values())) > 10
        everything = listing.listed(connection, ProjectSelection(limit=10_000), None)
        assert everything.counts == Counter(shown for _, shown, _ in expected.values())
        assert [cell.status for cell in listing.cells(connection, None)] == [said[row.project.name][0] for row in rows]
        for _ in range(tries(60, 15)):
            tenants = dice.choice((None, (), ("a",), ("b", "c")))
            chosen = ProjectSelection(
                text=dice.choice(("", "", "", "P00", "100 % _", "refused")), tenant=dice.choice(("", "", "a")),
                status=dice.choice(("", "Synced", "OutOfSync", "Unknown", "orphaned")), mode=dice.choice(("", "watch", "apply")),
                health=dice.choice(("", "", "Broken", "Warning", "Unknown", "Healthy")), sort=dice.choice(list(listing.SORTS)),
                descending=dice.random() < 0.5, limit=10_000,
            )  # fmt: skip
            made = listing.listed(connection, chosen, tenants)
            matching = [row for row in rows if _matches(row, expected[row.project.name], chosen, tenants)]
            names = [row.project.name for row in made.rows]
            assert (sorted(names), made.matching) == ([row.project.name for row in matching], len(matching))
            half = dice.randrange(1, 40)
            parts = [listing.listed(connection, _paged(chosen, offset, half), tenants).rows for offset in (0, half)]
            assert [row.project.name for part in parts for row in part] == names[: 2 * half]
            if chosen.sort == "name":
                assert names == sorted(names, reverse=chosen.descending)


def _words(row: projects.ProjectRow) -> tuple[str, str, str]:
    word = status_of(row).word.value
    return word, "orphaned" if row.orphaned else word, health_of(row).word.value


def _paged(chosen: ProjectSelection, offset: int, limit: int) -> ProjectSelection:
    return ProjectSelection(**{**vars(chosen), "offset": offset, "limit": limit})


def _matches(row: projects.ProjectRow, words: tuple[str, str, str], chosen: ProjectSelection, tenants: tuple[str, ...] | None) -> bool:
    texts = [row.project.name, row.project.tenant, row.project.source.git, row.error or "", *(row.reading or {}).get("unreadable", ())]
    return (
        (tenants is None or row.project.tenant in tenants)
        and chosen.status in ("", words[1])
        and chosen.health in ("", words[2])
        and chosen.tenant in ("", row.project.tenant)
        and chosen.mode in ("", row.project.mode)
        and any(chosen.text.lower() in text.lower() for text in texts)
    )


def test_a_page_of_ten_thousand_projects_takes_less_than_a_second(database: FleetDatabase) -> None:
    fill(database, 100, random.Random(7))
    with database.transaction() as connection:
        table = tables.projects
        columns = [column for column in table.c if column.name not in ("id", "name", "scope", "spec")]
        numbers = select(func.generate_series(1, 99).label("number")).subquery()
        name = table.c.name + "-" + cast(numbers.c.number, Text)
        spec = func.jsonb_set(table.c.spec, ["name"], func.to_jsonb(name))
        many = select(name, spec, *columns).select_from(table.join(numbers, numbers.c.number > 0))
        connection.execute(insert(table).from_select(["name", "spec", *(column.name for column in columns)], many))
        assert connection.execute(select(func.count()).select_from(table)).scalar_one() == 10_000
        connection.execute(update(table).values(waits="the plan needs approvals: delete (2 people)"))
    took = []
    for chosen in (
        ProjectSelection(),
        ProjectSelection(status="Unknown", health="Broken", text="p0", sort="coverage", descending=True, offset=500),
    ):
        with database.transaction() as connection:
            begun = time.perf_counter()
            assert len(listing.listed(connection, chosen, ("a", "b")).rows) == 50
            took.append(time.perf_counter() - begun)
    assert min(took) < 1, took
