"""A dashboard that is served: it ends at once although pages follow it, and follows a fleet file that changes how people log in."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from reconciler.fleet.serve import run
from reconciler.fleet.store import FleetDatabase
from tests.fleet.serve.provider import CLIENT, provided
from tests.fleet.serve.served import SECONDS, declare, project, served


def test_a_dashboard_that_pages_follow_ends_at_once(database: FleetDatabase) -> None:
    declare(database, project("acme"))
    ends: list[list[str]] = []
    ready = threading.Barrier(3)

    with served(database) as site:
        browser = site.logged_in()

        def follow() -> None:
            lines: list[str] = []
            with browser.stream("GET", "/events", timeout=SECONDS) as answer:
                for line in answer.iter_lines():
                    if line == "event: ready":
                        ready.wait(SECONDS)
                    lines.append(line)
            ends.append(lines)

        pages = [threading.Thread(target=follow) for _ in range(2)]
        for page in pages:
            page.start()
        ready.wait(SECONDS)
        begun = time.monotonic()
    assert time.monotonic() - begun < run.END_SECONDS  # 0.1 s; it was all of them, for it waited until pages let go
    for page in pages:
        page.join(SECONDS)
    browser.close()
    assert [lines[0] for lines in ends] == ["event: ready"] * 2


def test_a_fleet_file_that_names_a_provider_is_followed_unless_it_cannot_be(
    database: FleetDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(run, "LOOK_SECONDS", 0.02)
    monkeypatch.delenv("OIDC_SECRET", raising=False)
    with provided() as provider, served(database, token=None) as site:
        assert "/login?token=" in site.link()
        own = site.url

        def say(**oidc: Any) -> None:
            settings = {"dashboard": {"url": own, "oidc": oidc, "roles": [], "metrics": None}} if oidc else {}
            declare(database, project("acme"), settings=settings)

        known = {"issuer": provider.issuer, "clientId": CLIENT, "claim": "groups", "scopes": ["openid"]}
        say(**known, clientSecret="env:OIDC_SECRET")
        while not site.said:
            time.sleep(0.01)
        (said,) = site.said
        assert said.startswith("The fleet file changed how people log in, and the dashboard cannot follow: dashboard.oidc.clientSecret: ")
        with site.browser() as browser:
            assert "provider" not in browser.get("/login").text, "nobody is locked out by a fleet file that cannot be followed"
        say(**known, clientSecret=None)
        assert site.shown.get(timeout=SECONDS) == f"The dashboard is ready: {own}"
        with site.browser() as browser:
            assert "127.0.0.1" in browser.get("/login").text
            assert browser.get("/").url.path == "/login"
        say()
        assert "/login?token=" in site.link()
        assert len(site.said) == 3, "it says so each time, and once"
