"""A repository does not choose whose state it gets: the fleet file says which project names it may have, and tenants never share one.

Secrets of a project in a fleet: the run gets them by reference, and what the fleet keeps contains none of them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import func, update

from reconciler.errors import ConfigError
from reconciler.fleet.declared import parsed
from reconciler.fleet.declared.claims import is_allowed, shared
from reconciler.fleet.generated import generated
from reconciler.fleet.model import FleetProject, Repository, SecretReference, as_data, of_data
from reconciler.fleet.store import FleetDatabase, runs
from reconciler.fleet.store.schema import projects as table
from tests.fleet.running import Running, running
from tests.fleet.test_store import declare, project as stored
from tests.sops import real

DEFAULTS = 'defaults: {baseUrl: "https://api.example.com", token: {env: TOKEN}, source: {git: "https://git.example.com/docs.git"}}'
LISTED: Any = {1: [{"name": "payroll", "path": "orgs/payroll", "id": "payroll", "title": "payroll"}]}


def projects(text: str) -> dict[str, FleetProject]:
    return generated(parsed(f"version: 1\n{DEFAULTS}\n{text}".encode(), "fleet.yaml"), {} if "list:" in text else LISTED)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("projects: [{name: payroll}]", "payroll"),
        ("projects: [{name: a, project: payroll}]", "payroll"),
        ("projects: [{name: a, project: 'blue-*'}]", "blue-*"),
        ('generators: [{list: [payroll], template: {name: "${{ each.value }}"}}]', "payroll"),
        ('generators: [{list: [a], template: {name: "x-${{ each.value }}", project: "y-${{ each.value }}"}}]', "y-a"),
        ('generators: [{directories: {path: "orgs/*"}, template: {name: "${{ each.name }}"}}]', ""),
        ('generators: [{directories: {path: "orgs/*"}, template: {name: "${{ each.name }}", project: "blue-*"}}]', "blue-*"),
        ('generators: [{organizations: {}, template: {name: "${{ each.id }}"}}]', ""),
    ],
)
def test_only_what_the_operator_wrote_allows_a_project_name(text: str, allowed: str) -> None:
    (made,) = projects(text).values()
    assert (made.project, of_data(as_data(made))) == (allowed, made)
    older = {key: value for key, value in as_data(made).items() if key != "project"}  # as it was stored before the key existed
    assert of_data(older).project == ("" if "directories" in text or "organizations" in text else made.name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "projects: [{name: a, tenant: blue}, {name: b, project: a, tenant: green}]",
            'may use the state of "a", and so may "a" of tenant blue',
        ),
        ("projects: [{name: pay, tenant: blue}, {name: b, project: 'pa*', tenant: green}]", '"b" of tenant green ("pa*"; fleet.yaml:3:'),
        ("projects: [{name: a, project: 'p*', tenant: blue}, {name: b, project: 'pay-*', tenant: green}]", "write another `project:`"),
        ("projects: [{name: a, project: '*', tenant: blue}, {name: b, tenant: green}]", "or give a tenant a state of its own"),
        ("projects: [{name: a, project: 'a*b'}]", 'is "a*b"; it must be the name of a project, or a prefix and *'),
        (
            'generators: [{directories: {path: "orgs/*"}, template: {name: "${{ each.name }}", project: "${{ each.name }}"}}]',
            "project must not use ${{ each.name }}",
        ),
    ],
)
def test_tenants_that_could_meet_in_a_state_are_refused_with_the_way_past_it(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        projects(text)
    assert any(says in str(problem) for problem in raised.value.problems), raised.value.problems


@pytest.mark.parametrize(
    "text",
    [
        "projects: [{name: a, project: 'p*', tenant: blue}, {name: b, project: 'q*', tenant: green}]",
        "projects: [{name: a, project: x, tenant: blue}, {name: b, project: x, tenant: green, state: {env: GREEN}}]",
        "projects: [{name: a, project: x, tenant: blue}, {name: b, project: x, tenant: green, environment: prod}]",
        "projects: [{name: a, project: x, tenant: blue}, {name: b, project: x, tenant: green, baseUrl: 'https://other.example'}]",
        "projects: [{name: a, project: 'x*', tenant: blue}, {name: b, project: x, tenant: blue}]",
    ],
)
def test_tenants_with_states_of_their_own_are_allowed(text: str) -> None:
    assert len(projects(text)) == 2


CLAIMS = st.lists(
    st.tuples(st.text("ab", max_size=4), st.booleans(), st.sampled_from(["blue", "green"])).filter(lambda claim: claim[0] or claim[1]),
    max_size=6,
)


@given(CLAIMS)
def test_shared_names_a_pair_exactly_if_a_name_exists_that_two_tenants_may_have(claims: list[tuple[str, bool, str]]) -> None:
    one = FleetProject("a", Repository("https://g.example/x"), "https://api.example.com", SecretReference("env", "TOKEN"))
    made = [replace(one, name=str(i), project=text + "*" * star, tenant=tenant) for i, (text, star, tenant) in enumerate(claims)]
    names = {text + more for text, _, _ in claims for more in ("", "a")}
    meets = any(
        is_allowed(first.project, name) and is_allowed(other.project, name) and first.tenant != other.tenant
        for name in names for first in made for other in made
    )  # fmt: skip
    assert bool(list(shared(made))) == meets


def test_an_orphaned_project_gives_up_its_state_and_an_active_one_keeps_it(database: FleetDatabase) -> None:
    declare(database, stored("a"), stored("b"))
    with database.transaction() as connection:
        ids = {row.name: row.id for row in connection.execute(table.select())}
        assert runs.own(connection, ids["a"], "scope", "budget") is None
        assert runs.own(connection, ids["b"], "scope", "budget") == "a"
        connection.execute(update(table).where(table.c.name == "a").values(orphaned_at=func.now()))
        assert runs.own(connection, ids["b"], "scope", "budget") is None


@pytest.fixture
def fleet(tmp_path: Path, fleet_url: str) -> Iterator[Running]:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    with running(tmp_path, fleet_url, ["payroll", "mallory"]) as made:
        yield made


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_a_repository_that_names_another_project_reads_and_claims_nothing(fleet: Running) -> None:
    fleet.write("payroll", "mallory")
    fleet.applied("payroll", "mallory")  # by hand: no project of the fleet has claimed the state of payroll yet
    (fleet.remote / "mallory" / "reconciler.yaml").write_bytes((fleet.remote / "payroll" / "reconciler.yaml").read_bytes())
    fleet.git("commit", "-qam", "mallory wants the state of payroll")
    mallory = {"name": "mallory", "source": {"path": "mallory"}, "tenant": "green", "mode": "plan"}
    fleet.declare(mallory)
    fleet.worker()
    fleet.until(lambda: fleet.status()["mallory"]["failures"])
    why = "; ".join(fleet.status()["mallory"]["causes"])
    assert "the files are of project payroll, and the fleet file allows mallory [RC-fleet-project-not-allowed]" in why
    assert "write project: payroll for it in the fleet file" in why
    assert fleet.rows("SELECT scope, reading FROM reconciler_fleet.projects") == [(None, None)]
    assert fleet.rows("SELECT count(*) FROM reconciler_fleet.plans") == [(0,)]
    # the operator's consent is the fleet file, and two tenants never get it for one state, whatever its URL
    fleet.environ["OTHER"] = f"{fleet.url}?application_name=other"
    payroll = {"name": "payroll", "source": {"path": "payroll"}, "tenant": "blue", "state": {"env": "OTHER"}}
    fleet.declare({**mallory, "project": "payroll"}, payroll)
    fleet.worker()
    fleet.until(lambda: len([project for project in fleet.status().values() if project["reading"] or project["failures"] > 1]) == 2, 120)
    both = [project for project in fleet.status().values() if project["reading"] is None]
    assert len(both) == 1
    assert "has the same state: project payroll" in "; ".join(both[0]["causes"])


BILLING, CHARTS = "canary-billing-7f3A9qZ", "canary-charts-0pX8aa"
INTEGRATION = """\
    integrations:
      a-charts:
        title: Charts
        description: Charts of your own data
        visibility: private
        scopes: ["space:content:read"]
        script: "export default {}"
        secrets: {billing: "${{ secrets.billing }}", charts: "${{ vars.charts }}"}
    content:
