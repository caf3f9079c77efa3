"""The URLs that a state may have: what they mean is what SQLAlchemy, which parsed them before, made of them.

Whatever stands in the way is one sentence that names the state, and a hint that says what to do."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from reconciler.errors import StateError
from reconciler.state import IntentEnding, StateScope, Store
from reconciler.state.database import connect
from reconciler.state.postgres import ServerUrl
from reconciler.state.sqlite import SqliteFile
from reconciler.text.backends import BACKENDS, BUCKET, POSTGRES, SQLITE, backend_of, file_of
from reconciler.text.install import installing
from tests.state import crash
from tests.state.conftest import OpenStore
from tests.state.examples import CLOCK, SERVICE, WHO, binding, intent

SERVERS = [
    "postgresql://",
    "postgresql:///d",
    "postgresql://h",
    "postgresql://h/",
    "postgresql://h/d",
    "postgres://h/d",
    "postgresql+psycopg://h/d",
    "postgresql://h:5433/d",
    "postgresql://u@h/d",
    "postgresql://u:p@h/d",
    "postgresql://u:@h/d",
    "postgresql://u:p:w@h/d",
    "postgresql://u%40example.com:p%40%2F%3A%25+x@h/d",
    "postgresql://u:p/w@h/d",
    "postgresql://u:p?w@h/d",
    "postgresql://h/a%20b",
    "postgresql://h/a/b",
    "postgresql://[::1]/d",
    "postgresql://u:p@[2001:db8::1]:5433/d",
    "postgresql://h-1.example.com./d",
    "postgresql://h,k/d",
    "postgresql://h/d?sslmode=verify-full",
    "postgresql://h/d?sslmode=verify-full&sslrootcert=/etc/ca%20s.pem",
    "postgresql://h/d?application_name=a+b&connect_timeout=3",
    "postgresql://h/d?options=-c%20statement_timeout%3D5s",
    "postgresql:///d?host=/var/run/postgresql",
    "postgresql:///d?host=/var/run/postgresql&port=5433",
    "postgresql://u@/d?host=%2Ftmp",
    "postgresql:///d?service=docs",
    "postgresql://h/d?hostaddr=10.0.0.1",
    "postgresql://h/d?host=a&host=b",
    "postgresql:///d?host=a:1&host=b:2",
    "postgresql:///d?host=a:1&host=b",
    "postgresql:///d?host=a,b,c&port=1,2,3",
    "postgresql:///d?host=a:5433",
    "postgresql://h/d?user=other&password=secret",
    "postgresql://h/d?dbname=other",
    "postgresql://h/d?sslmode=",
    "postgresql://h/d?target_session_attrs=read-write#x",
    "postgresql://h?sslmode=require",
    "postgresql://ü:ä@h/ö",
]


@pytest.mark.parametrize("url", SERVERS)
def test_the_url_of_a_server_means_what_it_did(url: str) -> None:
    before = make_url(url).set(drivername="postgresql")
    _, options = PGDialect_psycopg().create_connect_args(before)
    parsed = ServerUrl.parse(url)
    assert parsed.options == {key: str(value) for key, value in options.items()}
    where = {key: value for key, value in parsed.options.items() if key in ("host", "port", "dbname")}
    assert ServerUrl.parse(parsed.shown).options == where, "what is printed leads to the same server, without who logs in"
    assert backend_of(url) is POSTGRES


@pytest.mark.parametrize(
    "url", ["postgresql", "postgresql:", "postgresql:/d", "postgresql:d", "postgresql://h:x/d", "postgresql://h:1,k:2/d"]
)
def test_what_is_not_a_url_of_a_server_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(StateError, match=r"^the state is not a valid URL$") as caught:
        connect(url, create=False)
    assert caught.value.hint == "Write sqlite:///PATH, postgresql://USER@HOST/NAME or s3://BUCKET/PREFIX (also gs:// and az://)."


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("mysql://h/d", "a state cannot be stored in 'mysql'"),
        ("sqlite+pysqlite:///x.db", "a state cannot be stored in 'sqlite+pysqlite'"),
        ("postgresql+psycopg2://u:hunter2@h/d", "a state cannot be stored in 'postgresql+psycopg2'"),
        ("x.db", "the state is not a valid URL"),
        ("", "the state is not a valid URL"),
        ("://", "the state is not a valid URL"),
        ("sqlite:", "the state URL 'sqlite:' names no file"),
        ("sqlite://", "the state URL 'sqlite://' names no file"),
        ("sqlite:///", "the state URL 'sqlite:///' names no file"),
        ("sqlite:///:memory:", "the state URL 'sqlite:///:memory:' names no file"),
        ("sqlite:///x?mode=ro", "the state URL 'sqlite:///x?mode=ro' names no file"),
        ("sqlite:x/sqlite:///y", "the state URL 'sqlite:x/sqlite:///y' names no file"),
    ],
)
def test_a_url_that_no_state_can_have_is_refused(url: str, wrong: str) -> None:
    with pytest.raises(StateError) as caught:
        connect(url, create=False)
    assert (str(caught.value), caught.value.id) == (wrong, "RC-state-url")


def test_a_scheme_belongs_to_one_backend() -> None:
    schemes = [scheme for backend in BACKENDS for scheme in backend.schemes]
    assert len(schemes) == len(set(schemes))
    assert [backend_of(f"{scheme}://x") for scheme in ("sqlite", "s3", "gs", "az", "file", "http")] == [SQLITE, *[BUCKET] * 4, None]
    assert [backend.is_file for backend in BACKENDS] == [True, False, False]


@pytest.mark.parametrize(
    ("url", "file"), [("sqlite:///a/b.db", "a/b.db"), ("sqlite:////a b%20.db", "/a b%20.db"), ("s3://b/p", ""), ("sqlite:x", "")]
)
def test_the_path_of_a_file_is_taken_as_it_is_written(url: str, file: Any) -> None:
    assert file_of(url) == file


SCOPE = StateScope("p", None, SERVICE)


def refused(url: str, *, create: bool = True) -> StateError:
    """The error of opening and reading what is there, in which no password stands."""
    with pytest.raises(StateError) as caught:
        Store.open(url, SCOPE, clock=CLOCK, create=create).read()
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "the state is not a valid URL"),
        ("state.db", "the state is not a valid URL"),
        ("mysql://u:hunter2@h/d", "a state cannot be stored in 'mysql'"),
        ("postgresql+asyncpg://u:hunter2@h/d", "a state cannot be stored in 'postgresql+asyncpg'"),
        ("sqlite://", "the state URL 'sqlite://' names no file"),
        ("sqlite:///:memory:", "the state URL 'sqlite:///:memory:' names no file"),
        ("sqlite://host/state.db", "the state URL 'sqlite://host/state.db' names no file"),
        ("sqlite:///state.db?mode=memory", "the state URL 'sqlite:///state.db?mode=memory' names no file"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_an_address_we_cannot_use(url: str, message: str, create: bool) -> None:
    assert str(refused(url, create=create)) == message


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_not_a_database(tmp_path: Path, create: bool) -> None:
    (tmp_path / "state.db").write_text("hello " * 1000)
    assert str(refused(f"sqlite:///{tmp_path}/state.db", create=create)) == f"the state {tmp_path}/state.db is not an SQLite database"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.db"]


@pytest.mark.parametrize("create", [True, False])
def test_a_database_of_something_else(tmp_path: Path, create: bool) -> None:
    with closing(sqlite3.connect(tmp_path / "sandbox.db")) as other:
        other.execute("CREATE TABLE objects (id)")
    error = refused(f"sqlite:///{tmp_path}/sandbox.db", create=create)
    assert str(error) == f"the state {tmp_path}/sandbox.db is a different database: its tables are not those of a state"


@pytest.mark.parametrize("create", [True, False])
def test_a_directory(tmp_path: Path, create: bool) -> None:
    assert str(refused(f"sqlite:///{tmp_path}", create=create)) == f"the state {tmp_path} is not a file"


@pytest.mark.parametrize("create", [True, False])
def test_a_pipe_does_not_hang(tmp_path: Path, create: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert str(refused(f"sqlite:///{tmp_path}/pipe", create=create)) == f"the state {tmp_path}/pipe is not a file"


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(refused(f"sqlite:///{tmp_path}/file/state.db")).startswith(f"the state {tmp_path}/file/state.db cannot be opened: ")


def test_a_cut_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, SCOPE, clock=CLOCK, create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding(sent={"text": "x" * 100_000})])
    os.truncate(tmp_path / "state.db", 8192)
    assert str(refused(url, create=False)) == f"the state {tmp_path}/state.db is damaged"


def test_a_database_locked_for_too_long(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    Store.open(f"sqlite:///{path}", SCOPE, clock=CLOCK, create=True).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError) as caught:
            SqliteFile(path, create=True, busy_seconds=0.05)
    assert str(caught.value) == f"the state {path} was locked by another program for too long"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE fields SET sent = '{'", "the state is damaged: what was sent as 'title' of acme/space/guides cannot be read"),
        ("UPDATE fields SET seen = '1,2'", "the state is damaged: what was seen as 'title' of acme/space/guides cannot be read"),
        (
            "UPDATE fields SET seen = '" + "[" * 200_000 + "'",
            "the state is damaged: what was seen as 'title' of acme/space/guides cannot be read",
        ),
        ("UPDATE bindings SET origin = 'stolen'", "the state is damaged: the binding 'acme/space/guides' cannot be read"),
        (
            "UPDATE fields SET address = 'a//'; UPDATE bindings SET address = 'a//'",
            "the state is damaged: the binding 'a//' cannot be read",
        ),
        ("UPDATE journal SET writes = 'x'", "the state is damaged: intent 1 cannot be read"),
        ("UPDATE journal SET brings = '1'", "the state is damaged: intent 1 cannot be read"),
        ("UPDATE journal SET deadline = 'soon'", "the state is damaged: intent 1 cannot be read"),
        ("UPDATE journal SET address = ''", "the state is damaged: intent 1 cannot be read"),
        ("DELETE FROM known", "the state is damaged: intent 1 cannot be read"),
    ],
)
def test_a_broken_value_is_named(tmp_path: Path, change: str, message: str) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with Store.open(url, SCOPE, clock=CLOCK, create=True) as store, store.lease(**WHO) as journal:
        journal.remember(bind=[binding()])
        journal.intend([intent()])
    with closing(sqlite3.connect(tmp_path / "state.db")) as other:
        other.executescript(change)
    assert str(refused(url, create=False)) == message


def test_a_file_we_may_not_read_or_write(tmp_path: Path) -> None:
    died = crash.run(
        """
