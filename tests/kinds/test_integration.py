"""Integrations and their installations: what a publication sends, what of it is secret, and what nobody can take back."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.address import Address
from reconciler.errors import ConfigError
from reconciler.model import Action, StepStatus
from reconciler.sandbox.seed import SeedError, seed
from tests.harness import ORGANIZATION, SEED, Org
from tests.small import applied, described, settled
from tests.transports import losing

CHARTS, SEARCH = "acme/installation/charts", "acme/installation/search"
MINE = "acme/integration/acme-charts"
SECRET = "hunter2-and-more"
VENDOR: dict[str, Any] = {
    **SEED,
    "organizations": [*SEED["organizations"], {"id": "org_vendor", "title": "Vendor"}],
    "integrations": [{"organization": "org_vendor", "name": "vendor-search", "title": "Search", "visibility": "public"}],
}


@pytest.fixture
def org(tmp_path: Path) -> Org:
    return Org(tmp_path, seed=VENDOR)


def published(installations: bool = True, **fields: Any) -> dict[str, Any]:
    """An organization with an integration of its own, installed beside somebody else's; `fields` may be None for none."""
    made = {
        "title": "Charts",
        "visibility": "private",
        "scopes": ["space:content:read"],
        "blocks": [{"id": "chart", "title": "Chart"}],
        "script": "export default 1",
        "secrets": {"apiKey": SECRET},
        **fields,
    }
    tree: dict[str, Any] = {
        "members": {"ada@acme.example": "admin"},
        "integrations": {"acme-charts": {name: value for name, value in made.items() if value is not None}},
    }
    if installations:
        tree["installations"] = {"charts": {"integration": "acme-charts"}, "search": {"integration": {"id": "vendor-search"}}}
    return tree


def writes(org: Org) -> list[tuple[str, str]]:
    return [(method, path) for method, path in org.requests if method != "GET"]


def bodies(org: Org) -> list[Any]:
    return [step.body for step in org.plan().steps]


# -- what is sent --------------------------------------------------------------------------------------------------------------------


def test_an_integration_is_published_before_it_is_installed_and_one_of_others_is_installed_at_once(org: Org) -> None:
    org.write(published())
    steps = {str(step.address): step for step in org.plan().steps}
    assert steps[SEARCH].needs == frozenset()
    assert steps[CHARTS].needs == {steps[MINE].id}
    assert {steps[address].body["organization"] for address in steps} == {ORGANIZATION}
    applied(org, published())
    assert [item["target"] for item in org.call("GET", "/integrations/vendor-search/installations")["items"]] == [
        {"organization": ORGANIZATION}
    ]


def test_a_change_publishes_all_of_it_and_keeps_what_nobody_manages(org: Org) -> None:
    applied(org, published(visibility=None))
    name = "/integrations/acme-charts"
    whole = {"title": "Charts", "organization": ORGANIZATION, "script": "export default 1", "summary": "# Long", "visibility": "unlisted"}
    org.call("POST", name, {**whole, "scopes": ["space:content:read"], "blocks": [{"id": "chart", "title": "Chart"}]})
    settled(org)
    org.write(published(visibility=None, title="More charts"))
    (body,) = bodies(org)
    assert (body["title"], body["summary"], body["visibility"], body["script"]) == ("More charts", "# Long", "unlisted", "export default 1")
    applied(org, published(visibility=None, title="More charts"))
    shown = org.call("GET", name)
    assert (shown["title"], shown["summary"], shown["visibility"], shown["version"]) == ("More charts", "# Long", "unlisted", 3)


@pytest.mark.parametrize("exists", [False, True], ids=["a new one", "one that exists"])
def test_nothing_is_published_without_the_script(org: Org, exists: bool) -> None:
    tree = published(installations=False, script=None)
    if exists:
        org.call("POST", "/integrations/acme-charts", {"title": "Old", "organization": ORGANIZATION, "script": "export default 0"})
    org.write(tree)
    plan = org.plan()
    (blocked,) = plan.blocked
    assert (plan.steps, str(blocked.address), blocked.remedy) == ((), MINE, "write script")
    assert blocked.reason.startswith("cannot be sent without script: the request replaces the whole integration")


def test_somebody_elses_name_is_blocked_before_anything_is_sent(org: Org) -> None:
    tree = published(installations=False)
    org.write({**tree, "integrations": {"vendor-search": {"title": "Mine", "script": "x"}}})
    plan = org.plan()
    (blocked,) = plan.blocked
    assert (plan.steps, "vendor-search" in str(blocked.address), "org_vendor" in blocked.reason) == ((), True, True)


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"integrations": {"a b": {"title": "A"}}}, "a b"),
        ({"integrations": {"a": {"script": "x"}}}, "title is missing"),
        ({"integrations": {"a": {"title": "A", "icon": "not base64!"}}}, "icon"),
        ({"integrations": {"a": {"title": "A", "scopes": "read"}}}, "scopes must be a list"),
        ({"integrations": {"a": {"title": "A", "version": 3}}}, "version is not allowed here: the service sets it"),
        ({"installations": {"a": {}}}, "integration is missing"),
        ({"installations": {"a": {"integration": "slack"}}}, 'no integration "slack"'),
        ({"installations": {"a": {"integration": {"id": "slack"}, "configuration": {}}}}, 'unknown field "configuration"'),
    ],
)
def test_a_wrong_integration_is_one_problem_with_its_place(org: Org, tree: dict[str, Any], says: str) -> None:
    org.write(tree)
    with pytest.raises(ConfigError) as caught:
        org.load()
    messages = [problem.message for problem in caught.value.problems]
    assert [says in message for message in messages] == [True], messages
    assert caught.value.problems[0].line > 1


