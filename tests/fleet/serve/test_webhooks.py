"""Webhooks: a signed push makes the projects of its repository and branch due; anything else does nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, update

from reconciler.fleet.model import Repository
from reconciler.fleet.serve.pushes import repository
from reconciler.fleet.store import FleetDatabase, runs, schema as tables
from tests.fleet.serve.served import declare, project, rows_of, served

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
            settings = {"webhooks": {"gitlab": "env:LAB"}}
            connection.execute(update(tables.revisions).values(settings=settings))
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