import tempfile
if os.geteuid() == 0:  # root may read and write everything
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
path = tempfile.mkdtemp() + "/state.db"
open(path, "w").close()
for mode in (0, 0o400):
    os.chmod(path, mode)
    for create in (True, False):
        try:
            print(Store.open(f"sqlite:///{path}", StateScope("p", None, "s"), clock=CLOCK, create=create).read().serial)
        except Exception as error:
            print(type(error).__name__, str(error).replace(path, "PATH"))
os.unlink(path), os.rmdir(os.path.dirname(path))
""",
        f"sqlite:///{tmp_path}/state.db",
        SCOPE,
    )
    opened = "StateError the state PATH cannot be opened"
    assert died.stdout.splitlines() == [opened, opened, "StateError the state PATH cannot be written", "0"]


def test_postgres_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused("postgresql://u:hunter2@h/d")
    assert (str(error), error.hint) == ("a state on PostgreSQL requires psycopg", f"Install it: {installing('psycopg[binary]')}")


@pytest.mark.parametrize("create", [True, False])
def test_an_unreachable_server(create: bool) -> None:
    pytest.importorskip("psycopg")
    error = refused("postgresql://u:hunter2@127.0.0.1:1/d", create=create)
    assert str(error) == "the state postgresql://127.0.0.1:1/d cannot be reached, or denies access"


@pytest.mark.parametrize("create", [True, False])
def test_a_database_the_server_does_not_have(postgres_url: str, create: bool) -> None:
    assert (
        str(refused(postgres_url.replace("/postgres", "/nowhere").replace("tests@", "tests:hunter2@"), create=create))
        == f"the state {postgres_url.replace('tests@', '').replace('/postgres', '/nowhere')} cannot be reached, or denies access"
    )


def test_a_value_the_server_cannot_hold(postgres_url: str, open_at: OpenStore) -> None:
    with open_at(postgres_url).lease(**WHO) as journal, pytest.raises(StateError, match="refuses a value"):
        journal.remember(bind=[binding(id="a\0b")])


def test_a_lock_on_the_server_that_stays(postgres_url: str, open_at: OpenStore) -> None:
    store: Any = open_at(postgres_url)
    with store.lease(**WHO) as journal, psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE reconciler.bindings")
        with store._database._pool.connection() as connection:  # the one that the journal gets next
            connection.raw.execute("SET lock_timeout = '50ms'")
        with pytest.raises(StateError, match="was locked by another program for too long"):
            journal.remember(bind=[binding()])


@pytest.mark.parametrize("value", ["null", "[]", "7", "{"])
def test_a_foreign_outcome_is_not_a_source_of_ids(tmp_path: Path, value: str) -> None:
    with Store.open(f"sqlite:///{tmp_path}/state.db", SCOPE, clock=CLOCK, create=True) as store:
        with store.lease(**WHO) as journal:
            (one,) = journal.intend([intent()])
            journal.settle([IntentEnding(one.id, "done", bind=(binding(),))])
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
            connection.execute("update outcomes set bound = ?", (value,))
        with pytest.raises(StateError, match="the state is damaged: an outcome cannot be read"):
            store.ids()