# -- secrets -------------------------------------------------------------------------------------------------------------------------


def test_a_secret_is_sent_and_is_nowhere_else(org: Org) -> None:
    org.write(published())
    fields = next(change.fields for change in org.plan().changes if str(change.address) == MINE)
    assert [(delta.sensitive, delta.after) for delta in fields if delta.name == "secrets"] == [(True, fields[0].before)]
    applied(org, published())
    org.write(published(secrets={"apiKey": SECRET + "-2"}))
    assert described(org.plan()) == [f"{MINE}: update secrets"]
    applied(org, published(secrets={"apiKey": SECRET + "-2"}))
    settled(org)
    files = [path for path in org.root.rglob("*") if path.is_file() and "project" not in path.parts]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes() and path.name != "sandbox.db"] == []
    with sqlite3.connect(org.root / "state.db") as database:
        kept = [text for row in database.execute("select sent from fields where name = 'secrets'").fetchall() for text in row]
    assert [text.startswith('"hmac-sha256:') for text in kept] == [True]


# -- relations -----------------------------------------------------------------------------------------------------------------------


def test_the_order_of_what_is_written_does_not_matter(org: Org) -> None:
    tree = published(categories=["b", "a"], scopes=["space:content:read", "a"])
    applied(org, tree)
    shuffled = random.Random(7)
    for _ in range(3):
        entries = list(tree["integrations"]["acme-charts"].items())
        shuffled.shuffle(entries)
        turned = {name: value[::-1] if name in ("scopes", "categories") else value for name, value in entries}
        installations = dict(reversed(tree["installations"].items()))
        org.write({"installations": installations, "integrations": {"acme-charts": turned}, "members": tree["members"]})
        settled(org)


def test_an_integration_that_somebody_deleted_is_published_and_installed_again(org: Org) -> None:
    applied(org, published())
    org.call("DELETE", "/integrations/acme-charts")
    assert {line.split(":")[0] for line in described(org.plan())} == {MINE, CHARTS}
    applied(org, published())


def test_after_a_lost_state_both_installations_are_adopted(org: Org) -> None:
    applied(org, published())
    (org.root / "state.db").unlink()
    plan = org.plan()
    assert [str(change.address) for change in plan.changes if change.actions == (Action.ADOPT,) and change.kind == "installation"] == [
        CHARTS,
        SEARCH,
    ]
    assert not any(step.kind == "installation" for step in plan.steps)


def test_what_was_published_and_installed_without_an_answer_is_found_by_the_next_apply(tmp_path: Path) -> None:
    org = Org(tmp_path, seed=VENDOR, way=losing("PUT", "POST", "PATCH", "DELETE"))
    org.write(published())
    assert {result.status for result in org.apply().results} <= {StepStatus.IN_DOUBT, StepStatus.SKIPPED}
    org.way = None
    applied(org, published())
    assert [item["name"] for item in org.call("GET", "/integrations")["items"]] == ["vendor-search", "acme-charts"]
    assert [len(org.call("GET", f"/integrations/{name}/installations")["items"]) for name in ("vendor-search", "acme-charts")] == [1, 1]


def test_two_organizations_install_the_same_integration(tmp_path: Path) -> None:
    second = [{**member, "organization": "org_beta"} for member in SEED["members"]]
    organizations = [*VENDOR["organizations"], {"id": "org_beta", "title": "Beta"}]
    org = Org(tmp_path, seed={**VENDOR, "organizations": organizations, "members": [*SEED["members"], *second]})
    entry = {"installations": {"search": {"integration": {"id": "vendor-search"}}}}
    document = {
        "version": 1,
        "project": "test",
        "organizations": {"acme": {"id": ORGANIZATION, **entry}, "beta": {"id": "org_beta", **entry}},
    }
    org.write(yaml.safe_dump(document))
    org.apply()
    settled(org)
    items = org.call("GET", "/integrations/vendor-search/installations")["items"]
    assert {item["id"]: item["target"]["organization"] for item in items} == {
        org.id(SEARCH): ORGANIZATION,
        org.id("beta/installation/search"): "org_beta",
    }


# -- what it opens, and what cannot be taken back --------------------------------------------------------------------------------------


