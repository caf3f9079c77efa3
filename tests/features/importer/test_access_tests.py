"""`import --access-tests`: what is true today becomes tests, which hold at once and say nothing that is not certain."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from reconciler import exits
from reconciler.resource.risks import LEVELS
from tests.command_line import Cli
from tests.features.access.test_by_name import (
    acme as acme,
)
from tests.proofs import spread

ORG = {"organization": "org_acme"}
LISTS = ("site-spaces", "sections", "share-links", "members", "sites", "teams", "members/*/spaces", "members/*/teams")
WORDS = ("--org", "org_acme", "--access-tests", "--sandbox", "s.db", "--state", "sqlite:///new.db", "--create-state")


def organization(chance: Random) -> dict[str, Any]:
    """A random seed: people, teams, levels, what was given one by one, and sites that show some of it."""
    people = {f"p{number}": chance.choice((None, *LEVELS)) for number in range(5)}
    members = [{**ORG, "id": f"usr_{name}", "email": f"{name}@acme.example", "role": role} for name, role in people.items()]
    members += [{**ORG, "id": "usr_ada", "email": "ada@acme.example", "role": "admin"}]
    members[0]["disabled"] = chance.random() < 0.3

    def given() -> dict[str, Any]:
        given = [{"member": f"usr_{name}", "role": chance.choice(LEVELS)} for name in people if chance.random() < 0.15]
        given += [{"team": "team_writers", "role": chance.choice(LEVELS)}] if chance.random() < 0.2 else []
        return {"defaultLevel": chance.choice(("inherit", None, "read", "edit")), "grants": given}

    collections = [{**ORG, "id": f"col_{number}", "title": f"Col {number}", **given()} for number in range(2)]
    spaces = [
        {**ORG, "id": f"spc_{number}", "title": f"Spc {number}", "parent": chance.choice((None, "col_0", "col_1")), **given()}
        for number in range(5)
    ]
    sites = []
    for number in range(2):
        site: dict[str, Any] = {**ORG, "id": f"site_{number}", "title": f"Site {number}", "published": chance.random() < 0.8}
        site |= {"visibility": chance.choice(("public", "unlisted", "share-link", "visitor-auth"))}
        site |= {"agentsContext": chance.choice(("included", "excluded"))}
        shown = [{"space": space["id"]} for space in chance.sample(spaces, 2)]
        sections = [{"id": f"sec_{number}", "title": "All", "siteSpaces": shown}]
        sites.append({**site, **chance.choice(({"siteSpaces": shown}, {"sections": sections}, {}))})
    return {
        "organizations": [{"id": "org_acme", "title": "Acme"}],
        "members": members,
        "tokens": [{"token": "tok", "member": "usr_ada"}],
        "teams": [{**ORG, "id": "team_writers", "title": "Writers", "members": chance.sample([f"usr_{name}" for name in people], 2)}],
        "collections": collections,
        "spaces": spaces,
        "sites": sites,
    }


def written(folder: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load((folder / "reconciler.yaml").read_text()).get("access", []))


def call(cli: Cli, path: str, *more: str) -> Any:
    return json.loads(cli("api", "GET" if not more else "POST", path, *more, "--sandbox", "s.db", code=0).stdout)


@pytest.mark.parametrize("seed", spread(range(300), 6))
def test_what_is_written_holds_at_once_and_is_what_the_service_says(cli: Cli, seed: int) -> None:
    chance = Random(seed)
    found = organization(chance)
    cli.write("seed.yaml", yaml.safe_dump(found))
    cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=0)
    for site in chance.sample(found["sites"], chance.randrange(3)):
        call(cli, f"/orgs/org_acme/sites/{site['id']}/share-links", "-f", "name=Partners")
    cli("import", "new", *WORDS, "--people", code=0)
    plan = cli.json("plan", "new", "--state", "sqlite:///new.db")
    assert (plan["summary"]["requests"], plan["violations"], plan["exposures"]) == (0, [], [])
    tests = written(cli.root / "new")
    roles = {member["id"].removeprefix("usr_"): member["role"] for member in found["members"] if not member.get("disabled")}
    given = {
        grant["member"].removeprefix("usr_")
        for at in (*found["spaces"], *found["collections"])
        for grant in at["grants"]
        if "member" in grant
    }
    given |= {id.removeprefix("usr_") for id in found["teams"][0]["members"]}
    for name, role in roles.items():
        reached = {item["space"]["id"].removeprefix("spc_") for item in call(cli, f"/orgs/org_acme/members/usr_{name}/spaces")["items"]}
        for test in tests:
            mine = test["as"] == {"member": f"{name}@acme.example"} or (test["as"] == {"role": role or "guest"} and name not in given)
            closed = {at.rpartition("-")[2] for at in test.get("mustNotSee", ()) if "/space/" in at}
            assert not (mine and reached & closed), (name, test)
            if "member" in test["as"] and mine:
                assert {at.rpartition("-")[2] for at in test.get("sees", ())} <= reached, (name, test)
    assert len(tests) <= 3 + 3 + len(given)


@pytest.mark.parametrize("seed", spread(range(300), 5))
def test_with_lists_denied_only_what_is_certain_is_written(cli: Cli, seed: int) -> None:
    chance = Random(seed)
    cli.write("seed.yaml", yaml.safe_dump(organization(chance)))
    cli("sandbox", "seed", "--db", "s.db", "seed.yaml", code=0)
    for name in chance.sample(LISTS, 2):
        rule = json.dumps({"fault": "forbidden", "operation": f"GET */{name}"})
        cli("sandbox", "faults", "set", "--db", "s.db", "--rule", rule, code=0)
    assert cli("import", "new", *WORDS, *chance.choice(((), ("--people",)))).exit_code in (exits.DONE, exits.PARTLY)
    partly = written(cli.root / "new")
    assert cli("plan", "new", "--state", "sqlite:///new.db").exit_code in (exits.DONE, exits.PARTLY)
    cli("sandbox", "faults", "clear", "--db", "s.db", code=0)
    plan = cli.json("plan", "new", "--state", "sqlite:///new.db")
    assert plan["violations"] == [], (partly, "what was certain is true")


def test_tests_are_few_say_who_sees_more_and_name_who_was_given_access(acme: Cli) -> None:
    acme("import", "new", *WORDS, "--people", code=0)
    assert [{key: test[key] for key in test if key != "reason"} for test in written(acme.root / "new")] == [
        {"as": "anyone", "mustNotSee": ["acme/space/notes"]},
        {"as": {"role": "guest"}, "sees": ["acme/space/notes"], "mustNotSee": ["acme/space/open"]},
        {
            "as": {"role": "read"},
            "sees": ["acme/space/open"],
            "mustNotSee": ["acme/collection/people", "acme/space/plans", "acme/space/salaries"],
        },
        {"as": {"member": "linus@acme.example"}, "sees": ["acme/space/plans"]},
        {"as": {"member": "vera@acme.example"}, "sees": ["acme/space/salaries"]},
    ]
    acme("api", "PATCH", "/spaces/spc_salaries", "-f", "defaultLevel=read", "--sandbox", "s.db", code=0)
    drift = acme("drift", "new", "--state", "sqlite:///new.db")
    assert drift.exit_code == exits.PENDING
    assert "1 assertion not met" in drift.stdout


def test_tests_are_for_a_new_project(acme: Cli) -> None:
    refused = acme("import", ".", "--into", "--access-tests")
    assert (refused.exit_code, "--access-tests only applies to a new project" in refused.stderr) == (exits.WRONG, True)
