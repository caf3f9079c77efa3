"""The dashboard over HTTP: who gets in, what they see, what is refused."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import httpx2
import pytest

from reconciler.fleet.approvals import Continuation, Decision, used_up
from reconciler.fleet.model import ChangeClass, Mode
from reconciler.fleet.status import Reading
from reconciler.fleet.store import FleetDatabase, approvals, schema as tables
from reconciler.model import Plan
from reconciler.report.documents import plan_document
from tests.fleet.serve.served import PERSON, csrf, declare, project, read, rows_of, served

GOOD = Reading("c0ffee" * 6 + "c0ff", managed=10, coverage=1.0)


def test_the_link_logs_in_once_and_forms_work_with_the_token_of_their_session_only(database: FleetDatabase) -> None:
    declare(database, project("acme"), project("beta"))
    read(database, "acme", GOOD)
    with served(database) as site, site.browser() as stranger:
        link = site.link()
        assert (stranger.get("/").url.path, stranger.get("/api/v1/projects").status_code) == (f"{site.root}/login", 401)
        assert stranger.get("/login?token=guess").status_code == 401
        with site.browser() as browser:
            page = browser.get(link)
            assert (page.status_code, page.url.path) == (200, f"{site.root}/")
            assert "acme" in page.text
            assert stranger.get(link).status_code == 401  # it worked once
            assert "Open the newest link that `fleet serve` printed: each works once." in unescape(stranger.get(link).text)
            assert browser.get(link).url.path == f"{site.root}/", "the browser that used it"
            assert {"httponly", "samesite=strict"} <= {part.strip() for part in page.history[0].headers["set-cookie"].lower().split(";")}
            for path in (
                "/projects/acme",
                "/overview",
                "/calendar",
                "/audit",
                "/projects/acme/status",
                "/overview/figures",
                "/audit.jsonl",
            ):
                answer = browser.get(path)
                assert answer.status_code == 200, (path, answer.text)
                assert answer.headers["content-security-policy"].startswith("default-src 'none'")
            token = csrf(browser.get("/projects/acme").text)
            refused = [
                browser.post("/projects/acme/sync"),
                browser.post("/projects/acme/sync", data={"csrf": ("y" if token[0] == "x" else "x") + token[1:]}),
                browser.post("/projects/acme/sync", data={"csrf": token}, headers={"Origin": "https://evil.example"}),
                browser.post("/projects/acme/sync", data={"csrf": token}, headers={"Sec-Fetch-Site": "cross-site"}),
                browser.post("/projects/acme/sync", data={"csrf": token}, headers={"Host": "evil.example"}),
                browser.get("/", headers={"Host": "evil.example:8400"}),
            ]
            assert [answer.status_code for answer in refused] == [403, 403, 403, 403, 421, 421]
            assert [row["wanted_at"] for row in rows_of(database, tables.projects)] == [None, None]
            done = browser.post(
                "/projects/acme/sync", data={"csrf": token}, headers={"Origin": site.origin, "Sec-Fetch-Site": "same-origin"}
            )
            assert (done.status_code, done.url.path) == (200, f"{site.root}/projects/acme")
            assert browser.post("/logout", data={"csrf": token}).url.path == f"{site.root}/login"
            assert browser.get("/projects/acme").url.path == f"{site.root}/login"
        lines = [(line["person"], line["action"], line["project"]) for line in rows_of(database, tables.audit)]
        assert lines == [(PERSON, action, name) for action, name in (("login", None), ("view", "acme"), ("sync", "acme"), ("logout", None))]
        assert link.rpartition("=")[2] not in "".join(site.said)


def test_a_session_of_the_single_person_is_of_a_path_that_no_other_port_knows(database: FleetDatabase) -> None:
    declare(database, project("acme"))
    with served(database) as site, closing(site.logged_in()) as browser:
        (cookie,) = browser.cookies.jar
        assert (cookie.path, cookie.domain_specified) == (f"{site.root}/", False)
        assert len(site.root) > 30
        assert browser.get(f"{site.origin}/").url.path == "/login", (
            "a browser sends the cookie to no other path, at this port and all others"
        )
        given = {"Cookie": f"{cookie.name}={cookie.value}"}
        with httpx2.Client(base_url=site.origin, headers=given) as thief:
            for path in ("/", "/projects/acme", "/guess/projects/acme", "/api/v1/projects"):
                assert thief.get(path).status_code in (303, 401, 404), path
            assert thief.get(f"{site.root}/projects/acme").status_code == 200
            # A page at another port sets one of the same name for all paths; browsers send it behind ours.
            both = thief.get(f"{site.root}/projects/acme", headers={"Cookie": f"{given['Cookie']}; {cookie.name}=other"})
            assert both.status_code == 200
        links = re.findall(r'(?:href|src|action|hx-get|sse-connect)="(/[^"]*)"', browser.get("/").text + browser.get("/projects/acme").text)
        assert len(links) > 20
        assert [link for link in links if not link.startswith(f"{site.root}/")] == []


def test_the_person_of_the_link_has_the_name_that_the_commands_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two names of one person would count as two people where two must approve."""
    from reconciler.cli.terminal.screen import Screen
    from reconciler.fleet.commands import options as fleet_options, serve as fleet_serve

    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "config").write_text("[user]\n\temail = ada@acme.example\n")
    assert fleet_serve.listening(Screen(), "127.0.0.1", None).person == fleet_options.operator().name == "ada@acme.example"


