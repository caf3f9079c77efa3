"""Where a run goes: what the YAML may not decide, and what a user confirmed.

Which database the commands of a fleet use without an option: only one that `fleet up` started here."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reconciler.cli.loading import loaded
from reconciler.cli.opening import confirm_host, connected, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.own_files import OwnFolder
from reconciler.run.connection import trust
from reconciler.run.connection.trust import NamedHost
from tests import processes
from tests.command_line import Cli
from tests.contains import assert_contains
from tests.proofs import costly

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


@pytest.mark.parametrize("url", ["http://api.example.com", "ftp://x", "https://user:pw@api.example.com", "nonsense"])
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


@costly
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
    env = {"HOME": str(root / "home"), "XDG_STATE_HOME": str(root / "home" / ".state")}
    with CliRunner().isolation(input=answer, env=env):
        screen = Asked() if answer is not None else Screen()
        with contextlib.suppress(UsageError):
            confirm_host(screen, NamedHost(root / "p", url, "the service", "--base-url"))
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
    assert json.loads(file.read_text())["projects"] == {str((tmp_path / "p").resolve()): ["https://api.example.com"]}
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"projects": []}', '{"projects": {"x": 5}}', "\x00"])
def test_a_broken_file_confirms_nothing(tmp_path: Path, text: str) -> None:
    require(tmp_path, "y\n")
    (file,) = (tmp_path / "home").rglob("trusted.json")
    file.write_text(text)
    assert require(tmp_path, None) == "refused"


def test_confirmations_that_a_checkout_brings_as_the_home_directory_count_for_nothing(tmp_path: Path) -> None:
    require(tmp_path, "y\n")
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "copy").rename(tmp_path / "home")
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
    env = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "home" / ".state")}
    url = "postgresql://ada@db.example/x?sslmode=verify-full"
    with CliRunner().isolation(input="y\n", env=env):
        confirm_host(Asked(), NamedHost(tmp_path / "p", url, "the state's server", "--state", whole=True))
        assert trust.confirmed(tmp_path / "p", url, whole=True)
        for other in (url.replace("ada", "bob"), url + "&sslrootcert=evil.pem", url.replace("/x", "/y"), url.partition("?")[0]):
            assert not trust.confirmed(tmp_path / "p", other, whole=True)


def test_who_only_asks_the_service_is_not_asked_about_the_state(cli: Cli) -> None:
    project(cli, "{sandbox: s.db}")
    cli("plan", "p", code=0)
    (cli.root / "p/reconciler.yaml").open("a").write("state: postgresql://ada@db.example/x?sslmode=verify-full\n")
    with contextlib.chdir(cli.root), CliRunner().isolation(input="", env=cli.user):
        screen, options = Asked(), Options(Path("p"))
        read = loaded(screen, options)
        with connected(screen, options, read, None, create=False) as service:
            assert service.embedded
        with pytest.raises(click.Abort):  # nobody answers the question
            store_of(screen, options, read, service)


def test_a_state_elsewhere_without_verified_tls_is_refused_with_what_to_write(cli: Cli) -> None:
    project(cli, "{sandbox: s.db}")
    assert_contains(
        cli("plan", "p", "--state", "postgresql://ada@db.example/x", code=1).stderr,
        "--state sends its password to db.example without verifying whose server that is",
        "?sslmode=verify-full",
        "sslmode=require",
    )


LOCAL = "postgresql://postgres:secret@/postgres?host=/nowhere"


def planted(cli: Cli, folder: Path) -> OwnFolder:
    """What `fleet up` leaves in a folder while its server runs."""
    own = OwnFolder.create(folder)
    own.write("server.json", {"password": "secret", "socket": "", "url": LOCAL, "cluster": 1, "complete": True})
    (folder / "url").write_text(LOCAL)
    return own


def fleet(cli: Cli) -> Path:
    """The folder of the fleet that is run in the folder of a command line."""
    digest = hashlib.sha256(os.fsencode(cli.root.resolve())).hexdigest()[:16]
    return Path(cli.user["XDG_STATE_HOME"]) / "reconciler/fleets" / digest


def test_the_database_that_fleet_up_started_is_used_and_nothing_is_created_to_find_it(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert "there is no database" in cli("fleet", "status", code=3).stderr
    assert not Path(cli.user["XDG_STATE_HOME"]).exists()
    planted(cli, fleet(cli))
    assert "/nowhere" in cli("fleet", "status", code=1).stderr


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
@pytest.mark.parametrize("words", [("status",), ("approve", "acme"), ("pause", "acme", "--reason", "x")], ids=" ".join)
def test_a_file_that_fleet_up_did_not_write_names_no_database(tmp_path: Path, words: tuple[str, ...], umask: int) -> None:
    """A checkout brings the whole folder of another machine, with its key; also one that is the home directory."""
    cli = Cli(tmp_path)
    planted(cli, tmp_path / "theirs")
    before = os.umask(umask)
    try:
        for place in (fleet(cli), tmp_path / ".reconciler/fleet"):
            place.mkdir(parents=True)
            for file in (tmp_path / "theirs").iterdir():
                (place / file.name).write_bytes(file.read_bytes())
    finally:
        os.umask(before)
    done = cli("fleet", *words, code=3)
    assert ("there is no database" if umask == 0o077 else "can be read by other users") in done.stderr
    assert "/nowhere" not in done.stderr


NOBODY = "import os, sys; os.setuid(54321); from reconciler.assembled import main; main(sys.argv[1:])"


def test_a_user_without_a_home_has_to_name_a_folder() -> None:
    """The usual one would be a folder named ~ in the current one, which somebody can commit."""
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that does not exist")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HOME"))}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        (Path(folder) / "fleet.yaml").write_text("version: 1\nprojects: []\n")

        def call(*words: str) -> subprocess.CompletedProcess[str]:
            line = [sys.executable, "-c", NOBODY, "fleet", *words]
            return processes.run(line, cwd=folder, env=environ, capture_output=True, text=True)

        refused = call("plan")
        assert refused.returncode == 3, refused.stderr
        assert "this user has no home directory" in refused.stderr
        assert "--data DIR" in refused.stderr
        named = call("plan", "--data", f"{folder}/data")
        assert named.returncode == 0, named.stderr
        assert "there is no database" in call("status").stderr
        assert [path.name for path in Path(folder).iterdir()] == ["fleet.yaml"]


@pytest.mark.parametrize("name", ["data", "linked/data", "nested/data"])
def test_a_folder_for_own_files_in_a_checkout_is_refused(tmp_path: Path, name: str) -> None:
    cli = Cli(tmp_path / "checkout")
    cli.write("fleet.yaml", "version: 1\nprojects: []\n")
    (cli.root / ".git").mkdir()
    (cli.root / "linked").symlink_to(tmp_path)
    refused = cli("fleet", "plan", "--data", name, code=3).stderr
    assert f"is in the checkout {cli.root}" in refused
    assert "--data DIR" in refused
    (tmp_path / "into").symlink_to(cli.root)
    assert "is in the checkout" in cli("fleet", "plan", "--data", str(tmp_path / "into/data"), code=3).stderr
    assert cli("fleet", "plan").exit_code == 0, "the folder of the current directory is elsewhere"


def test_what_is_used_without_data_can_be_named_where_the_home_directory_is_a_checkout(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    cli = Cli(tmp_path / "here", {"XDG_STATE_HOME": str(tmp_path / "state")})
    cli.write("fleet.yaml", "version: 1\nprojects: []\n")
    data = tmp_path / "state/reconciler/fleets/x"
    cli("fleet", "plan", "--data", str(data), code=0)
    assert "is in the checkout" in cli("fleet", "plan", "--data", str(data / "../../../data"), code=3).stderr
    (tmp_path / "state/reconciler").mkdir(parents=True, mode=0o755)
    (tmp_path / "state/reconciler").chmod(0o755)
    data.mkdir(parents=True)
    assert "can be read by other users" in cli("fleet", "plan", "--data", str(data), code=3).stderr


@pytest.mark.parametrize(
    ("mode", "wrong"), [(0o770, "can be written by other users"), (0o702, "can be written by other users"), (0o755, "")]
)
def test_a_folder_that_others_write_is_refused_with_the_way_past_it(tmp_path: Path, mode: int, wrong: str) -> None:
    cli = Cli(tmp_path / "here")
    cli.write("fleet.yaml", "version: 1\nprojects: []\n")
    data = tmp_path / "it's data"
    data.mkdir()
    data.chmod(mode)
    done = cli("fleet", "plan", "--data", str(data))
    assert done.exit_code == (3 if wrong else 0)
    assert wrong in done.stderr
    if wrong:
        line = re.search(r"chmod 700 .*", done.stderr)
        assert line is not None
        subprocess.run(["sh", "-c", line[0]], check=True)
        assert cli("fleet", "plan", "--data", str(data)).exit_code == 0


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    cli = Cli(tmp_path / "here")
    cli.write("fleet.yaml", "version: 1\nprojects: []\n")
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 54_321, 54_321)
    assert "belongs to another user" in cli("fleet", "plan", "--data", str(tmp_path / "data"), code=3).stderr


def test_what_an_earlier_version_kept_here_is_neither_used_nor_lost(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "here")
    cli.write("fleet.yaml", "version: 1\nprojects: []\n")
    kept = cli.write(".reconciler/fleet/repositories/0.lock", "0123456789abcdef 1\n")
    for words in (("plan",), ("apply",), ("up",), ("worker",), ("status",), ("pause", "acme", "--reason", "x")):
        refused = cli("fleet", *words, code=3).stderr
        assert "it is not used" in refused, words
        assert "reconciler fleet move .reconciler/fleet" in refused
    assert kept.exists()
    assert cli("fleet", "plan", "--data", str(tmp_path / "data")).exit_code == 0
    cli("fleet", "move", ".reconciler/fleet", code=0)
    assert not kept.exists()
    assert (fleet(cli) / "repositories/0.lock").read_text() == "0123456789abcdef 1\n"
    assert cli("fleet", "plan").exit_code == 0
