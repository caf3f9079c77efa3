"""Where a run goes: what the YAML may not decide, and what a user confirmed.

`doctor`: whatever is wrong, it says so on a line of its own with what to do, sends only GET, and writes nothing.
Which database the commands of a fleet use without an option: only one that `fleet up` started here."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reconciler.cli.checks.remote import examine
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import trust
from reconciler.client.service import Reader
from reconciler.errors import UsageError
from reconciler.kinds import load as kinds
from reconciler.model import State
from reconciler.report.findings import Check
from reconciler.report.words import Level
from reconciler.sandbox.seed import seed
from tests.cli.conftest import Cli
from tests.contains import assert_contains
from tests.documents import valid
from tests.harness import Org
from tests.sandbox.serving import serving

PROJECT = """\
version: 1
project: test
service: {service}
organizations: {{acme: {{id: org_acme}}}}
"""
TOKEN = "canary-token-1234567890"


def project(cli: Cli, service: str) -> None:
    cli.write("p/reconciler.yaml", PROJECT.format(service=service))


def test_an_address_of_the_yaml_is_not_used_until_it_was_confirmed(cli: Cli) -> None:
    project(cli, "{baseUrl: 'https://evil.example'}")
    result = cli("plan", "p", env={"RECONCILER_TOKEN": TOKEN}, code=3)
    assert "you have not confirmed it" in result.stderr
    assert "--base-url https://evil.example" in result.stderr
    assert TOKEN not in result.stderr


def test_without_any_address_it_says_what_to_pass(cli: Cli) -> None:
    project(cli, "{}")
    result = cli("plan", "p", env={"RECONCILER_TOKEN": TOKEN}, code=3)
    assert "--base-url" in result.stderr
    assert "--sandbox" in result.stderr


def test_without_a_token_it_names_the_variable(cli: Cli) -> None:
    project(cli, "{}")
    assert "RECONCILER_TOKEN" in cli("plan", "p", "--base-url", "http://127.0.0.1:9", code=3).stderr


@pytest.mark.parametrize(
    "url", ["http://api.example.com", "ftp://x", "https://user:pw@api.example.com", "https://api.example.com/v1", "nonsense"]
)
def test_an_address_that_would_leak_the_token_is_refused(cli: Cli, url: str) -> None:
    project(cli, "{}")
    assert "pw" not in cli("plan", "p", "--base-url", url, env={"RECONCILER_TOKEN": TOKEN}, code=3).stderr


def test_a_sandbox_neither_wants_nor_sends_the_token(cli: Cli) -> None:
    project(cli, "{sandbox: s.db}")
    result = cli("plan", "p", "-v", env={"RECONCILER_TOKEN": "two words\n", "RECONCILER_BASE_URL": "https://api.example.com"}, code=0)
    assert "RECONCILER_BASE_URL is ignored" in result.stderr
    assert (cli.root / "p" / "s.db").exists()


def test_two_services_at_once_are_refused(cli: Cli) -> None:
    project(cli, "{}")
    assert cli("plan", "p", "--base-url", "https://x.example", "--sandbox", "s.db").exit_code == 3


def test_a_sandbox_that_cannot_be_made_without_a_project_says_how(cli: Cli) -> None:
    assert "reconciler sandbox seed --db s.db SEED.yaml" in cli("api", "GET", "/orgs", "--sandbox", "s.db", code=3).stderr
    assert not (cli.root / "s.db").exists()


def test_an_unreachable_service_is_a_failure_and_not_an_empty_plan(cli: Cli) -> None:
    project(cli, "{}")
    result = cli("plan", "p", "--base-url", "http://127.0.0.1:9", env={"RECONCILER_TOKEN": TOKEN}, code=1)
    assert "cannot be reached" in result.stdout + result.stderr
    assert TOKEN not in result.stdout + result.stderr


# -- confirmations ------------------------------------------------------------------------------------------------------------------


class Asked(Screen):
    """A screen somebody sits at."""

    can_ask = True  # type: ignore[assignment]


def require(root: Path, answer: str | None, url: str = "https://api.example.com/x") -> str | None:
    """What came of it: None where it is trusted, else the error."""
    env = {"HOME": str(root / "home"), "XDG_CONFIG_HOME": str(root / "home" / ".config")}
    with CliRunner().isolation(input=answer, env=env):
        screen = Asked() if answer is not None else Screen()
        with contextlib.suppress(UsageError):
            trust.require(screen, root / "p", url, what="the service", instead="--base-url")
            return None
        return "refused"


def test_a_confirmed_host_is_not_asked_about_again(tmp_path: Path) -> None:
    assert require(tmp_path, None) == "refused"
    assert require(tmp_path, "n\n") == "refused"
    assert require(tmp_path, None) == "refused"
    assert require(tmp_path, "y\n") is None
    assert require(tmp_path, None) is None
    assert require(tmp_path, None, "https://api.example.com:8443") == "refused"
    assert require(tmp_path, None, "http://api.example.com") == "refused"


def test_confirmations_are_the_users_own_and_by_project(tmp_path: Path) -> None:
    require(tmp_path, "y\n")
    (file,) = (tmp_path / "home").rglob("trusted.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == {"projects": {str((tmp_path / "p").resolve()): ["https://api.example.com"]}}
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"projects": []}', '{"projects": {"x": 5}}', "\x00"])
def test_a_broken_file_confirms_nothing(tmp_path: Path, text: str) -> None:
    require(tmp_path, "y\n")
    (file,) = (tmp_path / "home").rglob("trusted.json")
    file.write_text(text)
    assert require(tmp_path, None) == "refused"


# -- the server of the state --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """A port that notes what is sent to it."""
    noted: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        noted.append(connection.recv(1_000))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], noted


def test_a_setting_of_the_yaml_leads_no_password_to_another_server(cli: Cli) -> None:
    with listening() as (port, noted):
        for query in (f"hostaddr=127.0.0.1&port={port}", f"host=127.0.0.1&port={port}", "service=evil", "passfile=passwords"):
            project(cli, "{sandbox: s.db}")
            cli.edit("p/reconciler.yaml", "version: 1\n", f"version: 1\nstate: 'postgresql://ada@db.example/x?{query}'\n")
            result = cli("plan", "p", env={"PGPASSWORD": "hunter2-of-the-state"}, code=3)
            assert "which is not allowed in the YAML" in result.stdout + result.stderr
        assert noted == []
        project(cli, "{sandbox: s.db}")
        result = cli("plan", "p", "--sandbox", "s.db", "--state", f"postgresql://ada@localhost:{port}/x?sslmode=disable")
        assert noted, result.stderr  # the same server, where the user names it


def test_the_whole_url_of_a_state_is_what_is_confirmed(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config")}
    url = "postgresql://ada@db.example/x?sslmode=verify-full"
    with CliRunner().isolation(input="y\n", env=env):
        trust.require(Asked(), tmp_path / "p", url, what="the state's server", instead="--state", whole=True)
        assert trust.confirmed(tmp_path / "p", url, whole=True)
        for other in (url.replace("ada", "bob"), url + "&sslrootcert=evil.pem", url.replace("/x", "/y"), url.partition("?")[0]):
            assert not trust.confirmed(tmp_path / "p", other, whole=True)


def test_a_state_elsewhere_without_verified_tls_is_refused_with_what_to_write(cli: Cli) -> None:
    project(cli, "{sandbox: s.db}")
    assert_contains(
        cli("plan", "p", "--state", "postgresql://ada@db.example/x", code=1).stderr,
        "--state sends its password to db.example without verifying whose server that is",
        "?sslmode=verify-full",
        "sslmode=require",
    )


DOCTOR_PROJECT = """\
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
    cli.write("reconciler.yaml", DOCTOR_PROJECT)
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
        "project", "service", "token", "state", "reach", "member", "permissions", "rate limit", "clock", "agents"
    }  # fmt: skip