def test_an_installation_and_what_more_people_can_install_are_exposures(org: Org) -> None:
    org.write(published())
    lines = {str(line.address): line for line in org.plan().exposures}
    assert set(lines) == {CHARTS, SEARCH}
    assert lines[CHARTS].says.startswith("the integration gets access to every space and site")
    applied(org, published())
    assert org.plan().exposures == ()
    org.write(published(visibility="public", scopes=["space:content:read", "space:content:write"]))
    assert sorted((line.field, line.says) for line in org.plan().exposures) == [
        ("scopes", "it may do more where it is installed"),
        ("visibility", "more people can install it"),
    ]
    org.write(published(scopes=[]))
    assert org.plan().exposures == ()


def test_an_installation_that_is_removed_is_forgotten_and_stays(org: Org) -> None:
    applied(org, published())
    org.write(published(installations=False), prune={"installation": "all", "integration": "all"})
    plan = org.plan()
    assert [(str(change.address), change.reason) for change in plan.changes] == [
        (CHARTS, "no longer declared; it is left unchanged"),
        (SEARCH, "no longer declared; it is left unchanged"),
    ]
    assert plan.steps == ()
    org.requests.clear()
    org.apply()
    assert writes(org) == []
    assert len(org.call("GET", "/integrations/vendor-search/installations")["items"]) == 1
    applied(org, published())


def test_a_removed_integration_is_protected_and_its_delete_says_what_goes_with_it(org: Org) -> None:
    applied(org, published(installations=False), protect=["integration"])
    org.write({"members": {"ada@acme.example": "admin"}}, protect=["integration"])
    (blocked,) = org.plan().blocked
    assert "is protected" in blocked.reason
    org.write({"members": {"ada@acme.example": "admin"}}, protect=["integration"], removed=[{"address": MINE, "action": "delete"}])
    (line,) = org.plan().exposures
    assert line.says == "it is uninstalled wherever it is installed"
    org.apply()
    assert [item["name"] for item in org.call("GET", "/integrations")["items"]] == ["vendor-search"]


def test_the_installation_of_an_integration_that_is_deleted_is_deleted_with_it(org: Org) -> None:
    applied(org, published(), protect=["integration"])
    tree = published()
    del tree["integrations"], tree["installations"]["charts"]
    org.write(tree, protect=["integration"])
    assert {str(change.address): change.reason for change in org.plan().changes} == {CHARTS: "no longer declared; it is left unchanged"}
    org.write(tree, protect=["integration"], removed=[{"address": MINE, "action": "delete"}])
    assert {str(change.address): change.reason for change in org.plan().changes} == {
        CHARTS: f"deleted with {MINE}",
        MINE: "removed: says so",
    }
    org.apply()
    assert [item["name"] for item in org.call("GET", "/integrations")["items"]] == ["vendor-search"]


def test_an_integration_is_not_deleted_with_an_installation_that_is_still_declared_or_unmanaged(org: Org) -> None:
    applied(org, published(), protect=[])
    tree = published()
    del tree["integrations"]
    tree["installations"]["charts"] = {"integration": {"id": "acme-charts"}}
    org.write(tree)
    (blocked,) = org.plan().blocked
    assert (str(blocked.address), blocked.id) == (MINE, "RC-still-contains")
    with org.store() as store, store.lease(who="test", command="state forget") as journal:
        journal.remember(forget=[Address.parse(CHARTS)])
    del tree["installations"]["charts"]
    org.write(tree)
    (blocked,) = org.plan().blocked
    assert "action: delete-all" in blocked.remedy
    org.write(tree, removed=[{"address": MINE, "action": "delete-all"}])
    assert org.plan().blocked == ()


def test_the_first_publication_of_what_existed_says_what_it_may_lose(org: Org) -> None:
    body = {"title": "Charts", "organization": ORGANIZATION, "visibility": "private", "script": "0", "scopes": [], "icon": "iVBORw0KGgo="}
    org.call("POST", "/integrations/acme-charts", body)
    org.write(published(installations=False))
    (note,) = org.plan().notes
    assert note.startswith(
        f"{MINE}: the request replaces the whole integration, and the service never shows its icon, previewImages and runtime"
    )
    applied(org, published(installations=False))
    org.write(published(installations=False, title="Other"))
    assert org.plan().notes == ()


def test_an_integration_that_does_not_exist_is_named(org: Org) -> None:
    org.write({"members": {"ada@acme.example": "admin"}, "installations": {"x": {"integration": {"id": "nobody"}}}})
    (blocked,) = org.plan().blocked
    assert "nobody" in blocked.reason


# -- the sandbox's seed ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"organization": "org_acme"}, "integrations[0]: name is missing"),
        ({"organization": "org_none", "name": "x"}, "integrations[0]: organization: there is no organization org_none"),
        ({"organization": "org_acme", "name": "a b"}, "integrations[0]: name: integrationName: letters, digits"),
        ({"organization": "org_acme", "name": "x", "scopes": "all"}, "integrations[0]: scopes must be a list, not text"),
    ],
)
def test_a_wrong_integration_of_a_seed_is_named(tmp_path: Path, entry: dict[str, Any], says: str) -> None:
    with pytest.raises(SeedError) as caught:
        seed(tmp_path / "s.db", {**SEED, "integrations": [entry]})
    assert str(caught.value).startswith(says)
