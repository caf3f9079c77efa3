"""What is said where nothing can be done: the cause first, once, with what to do; what only waits for it is folded."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.sandbox.server import Embedded, embedded
from tests.cli.conftest import Cli
from tests.documents import valid
from tests.harness import SEED, TOKEN, Org

ACME: dict[str, Any] = {
    "id": "org_acme",
    "members": {"ada@acme.example": "admin"},
    "content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "guides", "title": "Guides", "duplicateOf": "blank"}],
    "sites": {"docs": {"title": "Docs", "structure": [{"section": "start", "title": "Start", "spaces": ["guides"]}]}},
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Embedded]:
    with embedded(tmp_path / "real.db", seed=SEED) as running:
        yield running


def project(cli: Cli, organization: Any) -> None:
    whole = {"version": 1, "project": "p", "service": {"member": "ada@acme.example"}, "organizations": {"acme": organization}}
    cli.write("p/reconciler.yaml", yaml.safe_dump(whole, sort_keys=False))


@contextmanager
def website(status: int) -> Iterator[str]:
    """A web site that answers every request with the same page."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "15")
            self.end_headers()
            self.wfile.write(b"<h1>Hello!</h1>")

        def log_message(self, *words: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tokened(running: Embedded) -> dict[str, str]:
    return {"RECONCILER_TOKEN": running.token}


# -- another address than the service's ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["plan", "drift", "apply --yes --create-state", "import taken --org org_acme"])
def test_a_wrong_base_path_is_said_once(cli: Cli, served: Embedded, command: str) -> None:
    project(cli, ACME)
    name, *words = command.split()
    words = [name, *words] if name == "import" else [name, "p", *words]
    refused = cli(*words, "--base-url", f"{served.base_url}/wrong", env=tokened(served))
    assert refused.exit_code == 1
    said = f"{served.base_url}/wrong is not the URL of the service: it answered 404 to GET /v1/orgs too"
    assert (refused.stdout + refused.stderr).count(said) == 1
    assert "Correct service.baseUrl, --base-url or RECONCILER_BASE_URL" in refused.stderr
    assert "blocked" not in refused.stdout


def test_doctor_does_not_say_that_a_token_was_accepted_where_nothing_asked_for_it(cli: Cli, served: Embedded) -> None:
    project(cli, ACME)
    checked = cli("doctor", "p", "--base-url", f"{served.base_url}/wrong", env=tokened(served))
    assert "  skipped  token        not checked: the service answered 404 to GET /v1/orgs\n" in checked.stdout
    assert "is not the URL of the service" in checked.stdout


@pytest.mark.parametrize("status", [200, 404])
def test_a_web_site_is_not_taken_for_the_service(cli: Cli, status: int) -> None:
    project(cli, ACME)
    with website(status) as url:
        refused = cli("plan", "p", "--base-url", url, env={"RECONCILER_TOKEN": TOKEN})
    assert refused.exit_code == 1
    assert "the URL of the service" in refused.stderr
    assert {200: "correct service.baseUrl", 404: "Correct service.baseUrl"}[status] in refused.stderr


def test_where_the_organization_is_there_no_request_is_spent_on_it(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.write(ACME)
    org.apply()
    assert ("GET", "/orgs") not in org.requests


def test_a_wrong_organization_is_one_cause_and_the_ids_within_reach_are_named(cli: Cli, served: Embedded) -> None:
    project(cli, ACME | {"id": "org_acm"})
    base = ("--base-url", served.base_url)
    shown = cli("plan", "p", *base, env=tokened(served))
    assert shown.exit_code == 4
    assert shown.stdout.count("! blocked") == 1
    assert "no organization has the id org_acm" in shown.stdout
    assert "correct the id: the token has access to org_acme" in shown.stdout
    assert "waiting     6 resources: acme/space/blank, acme/space/guides and 4 more; --full lists them" in shown.stdout
    assert "7 blocked by 1 cause. 0 requests." in shown.stdout
    document = valid(cli.json_of("plan", "p", *base, env=tokened(served)), "plan")
    assert len(document["blocked"]) == document["summary"]["blocked"] == 7
    assert [one["cause"] for one in document["blocked"]] == [None, *["acme"] * 6]
    site = next(one for one in document["blocked"] if one["address"] == "acme/site/docs")
    assert site["remedy"] == "unblock acme first: correct the id: the token has access to org_acme"


# -- causes and what waits for them -------------------------------------------------------------------------------------------------------


MISSING: dict[str, Any] = {
    "id": "org_acme",
    "content": [
        {"collection": f"c{number}", "id": f"col_{number}", "title": f"C {number}", "content": [
            {"space": f"s{number}x{inner}", "title": f"S {inner}", "duplicateOf": f"s{number}x0"} if inner else
            {"space": f"s{number}x0", "title": "S 0", "duplicateOf": "blank"}
            for inner in range(4)
        ]}
        for number in range(3)
    ] + [{"space": "blank", "id": "spc_blank", "title": "Blank"}],
}  # fmt: skip


def test_missing_ids_are_shown_as_causes_with_what_waits_for_each(tmp_path: Path) -> None:
    from reconciler.report.html import html
    from reconciler.report.layout import plain
    from reconciler.report.markdown import markdown
    from reconciler.report.plan import plan_sheet
    from tests.cli.test_answers import NOW
    from tests.report.made import plan_text

    org = Org(tmp_path)
    org.write(MISSING)
    made = org.plan()
    text = plain(plan_text(made, width=200))
    assert text.count("! blocked") == 3
    assert text.count("    waiting     4 resources: ") == 3
    assert "15 blocked by 3 causes" in text
    assert all(f"acme/space/s{number}x3" in plain(plan_text(made, width=2_000, full=True)) for number in range(3))
    for page in (markdown(plan_sheet(made)), html(plan_sheet(made), created_at=NOW)):
        assert page.count("no collection has the id") == 3
        assert page.count("4 resources: ") == 3
        assert "which is blocked" not in page
    assert len(made.blocked) == 15
