"""A whole fleet in a browser: real workers, a real dashboard, people of a provider. Two approve what its author cannot; a plan that moves
asks again; a tenant never sees another; no secret is anywhere."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests import browser
from tests.fleet.pages.test_in_browser import violations
from tests.fleet.running import TOKEN, Running, running
from tests.fleet.serve.provider import CLIENT, SECRET, Provider, provided
from tests.fleet.test_people import spaces

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

if "browser" not in os.environ.get(browser.REQUIRE, ""):
    pytest.importorskip("playwright")
pytestmark = [pytest.mark.proof, pytest.mark.timeout(600)]

ROLES = [
    {"value": "blue-leads", "role": "approver", "tenants": ["blue"]},
    {"value": "crimson-admins", "role": "admin", "tenants": ["crimson"]},
    {"value": "owners", "role": "admin", "tenants": ["*"]},
]
METRICS, HOOK = "canary-metrics-5kQ0zL2", "canary-hook-8hW3xT9"
KEY = "-----BEGIN PRIVATE KEY----- canary-certificate-key-2mV6bN4 -----END PRIVATE KEY-----"
CHARTS = "canary-charts-0pX8aa7"
INTEGRATION = """\
    integrations:
      a-charts:
        title: Charts
        description: Charts of your own data
        visibility: private
        scopes: ["space:content:read"]
        script: "export default {}"
        secrets: {charts: "${{ vars.charts }}", key: "${{ vars.key }}"}
    content:
