"""What SQLite's files are, who may read them, and that a plan makes none.

A state can be read by whoever can only read it: no schema, lease, key, file or migration is written by a reading."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from reconciler.errors import StateError
from reconciler.model import State
from reconciler.state import StateScope, Store
from tests.proofs import proof
from tests.state import azure, crash, s3, server
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, GUIDES, SERVICE, WHO, binding

SCOPE = StateScope("p", None, SERVICE)


@pytest.fixture
def open_here(open_at: OpenStore, tmp_path: Path) -> Any:
    return lambda *, create, path="state.db": open_at(f"sqlite:///{tmp_path / path}", SCOPE, create=create)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_every_file_is_its_owners_alone_from_the_first_moment(open_here: Any, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with open_here(create=True, path="a/b/state.db").lease(**WHO) as journal:
            journal.remember(bind=[binding()])
            names = {"state.db", "state.db-wal", "state.db-shm", "state.db.lock"}
            assert {path.name: mode(path) for path in (tmp_path / "a/b").iterdir()} == dict.fromkeys(names, 0o600)
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == mode(tmp_path / "a/b") == 0o700


def test_existing_directories_keep_their_permissions(open_here: Any, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    open_here(create=True, path="shared/state.db")
    assert mode(tmp_path / "shared") == 0o755


def test_reading_an_absent_state_creates_nothing(open_here: Any, tmp_path: Path) -> None:
    store = open_here(create=False, path="a/state.db")
    assert store.read() == State("", 0)
    assert store.digest_key() == store.digest_key()
    assert list(tmp_path.iterdir()) == []


def test_reading_writes_no_byte_and_no_file(open_here: Any, tmp_path: Path) -> None:
    with open_here(create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
    before = contents(tmp_path)
    reader = open_here(create=False)
    assert set(reader.read().bindings) == {GUIDES}
    reader.digest_key()
    reader.close()
    assert contents(tmp_path) == before
    assert set(before) == {"state.db", "state.db.lock"}


def test_reading_after_a_crash_leaves_the_log_to_the_next_run(open_here: Any, tmp_path: Path) -> None:
    crash.run(
        "with store.lease(**WHO) as journal:\n    journal.remember(bind=[binding()])\n    os._exit(9)",
        f"sqlite:///{tmp_path}/state.db",
        SCOPE,
    )
    kept = ("state.db", "state.db-wal")  # the third file holds SQLite's locks and no data
    before = contents(tmp_path)
    assert set(open_here(create=False).read().bindings) == {GUIDES}
    after = contents(tmp_path)
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert set(after) == set(before)


def test_an_empty_file_is_an_empty_state(open_here: Any, tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    assert open_here(create=False).read() == State("", 0)
    assert (tmp_path / "state.db").stat().st_size == 0
    with open_here(create=True).lease(**WHO) as journal:
        journal.remember(bind=[binding()])


def test_names_with_signs_of_urls_are_files(open_here: Any, tmp_path: Path) -> None:
    open_here(create=True, path="a b#c%41.db")
    assert "a b#c%41.db" in {path.name for path in tmp_path.iterdir()}
    assert open_here(create=False, path="a b#c%41.db").read().serial == 0


def test_a_relative_path_is_relative_to_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("sqlite:///deep/state.db", SCOPE, clock=CLOCK, create=True).close()
    assert (tmp_path / "deep/state.db").exists()


def test_readings_during_writes_see_whole_transactions(tmp_path: Path) -> None:
    """The writer opens and closes the database for each transaction, so that readings meet every moment of its life."""
    url, wrong, last = f"sqlite:///{tmp_path}/state.db", [], 20

    def write() -> None:
        for number in range(last + 1):
            with Store.open(url, SCOPE, clock=CLOCK, create=True) as store, store.lease(**WHO) as journal:
                journal.remember(bind=[binding(sent={str(name): number for name in range(50)}, seen={"at": number})])

    writer = threading.Thread(target=write)
    writer.start()
    newest = 0
    while writer.is_alive() or newest < last:
        with Store.open(url, SCOPE, clock=CLOCK, create=False) as store:
            found = store.read()
        values = {value for one in found.bindings.values() for value in (*one.sent.values(), *one.seen.values())}
        if len(values) > 1 or min(values, default=0) < newest:
            wrong.append(values)
        newest = max(values, default=newest)
    writer.join()
    assert wrong == []


READING_SCOPE = StateScope("handbook", None, SERVICE)


@pytest.fixture
def roles(postgres_url: str) -> Iterator[tuple[str, str]]:
    """A role that applies and one that reads, in a database of their own, as docs/state.md creates them."""
    with server.database(postgres_url) as url:
        yield server.documented_roles(url)


def opened(url: str, *, create: bool = False) -> Store:
    return Store.open(url, READING_SCOPE, clock=CLOCK, create=create)


def track(url: str) -> None:
    with opened(url, create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])


def assert_readable(url: str) -> None:
    """Every reading of a store works."""
    with opened(url) as store:
        assert set(store.read().bindings) == {GUIDES}
        assert store.seen()
        assert len(store.digest_key()) == 32
        assert [state_change.address for run in store.runs() for state_change in store.state_changes(run.id)] == [GUIDES]
        assert store.pull() is not None
        assert store.condition().current
        assert not store.condition().held


def assert_read_only(url: str, message: str) -> None:
    with pytest.raises(StateError, match=message), opened(url, create=True) as store, store.lease(**WHO):
        pytest.fail("a lease without the right to write")


def test_the_statements_of_the_documentation_create_a_role_that_reads_a_state_on_a_server(roles: tuple[str, str]) -> None:
    applies, reads = roles
    with opened(reads) as store:
        assert store.read() == State("", 0)  # before the first apply there is nothing to read, and it creates nothing
    track(applies)
    assert_readable(reads)
    assert_read_only(reads, "denies access")


def test_a_role_that_reads_cannot_read_older_tables_and_the_error_says_what_to_do(roles: tuple[str, str]) -> None:
    applies, reads = roles
    track(applies)
    with psycopg.connect(applies, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE reconciler.urls; DROP TABLE reconciler.url_sites; DROP TABLE reconciler.page_trees; DROP TABLE reconciler.renames;"
            "UPDATE reconciler.reconciler_schema SET version = 7"
        )
    with opened(reads) as store, pytest.raises(StateError, match="was written by an older version: its schema is 7, and") as caught:
        store.read()
    assert "Run `reconciler apply` once with the role that can write" in str(caught.value.hint)
    with opened(applies, create=True):
        pass  # migrates
    assert_readable(reads)  # also the tables that the migration created


def test_a_server_keeps_a_reading_from_writing_whatever_its_role_may_do(roles: tuple[str, str]) -> None:
    applies, _ = roles
    track(applies)
    with opened(applies) as store, pytest.raises(StateError, match="read-only"):
        store._database.read(lambda connection: connection.run("DELETE FROM bindings"))
    assert_readable(applies)


def test_a_role_without_permissions_learns_where_they_are_listed(roles: tuple[str, str], postgres_url: str) -> None:
    applies, _ = roles
    track(applies)
    nobody = f"nobody_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {nobody} LOGIN")
    url = applies.replace(applies.partition("//")[2].partition("@")[0], nobody)
    with opened(url) as store, pytest.raises(StateError, match="denies access") as caught:
        store.read()
    assert "docs/state.md" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("server", "start"), [("s3_proxy", f"s3://{s3.BUCKET}"), pytest.param("azure_proxy", f"az://{azure.CONTAINER}", marks=proof)]
)
def test_credentials_that_only_read_are_enough_to_read_a_bucket(server: str, start: str, request: pytest.FixtureRequest) -> None:
    url, proxy = f"{start}/{uuid4()}", request.getfixturevalue(server)
    proxy.calm()
    track(url)
    proxy.reads_only = True
    proxy.requests.clear()
    try:
        assert_readable(url)
        assert {method for method, _ in proxy.requests} <= {"GET", "HEAD"}
        assert_read_only(url, "denies access")
    finally:
        proxy.calm()


def test_a_file_and_a_folder_that_nobody_may_write_can_be_read(tmp_path: Path) -> None:
    """With SQLite's log and shared memory as a killed run leaves them, or only with the log, as a copy of the file has it."""
    url = f"sqlite:///{tmp_path}/state.db"
    died = crash.run("with store.lease(**WHO) as journal:\n    journal.remember(bind=[binding()])\n    os._exit(9)", url, READING_SCOPE)
    assert died.returncode == 9, died.stderr
    assert (tmp_path / "state.db-wal").stat().st_size
    read = crash.run(READ, f"sqlite:///{tmp_path}/other.db", READING_SCOPE)
    assert read.stdout.splitlines() == ["acme/space/guides 1 32", "unchanged"] * 6, read.stdout + read.stderr


READ = """
import shutil, tempfile
from pathlib import Path
left = Path(url.removeprefix("sqlite:///")).parent
every = ["state.db", "state.db-wal", "state.db-shm", "state.db.lock"]
for names in (every, every[:2] + every[3:], every[:2]):
    for mode in (0o555, 0o777):  # where SQLite could create its files, it creates none either
        folder = Path(tempfile.mkdtemp())
        for name in names:
            shutil.copyfile(left / name, folder / name)
            (folder / name).chmod(0o444)
        folder.chmod(mode)
        if (pid := os.fork()) == 0:
            if os.geteuid() == 0:  # root may write everything
                os.setgroups([]), os.setgid(65534), os.setuid(65534)
            with Store.open(f"sqlite:///{folder}/state.db", StateScope(project, None, service), clock=CLOCK, create=False) as reader:
                print(*map(str, reader.read().bindings), len(reader.runs()), len(reader.digest_key()), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        print("unchanged" if sorted(path.name for path in folder.iterdir()) == sorted(names) else sorted(folder.iterdir()), flush=True)
        folder.chmod(0o700)
        shutil.rmtree(folder)
"""