def test_a_sandbox_that_is_not_made_yet_is_not_made(cli: Cli) -> None:
    cli.write("reconciler.yaml", DOCTOR_PROJECT)
    code, found = checks(cli, "--sandbox", "new.db")
    assert (code, bad(found)) == (0, [])
    assert not (cli.root / "new.db").exists()
    assert not (cli.root / ".reconciler").exists()


def test_a_sandbox_wants_no_token(cli: Cli) -> None:
    cli.write("reconciler.yaml", DOCTOR_PROJECT)
    cli("apply", "--sandbox", "s.db", "--yes")
    code, found = checks(cli, "--sandbox", "s.db")
    assert (code, bad(found)) == (0, [])
    assert "3 tracked" in text(found, "state")


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
    org.write(DOCTOR_PROJECT)

    async def ask() -> list[Check]:
        async with org.client(Reader, failing=(segment,)) as reader:
            return await examine(reader, kinds(), org.load(), State("", 0))

    found = [one for one in asyncio.run(ask()) if one.level in (Level.PROBLEM, Level.WARNING)]
    assert [one for one in found if not one.remedy] == []
    check, said = expected
    assert any(one.check == check and said in one.text for one in found), found


def test_permissions_that_the_project_needs_and_the_token_lacks(cli: Cli, served: str) -> None:
    cli.env["RECONCILER_TOKEN"] = "of-linus"
    code, found = checks(cli)
    assert ("permissions", "warning") in bad(found)
    assert "acme/team/writers" in text(found, "permissions")
    assert code == 0


