"""Where a run goes: what the YAML may not decide, and what a user confirmed."""

from __future__ import annotations

import contextlib
import json
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from reconciler.cli.terminal.screen import Screen
from reconciler.cli.wiring import trust
from reconciler.errors import UsageError
from tests.cli.conftest import Cli

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
    result = cli("plan", "p", env={"RECONCILER_TOKEN": TOKEN})
    assert result.exit_code == 3
    assert "you have not confirmed it" in result.stderr
    assert "--base-url https://evil.example" in result.stderr
    assert TOKEN not in result.stderr


def test_without_any_address_it_says_what_to_pass(cli: Cli) -> None:
    project(cli, "{}")
    result = cli("plan", "p", env={"RECONCILER_TOKEN": TOKEN})
    assert result.exit_code == 3
    assert "--base-url" in result.stderr
    assert "--sandbox" in result.stderr


def test_without_a_token_it_names_the_variable(cli: Cli) -> None:
    project(cli, "{}")
    result = cli("plan", "p", "--base-url", "http://127.0.0.1:9")
    assert result.exit_code == 3
    assert "RECONCILER_TOKEN" in result.stderr


@pytest.mark.parametrize(
    "url", ["http://api.example.com", "ftp://x", "https://user:pw@api.example.com", "https://api.example.com/v1", "nonsense"]
)
def test_an_address_that_would_leak_the_token_is_refused(cli: Cli, url: str) -> None:
    project(cli, "{}")
    result = cli("plan", "p", "--base-url", url, env={"RECONCILER_TOKEN": TOKEN})
    assert result.exit_code == 3
    assert "pw" not in result.stderr


def test_a_sandbox_neither_wants_nor_sends_the_token(cli: Cli) -> None:
    project(cli, "{sandbox: s.db}")
    result = cli("plan", "p", "-v", env={"RECONCILER_TOKEN": "two words\n", "RECONCILER_BASE_URL": "https://api.example.com"})
    assert result.exit_code == 0, result.stderr
    assert "RECONCILER_BASE_URL is ignored" in result.stderr
    assert (cli.root / "p" / "s.db").exists()


def test_two_services_at_once_are_refused(cli: Cli) -> None:
    project(cli, "{}")
    assert cli("plan", "p", "--base-url", "https://x.example", "--sandbox", "s.db").exit_code == 3


def test_a_sandbox_that_cannot_be_made_without_a_project_says_how(cli: Cli) -> None:
    result = cli("api", "GET", "/orgs", "--sandbox", "s.db")
    assert result.exit_code == 3
    assert "reconciler sandbox seed --db s.db SEED.yaml" in result.stderr
    assert not (cli.root / "s.db").exists()


def test_an_unreachable_service_is_a_failure_and_not_an_empty_plan(cli: Cli) -> None:
    project(cli, "{}")
    result = cli("plan", "p", "--base-url", "http://127.0.0.1:9", env={"RECONCILER_TOKEN": TOKEN})
    assert result.exit_code == 1
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
            result = cli("plan", "p", env={"PGPASSWORD": "hunter2-of-the-state"})
            assert result.exit_code == 3
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
    result = cli("plan", "p", "--state", "postgresql://ada@db.example/x")
    assert result.exit_code == 1
    assert "--state sends its password to db.example without verifying whose server that is" in result.stderr
    assert "?sslmode=verify-full" in result.stderr
    assert "sslmode=require" in result.stderr
