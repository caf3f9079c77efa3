"""A state on a PostgreSQL server, shared by many machines: the same tables, in a schema of their own.

In: a URL. Out: a `Database`. Forbidden: what the tables mean; waiting without a deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema

from reconciler.errors import StateError
from reconciler.state.errors import calm
from reconciler.state.tables import migrations
from reconciler.text.install import installing

SCHEMA: Final = "reconciler"
CONNECT_SECONDS: Final = 5
DENIED: Final = ("42501", "25006")  # SQLSTATE: a right is missing, or the server or the role only reads
PREPARE_LOCK: Final = 0x7265636F6E63  # any number of our own: two runs must not make the tables at once
SESSION: Final = (  # every wait has a deadline, and a commit is on the disk
    "SET lock_timeout = '5s'",
    "SET statement_timeout = '60s'",
    "SET idle_in_transaction_session_timeout = '60s'",
    "SET synchronous_commit = 'on'",
)
# A server that vanished without closing the connection is noticed in 20 s.
KEEPALIVE: Final = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 20_000}

T = TypeVar("T")


class Postgres:
    """A database on a server; its address is never shown with a password."""

    def __init__(self, url: URL, *, create: bool) -> None:
        if find_spec("psycopg") is None:
            raise StateError(
                "a state on PostgreSQL requires psycopg", id="RC-package-missing", hint=f"Install it: {installing('psycopg[binary]')}"
            )
        self.path: Path | None = None
        self.where = f"the state {URL.create('postgresql', host=url.host, port=url.port, database=url.database)}"
        self._writable = create
        self._engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=2,
            max_overflow=2,
            pool_timeout=30,
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_SECONDS, **KEEPALIVE},
            execution_options={"schema_translate_map": {None: SCHEMA}},
        )
        event.listen(self._engine, "connect", _begin_session)
        if create:
            try:
                with self.write() as connection:
                    self._prepare(connection)
            except BaseException:
                self.close()
                raise

    def read(self, work: Callable[[Connection], T]) -> T | None:
        with calm(self.where), self._reading(readonly=True) as connection:
            current = migrations.is_current(connection, self.where)
            if current is not False:
                return work(connection) if current else None
        with calm(self.where), self._reading(readonly=False) as connection:
            found, ours = migrations.found_version(connection), 1 + len(migrations.MIGRATIONS)
            try:
                self._prepare(connection)  # and rolled back at the end: a reading migrates nothing
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) not in DENIED:
                    raise
                raise StateError(
                    f"{self.where} was written by an older version: its schema is {found}, and a role that can only read needs {ours}",
                    id="RC-state-older",
                    hint="Run `reconciler apply` once with the role that can write: it upgrades the tables.",
                ) from error
            return work(connection)

    @contextmanager
    def _reading(self, *, readonly: bool) -> Iterator[Connection]:
        """A transaction that sees one moment and leaves nothing. `readonly`: the server refuses every write in it."""
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=readonly)
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()

    def is_current(self) -> bool | None:
        with calm(self.where), self._engine.connect() as connection:
            return migrations.is_current(connection, self.where)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with calm(self.where), self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    def _prepare(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": PREPARE_LOCK})
        if not inspect(connection).has_schema(SCHEMA):  # an administrator may have created it: then nobody else needs that right
            connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
        migrations.prepare(connection, self.where)


def _begin_session(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        for setting in SESSION:
            cursor.execute(setting)
    connection.commit()
