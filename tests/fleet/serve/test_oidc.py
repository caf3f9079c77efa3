"""People of a provider: who they are is verified, what they may do is their tenant's, and no page of theirs has anything of another."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from joserfc.jwk import RSAKey
from sqlalchemy import func, select, update

from reconciler.assembled import main
from reconciler.errors import UsageError
from reconciler.fleet.model import Mode
from reconciler.fleet.serve import oidc, site as site_module
from reconciler.fleet.serve.routes import login
from reconciler.fleet.status import Reading
from reconciler.fleet.store import FleetDatabase, approvals, audit, schema as tables
from reconciler.model import Plan
from reconciler.report.documents import plan_document
from tests.fleet.serve.provider import CLIENT, SECRET, Provider, provided
from tests.fleet.serve.served import Served, add, csrf, declare, plain, project, read, rows_of, served
from tests.proofs import costly, tries

CANARY = "canary-hook-secret-0123456789"
ROLES = [
    {"value": "blue-leads", "role": "approver", "tenants": ["blue"]},
    {"value": "blue", "role": "viewer", "tenants": ["blue"]},
    {"value": "red-admins", "role": "admin", "tenants": ["red"]},
    {"value": "owners", "role": "admin", "tenants": ["*"]},
]
SHAPES = tries(40, 8)
GOOD = Reading("c0ffee", managed=10, coverage=1.0)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with provided() as made:
        yield made


@pytest.fixture
def site(database: FleetDatabase, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("OIDC_SECRET", SECRET)
    monkeypatch.setenv("HOOK_SECRET", CANARY)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    declared = {
        "issuer": provider.issuer,
        "clientId": CLIENT,
        "clientSecret": "env:OIDC_SECRET",
        "claim": "realm.groups",
        "scopes": ["openid"],
    }
    dashboard = {"url": f"http://127.0.0.1:{port}", "oidc": declared, "roles": ROLES, "metrics": None}
    shared = {"mode": Mode.APPLY, "wave": 1}
    names = [project(f"{tenant}-{number}", tenant=tenant, **shared) for tenant in ("blue", "red") for number in range(2)]
    declare(database, *names, settings={"dashboard": dashboard, "webhooks": {"github": "env:HOOK_SECRET"}})
    for made in names:
        read(database, made.name, GOOD, waits="the plan needs approvals: delete (2 people)")
    with database.transaction() as connection:
        for row in connection.execute(select(tables.projects.c.id, tables.projects.c.name, tables.projects.c.tenant)).all():
            document: dict[str, Any] = {**plan_document(Plan("acme", None), created_at=datetime.now(UTC)), "about": row.name}
            approvals.keep_plan(
                connection, row.id, approvals.StoredPlan("c0ffee", document, f"digest-of-{row.name}", text=f"plan of {row.name}")
            )
            audit.write(connection, audit.AuditRecord("somebody", "sync", row.name, row.tenant))
        paused = tables.projects.c.name.like("%-1")
        values = {"paused": True, "paused_until": func.now() + timedelta(hours=2), "paused_by": "x", "paused_reason": "y"}
        connection.execute(update(tables.projects).where(paused).values(values))
    add(database, tables.generation, {"id": 1, "next_due": datetime.now(UTC), "error": "the generators cannot be read: red.git is gone"})
    add(database, tables.runs, *({"project": number, "says": f"run of {number}", "ended": "done"} for number in range(1, 5)))
    with served(database, port=port, token=None) as made_site:
        yield made_site


@contextmanager
def log_in(site: Served, provider: Provider, email: str, *groups: str) -> Iterator[httpx2.Client]:
    """A browser of somebody whom the provider names."""
    provider.claims = {"email": email, "email_verified": True, "realm": {"groups": list(groups)}}
    with site.browser() as browser:
        provider.landed = browser.get("/login/start?back=/projects/blue-0")
        yield browser


@costly
def test_a_login_is_refused_unless_everything_about_it_is_right(site: Served, provider: Provider, database: FleetDatabase) -> None:
    with log_in(site, provider, "ada@blue.example", "blue") as browser:
        assert provider.landed.url.path == "/projects/blue-0"
        assert "ada@blue.example" in browser.get("/").text
        (session,) = rows_of(database, tables.sessions)
        assert all(cookie.value not in plain(session) for cookie in browser.cookies.jar)
    wrong: list[dict[str, Any]] = [
        {"iss": "https://evil.example"}, {"aud": "another"}, {"aud": [CLIENT, "another"]}, {"exp": 1}, {"nonce": "old"}, {"nbf": 2**40},
        {"email_verified": False},
    ]  # fmt: skip
    for claims in wrong:
        provider.wrong = claims
        with log_in(site, provider, "ada@blue.example", "owners") as browser:
            assert (provider.landed.status_code, browser.get("/").url.path) == (401, "/login"), claims
    provider.wrong, real = {}, provider.key
    provider.key = RSAKey.generate_key(2048, parameters={"kid": "one"})
    with log_in(site, provider, "ada@blue.example", "owners") as browser:
        assert provider.landed.status_code == 401
    provider.key = real
    with site.browser() as browser:
        assert browser.get("/login/callback?code=code-0&state=guess").status_code == 401  # a login that another browser began
        assert browser.get("/login?token=x").status_code == 401
    assert [session["person"]["name"] for session in rows_of(database, tables.sessions)] == ["ada@blue.example"]


def test_a_provider_that_is_down_is_asked_seldom_and_known_endpoints_are_used_meanwhile(
    site: Served, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "provider", oidc.Provider())
    provider.is_down = True
    for _ in range(3):
        with log_in(site, provider, "ada@blue.example", "blue"):
            assert (provider.landed.status_code, "cannot be reached" in provider.landed.text) == (401, True)
    assert provider.discovered == 1
    assert site.said[0] == f"Nobody can log in: {provider.issuer}/.well-known/openid-configuration answers 503"
    provider.is_down = False
    monkeypatch.setattr(oidc, "AGAIN_SECONDS", 0.0)
    for down in (False, True):
        provider.is_down = down
        monkeypatch.setattr(oidc, "DISCOVERY_SECONDS", 0.0)
        with log_in(site, provider, "ada@blue.example", "blue"):
            assert provider.landed.url.path == "/projects/blue-0"
    provider.is_down, provider.issuer = False, "https://evil.example"
    monkeypatch.setattr(oidc, "KNOWN_SECONDS", 0.0)
    with log_in(site, provider, "ada@blue.example", "blue"):
        assert provider.landed.status_code == 401
    assert "is of another issuer" in site.said[-1]


def crawl(browser: httpx2.Client) -> dict[str, httpx2.Response]:
    """Every page that links lead to, from the first one."""
    found: dict[str, httpx2.Response] = {}
    shapes = Counter[str]()  # a list has thousands of orders, and a calendar years of months
    waiting = ["/", "/api/v1/openapi.json", "/api/v1/projects", "/api/v1/audit", "/audit", "/audit.jsonl", "/overview/figures"]
    while waiting:
        path = waiting.pop()
        shapes[path.partition("?")[0]] += 1
        if path in found or path.startswith(("/events", "/logout")) or shapes[path.partition("?")[0]] > SHAPES:
            continue
        found[path] = browser.get(path)
        links = re.findall(r'(?:href|hx-get|action|src)="(/[^"#]*)"', found[path].text)
        waiting += [unescape(link) for link in links if link not in found]
    return found


@costly
def test_a_tenant_crawls_every_link_and_never_sees_another(site: Served, provider: Provider, database: FleetDatabase) -> None:
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser:
        pages = crawl(browser)
        assert {path for path, page in pages.items() if page.status_code >= 500} == set()
        assert pages["/projects/blue-1"].status_code == 200
        texts = {path: re.sub(r"red(irect|uce)|[a-z]red\b", "", page.text) for path, page in pages.items() if "/static/" not in path}
        assert [path for path, text in texts.items() if "red" in text] == []
        assert {browser.get(f"/projects/red-0{path}").status_code for path in ["", "/status", "/runs"]} == {404}
        assert {browser.get(f"/api/v1/projects/red-0{path}").status_code for path in ["", "/runs", "/plan", "/approvals"]} == {404}
        assert {browser.get(path).status_code for path in ("/audit", "/audit.jsonl")} == {404}
        assert browser.get("/api/v1/projects/blue-0/plan").json()["about"] == "blue-0"
        headers = {"X-CSRF-Token": csrf(browser.get("/").text)}
        bodies = {
            "sync": None,
            "resume": None,
            "approve": {"digest": "digest-of-red-0"},
            "reject": {"digest": "digest-of-red-0", "reason": "x"},
        }
        for action, body in bodies.items():
            assert browser.post(f"/api/v1/projects/red-0/{action}", json=body, headers=headers).status_code == 404
            assert browser.post(f"/projects/red-0/{action}", data=body or {}, headers=headers).status_code in (404, 422)
        assert browser.post("/api/v1/projects/blue-0/resume", headers=headers).status_code == 403  # an approver is no admin
        assert browser.post("/api/v1/projects/blue-0/sync", headers=headers).status_code == 200
        listed = browser.get("/api/v1/projects?sort=name")
        assert [one["name"] for one in listed.json()["projects"]] == ["blue-0", "blue-1"]
        assert listed.headers["x-total-count"] == "2"
    with log_in(site, provider, "eve@red.example", "red-admins") as browser:
        assert {line["tenant"] for line in browser.get("/api/v1/audit").json()["lines"]} == {"red"}
        assert "blue" not in browser.get("/audit.jsonl").text
    with log_in(site, provider, "nobody@example.org", "strangers") as browser:
        assert browser.get("/api/v1/projects").json()["projects"] == []
    with log_in(site, provider, "root@example.org", "owners") as browser:
        everything = crawl(browser)
        assert browser.get("/api/v1/projects").headers["x-total-count"] == "4"
        assert all("The generators cannot be read: red.git is gone" in everything[path].text for path in ("/", "/overview"))
    texts = [page.text for found in (pages, everything) for page in found.values()] + site.said + list(site.shown.queue)
    stored = [plain(rows_of(database, table)) for table in tables.METADATA.sorted_tables]
    assert [text for text in (*texts, *stored) if SECRET in text or CANARY in text] == []
    views = [
        (row["person"], row["project"]) for row in rows_of(database, tables.audit) if row["action"] == "view" and "blue" in row["project"]
    ]
    assert sorted(view for view in views if view[0].startswith("ada")) == [("ada@blue.example", "blue-0"), ("ada@blue.example", "blue-1")]


def test_a_role_removed_from_the_fleet_file_ends_without_a_new_login(
    site: Served, provider: Provider, database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with log_in(site, provider, "ada@blue.example", "blue") as browser:
        assert browser.get("/projects/blue-0").status_code == 200
        latest = rows_of(database, tables.revisions)[-1]["settings"]
        latest["dashboard"]["roles"] = []
        with database.transaction() as connection:
            connection.execute(update(tables.revisions).values(settings=latest))
        monkeypatch.setattr(site_module, "FRESH_SECONDS", 0.0)
        assert browser.get("/projects/blue-0").status_code == 404


def invoke(*words: str) -> Result:
    """A command in this process."""
    return CliRunner().invoke(main, list(words))


def approved(browser: httpx2.Client, name: str) -> httpx2.Response:
    """What the API answers to an approval of the plan of a project."""
    headers = {"X-CSRF-Token": csrf(browser.get("/").text)}
    digest = browser.get(f"/api/v1/projects/{name}/approvals").json()["digest"]
    return browser.post(f"/api/v1/projects/{name}/approve", json={"digest": digest}, headers=headers)


def deletes(database: FleetDatabase) -> None:
    """Let the plans of all projects delete something, and the logins be older than what counts as now."""
    with database.transaction() as connection:
        connection.execute(update(tables.plans).values(classes=["delete"]))
        connection.execute(update(tables.sessions).values(created_at=func.now() - timedelta(hours=1)))


@costly
def test_groups_are_read_again_at_each_approval(site: Served, provider: Provider, database: FleetDatabase) -> None:
    provider.refresh = "canary-refresh"
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser:
        deletes(database)
        provider.claims = {"realm": {"groups": ["blue"]}}  # she is no lead any more, and her session does not know it
        refused = approved(browser, "blue-0")
        assert (refused.status_code, refused.json()["id"]) == (403, "RC-fleet-role")
        provider.claims = {"realm": {}}
        assert approved(browser, "blue-0").json()["id"] == "RC-fleet-groups"
        provider.claims, provider.access = {"realm": {"groups": ["blue-leads"]}}, "another"  # the first token has expired
        assert approved(browser, "blue-0").status_code == 200
        provider.claims["sub"] = "43"
        assert approved(browser, "blue-0").json()["id"] == "RC-fleet-groups", "somebody else"
        stored = [plain(rows_of(database, table)) for table in tables.METADATA.sorted_tables]
        assert [text for text in stored if "canary-refresh" in text or "another-again" in text or '"opaque"' in text] == []
    who = [row["details"] for row in rows_of(database, tables.audit) if row["person"] == "42" or "ada@" in row["person"]]
    assert {(details["issuer"], details["subject"]) for details in who} == {(provider.issuer, "42")}
    (line,) = rows_of(database, tables.approvals)
    assert (line["issuer"], line["subject"], line["addresses"]) == (provider.issuer, "42", [])


@costly
def test_without_an_answer_of_the_provider_only_a_new_login_approves(
    site: Served, provider: Provider, database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "provider", oidc.Provider())
    provider.has_userinfo = False
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser:
        deletes(database)
        refused = approved(browser, "blue-0").json()
        assert (refused["id"], refused["remedy"]) == ("RC-fleet-groups", "Log out and in again, and approve within 5 minutes.")
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser:
        assert approved(browser, "blue-0").status_code == 200


def test_an_address_that_the_provider_did_not_verify_is_nobodys(site: Served, provider: Provider, database: FleetDatabase) -> None:
    provider.wrong = {"email_verified": None}
    with log_in(site, provider, "grace@acme.example", "blue-leads") as browser:
        assert "grace@acme.example" not in browser.get("/").text
    provider.wrong = {"email_verified": "yes"}
    with log_in(site, provider, "grace@acme.example", "blue-leads"):
        assert provider.landed.status_code == 401
    (person,) = rows_of(database, tables.people)
    assert (person["subject"], person["name"], person["addresses"], person["values"]) == ("42", "42", [], ["blue-leads"])


@costly
def test_one_person_approves_once_under_two_addresses_and_sessions_can_be_listed_and_ended(
    site: Served, provider: Provider, database: FleetDatabase
) -> None:
    answers = []
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser, database.transaction() as connection:
        connection.execute(update(tables.plans).values(classes=["delete"]))
    for email in ("ada@blue.example", "ada.lovelace@blue.example"):
        with log_in(site, provider, email, "blue-leads") as browser:
            answers.append(approved(browser, "blue-0").json()["missing"])
    assert answers == [{"delete": 1}, {"delete": 1}]
    where = ("--database", database.url)
    listed = invoke("fleet", "sessions", *where).output
    assert (listed.count("ada@blue.example"), listed.count("ada.lovelace@blue.example")) == (2, 1)
    with log_in(site, provider, "grace@blue.example", "blue-leads") as browser:
        assert invoke("fleet", "sessions", "--end", "zzz", *where).exit_code == 3
        assert invoke("fleet", "sessions", "--person", "ada@blue.example", "--end-all", *where).exit_code == 0
        assert browser.get("/projects/blue-0").url.path == "/projects/blue-0"
        listed = invoke("fleet", "sessions", *where).output
        assert (listed.count("ada@blue"), listed.count("ada.lovelace"), listed.count("grace@")) == (0, 1, 1)
        id = next(line for line in listed.splitlines() if "grace@" in line).split()[0]
        assert invoke("fleet", "sessions", "--end", id, *where).exit_code == 0
        assert browser.get("/projects/blue-0").url.path == "/login"
    ended = [row for row in rows_of(database, tables.audit) if row["action"] == "end-session"]
    assert sorted(row["details"]["of"] for row in ended) == ["ada@blue.example", "ada@blue.example", "grace@blue.example"]


def test_without_a_provider_only_this_machine_is_listened_on(database: FleetDatabase) -> None:
    declare(database, project("acme"))
    with pytest.raises(UsageError, match=r"0\.0\.0\.0 cannot be listened on") as refused, served(database, host="0.0.0.0"):
        pass
    assert "ssh -L" in (refused.value.hint or "")


def test_a_session_ends_after_twelve_hours(site: Served, provider: Provider, database: FleetDatabase) -> None:
    with log_in(site, provider, "ada@blue.example", "blue-leads") as browser:
        (row,) = rows_of(database, tables.sessions)
        assert row["expires_at"] - row["created_at"] == timedelta(hours=12)
        assert browser.get("/projects/blue-0").url.path == "/projects/blue-0"
        with database.transaction() as connection:
            connection.execute(update(tables.sessions).values(expires_at=func.now()))
        assert browser.get("/projects/blue-0").url.path == "/login"


def test_with_a_provider_no_program_has_a_token_and_the_metrics_require_one(site: Served, database: FleetDatabase) -> None:
    with site.program() as program:
        assert (program.get("/api/v1/projects").status_code, program.get("/metrics").status_code) == (401, 403)
    with pytest.raises(UsageError, match="--api-token is the token of the single user"), served(database):
        pass
