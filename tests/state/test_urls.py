"""The URLs that a state may have: what they mean is what SQLAlchemy, which parsed them before, made of them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import URL, make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from reconciler.errors import StateError
from reconciler.state.database import connect
from reconciler.state.postgres import ServerUrl
from reconciler.text.credentials import BACKENDS, BUCKET, POSTGRES, SQLITE, backend_of, file_of

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
    assert parsed.shown == str(URL.create("postgresql", host=before.host, port=before.port or None, database=before.database or None))
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