def test_a_limit_that_is_nearly_used_up_and_a_clock_that_is_off(cli: Cli, served: str) -> None:
    rule = '{"fault": "rate-limit", "limit": 40, "window": 600}'
    assert cli("sandbox", "faults", "set", "--db", "served.db", "--rule", rule).exit_code == 0
    assert cli("sandbox", "clock", "--db", "served.db", "--now", "2199-01-01T00:00:00Z").exit_code == 0  # in one window
    code, found = checks(cli)
    assert (code, bad(found)) == (0, [("clock", "warning")])
    assert "ahead of this machine's" in text(found, "clock")
    assert re.search(r"\d+ of 40 requests left", text(found, "rate limit"))
    for _ in range(4):  # six requests each
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


LOCAL = "postgresql://postgres:secret@/postgres?host=/nowhere"


def write(cli: Cli, text: str, mode: int = 0o600) -> Path:
    file = cli.root / ".reconciler/fleet/url"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (LOCAL, 0o644),  # as git checks one out
        (LOCAL, 0o640),
        ("postgresql://postgres@db.evil.example/fleet", 0o600),
        ("postgresql://postgres@/fleet?host=db.evil.example", 0o600),
        ("postgresql://postgres@/fleet?host=/run,db.evil.example", 0o600),
        ("postgresql://postgres@localhost/fleet?hostaddr=192.0.2.1", 0o600),
        ("postgresql:///fleet?service=evil", 0o600),
        ("postgresql:///fleet", 0o600),
        ("\xff", 0o600),
    ],
)
def test_a_file_that_fleet_up_did_not_write_names_no_database(tmp_path: Path, text: str, mode: int) -> None:
    cli = Cli(tmp_path)
    write(cli, text, mode)
    for words in (("status",), ("approve", "acme"), ("pause", "acme", "--reason", "x")):
        done = cli("fleet", *words)
        assert done.exit_code != 0
        assert "is not a file that only you can read" in done.stderr
        assert "--database" in done.stderr
        assert "evil" not in done.stderr


def test_a_link_and_a_pipe_name_no_database(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    file = write(cli, LOCAL)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert "is not a file that only you can read" in cli("fleet", "status").stderr
    file.unlink()
    os.mkfifo(file, 0o600)
    assert "is not a file that only you can read" in cli("fleet", "status").stderr


@pytest.mark.parametrize("text", [LOCAL, "postgresql://postgres:secret@127.0.0.1:5/postgres?require_auth=scram-sha-256"])
def test_a_database_of_this_machine_is_used(tmp_path: Path, text: str) -> None:
    cli = Cli(tmp_path)
    write(cli, text)
    done = cli("fleet", "status")
    assert "is not a file" not in done.stderr
    assert "cannot be reached" in done.stderr
    assert "secret" not in done.stderr