"""


class Dashboard:
    """A fleet with a dashboard whose people are those of a provider. `url`: of the dashboard."""

    def __init__(self, fleet: Running, provider: Provider, chromium: Browser) -> None:
        self.fleet, self.provider, self.chromium, self.url = fleet, provider, chromium, ""

    def serve(self, *projects: dict[str, Any]) -> None:
        """Make these the fleet, and serve its dashboard."""
        oidc = {"issuer": self.provider.issuer, "clientId": CLIENT, "clientSecret": {"env": "OIDC_SECRET"}, "claim": "groups"}
        self.fleet.environ |= {"OIDC_SECRET": SECRET, "HOOK_SECRET": HOOK, "METRICS_TOKEN": METRICS}
        self.url = self.url or f"http://127.0.0.1:{browser.free_port()}"
        dashboard = {"url": self.url, "oidc": oidc, "roles": ROLES, "metrics": {"env": "METRICS_TOKEN"}}
        self.fleet.declare(*projects, more={"dashboard": dashboard, "webhooks": {"github": {"secret": {"env": "HOOK_SECRET"}}}})
        process = self.fleet.start("fleet", "serve", "--port", self.url.rpartition(":")[2])
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()

    def person(self, email: str, group: str, path: str = "/") -> Page:
        """A page of somebody who has just logged in, in a browser context of their own."""
        self.provider.claims = {"sub": email, "email": email, "email_verified": True, "groups": [group]}
        page = self.chromium.new_context().new_page()
        page.set_default_timeout(60_000)
        page.goto(self.url + path)
        page.get_by_role("link", name="Continue with").click()
        page.wait_for_url(self.url + path)
        return page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.chromium() as started:
        yield started


@pytest.fixture
def dashboard(tmp_path: Path, fleet_url: str, chromium: Browser) -> Iterator[Dashboard]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["a", "fresh", "crimson-vault"]) as fleet, provided() as provider:
        # as where a file has the password: the URL leaves out what libpq reads from its variables
        fleet.environ |= {"RECONCILER_DATABASE": fleet_url.replace("tests@", ""), "PGUSER": "tests"}
        yield Dashboard(fleet, provider, chromium)


def stays(page: Page) -> None:
    """Mark a page, so that `stayed` knows whether it was loaded again."""
    page.evaluate("window.stays = true")


def stayed(page: Page) -> bool:
    return page.evaluate("window.stays === true") is True


def test_an_approver_reverts_some_drift_and_ignores_the_rest_on_the_page(dashboard: Dashboard) -> None:
    fleet = dashboard.fleet
    spaces(fleet, "x", "y")
    fleet.applied("a")
    dashboard.serve({"name": "a", "source": {"path": "a"}, "tenant": "blue", "mode": "apply"})
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    ids = [id for id in fleet.titles("a") if id != "spc_a"]
    before = fleet.titles("a")
    for id in ids:
        fleet.send("PATCH", f"/spaces/{id}", {"title": f"{before[id]} by hand"})
    fleet.call("fleet", "sync", "a", "--wait", code=2)

    grace = dashboard.person("grace@acme.example", "blue-leads", "/projects/a")
    assert "The fleet does not apply this plan: changes made outside Reconciler" in grace.inner_text("#approvals")
    boxes = grace.locator("input[name=address]")
    kept, *reverted = (boxes.nth(number).input_value() for number in range(3))
    boxes.nth(0).uncheck()
    grace.locator("#ignore-reason").fill("typing, and Enter decides nothing")
    grace.locator("#ignore-reason").press("Enter")
    assert grace.locator(".decide").is_visible()
    assert fleet.rows("SELECT 1 FROM reconciler_fleet.approvals") == []
    grace.get_by_role("button", name="Revert", exact=True).click()
    grace.get_by_text("Your decision is stored: the next run reverts it").wait_for()
    fleet.until(lambda: sum(title.endswith("by hand") for title in fleet.titles("a").values()) == 1)
    fleet.until(lambda: [one["address"] for one in fleet.status()["a"]["reading"]["drifted"]] == [kept])
    grace.goto(f"{dashboard.url}/projects/a")
    grace.locator("#ignore-reason").fill("the fair")
    grace.get_by_role("button", name="Ignore", exact=True).click()
    grace.get_by_text("Your decision is stored: the next run no longer counts it").wait_for()
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    lines = fleet.rows("SELECT person, action, details FROM reconciler_fleet.audit WHERE action LIKE '%-drift' ORDER BY id")
    assert [(person, action, details["addresses"]) for person, action, details in lines] == [
        ("grace@acme.example", "revert-drift", reverted),
        ("grace@acme.example", "ignore-drift", [kept]),
    ]


def test_two_approve_what_its_author_cannot_and_a_plan_that_moves_asks_both_again(dashboard: Dashboard) -> None:
    fleet = dashboard.fleet
    spaces(fleet, "x", "y", "z")
    fleet.applied("a")
    two = {"delete": "two", "update": "two"}
    dashboard.serve({"name": "a", "source": {"path": "a"}, "tenant": "blue", "mode": "apply", "approvals": two})
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    spaces(fleet, "x")
    fleet.call("fleet", "sync", "a", "--wait", code=2)

    ada, grace, linus = (dashboard.person(f"{name}@acme.example", "blue-leads", "/projects/a") for name in ("ada", "grace", "linus"))
    assert "the plan needs approvals: delete (2 people)" in ada.inner_text("#status")
    assert "You are an author of this commit, so others must approve it." in ada.inner_text("#approvals")
    assert ada.get_by_role("button", name="Approve", exact=True).count() == 0
    digest = grace.locator("form[action$='/approve'] [name=digest]").input_value()
    form = "async fields => { const body = new URLSearchParams({...fields, csrf: document.querySelector('[name=csrf]').value});"
    form += " const answer = await fetch('/projects/a/approve', {method: 'POST', body}); return [answer.status, await answer.text()] }"
    code, text = ada.evaluate(form, {"digest": digest, "change": "delete"})
    assert (code, "ada@acme.example is an author of commit" in text) == (403, True)

    def approve(page: Page) -> None:
        page.locator("#change-delete").check()
        page.get_by_role("button", name="Approve", exact=True).click()

    approve(grace)
    grace.get_by_text("Your approval is stored.").wait_for()
    assert "grace@acme.example" in grace.locator("#approvals td[data-label='Approved by']").inner_text()
    assert grace.get_by_role("button", name="Approve", exact=True).count() == 0
    # the plan moves while Linus reads it: his page says so by itself, and his approval of what he read decides nothing
    stays(linus)
    spaces(fleet, "x", "z")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    linus.get_by_text("The plan has changed since you opened this page.").wait_for()
    assert stayed(linus)
    assert "its plan has changed" in (linus.locator("#announce").text_content() or "")
    approve(linus)
    linus.get_by_text("The plan changed before your decision arrived, so nothing was decided.").wait_for()
    assert "2 people" in linus.locator("#approvals td[data-label='Missing']").inner_text()
    assert {"y", "z"} <= set(fleet.titles("a").values())
    grace.goto(f"{dashboard.url}/projects/a")
    approve(grace)
    grace.get_by_text("Your approval is stored.").wait_for()
    stays(grace)
    linus.goto(f"{dashboard.url}/projects/a")
    approve(linus)
    linus.get_by_text("Your approval is stored.").wait_for()
    grace.locator("#status .status", has_text=re.compile("^Synced$")).wait_for()
    assert stayed(grace)
    grace.get_by_role("link", name="Show the new plan").click()
    grace.locator("#approvals, #history").first.wait_for()
    assert "applied, approved by grace@acme.example, linus@acme.example" in grace.locator("table.runs").inner_text()
    assert sorted(set(fleet.titles("a").values()) & {"x", "y", "z"}) == ["x", "z"]
    # what somebody edits at the service is seen by whoever looks
    stays(grace)
    space = next(id for id, title in fleet.titles("a").items() if title == "x")
    fleet.send("PATCH", f"/spaces/{space}", {"title": "By hand"})
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    grace.locator("#status li", has_text="drift: 1 resource changed outside Reconciler").wait_for()
    assert stayed(grace)
    owner = dashboard.person("root@acme.example", "owners", "/audit?action=apply")
    assert "grace@acme.example" in owner.locator("table.audit").inner_text()
    for page in (ada, grace, linus, owner):
        page.context.close()


def test_an_approver_rehearses_reads_what_comes_of_it_and_approves(dashboard: Dashboard) -> None:
    fleet = dashboard.fleet
    spaces(fleet, "x", "y")
    fleet.applied("a")
    one = {"delete": "one"}
    dashboard.serve({"name": "a", "source": {"path": "a"}, "tenant": "blue", "mode": "apply", "approvals": one, "rehearse": "required"})
    fleet.worker()
    fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
    spaces(fleet, "x")
    fleet.call("fleet", "sync", "a", "--wait", code=2)
    before = fleet.titles("a")

    grace, linus = (dashboard.person(f"{name}@acme.example", "blue-leads", "/projects/a") for name in ("grace", "linus"))
    assert grace.get_by_role("button", name="Approve", exact=True).count() == 0
    for page in (grace, linus):  # two people at once
        page.get_by_role("button", name="Rehearse", exact=True).click()
        page.get_by_text("The plan is rehearsed as soon as a worker is free.").wait_for()
    grace.locator(".notice", has_text="The rehearsal of the plan has ended.").wait_for()
    assert fleet.rows("SELECT count(*) FROM reconciler_fleet.audit WHERE action = 'rehearse'") == [(1,)]
    assert fleet.titles("a") == before
    grace.get_by_role("link", name="Show it").click()
    grace.get_by_text("it went as planned").wait_for()
    for scheme, width in (("light", 1440), ("dark", 360)):
        grace.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        grace.set_viewport_size({"width": width, "height": 900})
        assert grace.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert violations(grace) == []
    assert "1 object" in grace.locator(".rehearsed .rh-column", has_text="Deleted").inner_text()
    grace.locator("#change-delete").check()
    grace.get_by_role("button", name="Approve", exact=True).click()
    grace.get_by_text("Your approval is stored.").wait_for()
    grace.locator("#status .status", has_text=re.compile("^Synced$")).wait_for()
    assert "y" not in fleet.titles("a").values()
    for page in (grace, linus):
        page.context.close()


FOLLOW = """async path => {
  const heard = window.heard = window.heard || {}; heard[path] = ''
  const answer = await fetch(path), reader = answer.body.getReader(), decoder = new TextDecoder()
  ;(async () => { for (;;) { const {done, value} = await reader.read(); if (done) return; heard[path] += decoder.decode(value) } })()
  return answer.status
}"""


def crawled(page: Page, url: str) -> dict[str, str]:
    """The documents that the links and forms of pages lead to, as a browser loads them, by their paths; each shape of address twice."""
    texts: dict[str, str] = {}
    shapes: dict[str, int] = {}
    waiting = ["/", "/overview", "/calendar", "/audit", "/?text=crimson", "/?tenant=crimson", "/?status=OutOfSync&sort=age", "/events?x"]
    while waiting:
        path = waiting.pop(0)
        shape = re.sub(r"=[^&]*", "", path)
        shapes[shape] = shapes.get(shape, 0) + 1
        if path in texts or shapes[shape] > 2 or path.startswith(("/logout", "/events", "/static/", "/login")):
            continue
        if path.endswith(".jsonl"):  # a download
            texts[path] = page.context.request.get(url + path).text()
            continue
        page.goto(url + path)
        texts[path] = page.content()
        found = page.eval_on_selector_all(
            "[href], form, [hx-get], [src]", "all => all.map(one => one.href || one.action || one.src || one.getAttribute('hx-get'))"
        )
        for link in found:
            parts = urlsplit(str(link))
            if parts.netloc in ("", urlsplit(url).netloc) and parts.path.startswith("/"):
                waiting.append(parts.path + (f"?{parts.query}" if parts.query else ""))
    return texts


def test_a_tenant_that_crawls_everything_never_sees_another_and_no_secret_is_anywhere(dashboard: Dashboard) -> None:
    fleet = dashboard.fleet
    ours = fleet.remote
    fleet.write("a", "fresh")
    file = ours / "a/reconciler.yaml"
    variables = "vars: {charts: {env: RECONCILER_VAR_CHARTS}, key: {env: RECONCILER_VAR_KEY}, "
    file.write_text(file.read_text().replace("    content:\n", INTEGRATION).replace("vars: {", variables))
    fleet.git("commit", "-qam", "secrets")
    fleet.remote = fleet.folder / "vault"  # a repository of the other tenant's own
    fleet.write("crimson-vault", title="Payroll of 2027")
    fleet.environ |= {"RECONCILER_VAR_CHARTS": CHARTS, "RECONCILER_VAR_KEY": KEY, "ACME_CHARTS": CHARTS, "ACME_KEY": KEY}
    fleet.applied("crimson-vault")
    theirs, fleet.remote = fleet.remote, ours
    fleet.applied("a")
    secrets = {"CHARTS": {"env": "ACME_CHARTS"}, "KEY": {"env": "ACME_KEY"}}
    shared = {"mode": "apply", "approvals": {"titles": "two"}}
    fresh = {"name": "fresh", "source": {"path": "fresh"}, "tenant": "blue"}  # its state is in a database with those of others
    vault = {"name": "crimson-vault", "source": {"git": f"file://{theirs}", "path": "crimson-vault"}, "tenant": "crimson", **shared}
    dashboard.serve({"name": "a", "source": {"path": "a"}, "tenant": "blue", "secretVars": secrets, **shared}, fresh, vault)
    fleet.worker()
    for remote, name, title in ((ours, "a", "two"), (theirs, "crimson-vault", "Payroll of 2028")):
        fleet.remote = remote
        kept = (remote / name / "reconciler.yaml").read_text()
        fleet.write(name, title=title)
        (remote / name / "reconciler.yaml").write_text(kept.replace("a one", "a two").replace("2027", "2028"))
        fleet.git("commit", "-qa", "--amend", "-m", title)
    fleet.call("fleet", "sync", "a", "crimson-vault", "--wait", code=2)
    fleet.until(lambda: "has never seen project fresh" in fleet.status()["fresh"]["causes"][0])
    owner = dashboard.person("root@acme.example", "owners", "/projects/crimson-vault")
    everything = crawled(owner, dashboard.url)
    assert "Payroll of 2028" in everything["/projects/crimson-vault"]

    rows = fleet.rows("SELECT to_jsonb(p), to_jsonb(l) FROM reconciler_fleet.projects p JOIN reconciler_fleet.plans l ON l.project = p.id")
    (theirs_row,) = (row for row in rows if row[0]["name"] == "crimson-vault")
    (budget,) = {row[0]["budget"] for row in rows}
    ids = {*fleet.titles("crimson-vault"), "org_crimson-vault"}
    digest = theirs_row[1]["digest"]
    foreign = {"crimson", "Crimson", "Payroll", theirs_row[1]["commit"][:8], digest, digest[:12], str(theirs), *ids}
    ada = dashboard.person("ada@acme.example", "blue-leads")
    pages = crawled(ada, dashboard.url)
    assert {"/", "/overview", "/calendar", "/projects/a"} <= set(pages)
    echoed = re.compile(r"(text|tenant|value|back|href)=\S*crimson\S*|<title>.*?</title>")  # what the browser itself asked for
    seen = {path: echoed.sub("", text) for path, text in pages.items() if "crimson" not in path}
    assert [(path, word) for path, text in seen.items() for word in foreign if word in text] == []
    assert "2 projects" in re.sub("<[^>]+>", "", pages["/"])
    assert re.search(r"\b[3-9] (projects|Synced|OutOfSync)", re.sub("<[^>]+>", " ", pages["/"])) is None
    for path in ("/?text=crimson", "/?tenant=crimson"):
        assert "No project" in pages[path], path

    # the API, with every address that the database knows of
    names = ["", "/status", "/runs", "/plan", "/approvals"]
    asked = "async ([method, path, body]) => { const headers = {'X-CSRF-Token': document.querySelector('[name=csrf]').value,"
    asked += (
        " 'Content-Type': 'application/json'}; const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)});"
    )
    asked += " return [answer.status, await answer.text()] }"
    ada.goto(dashboard.url)
    bodies = {
        "sync": None, "resume": None, "approve": {"digest": digest}, "reject": {"digest": digest, "reason": "x"},
        "pause": {"until": "2027-01-01T00:00:00Z", "reason": "x"},
    }  # fmt: skip
    for prefix in ("/projects", "/api/v1/projects"):
        for method, end, body in [("GET", end, None) for end in names] + [("POST", f"/{action}", body) for action, body in bodies.items()]:
            real, none = (ada.evaluate(asked, [method, f"{prefix}/{name}{end}", body]) for name in ("crimson-vault", "emerald-vault"))
            assert (real[0], re.sub("emerald|crimson|[0-9]", "", real[1])) == (none[0], re.sub("emerald|crimson|[0-9]", "", none[1]))
            assert real[0] in (404, 422) or (end == "/status" and prefix.startswith("/api")), (method, prefix, end)
    listed = ada.evaluate(asked, ["GET", "/api/v1/projects?tenant=crimson", None])
    assert (listed[0], "crimson" in listed[1]) == (200, False)
    for path in ("/audit", "/audit.jsonl", "/api/v1/audit"):
        code, text = ada.evaluate(asked, ["GET", path, None])
        assert (code in (403, 404), "crimson" in text) == (True, False)

    # events of the other tenant come first, and then one of their own
    for path in ("/events", "/events?project=crimson-vault", "/events?project=a"):
        assert ada.evaluate(FOLLOW, path) == 200
    ada.wait_for_function("Object.values(window.heard).every(text => text.includes('event: ready'))")
    for name in ("crimson-vault", "a"):
        fleet.call("fleet", "sync", name, "--wait", code=2)
    ada.wait_for_function("""['/events', '/events?project=a'].every(path => window.heard[path].includes('"a"'))""")
    heard = ada.evaluate("window.heard")
    assert "crimson" not in "".join(heard.values())
    assert "changed" not in heard["/events?project=crimson-vault"]

    # an admin of the other tenant reads their own lines only
    eve = dashboard.person("eve@crimson.example", "crimson-admins")
    theirs_pages = crawled(eve, dashboard.url)
    export = eve.evaluate("async () => (await fetch('/audit.jsonl')).text()")
    assert "crimson-vault" in export
    assert re.search(r'"project": "a"|"tenant": "blue"|ada@', export) is None
    assert "/projects/a" not in theirs_pages
    assert "ada@acme.example" not in theirs_pages["/audit"]

    # secrets
    metrics = httpx2.get(f"{dashboard.url}/metrics", headers={"Authorization": f"Bearer {METRICS}"}).text
    assert 'reconciler_fleet_projects{status="OutOfSync",tenant="crimson"} 1.0' in metrics
    audit = owner.evaluate("async () => (await fetch('/audit.jsonl')).text()")
    document = ada.evaluate("async () => (await fetch('/api/v1/projects/a/plan')).text()")
    for page in (owner, ada, eve):
        page.context.close()
    dump = subprocess.run(["pg_dump", "--inserts", fleet.url], capture_output=True, text=True, check=True).stdout
    logs = "".join(path.read_text() for path in fleet.folder.glob("fleet-*.log"))
    printed = fleet.call("fleet", "audit", "--format", "json") + fleet.call("fleet", "status", "--format", "json", code=5)
    places = {"dump": dump, "logs": logs, "metrics": metrics, "audit": audit, "printed": printed, "plan": document, **everything, **pages}
    canaries = (TOKEN, SECRET, METRICS, HOOK, "canary-", budget if budget == TOKEN else TOKEN)
    assert "a-charts" in dump
    assert [(place, canary) for place, text in places.items() for canary in canaries if canary in text] == []
