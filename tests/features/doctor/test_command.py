"""`doctor`: whatever is wrong, it says so on a line of its own with what to do, sends only GET, and writes nothing."""

from __future__ import annotations

import asyncio
import fcntl
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.client.service import Reader
from reconciler.features.doctor.remote import examine
from reconciler.kinds import load as kinds
from reconciler.model import State
from reconciler.report.findings import Check
from reconciler.report.words import Level
from reconciler.sandbox.seed import seed
from tests.command_line import Cli
from tests.documents import valid
from tests.harness import ORGANIZATION, Org
from tests.proofs import costly
from tests.sandbox.serving import serving

PROJECT = """\
version: 1
project: docs
service: {member: ada@acme.example}
organizations:
  acme:
    id: org_acme
    title: Acme
    teams:
      writers: {title: Writers}
    content:
      - {space: blank, id: spc_blank, title: Blank}
"""
SEED: dict[str, Any] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}, {"id": "org_beta", "title": "Beta"}],
    "members": [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_acme", "id": "usr_linus", "email": "linus@acme.example", "displayName": "Linus", "role": "read"},
        {"organization": "org_beta", "id": "usr_eve", "email": "eve@beta.example", "displayName": "Eve", "role": "admin"},
    ],
    "tokens": [
        {"token": "of-ada", "member": "usr_ada", "access": "write"},
        {"token": "of-linus", "member": "usr_linus", "access": "write"},
        {"token": "of-eve", "member": "usr_eve", "access": "write"},
    ],
    "spaces": [{"organization": "org_acme", "id": "spc_blank", "title": "Blank", "parent": None}],
}  # fmt: skip


@pytest.fixture
def served(cli: Cli) -> Iterator[str]:
    """The URL of a service beside a project, spoken to over HTTP with a token of one's own."""
    cli.write("reconciler.yaml", PROJECT)
    seed(cli.root / "served.db", SEED)
    with serving(cli.root / "served.db") as url:
        cli.env |= {"RECONCILER_BASE_URL": url, "RECONCILER_TOKEN": "of-ada"}
        yield url


def checks(cli: Cli, *words: str) -> tuple[int, list[dict[str, Any]]]:
    done = cli("doctor", *words, "--format", "json")
    document = valid(json.loads(done.stdout), "doctor")
    assert document["format"] == "reconciler.doctor/1"
    return done.exit_code, document["checks"]


