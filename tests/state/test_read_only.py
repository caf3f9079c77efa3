"""A state can be read by whoever can only read it: no schema, lease, key, file or migration is written by a reading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from reconciler.errors import StateError
from reconciler.model import State
from reconciler.state import StateScope, Store
from tests.proofs import proof
from tests.state import azure, crash, s3, server
from tests.state.examples import CLOCK, GUIDES, SERVICE, WHO, binding

SCOPE = StateScope("handbook", None, SERVICE)


@pytest.fixture
def roles(postgres_url: str) -> Iterator[tuple[str, str]]:
    """A role that applies and one that reads, in a database of their own, as docs/state.md creates them."""
    with server.database(postgres_url) as url:
        yield server.documented_roles(url)


def opened(url: str, *, create: bool = False) -> Store:
    return Store.open(url, SCOPE, clock=CLOCK, create=create)


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
        connection.execute("DROP TABLE reconciler.renames; UPDATE reconciler.reconciler_schema SET version = 7")
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
    died = crash.run("with store.lease(**WHO) as journal:\n    journal.remember(bind=[binding()])\n    os._exit(9)", url, SCOPE)
    assert died.returncode == 9, died.stderr
    assert (tmp_path / "state.db-wal").stat().st_size
    read = crash.run(READ, f"sqlite:///{tmp_path}/other.db", SCOPE)
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