"""


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_a_project_with_encrypted_files_and_a_secret_variable_is_planned_and_nothing_of_them_is_kept(
    tmp_path: Path, fleet_url: str
) -> None:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    sops = real(tmp_path / "sops")
    with running(tmp_path, fleet_url, ["a"]) as fleet:
        fleet.environ |= {"PATH": sops.env["PATH"], "ACME_CHARTS": CHARTS}
        fleet.write("a")
        file = fleet.remote / "a/reconciler.yaml"
        text = file.read_text().replace("    content:\n", INTEGRATION)
        file.write_text(text.replace("vars: {", "secrets: secrets.enc.yaml\nvars: {charts: {env: RECONCILER_VAR_CHARTS}, "))
        sops.encrypt(fleet.remote / "a/secrets.enc.yaml", {"billing": BILLING})
        fleet.git("add", "-A")
        fleet.git("commit", "-q", "-m", "secrets")
        key = {"SOPS_AGE_KEY": {"file": sops.env["SOPS_AGE_KEY_FILE"]}}
        secret = {"CHARTS": {"env": "ACME_CHARTS"}}
        one = {"name": "a", "source": {"path": "a"}, "mode": "plan", "vars": {"who": "a"}}
        fleet.declare({**one, "secretVars": secret})
        fleet.worker()
        fleet.until(lambda: "RC-" in fleet.status()["a"]["causes"][0])  # there is no key
        fleet.declare({**one, "secretVars": secret, "sops": key})
        fleet.environ |= {**sops.env, "RECONCILER_VAR_CHARTS": CHARTS}
        fleet.applied("a")
        fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
        sops.encrypt(fleet.remote / "a/secrets.enc.yaml", {"billing": f"{BILLING}-next"})
        fleet.git("commit", "-qam", "another secret")
        fleet.call("fleet", "sync", "a", "--wait", code=2)
        assert fleet.status()["a"]["reading"]["ahead"] == 1
        dump = subprocess.run(["pg_dump", "--inserts", fleet.url], capture_output=True, text=True, check=True).stdout
        logs = "".join(path.read_text() for path in tmp_path.glob("fleet-*.log"))
    assert "a-charts" in dump
    assert "canary" not in dump + logs