def bad(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What is a warning or a problem; every one has a remedy."""
    assert [one for one in found if one["status"] in ("problem", "warning") and not one["remedy"]] == []
    return [(one["check"], one["status"]) for one in found if one["status"] in ("problem", "warning")]


def text(found: list[dict[str, Any]], check: str) -> str:
    return " | ".join(f"{one['message']} -> {one['remedy']}" for one in found if one["check"] == check)


# -- well -----------------------------------------------------------------------------------------------------------------------------


def test_where_all_is_well_it_says_so_sends_only_gets_and_writes_nothing(cli: Cli, served: str) -> None:
    before = sorted(path.name for path in cli.root.iterdir())
    done = cli("doctor", "-v", code=0)
    assert done.stdout.endswith("No problems found.\n")
    assert set(re.findall(r"\b(GET|POST|PUT|PATCH|DELETE) /", done.stderr)) == {"GET"}
    assert sorted(path.name for path in cli.root.iterdir()) == before
    _, found = checks(cli)
    assert bad(found) == []
    assert "org_acme 'Acme'" in text(found, "token")
    assert "usr_ada" in text(found, "member")
    assert {one["check"] for one in found} == {
        "project", "service", "token", "state", "reach", "member", "permissions", "access", "rate limit", "clock", "agents"
    }  # fmt: skip


def test_a_sandbox_that_is_not_made_yet_is_not_made(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    code, found = checks(cli, "--sandbox", "new.db")
    assert (code, bad(found)) == (0, [])
    assert not (cli.root / "new.db").exists()
    assert not (cli.root / ".reconciler").exists()


def test_a_sandbox_wants_no_token(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    cli("apply", "--sandbox", "s.db", "--yes")
    code, found = checks(cli, "--sandbox", "s.db")
    assert (code, bad(found)) == (0, [])
    assert "3 tracked" in text(found, "state")


def test_what_is_said_about_payments_is_a_warning(cli: Cli) -> None:
    cli.write("reconciler.yaml", PROJECT)
    billing = {"hasPaymentFailed": True, "isScheduledToCancel": True, "endDate": "2027-01-31T00:00:00Z"}
    organization = {"id": "org_acme", "title": "Acme", "billing": billing, "blocked": {"source": "backoffice", "reason": "the invoice"}}
    seed(cli.root / "s.db", {**SEED, "organizations": [organization, {"id": "org_beta"}]})
    code, found = checks(cli, "--sandbox", "s.db")
    assert (code, bad(found)) == (0, [("payments", "warning")] * 3)
    assert 'acme is blocked by the service: "the invoice": the service may refuse requests about it' in text(found, "payments")


def test_one_list_that_may_not_be_read_is_a_warning(cli: Cli, served: str) -> None:
    cli.write("rules.yaml", "- {fault: forbidden, operation: list_teams}\n")
    cli("sandbox", "faults", "set", "rules.yaml", "--db", "served.db", code=0)
    code, found = checks(cli)
    assert (code, [pair for pair in bad(found) if pair[0] == "reach"]) == (0, [("reach", "warning")])


# -- the project ----------------------------------------------------------------------------------------------------------------------


def test_a_broken_project_exits_with_3_and_the_token_is_looked_at_all_the_same(cli: Cli, served: str) -> None:
    cli.edit("reconciler.yaml", "title: Writers", "titel: Writers")
    code, found = checks(cli)
    assert code == 3
    assert bad(found) == [("project", "problem")]
    assert 'did you mean "title"' in text(found, "project")
    assert "accepted" in text(found, "token")


def test_without_a_project_it_says_what_makes_one(cli: Cli) -> None:
    code, found = checks(cli)
    assert code == 3
    assert "reconciler init" in text(found, "project")


# -- the service and the token ----------------------------------------------------------------------------------------------------------


@costly
def test_a_service_that_is_down(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_BASE_URL"] = "http://127.0.0.1:9"
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("service", "problem")])
    assert "cannot be reached" in text(found, "service")


def test_a_token_that_is_refused(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_TOKEN"] = "wrong-token"
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("token", "problem")])
    assert "Check the token in RECONCILER_TOKEN" in text(found, "token")
    assert "wrong-token" not in json.dumps(found)


def test_no_token_at_all(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_TOKEN"] = None
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("token", "problem")])


def test_an_address_that_only_the_yaml_names_is_not_used_and_nobody_is_asked(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_BASE_URL"] = None
    cli.edit("reconciler.yaml", "service: {", f"service: {{baseUrl: {served}, ")
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("service", "problem")])
    assert f"--base-url {served}" in text(found, "service")


def test_an_organization_that_the_token_does_not_reach(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_TOKEN"] = "of-eve"
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("reach", "problem")])
    assert "org_beta 'Beta'" in text(found, "token")


def test_a_member_that_is_none(cli: Cli, served: str) -> None:
    cli.edit("reconciler.yaml", "ada@acme.example", "nobody@acme.example")
    code, found = checks(cli)
    assert (code, bad(found)) == (1, [("member", "problem")])


def test_a_member_who_does_not_reach_every_space(cli: Cli, served: str) -> None:
    cli.edit("reconciler.yaml", "ada@acme.example", "linus@acme.example")
    code, found = checks(cli)
    assert (code, bad(found)) == (0, [("member", "warning")])
    assert "has no access to 1 space: spc_blank 'Blank'" in text(found, "member")


@pytest.mark.parametrize(
    ("segment", "expected"),
    [("teams", ("reach", "team: GET /orgs/org_acme/teams")), ("spaces", ("member", "GET /orgs/org_acme/members/usr_ada/spaces")),
     ("org_acme", ("reach", "GET /orgs/org_acme")), ("orgs", ("token", "its organizations cannot be listed"))],
)  # fmt: skip
def test_a_reading_that_is_forbidden_is_named(tmp_path: Path, segment: str, expected: tuple[str, str]) -> None:
    org = Org(tmp_path)
    org.write(PROJECT)

    async def ask() -> list[Check]:
        async with org.client(Reader, failing=(segment,)) as reader:
            return await examine(reader, kinds(), org.load(), State("", 0))

    found = [one for one in asyncio.run(ask()) if one.level in (Level.PROBLEM, Level.WARNING)]
    assert [one for one in found if not one.remedy] == []
    check, said = expected
    assert any(one.check == check and said in one.text for one in found), found


@pytest.mark.parametrize(
    ("segments", "follows"),
    [(("members",), ["member: not every one can be listed", "every test of a member or a team fails"]),
     (("teams",), ["team: not every one can be listed", "each team of linus@acme.example", "drift does not say who joined or left"]),
     (("spaces",), ["each space of linus@acme.example", "a member must not see it"]),
     (("sites",), ["site: not every one can be listed", "so has what it shows"]),
     (("teams", "sites"), [f"{kind}: not every one can be listed (GET /orgs/org_acme/{kind}s" for kind in ("team", "site")])],
)  # fmt: skip
def test_what_an_access_review_cannot_list_is_a_warning_each_with_what_follows(
    tmp_path: Path, segments: tuple[str, ...], follows: list[str]
) -> None:
    org = Org(tmp_path)
    org.call("PUT", f"/orgs/{ORGANIZATION}/teams", {"title": "Editors", "members": ["usr_linus"]})
    org.write(PROJECT)

    async def ask() -> list[Check]:
        async with org.client(Reader, failing=segments) as reader:
            return await examine(reader, kinds(), org.load(), State("", 0))

    review = [one for one in asyncio.run(ask()) if one.check == "access"]
    assert {one.level for one in review} == {Level.WARNING}
    assert [sentence for sentence in follows if not any(sentence in one.text for one in review)] == [], review
    assert all(one.remedy and one.id for one in review)


def test_one_person_is_asked_about_as_an_example_of_all(cli: Cli, served: str) -> None:
    _, found = checks(cli)
    assert "a review can list every" in text(found, "access")
    assert "asked about linus@acme.example" in text(found, "access")


def test_permissions_that_the_project_needs_and_the_token_lacks(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_TOKEN"] = "of-linus"
    code, found = checks(cli)
    assert ("permissions", "warning") in bad(found)
    assert "acme/team/writers" in text(found, "permissions")
    assert code == 0


def test_a_limit_that_is_nearly_used_up_and_a_clock_that_is_off(cli: Cli, served: str) -> None:
    rule = '{"fault": "rate-limit", "limit": 64, "window": 600}'
    assert cli("sandbox", "faults", "set", "--db", "served.db", "--rule", rule).exit_code == 0
    assert cli("sandbox", "clock", "--db", "served.db", "--now", "2199-01-01T00:00:00Z").exit_code == 0  # in one window
    code, found = checks(cli)
    assert (code, bad(found)) == (0, [("clock", "warning")])
    assert "ahead of this machine's" in text(found, "clock")
    assert re.search(r"\d+ of 64 requests left", text(found, "rate limit"))
    for _ in range(3):  # eleven or twelve requests each
        checks(cli)
    assert ("rate limit", "warning") in bad(checks(cli)[1])


# -- the state ------------------------------------------------------------------------------------------------------------------------


def test_a_state_that_is_damaged(cli: Cli, served: str) -> None:
    cli.write("broken.db", "this is no database at all, but long enough to be looked at" * 20)
    code, found = checks(cli, "--state", "sqlite:///broken.db")
    assert (code, bad(found)) == (1, [("state", "problem")])
    assert "accepted" in text(found, "token")


def test_a_state_that_another_run_holds(cli: Cli, served: str) -> None:
    assert cli("apply", "--yes").exit_code == 0
    with (cli.root / ".reconciler" / "state.db.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write(json.dumps({"run": "r", "who": "ada@host", "command": "apply", "since": "2026-01-01T00:00:00", "pid": 7}))
        held.flush()
        code, found = checks(cli)
    assert (code, bad(found)) == (0, [("state", "warning")])
    assert "ada@host has been running `apply`" in text(found, "state")
    assert bad(checks(cli)[1]) == []


def test_a_binding_whose_line_was_removed(cli: Cli, served: str) -> None:
    assert cli("apply", "--yes").exit_code == 0
    cli.edit("reconciler.yaml", "    teams:\n      writers: {title: Writers}\n", "")
    code, found = checks(cli)
    assert (code, bad(found)) == (0, [("state", "warning")])
    assert "acme/team/writers" in text(found, "state")


def test_a_binding_to_another_object_than_the_yaml_names(cli: Cli, served: str) -> None:
    assert cli("apply", "--yes").exit_code == 0
    cli.edit("reconciler.yaml", "id: org_acme", "id: org_beta")
    code, found = checks(cli)
    assert code == 1
    assert "tracks org_acme, but the YAML says org_beta" in text(found, "reach")


def test_state_files_are_unchanged(cli: Cli, served: str) -> None:
    assert cli("apply", "--yes").exit_code == 0
    folder = cli.root / ".reconciler"
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(folder).iterdir()}
    checks(cli)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path(folder).iterdir()} == before