PLAN = approvals.StoredPlan(
    GOOD.commit, plan_document(Plan("acme", None), created_at=datetime.now(UTC)), "d1-c0ffee", frozenset({ChangeClass.DELETE}), text="- old"
)


def keep(database: FleetDatabase, plan: approvals.StoredPlan, *decisions: Decision) -> None:
    with database.transaction() as connection:
        approvals.keep_plan(connection, 1, plan)
        for decision in decisions:
            approvals.decide(connection, 1, decision)


def shown(page: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", page).split())).replace(" ,", ",")


def test_the_page_of_a_plan_that_nothing_comes_of_says_why_and_asks_nobody(database: FleetDatabase) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    blocked = replace(GOOD, ahead=1, blocked=("blocked: acme/space/old: it is protected: write removed: [...]",))
    refused = replace(GOOD, ahead=4, refused="the plan deletes 4 objects; if this is intended: --allow-delete 4")
    with served(database) as site, closing(site.logged_in()) as browser:
        for reading, plan, says in (
            (blocked, replace(PLAN, changes=frozenset()), "The fleet does not apply this plan: what it changes is blocked."),
            (refused, PLAN, f"The fleet does not apply this plan: it is refused: {refused.refused}."),
        ):
            keep(database, plan)
            read(database, "acme", reading, waits=reading.refused or "what is left of the commit is blocked")
            page = browser.get("/projects/acme").text
            assert says in shown(page)
            assert "/approve" not in page
            assert shown(page).count(reading.refused or reading.blocked[0]) == 1 + bool(reading.refused), (
                "in the status, and below the plan"
            )
        keep(database, PLAN)
        read(database, "acme", replace(GOOD, ahead=1), waits="the plan needs approvals: delete (2 people)")
        page = browser.get("/projects/acme").text
        assert ("/approve" in page, "Run now" in page) == (True, True)
        later = datetime.now(UTC) + timedelta(hours=1)
        read(database, "acme", GOOD, paused=True, paused_until=later, paused_by="x", paused_reason="y")
        assert "Run now" not in browser.get("/projects/acme").text, "it would be refused"


def test_the_page_says_which_decisions_an_apply_used_up_and_which_count_for_what_is_left(database: FleetDatabase) -> None:
    declare(database, project("acme", mode=Mode.APPLY))
    read(database, "acme", replace(GOOD, ahead=1), waits="the plan needs approvals: delete (2 people)")
    decided = [Decision(name, "d1-c0ffee", frozenset({ChangeClass.DELETE})) for name in ("grace@acme.example", "linus@acme.example")]
    with served(database) as site, closing(site.logged_in()) as browser:
        keep(database, PLAN, *decided, used_up("d1-c0ffee", 7))
        page = shown(browser.get("/projects/acme").text)
        assert page.count("Does not count: an apply of the plan used it up.") == 2
        keep(database, replace(PLAN, digest="d2-c0ffee", continues=Continuation("d1-c0ffee", (7,))))
        page = shown(browser.get("/projects/acme").text)
        assert "Does not count" not in page
        assert "grace@acme.example, linus@acme.example" in page
